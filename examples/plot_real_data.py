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
# machine are ahead of all kernels. Seven wells tell nothing.

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

# %%
# The best of each side.

for title, data in found.items():
    for kernel in (True, False):
        name, score = next(
            item for item in data["scores"].items() if is_kernel(item[0]) == kernel
        )  # best first
        print(f"{title:12s}{'kernel' if kernel else 'baseline':10s}{score:.3f}  {name}")
plt.show()
