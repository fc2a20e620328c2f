"""Gaussian processes by the definitions, with NumPy's general solvers."""

import numpy as np


def gram(F, scales, variance):
    return variance * np.exp(-0.5 * (F / np.asarray(scales) ** 2).sum(axis=2))


def negative_log_likelihood(K, y):
    """-log p(y); nan if the determinant is not positive. K may be indefinite or asymmetric."""
    sign, log_det = np.linalg.slogdet(K)
    if sign <= 0:
        return np.nan
    return 0.5 * (y @ np.linalg.solve(K, y) + log_det + len(y) * np.log(2 * np.pi))
