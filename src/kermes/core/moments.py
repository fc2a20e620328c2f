"""Log-determinants of the covariance of the mean of two measures, for many pairs, from their moments.

The mean of two measures with means m, m' and covariances C, C' has the covariance (C + C') / 2 + (m - m')(m - m')' / 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .cholesky import factor, forward, pad
from .jit import strict_core, tile_core
from .points import padded


class Moments(NamedTuple):
    """Means + tails (n, d), covariances (n, d, d) and h (n,), a multiple of the log-determinant.

    Tails are what rounding took from the means; ``scale`` times the means are in the units of the covariances, and
    ``ridge`` times the identity is added to these.
    """

    means: FloatArray
    tails: FloatArray
    covariances: FloatArray
    values: FloatArray
    scale: float
    ridge: float


class Marginals(NamedTuple):
    """Means + tails (n, d), standard deviations (n, d) and h (n,), a multiple of the sum of the logs of variances."""

    means: FloatArray
    tails: FloatArray
    spreads: FloatArray
    values: FloatArray


@strict_core
def gap_of_means(m, m_tail, n, n_tail, scale, out):
    """Fill out = scale (m - n) for two means with their tails; sums must not be reordered."""
    for k in range(len(m)):
        out[k] = scale * ((m[k] - n[k]) + (m_tail[k] - n_tail[k]))


@tile_core
def mean_covariance(C, other, gap, ridge, L):
    """Fill the lower triangle of L, padded, with (C + C') / 2 + g g' + ridge I."""
    size = len(C)
    for a in range(size):
        for b in range(a + 1):
            L[a, b] = 0.5 * (C[a, b] + other[a, b]) + gap[a] * gap[b]
        L[a, a] += ridge
    pad(L, size, len(L))


@tile_core
def half_log_dets(covariances, ridge, out):
    """Fill out[i] = log det(C_i + ridge I) / 2; nan if it is not positive definite."""
    size = covariances.shape[1]
    side = padded(size)
    L, inverse = np.empty((side, side)), np.empty(side)
    for i in range(len(out)):
        for a in range(size):
            for b in range(a + 1):
                L[a, b] = covariances[i, a, b]
            L[a, a] += ridge
        pad(L, size, side)
        out[i] = 0.5 * factor(L, inverse, 0, side)


@tile_core
def half_log_det_means(A, rows, B, cols, triangle, skipped, out):
    """Fill out[i, j] = log det(C'' + ridge I) / 2, C'' the covariance of the mean of measures rows[i] and cols[j]."""
    means, tails, covariances, _, scale, ridge = A
    other_means, other_tails, other_covariances, _, _, _ = B
    size = means.shape[1]
    side = padded(size)
    L, inverse, gap = np.empty((side, side)), np.empty(side), np.empty(size)
    for i in range(len(rows)):
        m, m_tail, C = means[rows[i]], tails[rows[i]], covariances[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            if skipped[i, j]:
                continue
            col = cols[j]
            gap_of_means(m, m_tail, other_means[col], other_tails[col], 0.5 * scale, gap)
            mean_covariance(C, other_covariances[col], gap, ridge, L)
            out[i, j] = 0.5 * factor(L, inverse, 0, side)


@tile_core
def half_log_det_far_means(A, rows, B, cols, triangle, out):
    """`half_log_det_means` without a ridge, of means that may be far apart in units of the covariances.

    With M = (C + C') / 2 and g = (m - m') / 2 it is log det M + log(1 + g' M^-1 g): M + g g' keeps few digits of M.
    """
    size = A.means.shape[1]
    side = padded(size)
    L, inverse, gap, nothing = np.empty((side, side)), np.empty(side), np.zeros(side), np.zeros(size)
    for i in range(len(rows)):
        row = rows[i]
        for j in range(i + 1 if triangle else 0, len(cols)):
            col = cols[j]
            gap_of_means(A.means[row], A.tails[row], B.means[col], B.tails[col], 0.5, gap)
            mean_covariance(A.covariances[row], B.covariances[col], nothing, 0.0, L)
            value = factor(L, inverse, 0, side)
            out[i, j] = 0.5 * (value + math.log1p(forward(L, inverse, 0, side, gap)))


@tile_core
def log_variance_gaps(A, rows, B, cols, triangle, out):
    """Fill out[i, j] = sum_k ln(v''_k / sqrt(v_k v'_k)), v'' the variance of the mean of two measures along axis k.

    v'' = (v + v') / 2 + (m - m')^2 / 4 makes the ratio 1 + ((s - s')^2 / 2 + (m - m')^2 / 4) / (s s') with s = sqrt(v):
    nothing cancels, however close the measures are.
    """
    gap = np.empty(A.means.shape[1])
    for i in range(len(rows)):
        m, m_tail, s = A.means[rows[i]], A.tails[rows[i]], A.spreads[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            n, n_tail, t = B.means[cols[j]], B.tails[cols[j]], B.spreads[cols[j]]
            gap_of_means(m, m_tail, n, n_tail, 1.0, gap)
            total = 0.0
            for k in range(len(gap)):
                spread = s[k] - t[k]
                # Divided one by one: the product of two small standard deviations may underflow.
                total += math.log1p(0.5 * (spread / s[k]) * (spread / t[k]) + 0.25 * (gap[k] / s[k]) * (gap[k] / t[k]))
            out[i, j] = total
