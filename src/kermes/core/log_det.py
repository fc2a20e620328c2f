"""Log-determinants of the covariance of the mean of two measures, for many pairs.

The mean of two measures with means m, m' and covariances C, C' has the covariance (C + C') / 2 + (m - m')(m - m')' / 4.
"""

from __future__ import annotations

import math

import numpy as np

from .cholesky import factor, pad
from .jit import tile_core


@tile_core
def half_log_dets(covariances, ridge, out):
    """Fill out[i] = log det(C_i + ridge I) / 2; nan if it is not positive definite."""
    size = covariances.shape[1]
    side = (size + 3) // 4 * 4
    A, inverse = np.empty((side, side)), np.empty(side)
    for i in range(len(out)):
        for a in range(size):
            for b in range(a + 1):
                A[a, b] = covariances[i, a, b]
            A[a, a] += ridge
        pad(A, size, side)
        out[i] = 0.5 * factor(A, inverse, 0, side)


@tile_core
def half_log_det_means(means_a, cov_a, rows, means_b, cov_b, cols, ridge, triangle, out):
    """Fill out[i, j] = log det(C'' + ridge I) / 2, C'' the covariance of the mean of measures rows[i] and cols[j]."""
    size = means_a.shape[1]
    side = (size + 3) // 4 * 4
    A, inverse, gap = np.empty((side, side)), np.empty(side), np.empty(size)
    for i in range(len(rows)):
        m, C = means_a[rows[i]], cov_a[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            n, D = means_b[cols[j]], cov_b[cols[j]]
            for a in range(size):
                gap[a] = 0.5 * (m[a] - n[a])
            for a in range(size):
                target, c, d = A[a], C[a], D[a]
                for b in range(a + 1):
                    target[b] = 0.5 * (c[b] + d[b]) + gap[a] * gap[b]
                target[a] += ridge
            pad(A, size, side)
            out[i, j] = 0.5 * factor(A, inverse, 0, side)


@tile_core
def log_variance_gaps(means_a, std_a, rows, means_b, std_b, cols, triangle, out):
    """Fill out[i, j] = sum_k ln(v''_k / sqrt(v_k v'_k)), v'' the variance of the mean of two measures along axis k.

    v'' = (v + v') / 2 + (m - m')^2 / 4 makes the ratio 1 + ((s - s')^2 / 2 + (m - m')^2 / 4) / (s s') with s = sqrt(v):
    nothing cancels, however close the measures are.
    """
    d = means_a.shape[1]
    for i in range(len(rows)):
        m, s = means_a[rows[i]], std_a[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            n, t = means_b[cols[j]], std_b[cols[j]]
            total = 0.0
            for k in range(d):
                spread, gap = s[k] - t[k], m[k] - n[k]
                # Divided one by one: the product of two small deviations may underflow.
                total += math.log1p(0.5 * (spread / s[k]) * (spread / t[k]) + 0.25 * (gap / s[k]) * (gap / t[k]))
            out[i, j] = total
