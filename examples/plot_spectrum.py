"""
Is my kernel positive definite?
===============================

A Gaussian process needs a positive definite kernel, a support vector machine should have one. Kernels of transport
distances in the plane are not positive definite in general. The eigenvalues of the Gram matrix show it.
"""

# %%
# The exponential of the exact Wasserstein distance between images, at three length scales. Both signs have logarithmic
# scales; what lies in the grey band is zero to rounding.

import matplotlib.pyplot as plt

from kermes import datasets, definiteness, divergences, kernels, pairwise, plot

X = datasets.load_digits()[:100].measures()
W = divergences.Wasserstein(p=1)
figure, axes = plt.subplots(1, 3, figsize=(13.0, 3.8), layout="constrained")
for ax, length_scale in zip(axes, (0.3, 1.0, 8.0), strict=True):
    plot.SpectrumDisplay.from_measures(X, kernels.Exponential(W, length_scale), ax=ax)
    ax.set_xlabel(f"number (length scale {length_scale:g})")

# %%
# Up to which length scale is the matrix positive definite? The distances are known already, so this costs little.

D = pairwise(X, divergence=W)
print(
    f"positive definite up to the length scale {definiteness.psd_length_scale(D):.2f}"
)

# %%
# A distance of negative type
# ---------------------------
# Sliced Wasserstein distances embed measures in a Hilbert space; the kernel is positive definite at every length scale.

sliced = divergences.SlicedWasserstein(p=2)
display = plot.SpectrumDisplay.from_measures(X, kernels.Exponential(sliced, 8.0))
print(sliced.claims(X.dim).reason)
plt.show()
