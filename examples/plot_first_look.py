"""
Patients as bags of cells
=========================

Each patient has a different number of cells, each cell one measured value. Sick and healthy patients have the same
mean: only the shape of the distribution differs. A classifier that sees each patient as a measure finds it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from kermes import Measures, divergences, kernels, pairwise

rng = np.random.default_rng(0)
sick = rng.integers(0, 2, size=120)
cells = [rng.gamma(2 + s, size=rng.integers(50, 200)) / (2 + s) for s in sick]
X = Measures.from_samples(cells)
print(X)

# %%
# Distances between patients: how far the mass of one must move to become the other.

W2 = divergences.Wasserstein(p=2)
D = pairwise(X, divergence=W2)
order = np.argsort(sick, kind="stable")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for label, name in enumerate(["healthy", "sick"]):
    pooled = np.concatenate([c for c, s in zip(cells, sick, strict=True) if s == label])
    left.hist(
        pooled,
        bins=60,
        density=True,
        histtype="step",
        label=f"{name}, mean {pooled.mean():.2f}",
    )
left.set(xlabel="value of a cell", ylabel="density")
left.legend()
image = right.imshow(D[np.ix_(order, order)], cmap="cividis")
right.set(xlabel="patients, healthy first", ylabel="patients", title="$W_2$")
figure.colorbar(image, ax=right)

# %%
# A support vector machine on the kernel exp(-W_2^2 / (2 l^2)), against one that sees the means only.

whole = cross_val_score(
    SVC(kernel=kernels.Exponential(W2, length_scale=0.1)), X, sick, cv=5
)
means = cross_val_score(SVC(), np.array([c.mean() for c in cells])[:, None], sick, cv=5)
print(f"right: {whole.mean():.0%} as measures, {means.mean():.0%} by their means")
