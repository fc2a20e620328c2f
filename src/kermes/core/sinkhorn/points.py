"""Tiles from coordinates: the block of costs, hence of the Gibbs kernel, is computed for each pair."""

from __future__ import annotations

import numpy as np

from ..jit import strict_core
from ..status import RETRY
from .block import Block, atom_costs, buffers, fill_gibbs, fill_gibbs32, fill_side, scaled_value
from .structs import Gibbs


@strict_core
def fill_padded(cost, n, m, width, eps, gibbs):
    """Gibbs kernel of the costs [:n, :m]; zeros in the columns up to width, and a row n for padding."""
    K, KC = gibbs
    if K.itemsize == 4:
        fill_gibbs32(cost, n, m, eps, K, KC)
    else:
        fill_gibbs(cost, n, m, eps, K, KC)
    for r in range(n):
        for c in range(m, width):
            K[r, c] = KC[r, c] = 0
    for c in range(width):
        K[n, c] = 1
        KC[n, c] = 0


@strict_core
def tile_points(ground, like, A, rows, B, cols, options, out):
    """Plain scaling of the pairs (len(rows), len(cols)) whose status is RETRY; those it does not suit stay RETRY.

    `like`: an array of the type to iterate in; A and B ``points.Atoms``, their weights > 0.
    """
    dtype = like.dtype
    row_buffer, column_buffer = buffers(B.offsets, cols, dtype), buffers(A.offsets, rows, dtype)
    high, wide = row_buffer.shape[1], column_buffer.shape[1]
    cost, ids = np.empty((high, wide)), np.empty(high, np.int64)
    gibbs = Gibbs(np.empty((high + 1, wide), dtype), np.empty((high + 1, wide), dtype))
    for p in range(rows.size):
        columns = fill_side(column_buffer, A.weights[A.offsets[rows[p]] : A.offsets[rows[p] + 1]])
        for q in range(cols.size):
            if out.status[p, q] != RETRY:
                continue
            side = fill_side(row_buffer, B.weights[B.offsets[cols[q]] : B.offsets[cols[q] + 1]])
            atom_costs(ground, B, cols[q], A, rows[p], cost)
            fill_padded(cost, side.size, columns.size, columns.weights.size, options.epsilon, gibbs)
            for k in range(side.weights.size):
                ids[k] = min(k, side.size)
            block = Block(gibbs, ids[: side.weights.size], side, columns)
            out.values[p, q], out.status[p, q] = scaled_value(block, options)
