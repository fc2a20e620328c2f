"""Tiles on a shared support: the Gibbs kernel between its points is tabulated once."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray
from ..jit import strict_core
from ..status import RETRY
from .block import Block, buffers, fill_gibbs, fill_side, scaled_value
from .gap import bound_gap
from .structs import TRANSPORT, Gibbs


def gibbs_table(cost: FloatArray, eps: float, dtype: type) -> Gibbs:
    """Return the kernel for `tile_table`, from the (mA, mB) cost between the shared supports; stored transposed."""
    cost = np.ascontiguousarray(cost.T, dtype=np.float64)
    gibbs = Gibbs(np.empty(cost.shape, dtype), np.empty(cost.shape, dtype))
    fill_gibbs(cost, *cost.shape, eps, *gibbs)
    return gibbs


@strict_core
def used_atoms(B, cols, place):
    """Fill place (m,) with the rank of each atom among those the measures ``cols`` use (-1: none); returns how many."""
    for k in range(place.size):
        place[k] = -1
    for q in range(cols.size):
        for k in range(B.offsets[cols[q]], B.offsets[cols[q] + 1]):
            place[B.ids[k]] = 0
    count = 0
    for k in range(place.size):
        if place[k] == 0:
            place[k] = count
            count += 1
    return count


@strict_core
def gather_rows(table, place, ids, out, width, last):
    """out[place[k], c] = table[k, ids[c]] (0 in padded columns); the row after the last one is `last`, for padding."""
    n, count = ids.size, 0
    for k in range(place.size):
        if place[k] >= 0:
            src, dst = table[k], out[place[k]]
            for c in range(n):
                dst[c] = src[ids[c]]
            for c in range(n, width):
                dst[c] = 0
            count += 1
    for c in range(width):
        out[count, c] = last


@strict_core
def tile_table(gibbs, A, rows, B, cols, options, out):
    """Plain scaling of the pairs (len(rows), len(cols)) whose status is RETRY; those it does not suit stay RETRY.

    gibbs from `gibbs_table`; A and B ``points.Atoms``, numbered, their weights > 0.
    """
    dtype = gibbs.kernel.dtype
    row_buffer, column_buffer = buffers(B.offsets, cols, dtype), buffers(A.offsets, rows, dtype)
    high, wide = row_buffer.shape[1], column_buffer.shape[1]
    place, ids = np.empty(gibbs.kernel.shape[0], np.int64), np.empty(high, np.int64)
    count = used_atoms(B, cols, place)
    used = Gibbs(np.empty((count + 1, wide), dtype), np.empty((count + 1, wide), dtype))
    for p in range(rows.size):
        lo, end = A.offsets[rows[p]], A.offsets[rows[p] + 1]
        columns = fill_side(column_buffer, A.weights[lo:end])
        gather_rows(gibbs.kernel, place, A.ids[lo:end], used.kernel, columns.weights.size, 1)
        if options.value == TRANSPORT:
            gather_rows(gibbs.weighted, place, A.ids[lo:end], used.weighted, columns.weights.size, 0)
        for q in range(cols.size):
            if out.status[p, q] != RETRY:
                continue
            at, stop = B.offsets[cols[q]], B.offsets[cols[q] + 1]
            side = fill_side(row_buffer, B.weights[at:stop])
            for k in range(side.weights.size):
                ids[k] = place[B.ids[at + k]] if k < side.size else count
            block = Block(used, ids[: side.weights.size], side, columns)
            out.values[p, q], out.status[p, q] = scaled_value(block, options)
            bound_gap(out, 1, block, at, p, q)
