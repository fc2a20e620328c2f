"""
Means of images
===============

The mean of the pixels of some digits is a blur. Their barycentre under entropic transport moves ink instead of fading
it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from kermes import datasets, divergences
from kermes.inference import barycenter

digits = datasets.load_digits()
entropic = divergences.Sinkhorn(epsilon=0.5, value="debiased", tol=0.01)


def picture(measure):
    """Return the masses of one measure as an image."""
    image = np.zeros(measure.support.shape)
    row, column = np.rint(measure.points / measure.support.spacing).astype(int).T
    image[row, column] = measure.weights
    return image


# %%
# Above, the mean of the masses of thirty images; below, their debiased entropic barycentre.

figure, axes = plt.subplots(2, 6, figsize=(8, 3), layout="constrained")
for digit, column in enumerate(axes.T):
    X = digits[digits.target == digit][:30].measures()
    for ax, divergence in zip(column, (divergences.Euclidean(), entropic), strict=True):
        ax.imshow(picture(barycenter(X, divergence=divergence)), cmap="Blues")
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("mixture")
axes[1, 0].set_ylabel("barycentre")

# %%
# Weights move the barycentre from a 0 to a 1.

pair = digits[:2].measures()
figure, axes = plt.subplots(1, 6, figsize=(8, 1.6), layout="constrained")
for ax, t in zip(axes, np.linspace(0, 1, 6), strict=True):
    ax.imshow(
        picture(barycenter(pair, weights=[1 - t, t], divergence=entropic)), cmap="Blues"
    )
    ax.set(xticks=[], yticks=[], title=f"{t:.1f}")
plt.show()
