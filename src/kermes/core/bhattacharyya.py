r"""Bhattacharyya distances of regularised Gaussians, in R^d and in the feature space of a point kernel.

In feature space, with H = (S + S') / 2 + eta I and the weights a, b of the atoms, let N = I + T / eta for the kernel
matrix T of the pooled atoms, scaled by the roots of a / 2 and b / 2 from both sides (not centred), e = (sqrt a, 0),
e' = (0, sqrt b), and P the 2 x 2 matrix of the forms e N^-1 e, e N^-1 e', e' N^-1 e'. Then, by Woodbury's identity,

    det(H / eta) = det N det P        and        (m - m') H^-1 (m - m') = 2 (P^-1_11 + P^-1_22 - 2 P^-1_12 - 2).

So the Cholesky factor of N, with e and e' solved along as two more columns, gives everything. Its first block belongs
to the first measure alone.
"""

from __future__ import annotations

import numpy as np

from .jit import tile_core
from .points import kernel_row


@tile_core
def eliminate(M):
    """Turn M = [N | R], N symmetric of order len(M), into [U | U'^-1 R] with N = U'U, and return log det N.

    Only the upper triangle of N is read and written. N - I is positive semidefinite: all pivots are at least 1, and one
    below 1/2 is nothing but rounding; then the answer is nan.
    """
    width = M.shape[1]
    log_det = 0.0
    for p in range(len(M)):
        row = M[p]
        k = 0
        while k + 4 <= p:  # four rows at a time: fewer loads and stores
            c0, c1, c2, c3 = M[k, p], M[k + 1, p], M[k + 2, p], M[k + 3, p]
            r0, r1, r2, r3 = M[k], M[k + 1], M[k + 2], M[k + 3]
            for q in range(p, width):
                row[q] -= c0 * r0[q] + c1 * r1[q] + c2 * r2[q] + c3 * r3[q]
            k += 4
        while k < p:
            c0 = M[k, p]
            r0 = M[k]
            for q in range(p, width):
                row[q] -= c0 * r0[q]
            k += 1
        pivot = row[p]
        if not pivot > 0.5:
            return np.nan
        log_det += np.log(pivot)
        scale = 1.0 / np.sqrt(pivot)
        for q in range(p, width):
            row[q] *= scale
    return log_det


@tile_core
def fill_own(code, params, x, root, i0, i1, scale, M):
    """Fill the upper triangle of N = I + scale T of the atoms i0:i1, and their roots in the column beside it.

    ``root`` are the square roots of the weights; scale = 1 / eta for one measure, half of it in a pair.
    """
    n = i1 - i0
    for p in range(n):
        row = M[p, p:n]
        kernel_row(code, params, x, i0 + p, x, i0 + p, i1, row)
        factor = scale * root[i0 + p]
        for q in range(n - p):
            row[q] *= factor * root[i0 + p + q]
        row[0] += 1.0
        M[p, n] = root[i0 + p]


@tile_core
def column_form(M, u, v):
    """Return the inner product of two columns."""
    total = 0.0
    for k in range(len(M)):
        total += M[k, u] * M[k, v]
    return total


@tile_core
def single(code, params, x, root, offsets, rows, eta, out):
    """Fill out[i] = log det(I + S / eta) for the covariance operators S of the measures ``rows``."""
    for i in rows:
        n = offsets[i + 1] - offsets[i]
        M = np.empty((n, n + 1))
        fill_own(code, params, x, root, offsets[i], offsets[i + 1], 1.0 / eta, M)
        log_det = eliminate(M)
        out[i] = log_det + np.log(column_form(M, n, n))


@tile_core
def factor_own(code, params, x, root, i0, i1, scale):
    """Return L^-1, L^-1 sqrt(a) and log det of the block N = LL' of one measure in a pair."""
    n = i1 - i0
    M = np.zeros((n, 2 * n + 1))
    fill_own(code, params, x, root, i0, i1, scale, M)
    for p in range(n):
        M[p, n + 1 + p] = 1.0
    log_det = eliminate(M)
    return M[:, n + 1 :].copy(), M[:, n].copy(), log_det


@tile_core
def fill_cross(code, params, x, root_x, i0, i1, y, root_y, j0, j1, scale, out):
    """Fill the block of N between the atoms j0:j1 of y (rows) and i0:i1 of x (columns)."""
    for p in range(j1 - j0):
        row = out[p]
        kernel_row(code, params, y, j0 + p, x, i0, i1, row)
        factor = scale * root_y[j0 + p]
        for q in range(i1 - i0):
            row[q] *= factor * root_x[i0 + q]


@tile_core
def subtract(M, product):
    """Subtract a symmetric product from the upper triangle of M."""
    for p in range(len(product)):
        for q in range(p, len(product)):
            M[p, q] -= product[p, q]


@tile_core
def distance(p11, p12, p22, log_det):
    """Return log det(H / eta) / 2 + (m - m') H^-1 (m - m') / 8 from P and log det N."""
    det = p11 * p22 - p12 * p12
    return 0.5 * (log_det + np.log(det)) + 0.25 * ((p11 + p22 + 2.0 * p12) / det - 2.0)


@tile_core
def kernel_tile(code, params, x, root_x, off_x, log_x, rows, y, root_y, off_y, log_y, cols, eta, triangle, out):
    """Fill out[i, j] with Bhattacharyya distances in the feature space of a point kernel.

    With W = L^-1 N_12 for the factor L of the first block, the second block becomes N_22 - W'W; e = (sqrt a, 0) becomes
    (z, -W'z) with z = L^-1 sqrt(a), and e' stays (0, sqrt b). Products are left to BLAS: at 80 atoms it does them six
    times as fast as loops here.
    """
    scale = 0.5 / eta
    for i in range(len(rows)):
        i0 = off_x[rows[i]]
        i1 = off_x[rows[i] + 1]
        inverse, z, log_own = factor_own(code, params, x, root_x, i0, i1, scale)
        norm = np.dot(z, z)
        for j in range(i + 1 if triangle else 0, len(cols)):
            j0 = off_y[cols[j]]
            j1 = off_y[cols[j] + 1]
            m = j1 - j0
            cross = np.empty((m, i1 - i0))
            fill_cross(code, params, x, root_x, i0, i1, y, root_y, j0, j1, scale, cross)
            solved = np.dot(cross, inverse.T)  # W'
            M = np.empty((m, m + 2))
            fill_own(code, params, y, root_y, j0, j1, scale, M)
            subtract(M, np.dot(solved, solved.T))
            M[:, m + 1] = -np.dot(solved, z)
            log_det = log_own + eliminate(M)
            p11 = norm + column_form(M, m + 1, m + 1)
            p12 = column_form(M, m + 1, m)
            p22 = column_form(M, m, m)
            out[i, j] = distance(p11, p12, p22, log_det) - 0.25 * (log_x[rows[i]] + log_y[cols[j]])


@tile_core
def gaussian_single(covariances, out):
    """Fill out[i] = log det(I + C) for matrices C = S / eta."""
    for i in range(len(covariances)):
        M = covariances[i].copy()
        for p in range(len(M)):
            M[p, p] += 1.0
        out[i] = eliminate(M)


@tile_core
def gaussian_tile(means_x, cov_x, log_x, rows, means_y, cov_y, log_y, cols, triangle, out):
    """Fill out[i, j] with Bhattacharyya distances of Gaussians on R^d; means / sqrt(eta), covariances / eta."""
    d = means_x.shape[1]
    M = np.empty((d, d + 1))
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            mx = means_x[rows[i]]
            my = means_y[cols[j]]
            cx = cov_x[rows[i]]
            cy = cov_y[cols[j]]
            for p in range(d):
                for q in range(p, d):
                    M[p, q] = 0.5 * (cx[p, q] + cy[p, q])
                M[p, p] += 1.0
                M[p, d] = mx[p] - my[p]
            log_det = eliminate(M)
            out[i, j] = 0.5 * log_det + 0.125 * column_form(M, d, d) - 0.25 * (log_x[rows[i]] + log_y[cols[j]])
