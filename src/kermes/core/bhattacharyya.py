r"""Bhattacharyya distances of regularised Gaussians, in R^d and in the feature space of a point kernel.

In feature space, with H = (S + S') / 2 + ridge I and the weights a, b of the atoms, let N = I + T / ridge for the
kernel matrix T of the pooled atoms, scaled by the roots of a / 2 and b / 2 from both sides (not centred),
e = (sqrt a, 0), e' = (0, sqrt b), and P the 2 x 2 matrix of the forms e N^-1 e, e N^-1 e', e' N^-1 e'. Then, by
Woodbury's identity,

    det(H / ridge) = det N det P        and        (m - m') H^-1 (m - m') = 2 (P^-1_11 + P^-1_22 - 2 P^-1_12 - 2).

So the Cholesky factor of N, and e and e' solved with it, give everything. Its first block belongs to the first measure
alone; with it is prepared log det(I + S / ridge), as for the generalised variance.
"""

from __future__ import annotations

import numpy as np

from .cholesky import factor, forward
from .generalized_variance import extend, place_second, start_row, workspace
from .jit import tile_core
from .moments import gap_of_means, mean_covariance
from .points import longest, padded


@tile_core
def distance(p11, p12, p22, log_det):
    """Return log det(H / ridge) / 2 + (m - m') H^-1 (m - m') / 8 from P and log det N."""
    det = p11 * p22 - p12 * p12
    return 0.5 * (log_det + np.log(det)) + 0.25 * ((p11 + p22 + 2.0 * p12) / det - 2.0)


@tile_core
def atoms_tile(ground, A, rows, B, cols, triangle, out):
    """Fill out[i, j] with Bhattacharyya distances in feature space, from the ``Factors`` of measures."""
    side = padded(longest(A.offsets, rows)) + padded(longest(B.offsets, cols))
    work, second = workspace(A.coordinates.shape[0], side), np.empty(side)
    first = work.z
    scale = 2.0 * A.ridge  # e = sqrt(2 ridge) s
    for i in range(len(rows)):
        row = rows[i]
        corner = start_row(ground, A, row, work)
        second[:corner] = 0.0
        for j in range(i + 1 if triangle else 0, len(cols)):
            end = place_second(ground, B, cols[j], corner, work)
            log_det = A.halves[row, 0] + extend(corner, end, work)
            first[corner:end] = 0.0
            second[corner:end] = work.scales[corner:end]
            p11 = scale * (A.halves[row, 1] + forward(work.L, work.inverse, corner, end, first))
            p22 = scale * forward(work.L, work.inverse, corner, end, second)
            p12 = 0.0
            for a in range(corner, end):
                p12 += scale * first[a] * second[a]
            out[i, j] = distance(p11, p12, p22, log_det) - 0.5 * (A.values[row] + B.values[cols[j]])


@tile_core
def moments_tile(A, rows, B, cols, triangle, skipped, out):
    """Fill out[i, j] with Bhattacharyya distances of Gaussians on R^d, from ``Moments`` in units of the ridge."""
    means, tails, covariances, values, scale, ridge = A
    other_means, other_tails, other_covariances, other_values, _, _ = B
    size = means.shape[1]
    side = padded(size)
    L, inverse, gap, nothing = np.empty((side, side)), np.empty(side), np.zeros(side), np.zeros(size)
    for i in range(len(rows)):
        m, m_tail, C = means[rows[i]], tails[rows[i]], covariances[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            if skipped[i, j]:
                continue
            col = cols[j]
            gap_of_means(m, m_tail, other_means[col], other_tails[col], scale, gap)
            mean_covariance(C, other_covariances[col], nothing, ridge, L)
            log_det = factor(L, inverse, 0, side)
            square = forward(L, inverse, 0, size, gap)
            out[i, j] = 0.5 * log_det + 0.125 * square - 0.5 * (values[rows[i]] + other_values[col])
