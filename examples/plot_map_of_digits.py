"""
A map of a data set
===================

Distances between measures make a map: near points are alike. The title of a map says how far to trust it.
"""

# %%
# Classical scaling
# -----------------
# The coordinates whose distances come closest to the given ones. The *stress* is the part of the distances that the
# plane does not show, the *explained* share the part of the spectrum.

import matplotlib.pyplot as plt

from kermes import datasets, divergences, inspection, plot

digits = datasets.load_digits()[:400]
X, y = digits.measures(), digits.target
sliced = divergences.SlicedWasserstein(n_slices=50)
plot.MapDisplay.from_measures(X, sliced, labels=y)

# %%
# Neighbours rather than large distances
# --------------------------------------
# Kernel PCA of the squared-exponential kernel pays more attention to what is near. Any embedding of scikit-learn that
# takes distances can be passed as ``method`` too, such as ``TSNE(metric="precomputed", init="random")``. Distances are
# remembered by the engine, so that a second map of the same measures costs next to nothing.

plot.MapDisplay.from_measures(X, sliced, labels=y, method="kernel_pca")

# %%
# A plane is a projection
# -----------------------
# How much do more dimensions explain?

for n_components in (1, 2, 4, 8):
    print(inspection.data_map(X, sliced, n_components=n_components))

# %%
# What lies next to one image is best asked in the original distances, not on the map.

found = inspection.nearest(X, 0, sliced, k=5)
print(f"image 0 is a {y[0]}; its neighbours are {y[found.indices]}")
print(f"at the distances {found.distances.round(3)}")
plt.show()
