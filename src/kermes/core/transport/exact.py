"""W_p^p of many pairs by the network simplex: gathers the masses and costs of each pair, and judges its duality gap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..ground_codes import EUCLIDEAN, SQEUCLIDEAN
from ..jit import exact_core, inline_core
from ..points import TABLE, cost_row, longest
from ..status import OK, UNCONVERGED
from .doubles import add
from .network_simplex import Bench, Tree, make_bench, scale_costs, transport

#: Duality gap up to which a plan counts as optimal: of the value, and of the largest cost (the masses of both sides are
#: rounded, so that their totals differ).
GAP, ROUNDING = 1e-12, 1e-15


class Pair(NamedTuple):
    """Room for one transport problem: the masses of either side, numbers of their points, coordinates, costs."""

    tree: Tree
    a: FloatArray
    b: FloatArray
    a_ids: IndexArray
    b_ids: IndexArray
    x: FloatArray
    y: FloatArray
    costs: FloatArray
    bench: Bench


@inline_core
def copy_sides(A, i, B, j, pair):
    """Copy the atoms of both measures; returns how many each has."""
    start, first = A.offsets[i], B.offsets[j]
    n, m = A.offsets[i + 1] - start, B.offsets[j + 1] - first
    for k in range(n):
        pair.a[k], pair.a_ids[k] = A.weights[start + k], A.ids[start + k]
    for k in range(m):
        pair.b[k], pair.b_ids[k] = B.weights[first + k], B.ids[first + k]
    return n, m


@inline_core
def subtract_sides(A, i, B, j, pair):
    """Copy what either measure has more than the other at each point; returns the number of points of each.

    The heaviest point takes the difference of the rest: its own would have rounded small masses away.
    """
    n = m = 0
    total = rest = heaviest = aside = 0.0
    where = -1
    k, q = A.offsets[i], B.offsets[j]
    last, end = A.offsets[i + 1], B.offsets[j + 1]
    while k < last or q < end:
        left = A.ids[k] if k < last else np.iinfo(np.int64).max
        right = B.ids[q] if q < end else np.iinfo(np.int64).max
        a, b = A.weights[k] if left <= right else 0.0, B.weights[q] if right <= left else 0.0
        surplus, point = a - b, min(left, right)
        if a + b > heaviest:
            heaviest = a + b
            surplus, aside, point, where = aside, surplus, where, point
        total, rest = add(total, rest, surplus, 0.0)
        n, m = put(pair, n, m, surplus, point)
        k, q = k + (left <= right), q + (right <= left)
    return put(pair, n, m, -(total + rest), where)


@inline_core
def put(pair, n, m, surplus, point):
    """Give a surplus to the first measure, a deficit to the second; returns the new numbers of points."""
    if surplus > 0.0:
        pair.a[n], pair.a_ids[n] = surplus, point
        n += 1
    elif surplus < 0.0:
        pair.b[m], pair.b_ids[m] = -surplus, point
        m += 1
    return n, m


@inline_core
def scaled_distance(x, i, y, j):
    """Return the Euclidean distance of two points, squared in units of the largest difference of their coordinates."""
    unit = square = 0.0
    for k in range(x.shape[0]):
        unit = max(unit, abs(x[k, i] - y[k, j]))
    for k in range(x.shape[0] if unit > 0.0 else 0):
        square += ((x[k, i] - y[k, j]) / unit) ** 2
    return unit * math.sqrt(square)


@inline_core
def mend(row, x, i, y):
    """Compute the Euclidean distances anew whose squares are no normal numbers."""
    extreme = 0
    for j in range(len(row)):
        extreme += not (1e-150 < row[j] < 1e150)
    for j in range(len(row) if extreme > 0 else 0):
        if not (1e-150 < row[j] < 1e150):
            row[j] = scaled_distance(x, i, y, j)


@inline_core
def fill_costs(ground, points, p, pair, C):
    """C[i, j] = c(x_i, y_j)^p from the coordinates (d, M) of all points, or from a table of c^p."""
    n, m = C.shape
    if ground.code == TABLE:
        for i in range(n):
            values, row = ground.table[pair.a_ids[i]], C[i]
            for j in range(m):
                row[j] = values[pair.b_ids[j]]
        return
    for k in range(points.shape[0]):
        for i in range(n):
            pair.x[k, i] = points[k, pair.a_ids[i]]
        for j in range(m):
            pair.y[k, j] = points[k, pair.b_ids[j]]
    squared = p == 2.0 and ground.code == EUCLIDEAN
    code = SQEUCLIDEAN if squared else ground.code
    for i in range(n):
        row = C[i]
        cost_row(code, ground.params, pair.x, i, pair.y, 0, m, row)
        if code == EUCLIDEAN:
            mend(row, pair.x, i, pair.y)
        if squared or p == 1.0:
            continue
        for j in range(m):
            row[j] = row[j] * row[j] if p == 2.0 else row[j] ** p


@exact_core
def tile(ground, points, p, in_place, A, rows, B, cols, triangle, tree, out, status):
    """out[i, j] = W_p^p; with ``in_place`` (p = 1 under a metric) the mass that both have in common does not move."""
    n, m, d = longest(A.offsets, rows), longest(B.offsets, cols), points.shape[0]
    pair = Pair(
        tree, np.empty(n), np.empty(m), np.empty(n, dtype=np.int64), np.empty(m, dtype=np.int64),
        np.empty((d, n)), np.empty((d, m)), np.empty(n * m), make_bench(n, m),
    )  # fmt: skip
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            if in_place:
                n, m = subtract_sides(A, rows[i], B, cols[j], pair)
            else:
                n, m = copy_sides(A, rows[i], B, cols[j], pair)
            if n == 0 or m == 0:  # one of them alone is the rounding of equal measures
                continue
            C = pair.costs[: n * m].reshape(n, m)
            fill_costs(ground, points, p, pair, C)
            exponent, top = scale_costs(C)
            if not top < np.inf:  # a power overflowed: an error, which names the pair
                out[i, j] = np.inf
                continue
            value, gap, pivots = transport(C, pair.a[:n], pair.b[:m], tree, pair.bench)
            out[i, j] = math.ldexp(value, exponent)
            optimal = pivots >= 0 and gap <= GAP * value + ROUNDING * top
            status[i, j] = OK if optimal else UNCONVERGED
