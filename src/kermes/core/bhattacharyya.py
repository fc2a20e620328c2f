r"""Bhattacharyya distances of regularised Gaussians, in R^d and in the feature space of a point kernel.

In feature space, with H = (S + S') / 2 + eta I and the weights a, b of the atoms, let N = I + T / eta for the kernel
matrix T of the pooled atoms, scaled by the roots of a / 2 and b / 2 from both sides (not centred), e = (sqrt a, 0),
e' = (0, sqrt b), and P the 2 x 2 matrix of the forms e N^-1 e, e N^-1 e', e' N^-1 e'. Then, by Woodbury's identity,

    det(H / eta) = det N det P        and        (m - m') H^-1 (m - m') = 2 (P^-1_11 + P^-1_22 - 2 P^-1_12 - 2).

So the Cholesky factor of N, and e and e' solved with it, give everything. Its first block belongs to the first measure
alone; with it is prepared log det(I + S / eta), as for the generalised variance.
"""

from __future__ import annotations

import numpy as np

from .cholesky import factor, forward, pad
from .jit import tile_core
from .variance import HALF, extend, place_atoms, start_row, widest


@tile_core
def distance(p11, p12, p22, log_det):
    """Return log det(H / eta) / 2 + (m - m') H^-1 (m - m') / 8 from P and log det N."""
    det = p11 * p22 - p12 * p12
    return 0.5 * (log_det + np.log(det)) + 0.25 * ((p11 + p22 + 2.0 * p12) / det - 2.0)


@tile_core
def kernel_tile(
    code, params, eta,
    x, x_ids, x_s, x_offsets, x_halves, x_values, keep, places, factors, inverses, solved, rows,
    y, y_ids, y_s, y_offsets, y_values, cols, triangle, out,
):  # fmt: skip
    """Fill out[i, j] with Bhattacharyya distances in feature space; ``values`` are log det(I + S / eta) / 2."""
    side = widest(x_offsets, rows) + widest(y_offsets, cols)
    A, inverse, first, second = np.empty((side, side)), np.empty(side), np.empty(side), np.empty(side)
    Z, Z_ids, Z_s = np.empty((x.shape[0], side)), np.empty(side, dtype=np.int64), np.empty(side)
    scale = 2.0 * eta  # e = sqrt(2 eta) s
    for i in range(len(rows)):
        row = rows[i]
        corner = start_row(
            code, params, x, x_ids, x_s, x_offsets, row, keep, places, factors, inverses, solved,
            Z, Z_ids, Z_s, A, inverse, first,
        )  # fmt: skip
        second[:corner] = 0.0
        for j in range(i + 1 if triangle else 0, len(cols)):
            start, stop = y_offsets[cols[j]], y_offsets[cols[j] + 1]
            end = corner + (stop - start + 3) // 4 * 4
            place_atoms(y, y_ids, y_s, start, stop, HALF, corner, end, Z, Z_ids, Z_s)
            log_det = x_halves[row, 0] + extend(code, params, Z, Z_ids, Z_s, corner, end, A, inverse)
            first[corner:end] = 0.0
            second[corner:end] = Z_s[corner:end]
            p11 = scale * (x_halves[row, 1] + forward(A, inverse, corner, end, first))
            p22 = scale * forward(A, inverse, corner, end, second)
            p12 = 0.0
            for a in range(corner, end):
                p12 += scale * first[a] * second[a]
            out[i, j] = distance(p11, p12, p22, log_det) - 0.5 * (x_values[row] + y_values[cols[j]])


@tile_core
def gaussian_tile(means_x, cov_x, values_x, rows, means_y, cov_y, values_y, cols, triangle, out):
    """Fill out[i, j] with Bhattacharyya distances of Gaussians on R^d; means / sqrt(eta), covariances / eta."""
    size = means_x.shape[1]
    side = (size + 3) // 4 * 4
    A, inverse, gap = np.empty((side, side)), np.empty(side), np.zeros(side)
    for i in range(len(rows)):
        m, C = means_x[rows[i]], cov_x[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            n, D = means_y[cols[j]], cov_y[cols[j]]
            for a in range(size):
                for b in range(a + 1):
                    A[a, b] = 0.5 * (C[a, b] + D[a, b])
                A[a, a] += 1.0
                gap[a] = m[a] - n[a]
            pad(A, size, side)
            log_det = factor(A, inverse, 0, side)
            square = forward(A, inverse, 0, size, gap)
            out[i, j] = 0.5 * log_det + 0.125 * square - 0.5 * (values_x[rows[i]] + values_y[cols[j]])
