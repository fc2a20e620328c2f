"""Maximum mean discrepancies from inner products of mean embeddings, <mu, nu>_k = sum_ij a_i b_j k(x_i, y_j)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .exp import exp
from .jit import tile_core
from .points import Atoms, kernel_row, longest, values_row


class Embedded(NamedTuple):
    """Measures and the squared norms <mu, mu>_k of their embeddings."""

    atoms: Atoms
    norms: FloatArray


@tile_core
def inner(ground, A, i, B, j, same, buffer):
    """Return the inner product of measure i of A with measure j of B; ``same`` says that they are one measure.

    Of one measure each pair of atoms is computed once.
    """
    x, a, x_offsets, x_ids = A
    y, b, y_offsets, y_ids = B
    start, stop = y_offsets[j], y_offsets[j + 1]
    total = 0.0
    for s in range(x_offsets[i], x_offsets[i + 1]):
        end = s + 1 if same else stop
        values_row(ground, x, x_ids, s, y, y_ids, start, end, buffer)
        row = 0.0
        for t in range(end - start):
            row += b[start + t] * buffer[t]
        if same:
            row = 2.0 * row - b[s] * buffer[s - start]
        total += a[s] * row
    return total


@tile_core
def norms(ground, A, rows, out):
    """Fill out[i] = <mu_i, mu_i>_k for i in rows."""
    buffer = np.empty(longest(A.offsets, rows))
    for i in rows:
        out[i] = inner(ground, A, i, A, i, True, buffer)


@tile_core
def tile(ground, A, rows, B, cols, triangle, left, right, out):
    """Fill out[i, j] = MMD^2 = <mu, mu> + <nu, nu> - 2 <mu, nu> where left[i] or right[j]."""
    buffer = np.empty(longest(B.atoms.offsets, cols))
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            if left[i] or right[j]:
                cross = inner(ground, A.atoms, rows[i], B.atoms, cols[j], False, buffer)
                out[i, j] = A.norms[rows[i]] + B.norms[cols[j]] - 2.0 * cross


@tile_core
def against(code, params, A, rows, pivots, out):
    """Fill out[i, p] = sum_j a_j k(pivot_p, x_j) for i in rows; pivots (d, r)."""
    buffer = np.empty(longest(A.offsets, rows))
    for i in rows:
        start, stop = A.offsets[i], A.offsets[i + 1]
        weights = A.weights[start:stop]
        for p in range(pivots.shape[1]):
            kernel_row(code, params, pivots, p, A.coordinates, start, stop, buffer)
            total = 0.0
            for j in range(stop - start):
                total += weights[j] * buffer[j]
            out[i, p] = total


@tile_core
def gaussian_sums(gamma, products, x_squares, a, y_squares, b, offsets, out):
    """Fill out[j] = sum_st a_s b_t exp(-gamma |x_s - y_t|^2), t in offsets[j]:offsets[j + 1], from <x_s, y_t>."""
    for j in range(len(out)):
        start, stop = offsets[j], offsets[j + 1]
        squares, weights = y_squares[start:stop], b[start:stop]
        total = 0.0
        for s in range(len(a)):
            inner, own, row = products[s, start:stop], x_squares[s], 0.0
            for t in range(stop - start):
                row += weights[t] * exp(-gamma * max(own + squares[t] - 2.0 * inner[t], 0.0))
            total += a[s] * row
        out[j] = total
