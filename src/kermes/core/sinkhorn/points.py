"""Tiles from coordinates: the block of costs, hence of the Gibbs kernel, is computed for each pair."""

from __future__ import annotations

import numpy as np

from ..exp import exp32
from ..ground_codes import EUCLIDEAN, SQEUCLIDEAN
from ..jit import strict_core, tile_core
from ..points import TABLE, cost_row
from ..status import RETRY
from .block import Block, atom_costs, buffers, fill_gibbs, fill_gibbs32, fill_side, scaled_value
from .gap import bound_gap
from .loop import f4
from .structs import Gibbs

#: Costs are computed in float32 if that changes no exponent by more than this part of the tolerance.
NEGLIGIBLE = 0.01
#: What rounding of two coordinates to float32 makes of their difference, in units of the largest.
ROUNDING = 1.2e-7
#: Exponents below -DEEPEST hold no mass that counts.
DEEPEST = 20.0


@tile_core
def shift(A, i, centre, out):
    """Write the coordinates of a measure minus ``centre`` to ``out`` (d, at least its atoms); return the largest."""
    first, largest = A.offsets[i], 0.0
    for k in range(centre.size):
        for a in range(A.offsets[i + 1] - first):
            value = A.coordinates[k, first + a] - centre[k]
            out[k, a] = value
            largest = max(largest, abs(value))
    return largest


@tile_core
def midpoint(A, i, out):
    """Write the middle of the box around a measure to ``out``."""
    for k in range(out.size):
        values = A.coordinates[k, A.offsets[i] : A.offsets[i + 1]]
        out[k] = 0.5 * values.min() + 0.5 * values.max()


@strict_core
def rounds(code, radius, options):
    """Whether costs between points within ``radius`` may be computed in float32.

    A difference of two points is off by ROUNDING radius, hence c = |x - y|^2 = t eps by 2 sqrt(t eps) of that.
    Nothing leaves the range of float32.
    """
    if not (1e-15 < radius < 1e15 and 1e-30 < options.epsilon < 1e30):
        return False
    error = ROUNDING * radius
    if code == SQEUCLIDEAN:
        return 2.0 * error * np.sqrt(DEEPEST / options.epsilon) <= NEGLIGIBLE * options.tol
    return code == EUCLIDEAN and error / options.epsilon <= NEGLIGIBLE * options.tol


@tile_core
def fill_rows32(ground, y, n, x, m, eps, gibbs):
    """Gibbs kernel of the costs between n and m points given in float32; all in float32, row by row."""
    K, KC = gibbs
    inv, costs = f4(-1.0 / eps), np.empty(m, np.float32)
    for r in range(n):
        cost_row(ground.code, ground.params, y, r, x, 0, m, costs)
        k_row, kc_row = K[r], KC[r]
        for c in range(m):
            k = exp32(costs[c] * inv)
            k_row[c] = k
            kc_row[c] = k * costs[c]


@strict_core
def pad_gibbs(n, m, width, gibbs):
    """Zeros in the columns from m to width, and a row n for padding."""
    K, KC = gibbs
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
    costs, ids = np.empty(high * wide), np.empty(high, np.int64)
    d = A.coordinates.shape[0]
    x, y, centre = np.empty((d, wide), np.float32), np.empty((d, high), np.float32), np.empty(d)
    single = like.itemsize == 4
    gibbs = Gibbs(np.empty((high + 1, wide), dtype), np.empty((high + 1, wide), dtype))
    for p in range(rows.size):
        columns = fill_side(column_buffer, A.weights[A.offsets[rows[p]] : A.offsets[rows[p] + 1]])
        radius = np.inf
        if single and ground.code != TABLE:
            midpoint(A, rows[p], centre)
            radius = shift(A, rows[p], centre, x)
        for q in range(cols.size):
            if out.status[p, q] != RETRY:
                continue
            side = fill_side(row_buffer, B.weights[B.offsets[cols[q]] : B.offsets[cols[q] + 1]])
            n, m = side.size, columns.size
            fine = rounds(ground.code, radius, options)  # never at the radius inf
            if fine and rounds(ground.code, max(radius, shift(B, cols[q], centre, y)), options):
                fill_rows32(ground, y, n, x, m, options.epsilon, gibbs)
            else:
                cost = costs[: n * m].reshape(n, m)
                atom_costs(ground, B, cols[q], A, rows[p], cost)
                if single:
                    fill_gibbs32(cost, n, m, options.epsilon, gibbs.kernel, gibbs.weighted)
                else:
                    fill_gibbs(cost, n, m, options.epsilon, gibbs.kernel, gibbs.weighted)
            pad_gibbs(n, m, columns.weights.size, gibbs)
            for k in range(side.weights.size):
                ids[k] = min(k, side.size)
            block = Block(gibbs, ids[: side.weights.size], side, columns)
            out.values[p, q], out.status[p, q] = scaled_value(block, options)
            bound_gap(out, 1, block, B.offsets[cols[q]], p, q)
