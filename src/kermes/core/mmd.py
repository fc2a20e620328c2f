"""Maximum mean discrepancies from inner products of mean embeddings, <mu, nu>_k = sum_ij a_i b_j k(x_i, y_j)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .exp import exp
from .ground_codes import GAUSSIAN
from .jit import inline_core, tile_core
from .points import Atoms, kernel_row, longest, squared, sum_row, values_row

#: Atoms of the second measure taken at once: 256 in 10-D are 20 KiB, which stay in the first cache.
CHUNK = 256


class Embedded(NamedTuple):
    """Measures and the squared norms <mu, mu>_k of their embeddings."""

    atoms: Atoms
    norms: FloatArray


@inline_core
def weighted_sum(ground, x, x_ids, s, y, y_ids, b, start, stop, buffer):
    """Return sum_t b_t k(x_s, y_t), t from ``start`` to ``stop``."""
    weights, total = b[start:stop], 0.0
    if ground.code == GAUSSIAN:
        # Exponentials are summed as they are computed; to store them first takes 10 % longer.
        sum_row(squared, x, s, y, start, stop, 0.0, buffer)
        gamma = ground.params[0]
        for t in range(stop - start):
            total += weights[t] * exp(-gamma * buffer[t])
        return total
    values_row(ground, x, x_ids, s, y, y_ids, start, stop, buffer)
    for t in range(stop - start):
        total += weights[t] * buffer[t]
    return total


@tile_core
def inner(ground, A, i, B, j, same, buffer):
    """Return the inner product of measure i of A with measure j of B; ``same`` says that they are one measure.

    Of one measure each pair of atoms is computed once.
    """
    x, a, x_offsets, x_ids = A
    y, b, y_offsets, y_ids = B
    last, total = y_offsets[j + 1], 0.0
    for start in range(y_offsets[j], last, CHUNK):
        stop = min(start + CHUNK, last)
        for s in range(start if same else x_offsets[i], x_offsets[i + 1]):
            end = min(s, stop) if same else stop
            row = weighted_sum(ground, x, x_ids, s, y, y_ids, b, start, end, buffer)
            if same:
                row *= 2.0
                if s < stop:
                    row += weighted_sum(ground, x, x_ids, s, y, y_ids, b, s, s + 1, buffer)
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
