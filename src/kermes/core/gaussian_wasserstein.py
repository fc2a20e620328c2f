"""Wasserstein distances of Gaussians; their coupling term is the nuclear norm of many small matrices.

One-sided Jacobi: rows are rotated in pairs until they are orthogonal; their norms are then the singular values, each
with high relative accuracy. The sum of the norms of rows whose cosines are below c is off by a fraction c^2 only, so
that two or three sweeps are enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .centred_atoms import centred_block
from .jit import tile_core
from .moments import gap_of_means
from .points import longest, padded
from .status import OK, UNCONVERGED

#: Squared cosine from which a pair of rows is rotated. Two rows at the cosine c are off by c^2 / 8 of the sum of their
#: norms, p rows by p c^2 / 8 of the nuclear norm: below 1e-13 for the 64 rows that are not left to LAPACK.
COSINE = 1e-14
#: Rows of less than this fraction of the squared largest norm do not count.
NEGLIGIBLE = 1e-28
SWEEPS = 40
#: Entries between these have squares whose products are normal numbers, and so have all that count beside them.
SMALL, LARGE = 1e-50, 1e70


class CovarianceFactors(NamedTuple):
    """Means + tails (n, r), traces, and factors of the covariances, S = F'F: rows offsets[i] to offsets[i + 1] of F."""

    means: FloatArray
    tails: FloatArray
    traces: FloatArray
    factors: FloatArray
    offsets: IndexArray


@tile_core
def dot(x, y, n):
    """Return the inner product of two vectors of length n."""
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


@tile_core
def rotate(x, y, n, cosine, sine):
    """Rotate two rows."""
    for k in range(n):
        a, b = x[k], y[k]
        x[k] = cosine * a - sine * b
        y[k] = sine * a + cosine * b


@tile_core
def nuclear_norm(V, squares, p, columns):
    """Return the sum of the singular values of V (p, columns) and whether it converged.

    V is overwritten, up to a multiple of 4 columns, which are filled with zeros.
    """
    q = padded(columns)
    top = 0.0
    for i in range(p):
        for k in range(columns):
            top = max(top, abs(V[i, k]))
        for k in range(columns, q):
            V[i, k] = 0.0
    unit = 1.0
    if 0.0 < top < SMALL or top > LARGE:  # squares would underflow or overflow
        unit = top
        for i in range(p):
            for k in range(columns):
                V[i, k] /= unit
    converged = False
    for _ in range(SWEEPS):
        if converged:
            break
        converged = True
        largest = 0.0
        for i in range(p):  # afresh: the updates below cancel where rows were nearly parallel
            squares[i] = dot(V[i], V[i], q)
            largest = max(largest, squares[i])
        for i in range(p - 1):
            for j in range(i + 1, p):
                a, b = squares[i], squares[j]
                if min(a, b) <= NEGLIGIBLE * largest:
                    continue
                c = dot(V[i], V[j], q)
                if c * c <= COSINE * a * b:
                    continue
                converged = False
                # tan(2 phi) = 2 c / (b - a), with the shortest chain of divisions and roots: a sixth of the time.
                gap = b - a
                root = np.sqrt(gap * gap + 4.0 * c * c)
                t = 2.0 * c / (gap + root if gap >= 0.0 else gap - root)
                cosine = np.sqrt(0.5 + 0.5 * abs(gap) / root)
                rotate(V[i], V[j], q, cosine, cosine * t)
                squares[i] = a - t * c
                squares[j] = b + t * c
    total = 0.0
    for i in range(p):
        total += np.sqrt(dot(V[i], V[i], q))
    return unit * total, converged


@tile_core
def inner_products(A, i, B, j, V):
    """V[a, b] = <F_a, G_b> for the factors of measure i of A and j of B."""
    start, first = A.offsets[i], B.offsets[j]
    for a in range(A.offsets[i + 1] - start):
        target, x = V[a], A.factors[start + a]
        for b in range(B.offsets[j + 1] - first):
            target[b] = dot(x, B.factors[first + b], A.factors.shape[1])


@tile_core
def features_tile(A, rows, B, cols, triangle, out, status):
    """out[i, j] = |m - m'|^2 + tr S + tr S' - 2 |F G'|_* from explicit ``CovarianceFactors``."""
    side = max(longest(A.offsets, rows), longest(B.offsets, cols)) + 3
    V, squares, delta = np.zeros((side, side)), np.empty(side), np.empty(A.means.shape[1])
    for i in range(len(rows)):
        row = rows[i]
        p = A.offsets[row + 1] - A.offsets[row]
        for j in range(i + 1 if triangle else 0, len(cols)):
            col = cols[j]
            q = B.offsets[col + 1] - B.offsets[col]
            gap_of_means(A.means[row], A.tails[row], B.means[col], B.tails[col], 1.0, delta)
            gap = dot(delta, delta, len(delta))
            if p <= q:  # the smaller side are the rows to rotate
                inner_products(A, row, B, col, V)
            else:
                inner_products(B, col, A, row, V)
            norm, converged = nuclear_norm(V, squares, min(p, q), max(p, q))
            out[i, j] = gap + A.traces[row] + B.traces[col] - 2.0 * norm
            status[i, j] = OK if converged else UNCONVERGED


@tile_core
def atoms_tile(ground, A, rows, B, cols, triangle, out, status):
    """out[i, j] = |m - m'|^2 + tr S + tr S' - 2 |F'G|_* from ``CentredAtoms``."""
    side = max(longest(A.offsets, rows), longest(B.offsets, cols)) + 3
    V, squares, u, v = np.zeros((side, side)), np.empty(side), np.empty(side), np.empty(side)
    for i in range(len(rows)):
        row = rows[i]
        p = A.offsets[row + 1] - A.offsets[row]
        for j in range(i + 1 if triangle else 0, len(cols)):
            col = cols[j]
            q = B.offsets[col + 1] - B.offsets[col]
            # The smaller side are the rows to rotate.
            x, m, y, n = (A, row, B, col) if p <= q else (B, col, A, row)
            inner = centred_block(ground, x, m, y, n, V, u, v)
            norm, converged = nuclear_norm(V, squares, min(p, q), max(p, q))
            gap = A.norms[row] + B.norms[col] - 2.0 * inner
            out[i, j] = gap + A.traces[row] + B.traces[col] - 2.0 * norm
            status[i, j] = OK if converged else UNCONVERGED
