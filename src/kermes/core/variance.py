"""Log-determinants of regularised covariances of measures and of means of two measures.

With w the weights of a measure and T = diag(s) K diag(s), s = sqrt(w / eta), K the *uncentred* kernel matrix of its
atoms, the centred determinant is

    det(I + Sigma / eta) = det(I + T) * eta * s' (I + T)^-1 s

(the matrix determinant lemma for the centring). In the mean of two measures the weights are halved and not mixed, so
that the block of the first one does not depend on the second: its Cholesky factor is computed once.
"""

from __future__ import annotations

import math

import numpy as np

from .cholesky import factor, forward, pad
from .jit import tile_core
from .points import kernel_row

#: In place of the code of a point kernel: values are looked up in a table by the numbers of the atoms.
TABLE = -1
#: The factor of s = sqrt(w / eta) in the mean of two measures, whose weights are halved.
HALF = math.sqrt(0.5)


@tile_core
def place_atoms(x, ids, s, first, last, scale, corner, stop, Z, Z_ids, Z_s):
    """Copy the atoms ``first`` to ``last`` of a measure to the places from ``corner`` on, s times ``scale``.

    The places up to ``stop`` are filled with atoms of weight 0, which make rows of the identity.
    """
    size = last - first
    for k in range(x.shape[0]):
        for a in range(size):
            Z[k, corner + a] = x[k, first + a]
        for a in range(corner + size, stop):
            Z[k, a] = 0.0
    for a in range(size):
        Z_ids[corner + a] = ids[first + a]
        Z_s[corner + a] = s[first + a] * scale
    for a in range(corner + size, stop):
        Z_ids[a] = 0
        Z_s[a] = 0.0


@tile_core
def extend(code, params, Z, Z_ids, Z_s, start, stop, A, inverse, z):
    """Extend the factor of I + T, T = diag(s) K diag(s), and z = L^-1 s by the rows ``start`` to ``stop``.

    ``params`` is the table (m, m) of kernel values if ``code`` is TABLE, else the parameters (1, n) of the kernel.
    Returns what the rows add to log det and to |z|^2.
    """
    for a in range(start, stop):
        row = A[a, : a + 1]
        if code == TABLE:
            values = params[Z_ids[a]]
            for b in range(a + 1):
                row[b] = values[Z_ids[b]]
        else:
            kernel_row(code, params[0], Z, a, Z, 0, a + 1, row)
        scale = Z_s[a]
        for b in range(a + 1):
            row[b] *= scale * Z_s[b]
        row[a] += 1.0
        z[a] = scale
    log_det = factor(A, inverse, start, stop)
    return log_det, forward(A, inverse, start, stop, z)


@tile_core
def prepare(code, params, x, ids, s, offsets, rows, eta, keep, places, factors, inverses, solved, halves, values):
    """For each measure: the factor of its halved block, and h = log det(I + Sigma / eta) / 2.

    ``halves`` gets log det and |z|^2 of the block with halved weights. Factors are stored at ``places`` if ``keep``.
    """
    side = widest(offsets, rows)
    A, inverse, z = np.empty((side, side)), np.empty(side), np.empty(side)
    Z, Z_ids, Z_s = np.empty((x.shape[0], side)), np.empty(side, dtype=np.int64), np.empty(side)
    for i in rows:
        start, stop = offsets[i], offsets[i + 1]
        end = (stop - start + 3) // 4 * 4
        place_atoms(x, ids, s, start, stop, 1.0, 0, end, Z, Z_ids, Z_s)
        log_det, square = extend(code, params, Z, Z_ids, Z_s, 0, end, A, inverse, z)
        values[i] = 0.5 * (log_det + np.log(eta * square))
        place_atoms(x, ids, s, start, stop, HALF, 0, end, Z, Z_ids, Z_s)
        halves[i, 0], halves[i, 1] = extend(code, params, Z, Z_ids, Z_s, 0, end, A, inverse, z)
        if keep:
            save(A, inverse, z, end, places[i, 0], places[i, 1], factors, inverses, solved)


@tile_core
def widest(offsets, rows):
    """Return the largest number of atoms of ``rows``, padded."""
    side = 0
    for i in rows:
        side = max(side, (offsets[i + 1] - offsets[i] + 3) // 4 * 4)
    return side


@tile_core
def save(A, inverse, z, side, first, corner, factors, inverses, solved):
    """Store a factor: vectors at ``first``, the square at ``corner``."""
    for a in range(side):
        inverses[first + a] = inverse[a]
        solved[first + a] = z[a]
        for b in range(a):
            factors[corner + a * side + b] = A[a, b]
        factors[corner + a * side + a] = 1.0 / inverse[a]


@tile_core
def load(A, inverse, z, side, first, corner, factors, inverses, solved):
    """Read what ``save`` stored into the leading block of A."""
    for a in range(side):
        inverse[a] = inverses[first + a]
        z[a] = solved[first + a]
        for b in range(a):
            A[a, b] = factors[corner + a * side + b]


@tile_core
def atoms_tile(
    code, params, eta,
    x, x_ids, x_s, x_offsets, rows, x_halves, keep, places, factors, inverses, solved,
    y, y_ids, y_s, y_offsets, cols, triangle, out,
):  # fmt: skip
    """out[i, j] = log det(I + Sigma / eta) / 2 of the mean of two measures, from all kernel values of both."""
    side = widest(x_offsets, rows) + widest(y_offsets, cols)
    A, inverse, z = np.empty((side, side)), np.empty(side), np.empty(side)
    Z, Z_ids, Z_s = np.empty((x.shape[0], side)), np.empty(side, dtype=np.int64), np.empty(side)
    for i in range(len(rows)):
        row = rows[i]
        start, stop = x_offsets[row], x_offsets[row + 1]
        corner = (stop - start + 3) // 4 * 4
        place_atoms(x, x_ids, x_s, start, stop, HALF, 0, corner, Z, Z_ids, Z_s)
        if keep:
            load(A, inverse, z, corner, places[row, 0], places[row, 1], factors, inverses, solved)
        else:
            extend(code, params, Z, Z_ids, Z_s, 0, corner, A, inverse, z)
        for j in range(i + 1 if triangle else 0, len(cols)):
            start, stop = y_offsets[cols[j]], y_offsets[cols[j] + 1]
            end = corner + (stop - start + 3) // 4 * 4
            place_atoms(y, y_ids, y_s, start, stop, HALF, corner, end, Z, Z_ids, Z_s)
            log_det, square = extend(code, params, Z, Z_ids, Z_s, corner, end, A, inverse, z)
            out[i, j] = 0.5 * (x_halves[row, 0] + log_det + np.log(eta * (x_halves[row, 1] + square)))


@tile_core
def support_row(P, u, eta, log_det, square, ids, s, offsets, cols, first, out):
    """out[j] = log det(I + Sigma / eta) / 2 of the mean of one measure and each of ``cols``, from ``first`` on.

    P (lower triangle) and u are the kernel and the constant 1 on the support, conditioned on the one measure:
    the Schur complement of its block in the pooled matrix is I + diag(s) P diag(s) / 2 over the atoms of the other.
    """
    width = widest(offsets, cols)
    A, inverse, z = np.empty((width, width)), np.empty(width), np.empty(width)
    for j in range(first, len(cols)):
        start, stop = offsets[cols[j]], offsets[cols[j] + 1]
        size = stop - start
        side = (size + 3) // 4 * 4
        for a in range(size):
            row = P[ids[start + a]]
            target = A[a]
            scale = 0.5 * s[start + a]
            for b in range(a + 1):
                target[b] = scale * s[start + b] * row[ids[start + b]]
            target[a] += 1.0
            z[a] = HALF * s[start + a] * u[ids[start + a]]
        pad(A, size, side)
        for a in range(size, side):
            z[a] = 0.0
        rest = factor(A, inverse, 0, side)
        out[j] = 0.5 * (log_det + rest + np.log(eta * (square + forward(A, inverse, 0, side, z))))


@tile_core
def moments_tile(means, covariances, rows, other_means, other_covariances, cols, triangle, out):
    """out[i, j] = log det(I + (C_i + C_j) / 2 + (m_i - m_j)(m_i - m_j)' / 4) / 2; everything is divided by eta."""
    size = means.shape[1]
    side = (size + 3) // 4 * 4
    A = np.empty((side, side))
    inverse = np.empty(side)
    gap = np.empty(size)
    for i in range(len(rows)):
        C = covariances[rows[i]]
        m = means[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            D = other_covariances[cols[j]]
            other = other_means[cols[j]]
            for a in range(size):
                gap[a] = 0.5 * (m[a] - other[a])
            for a in range(size):
                target, c, d = A[a], C[a], D[a]
                for b in range(a + 1):
                    target[b] = 0.5 * (c[b] + d[b]) + gap[a] * gap[b]
                target[a] += 1.0
            pad(A, size, side)
            out[i, j] = 0.5 * factor(A, inverse, 0, side)


@tile_core
def moments_values(covariances, out):
    """out[i] = log det(I + C_i) / 2."""
    size = covariances.shape[1]
    side = (size + 3) // 4 * 4
    A = np.empty((side, side))
    inverse = np.empty(side)
    for i in range(len(out)):
        for a in range(size):
            for b in range(a + 1):
                A[a, b] = covariances[i, a, b]
            A[a, a] += 1.0
        pad(A, size, side)
        out[i] = 0.5 * factor(A, inverse, 0, side)
