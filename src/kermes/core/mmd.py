"""Inner products of mean embeddings: <mu, nu>_k = sum_ij a_i b_j k(x_i, y_j)."""

from __future__ import annotations

import numpy as np

from .jit import tile_core
from .points import kernel_row


@tile_core
def inner(code, params, x, a, i0, i1, y, b, j0, j1, buffer):
    """Return the inner product of the atoms i0:i1 of (x, a) with the atoms j0:j1 of (y, b)."""
    total = 0.0
    for i in range(i0, i1):
        kernel_row(code, params, x, i, y, j0, j1, buffer)
        row = 0.0
        for j in range(j1 - j0):
            row += b[j0 + j] * buffer[j]
        total += a[i] * row
    return total


@tile_core
def self_products(code, params, x, a, offsets, rows, out):
    """Fill out[i] = <mu_i, mu_i>_k for i in rows."""
    buffer = np.empty(np.max(np.diff(offsets)))
    for i in rows:
        i0 = offsets[i]
        i1 = offsets[i + 1]
        out[i] = inner(code, params, x, a, i0, i1, x, a, i0, i1, buffer)


@tile_core
def tile(code, params, x, a, off_a, norm_a, rows, y, b, off_b, norm_b, cols, triangle, out):
    """Fill out[i, j] = MMD^2 = <mu, mu> + <nu, nu> - 2 <mu, nu>."""
    buffer = np.empty(np.max(np.diff(off_b)))
    for i in range(len(rows)):
        i0 = off_a[rows[i]]
        i1 = off_a[rows[i] + 1]
        for j in range(i + 1 if triangle else 0, len(cols)):
            j0 = off_b[cols[j]]
            j1 = off_b[cols[j] + 1]
            cross = inner(code, params, x, a, i0, i1, y, b, j0, j1, buffer)
            out[i, j] = norm_a[rows[i]] + norm_b[cols[j]] - 2.0 * cross
