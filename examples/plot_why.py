"""
Why this prediction?
====================

The output of a least-squares support vector machine is a sum over the training measures, so that each of
them has a contribution to a prediction. Neighbours and transport plans show the rest.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from kermes import LSSVMClassifier, datasets, divergences, inspection, kernels, plot

digits = datasets.load_digits()[:700]
X, y = digits.measures(), digits.target
train, test = np.arange(500), np.arange(500, 700)
sliced = divergences.SlicedWasserstein(n_slices=50)
model = LSSVMClassifier(kernels.Exponential(sliced, length_scale=0.4), gamma=10.0).fit(
    X[train], y[train]
)
predicted = model.predict(X[test])
print(f"{np.mean(predicted == y[test]):.1%} of {len(test)} new images are right")

# %%
# One that went wrong
# -------------------
# For ten classes there are 45 machines, one for each pair. The picture shows the one that decided, the winner against
# the second best class: the eight training images that add most, the sum of all others, and the intercept.

wrong = test[np.flatnonzero(predicted != y[test])[0]]
print(f"image {wrong} is a {y[wrong]}, taken for a {model.predict(X[[wrong]])[0]}")
plot.ContributionsDisplay.from_estimator(model, X[wrong], names=y[train])

# %%
# The image, the training images with the largest contributions, and its nearest neighbours.

found = inspection.contributions(model, X[wrong]).top(k=4)
near = inspection.nearest(X[train], X[wrong], sliced, k=4)
figure, axes = plt.subplots(2, 5, figsize=(8.5, 3.9), layout="constrained")
notes = (
    [f"{value:+.1f}" for value in found.values],
    [f"at {distance:.2f}" for distance in near.distances],
)
for row, title, rows, values in zip(
    axes, ("adds", "near"), (found.rows, near.indices), notes, strict=True
):
    row[0].imshow(digits.images[wrong], cmap="Greys")
    row[0].set_title("the image", fontsize=9)
    for ax, i, value in zip(row[1:], rows, values, strict=True):
        ax.imshow(digits.images[i], cmap="Greys")
        ax.set_title(f"{title} {value}: a {y[i]}", fontsize=9)
    for ax in row:
        ax.set(xticks=[], yticks=[])

# %%
# What would have to move to turn the nearest training image into this one?

plot.TransportPlanDisplay.from_measures(
    X[near.indices[0]], X[wrong], names=("neighbour", "image")
)
plt.show()
