"""Small data and kernels that several tests share."""

import numpy as np

from kermes import Measures, divergences, ground, kernels


def clouds(n=24, n_classes=3, seed=0):
    """Return clouds in the plane around class centres, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    centres = 1.5 * np.stack([np.cos(2.0 * labels), np.sin(2.0 * labels)], axis=1)
    samples = [c + rng.normal(size=(rng.integers(2, 6), 2)) for c in centres]
    return Measures.from_samples(samples), labels


def euclidean(length_scale=1.0):
    """Return a kernel on clouds that is positive definite."""
    return kernels.Exponential(divergences.MMD(ground.Linear()), length_scale=length_scale)


def row_numbers(n):
    """Return the measures that ``Precomputed`` reads as rows 0, ..., n - 1."""
    return Measures.from_samples([[float(i)] for i in range(n)])


def indefinite_table(n=20, seed=0):
    """Return distances that are far from Euclidean, so that wide kernels are indefinite."""
    D = np.triu(np.random.default_rng(seed).uniform(0.1, 3.0, (n, n)), 1)
    return D + D.T


def indefinite(length_scale=2.0, n=20, seed=0):
    """Return a kernel on row numbers with a Gram matrix that has negative eigenvalues."""
    return kernels.Exponential(divergences.Precomputed(indefinite_table(n, seed)), length_scale=length_scale)
