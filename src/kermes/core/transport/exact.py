"""W_p^p of many pairs by the network simplex: gathers the masses and costs of each pair."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..ground_codes import EUCLIDEAN, SQEUCLIDEAN
from ..intrinsics import greater
from ..jit import exact_core, part_core
from ..points import TABLE, cost_block
from ..status import OK, UNCONVERGED
from .doubles import add
from .network_simplex import MAX_PIVOTS, Bench, Tree, make_bench, make_tree, scale_costs, transport

#: More than the number of any point.
BEYOND = np.iinfo(np.int64).max


class Room(NamedTuple):
    """What pairs are copied to and solved in. Cores of this package allocate nothing, and count no references."""

    a: FloatArray
    b: FloatArray
    a_points: IndexArray
    b_points: IndexArray
    x: FloatArray
    y: FloatArray
    costs: FloatArray
    tree: Tree
    bench: Bench


def make_room(n: int, m: int, d: int) -> Room:
    """Return room for pairs of up to n and m atoms in d dimensions."""
    places = np.empty(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    points = np.empty((d, n)), np.empty((d, m))
    return Room(np.empty(n), np.empty(m), *places, *points, np.empty(n * m), make_tree(n + m), make_bench(n, m))


@exact_core
def copy_side(ids, weights, start, stop, masses, points):
    """Copy the atoms of a measure; returns how many it has."""
    for k in range(stop - start):
        masses[k], points[k] = weights[start + k], ids[start + k]
    return stop - start


@exact_core
def subtract_sides(a_ids, a_weights, k, last, b_ids, b_weights, q, end, a, b, a_points, b_points):
    """Copy what either measure has more than the other at each point; returns the number of points of each.

    The heaviest point takes the difference of the rest: its own would have rounded small masses away.
    """
    n = m = 0
    total = rest = heaviest = aside = 0.0
    where = -1
    while k < last or q < end:
        left = a_ids[k] if k < last else BEYOND
        right = b_ids[q] if q < end else BEYOND
        mine, other = a_weights[k] if left <= right else 0.0, b_weights[q] if right <= left else 0.0
        surplus, point = mine - other, min(left, right)
        if mine + other > heaviest:
            heaviest = mine + other
            surplus, aside, point, where = aside, surplus, where, point
        total, rest = add(total, rest, surplus, 0.0)
        n, m = put(a, b, a_points, b_points, n, m, surplus, point)
        k, q = k + (left <= right), q + (right <= left)
    return put(a, b, a_points, b_points, n, m, -(total + rest), where)


@part_core
def put(a, b, a_points, b_points, n, m, surplus, point):
    """Give a surplus to the first measure, a deficit to the second; returns the new numbers of points."""
    if surplus > 0.0:
        a[n], a_points[n] = surplus, point
        n += 1
    elif surplus < 0.0:
        b[m], b_points[m] = -surplus, point
        m += 1
    return n, m


@exact_core
def scaled_distance(x, i, y, j):
    """Return the Euclidean distance of two points, squared in units of the largest difference of their coordinates."""
    unit = square = 0.0
    for k in range(x.shape[0]):
        unit = greater(unit, abs(x[k, i] - y[k, j]))
    for k in range(x.shape[0] if unit > 0.0 else 0):
        square += ((x[k, i] - y[k, j]) / unit) ** 2
    return unit * math.sqrt(square)


@exact_core
def mend(x, y, C):
    """Compute the Euclidean distances anew whose squares are no normal numbers."""
    extreme = 0
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            extreme += not (1e-150 < C[i, j] < 1e150)
    for i in range(C.shape[0] if extreme > 0 else 0):
        for j in range(C.shape[1]):
            if not (1e-150 < C[i, j] < 1e150):
                C[i, j] = scaled_distance(x, i, y, j)


@exact_core
def fill_costs(ground, points, p, a_points, b_points, x, y, C):
    """C[i, j] = c(x_i, y_j)^p from the coordinates (d, M) of all points, or from a table of c^p."""
    n, m = C.shape
    kind, params, table = ground
    if kind == TABLE:
        for i in range(n):
            values, row = table[a_points[i]], C[i]
            for j in range(m):
                row[j] = values[b_points[j]]
        return
    for k in range(points.shape[0]):
        for i in range(n):
            x[k, i] = points[k, a_points[i]]
        for j in range(m):
            y[k, j] = points[k, b_points[j]]
    squared = p == 2.0 and kind == EUCLIDEAN
    cost_block(SQEUCLIDEAN if squared else kind, params, x, y, C)
    if kind == EUCLIDEAN and not squared:
        mend(x, y, C)
    if p != 1.0 and not squared:
        for i in range(n):
            for j in range(m):
                C[i, j] = C[i, j] * C[i, j] if p == 2.0 else C[i, j] ** p


@exact_core
def tile(ground, points, p, in_place, A, rows, B, cols, triangle, room, out, status):
    """out[i, j] = W_p^p; with ``in_place`` (p = 1 under a metric) the mass that both have in common does not move."""
    a, b, a_points, b_points, x, y, costs, tree, bench = room
    (a_ids, a_weights, a_offsets), (b_ids, b_weights, b_offsets) = A, B
    for i in range(len(rows)):
        k, last = a_offsets[rows[i]], a_offsets[rows[i] + 1]
        for j in range(i + 1 if triangle else 0, len(cols)):
            q, end = b_offsets[cols[j]], b_offsets[cols[j] + 1]
            if in_place:
                n, m = subtract_sides(a_ids, a_weights, k, last, b_ids, b_weights, q, end, a, b, a_points, b_points)
            else:
                n = copy_side(a_ids, a_weights, k, last, a, a_points)
                m = copy_side(b_ids, b_weights, q, end, b, b_points)
            if n == 0 or m == 0:  # one of them alone is the rounding of equal measures
                continue
            C = costs[: n * m].reshape(n, m)
            fill_costs(ground, points, p, a_points, b_points, x, y, C)
            exponent, top = scale_costs(C)
            if not top < np.inf:  # a power overflowed: an error, which names the pair
                out[i, j] = np.inf
                continue
            value, _, _, optimal = transport(C, a[:n], b[:m], tree, bench, MAX_PIVOTS)
            out[i, j] = math.ldexp(value, exponent)
            status[i, j] = OK if optimal else UNCONVERGED
