"""Maximum mean discrepancies from inner products of mean embeddings, <mu, nu>_k = sum_ij a_i b_j k(x_i, y_j)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .jit import tile_core
from .points import Atoms, longest, values_row


class Embedded(NamedTuple):
    """Measures and the squared norms <mu, mu>_k of their embeddings."""

    atoms: Atoms
    norms: FloatArray


@tile_core
def inner(ground, A, i, B, j, buffer):
    """Return the inner product of measure i of A with measure j of B."""
    x, a, x_offsets, x_ids = A
    y, b, y_offsets, y_ids = B
    start, stop = y_offsets[j], y_offsets[j + 1]
    total = 0.0
    for s in range(x_offsets[i], x_offsets[i + 1]):
        values_row(ground, x, x_ids, s, y, y_ids, start, stop, buffer)
        row = 0.0
        for t in range(stop - start):
            row += b[start + t] * buffer[t]
        total += a[s] * row
    return total


@tile_core
def norms(ground, A, rows, out):
    """Fill out[i] = <mu_i, mu_i>_k for i in rows."""
    buffer = np.empty(longest(A.offsets, rows))
    for i in rows:
        out[i] = inner(ground, A, i, A, i, buffer)


@tile_core
def tile(ground, A, rows, B, cols, triangle, out):
    """Fill out[i, j] = MMD^2 = <mu, mu> + <nu, nu> - 2 <mu, nu>."""
    buffer = np.empty(longest(B.atoms.offsets, cols))
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            cross = inner(ground, A.atoms, rows[i], B.atoms, cols[j], buffer)
            out[i, j] = A.norms[rows[i]] + B.norms[cols[j]] - 2.0 * cross
