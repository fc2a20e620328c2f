"""
Real data: where kernels on measures win, and where not
=======================================================

Five data sets that ship inside other packages: outlines of cancer cells, signals of muscles, spoken vowels, the power
that appliances take, and wells of a flow cytometer. ``pip install 'kermes[data]'`` installs them, then

.. code-block:: python

    from kermes import compare, datasets

    muscles = datasets.load_muscles()
    compare(muscles.measures, muscles.target, groups=muscles.groups, cv=4)

leaves out one session of recordings at a time. Below are the accuracies that ``python -m benchmarks.real --record``
found: parameters of all methods are chosen within the training sets.
"""

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

found = json.loads(Path("../benchmarks/real.json").read_text())


def is_kernel(name):
    """Whether a method compares measures as wholes."""
    return "W2" in name or "MMD" in name


# %%
# Each dot is a method, with the standard error of a share of so many tested samples. A kernel wins on muscles and leads
# on appliances, on vowels it is a draw, and on the outlines of cells two standard deviations with a support vector
# machine are ahead of all kernels. Seven wells are too few for a conclusion. A section for each data set follows.

figure, axes = plt.subplots(
    1, len(found), figsize=(10, 3.2), sharey=True, layout="constrained"
)
for ax, (title, data) in zip(axes, found.items(), strict=True):
    for x, (kernel, color, label) in enumerate(
        [(True, "#0072b2", "kernels"), (False, "#d55e00", "baselines")]
    ):
        scores = np.array(
            [
                score
                for name, score in data["scores"].items()
                if is_kernel(name) == kernel
            ]
        )
        places = x + np.linspace(-0.25, 0.25, len(scores)) * (len(scores) > 1)
        errors = np.sqrt(scores * (1 - scores) / data["tested"])
        ax.errorbar(
            places,
            scores,
            errors,
            fmt="o",
            color=color,
            markersize=4,
            linewidth=1,
            label=label,
        )
    ax.set_title(f"{title}\n{data['tested']} tested", fontsize=10)
    ax.set(xticks=[], xlim=(-0.6, 1.6), ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("accuracy")
axes[0].legend(frameon=False, loc="lower right", fontsize=9)


def show(title):
    """Draw the accuracy of every method on one data set, best first."""
    data = found[title]
    names, scores = list(data["scores"]), np.array(list(data["scores"].values()))
    _, ax = plt.subplots(figsize=(7.5, 0.3 * len(names) + 0.9), layout="constrained")
    ax.barh(
        names[::-1],
        scores[::-1],
        xerr=np.sqrt(scores * (1 - scores) / data["tested"])[::-1],
        color=["#0072b2" if is_kernel(name) else "#d55e00" for name in names[::-1]],
        ecolor="0.3",
        height=0.7,
    )
    ax.set(xlim=(0, 1), xlabel="accuracy", title=data["task"].split(",")[0].rstrip("."))
    ax.spines[["top", "right"]].set_visible(False)


# %%
# Cells
# -----
#
# ``datasets.load_cells()``: outlines of 650 cancer cells, moved to their centres and turned along their longest axes;
# three treatments. Blue are kernels on measures, orange are baselines. Two standard deviations, the length and the
# width of a cell, with a support vector machine beat every kernel. With logistic regression the same two numbers do
# not: compare learners too.

show("cells")

# %%
# Muscles
# -------
#
# ``datasets.load_muscles()``: 25 seconds of eight electrodes on a forearm, 6,100 readings each, while the hand makes
# one of five signs; the session that is tested was not seen. Means say nothing, and standard deviations see each
# electrode alone. What electrodes do together is in the distribution: the kernel on a codebook wins.

show("muscles")

# %%
# Vowels
# ------
#
# ``datasets.load_vowels()``: utterances of nine speakers, 7 to 29 frames in twelve dimensions. A draw: means and
# standard deviations with a support vector machine are as good as the best distance, in a fraction of the time.

show("vowels")

# %%
# Appliances
# ----------
#
# ``datasets.load_appliances()``: 1,460 readings of the power that an appliance takes; ten kinds. Each series was
# brought to mean 0 and standard deviation 1, so that moments are blind, Gaussian distances among them, and only the
# shape of the distribution is left. The kernel leads, by less than the errors.

show("appliances")

# %%
# Wells
# -----
#
# ``datasets.load_wells()``: 10,000 cells of a flow cytometer in each well. Seven wells are tested, and every method
# gets six of them right: the data show how FCS files are read, and rank nothing.

show("wells")
plt.show()
