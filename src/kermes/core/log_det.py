"""Log-determinants of the covariance of the mean of two measures, for many pairs.

The mean of two measures with means m, m' and covariances C, C' has the covariance (C + C') / 2 + (m - m')(m - m')' / 4.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import tile_core


@tile_core
def half_log_det(matrix):
    """Return half the log-determinant of a positive definite matrix by Cholesky; its lower half is overwritten.

    A pivot that is not positive gives nan.
    """
    total = 0.0
    for r in range(matrix.shape[0]):
        for c in range(r):
            dot = matrix[r, c]
            for k in range(c):
                dot -= matrix[r, k] * matrix[c, k]
            matrix[r, c] = dot / matrix[c, c]
        pivot = matrix[r, r]
        for k in range(r):
            pivot -= matrix[r, k] * matrix[r, k]
        if not pivot > 0.0:
            return math.nan
        matrix[r, r] = math.sqrt(pivot)
        total += math.log(pivot)
    return 0.5 * total


@tile_core
def half_log_dets(covariances, out):
    """Fill out[i] = half the log-determinant of covariances[i]."""
    for i in range(len(out)):
        out[i] = half_log_det(covariances[i].copy())


@tile_core
def half_log_det_means(means_a, cov_a, rows, means_b, cov_b, cols, triangle, out):
    """Fill out[i, j] = half the log-determinant of the covariance of the mean of measures rows[i] and cols[j]."""
    d = means_a.shape[1]
    mixed = np.empty((d, d))
    for i in range(len(rows)):
        m, C = means_a[rows[i]], cov_a[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            n, D = means_b[cols[j]], cov_b[cols[j]]
            for r in range(d):
                for c in range(r + 1):
                    mixed[r, c] = 0.5 * (C[r, c] + D[r, c]) + 0.25 * (m[r] - n[r]) * (m[c] - n[c])
            out[i, j] = half_log_det(mixed)


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
