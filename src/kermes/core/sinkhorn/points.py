"""Tiles from coordinates: the block of costs, hence of the Gibbs kernel, is computed for each pair."""

from __future__ import annotations

import numpy as np

from ..exp import LOG2_E, exp2_32
from ..ground_codes import EUCLIDEAN, SQEUCLIDEAN
from ..jit import strict_core, tile_core
from ..points import TABLE
from ..status import RETRY
from .block import Block, atom_costs, buffers, fill_gibbs, fill_gibbs32, fill_side, scaled_value
from .gap import bound_gap
from .loop import f4
from .structs import TRANSPORT, Gibbs

#: Costs are computed in float32 if that changes no exponent by more than this part of the tolerance.
NEGLIGIBLE = 0.01
#: What rounding of two coordinates to float32 makes of their difference, in units of the largest.
ROUNDING = 1.2e-7
#: Exponents below -DEEPEST hold no mass that counts.
DEEPEST = 20.0


@tile_core
def shift(A, i, centre, scale, out):
    """Write ``scale`` (x - centre) for the points x of a measure to ``out``; return the largest |x - centre|."""
    first, largest = A.offsets[i], 0.0
    for k in range(centre.size):
        for a in range(A.offsets[i + 1] - first):
            value = A.coordinates[k, first + a] - centre[k]
            out[k, a] = scale * value
            largest = max(largest, abs(value))
    return largest


@tile_core
def midpoint(A, i, out):
    """Write the middle of the box around a measure to ``out``."""
    for k in range(out.size):
        values = A.coordinates[k, A.offsets[i] : A.offsets[i + 1]]
        out[k] = 0.5 * values.min() + 0.5 * values.max()


@strict_core
def binary_scale(code, eps):
    """Return what to multiply points by for exp(-c / eps) to be 2^-c of the costs between them."""
    return LOG2_E / eps if code == EUCLIDEAN else np.sqrt(LOG2_E / eps)


@strict_core
def rounds(code, radius, options):
    """Whether costs between points within ``radius`` may be computed in float32.

    A difference of two points is off by ROUNDING radius, hence c = |x - y|^2 = t eps by 2 sqrt(t eps) of that.
    Nothing leaves the range of float32, scaled or not: the tolerance keeps radius / sqrt(eps), or / eps, below 1e5.
    """
    if not (1e-15 < radius < 1e15 and 1e-30 < options.epsilon < 1e30):
        return False
    if not radius * binary_scale(code, options.epsilon) > 1e-15:
        return False
    error = ROUNDING * radius
    if code == SQEUCLIDEAN:
        return 2.0 * error * np.sqrt(DEEPEST / options.epsilon) <= NEGLIGIBLE * options.tol
    return code == EUCLIDEAN and error / options.epsilon <= NEGLIGIBLE * options.tol


@tile_core
def four_rows(y, n, r, x, m, out):
    """out[q, c] = |y_(r + q) - x_c|^2 for q = 0..3: four rows share what is read of x; from n on the last one again."""
    d, r1, r2, r3 = x.shape[0], min(r + 1, n - 1), min(r + 2, n - 1), min(r + 3, n - 1)
    o0, o1, o2, o3, odd = out[0], out[1], out[2], out[3], d % 2
    s0, s1, s2, s3, xs = y[0, r], y[0, r1], y[0, r2], y[0, r3], x[0]
    for c in range(m if odd else 0):
        s = xs[c]
        o0[c], o1[c], o2[c], o3[c] = (s - s0) * (s - s0), (s - s1) * (s - s1), (s - s2) * (s - s2), (s - s3) * (s - s3)
    for c in range(0 if odd else m):
        o0[c] = o1[c] = o2[c] = o3[c] = f4(0)
    for k in range(odd, d, 2):
        s0, s1, s2, s3, xs = y[k, r], y[k, r1], y[k, r2], y[k, r3], x[k]
        t0, t1, t2, t3, xt = y[k + 1, r], y[k + 1, r1], y[k + 1, r2], y[k + 1, r3], x[k + 1]
        for c in range(m):
            s, t = xs[c], xt[c]
            o0[c] += (s - s0) * (s - s0) + (t - t0) * (t - t0)
            o1[c] += (s - s1) * (s - s1) + (t - t1) * (t - t1)
            o2[c] += (s - s2) * (s - s2) + (t - t2) * (t - t2)
            o3[c] += (s - s3) * (s - s3) + (t - t3) * (t - t3)


@tile_core
def fill_rows32(code, y, n, x, m, options, gibbs):
    """Gibbs kernel of the costs between n and m points, scaled by `binary_scale`; all in float32, four rows at a time.

    KC, which only the value TRANSPORT needs, is in units of the points as they were.
    """
    K, KC = gibbs
    unit, costs = f4(options.epsilon / LOG2_E), np.empty((4, x.shape[1]), np.float32)
    for first in range(0, n, 4):
        four_rows(y, n, first, x, m, costs)
        for r in range(first, min(first + 4, n)):
            cost, k_row, kc_row = costs[r - first], K[r], KC[r]
            if code == EUCLIDEAN:
                for c in range(m):
                    cost[c] = np.sqrt(cost[c])
            for c in range(m):
                k_row[c] = exp2_32(-cost[c])
            if options.value == TRANSPORT:
                for c in range(m):
                    kc_row[c] = k_row[c] * (cost[c] * unit)


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
    costs, ids = np.empty(0), np.empty(high, np.int64)
    d = A.coordinates.shape[0]
    x, y, centre = np.empty((d, wide), np.float32), np.empty((d, high), np.float32), np.empty(d)
    single, scale = like.itemsize == 4, binary_scale(ground.code, options.epsilon)
    room = np.empty((2, high + 1, wide), dtype)  # at once: of several parts the allocator gives some back each time
    gibbs = Gibbs(room[0], room[1])
    for p in range(rows.size):
        columns = fill_side(column_buffer, A.weights[A.offsets[rows[p]] : A.offsets[rows[p] + 1]])
        radius = np.inf
        if single and ground.code != TABLE:
            midpoint(A, rows[p], centre)
            radius = shift(A, rows[p], centre, scale, x)
        for q in range(cols.size):
            if out.status[p, q] != RETRY:
                continue
            side = fill_side(row_buffer, B.weights[B.offsets[cols[q]] : B.offsets[cols[q] + 1]])
            n, m = side.size, columns.size
            fine = rounds(ground.code, radius, options)  # never at the radius inf
            if fine and rounds(ground.code, max(radius, shift(B, cols[q], centre, scale, y)), options):
                fill_rows32(ground.code, y, n, x, m, options, gibbs)
            else:
                costs = costs if costs.size else np.empty(high * wide)
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
