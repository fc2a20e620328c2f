"""
Do two groups differ, and where?
================================

A simulated study: a cloud of cells for each of 24 donors. In the treated donors the rarest population lies further
along the first marker. A permutation test finds that the groups differ, and the witness function shows where.
"""

# %%
import matplotlib.pyplot as plt

from kermes import datasets, inference, inspection, plot

study = datasets.make_study(
    n_donors=24, n_cells=(100, 200), n_markers=2, n_populations=3, shift=2.0
)
X, group, day = study.measures, study.target, study.batch
test = inference.permanova(X, group, blocks=day, random_state=0, keep_distribution=True)
print(test)

# %%
# F of the groups, and of labels permuted within days.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.hist(test.distribution, bins=60, color="0.7")
ax.axvline(test.statistic, color="#d55e00")
ax.annotate(
    f"observed, p = {test.p_value:.2g}",
    (test.statistic, 0.9),
    xycoords=("data", "axes fraction"),
    xytext=(4, 0),
    textcoords="offset points",
)
ax.spines[["top", "right"]].set_visible(False)
ax.set(xlabel="F of PERMANOVA", ylabel="permutations")

# %%
# Where treated donors (1) have more cells (red) or fewer (blue) than the others; pale: within what chance explains.

found = inspection.difference(X, group, blocks=day, random_state=0)
plot.DifferenceDisplay(found).plot()
plt.show()
