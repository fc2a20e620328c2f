"""
A kernel that is not positive definite
======================================

Transport distances in the plane are not of negative type: exp(-W^2 / (2 l^2)) may have negative eigenvalues. Up to
a certain length scale it has none; beyond, a least-squares support vector machine still has a unique solution, and
features of the positive part serve any linear model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from kermes import (
    KernelFeatures,
    LSSVMClassifier,
    datasets,
    definiteness,
    divergences,
    kernels,
    pairwise,
)

digits = datasets.load_digits()[:300]
X, y = digits.measures(), digits.target
W = divergences.Sinkhorn(epsilon=0.4, cost="euclidean")
D = pairwise(X, divergence=W)
median = np.median(D[np.triu_indices_from(D, 1)])
largest = definiteness.psd_length_scale(D)
print(f"semidefinite up to length scale {largest:.2f}; median distance {median:.2f}")

# %%
# The least eigenvalue of the kernel matrix against the length scale.

length_scales = np.geomspace(0.2, 3, 25) * median
least = [
    np.linalg.eigvalsh(np.exp(-(D**2) / (2 * length**2)))[0] for length in length_scales
]
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.semilogx(length_scales, least, marker=".")
axes.axvline(largest, color="black", ls="--", label="psd_length_scale")
axes.axhline(0, color="grey", lw=0.8)
axes.set(xlabel="length scale", ylabel="least eigenvalue")
axes.legend()

# %%
# Both learners take the indefinite kernel.

kernel = kernels.Exponential(W, length_scale=median)
print(definiteness.spectrum(kernel(X)))
for name, model in {
    "LS-SVM on the matrix as it is": LSSVMClassifier(kernel, gamma=100.0),
    "features of its positive part": make_pipeline(
        KernelFeatures(kernel), LogisticRegression(C=100.0, max_iter=1000)
    ),
}.items():
    print(f"{name}: {cross_val_score(model, X, y, cv=3).mean():.1%} right")
