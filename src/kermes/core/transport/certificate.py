"""What makes the last tree optimal for the costs as given: its potentials and flows in twice the working precision."""

from __future__ import annotations

import numpy as np

from ..intrinsics import greater, lesser
from ..jit import exact_core, least_core
from .doubles import EPS, add, two_product, two_sum
from .pricing import NOISE, greatest
from .tree import ALL, NONE, arc_cost, hang, has, make, pass_on

#: By how much a plan may miss the least cost: of its own, and of that of the independent plan (masses are rounded).
GAP, ROUNDING = 1e-14, 1e-14
#: For plans that cost more than this part of the largest cost, 32 digits are enough.
SEEN = 1e-15


@exact_core
def compute_potentials(C, T, root):
    """Compute the potentials of a sorted tree anew, in two parts, from that of the root, 0."""
    parent, order, high, low = T.parent, T.order, T.high, T.low
    n, total = C.shape[0], C.shape[0] + C.shape[1]
    high[root], low[root] = 0.0, 0.0
    for k in range(total - 2, -1, -1):
        w = order[k]
        up = parent[w]
        cost = arc_cost(C, n, w, up)
        high[w], low[w] = add(high[up], low[up], cost if w < n else -cost, 0.0)


@least_core
def only_tree_is_near(C, high):
    """Whether the arcs of the tree are the only ones whose reduced costs, in double precision, could be 0 or less.

    These are not above rounding, ``NOISE`` of their parts.
    """
    n, m = C.shape
    near, sinks = 0, high[n : n + m]
    for i in range(n):
        row, u = C[i], high[i]
        for j in range(m):
            near += row[j] - u + sinks[j] <= NOISE * (row[j] + abs(u) + abs(sinks[j]))
    return near == n + m - 1


@exact_core
def open_arc(C, T, i):
    """Return the sink j of least reduced cost C_ij - u_i - v_j and that cost in two parts; -1 unless it is below 0.

    What is not near 0 in double precision is above it: only arcs near 0 are computed by both parts, and judged after
    what rounding may have left out is added. Of 27,000 arcs between two digits 600 are near 0, half of these in the
    tree.
    """
    parent, high, low = T.parent, T.high, T.low
    n, m = C.shape
    row, u, u_low = C[i], high[i], low[i]
    least, sink, cost, rest = 0.0, -1, 0.0, 0.0
    for j in range(m):
        v, parts = high[n + j], row[j] + abs(u) + abs(high[n + j])
        if row[j] - u + v <= NOISE * parts and parent[n + j] != i and parent[i] != n + j:
            value, value_low = add(row[j], 0.0, -u, -u_low)
            value, value_low = add(value, value_low, v, low[n + j])
            judged = value + (value_low + EPS * EPS * parts)
            if judged < least:
                least, sink, cost, rest = judged, j, value, value_low
    return sink, cost, rest


@exact_core
def settle(C, a, b, T):
    """Compute the flow of each arc anew, from the masses on one side of it.

    Masses are summed in two parts: flows have an error of rounding, however often they were changed on the way. The
    heaviest node takes the difference of the totals, which its own rounding may have made, and is in no sum: beside it
    the lightest would lose their digits. So arcs between it and the root carry what is on the side of the root. What
    rounding leaves out of long sums is added up apart: their terms wait for one addition, not for ten.

    Returns the cost of the plan, its duality gap, and the node whose arc is shortest of mass, by how much: an arc that
    would have to ship less than nothing ships nothing.
    """
    parent, order, made, below, flow = T.parent, T.order, T.made, T.below, T.flow
    high, low, mass, mass_low = T.high, T.low, T.mass, T.mass_low
    n, m = C.shape
    value = rest = dual = dual_low = excess = excess_low = 0.0
    heavy = 0
    for w in range(n + m):
        mass[w], mass_low[w] = a[w] if w < n else -b[w - n], 0.0
        excess, left_out = two_sum(excess, mass[w])
        excess_low += left_out
        heavy = w if abs(mass[w]) > abs(mass[heavy]) else heavy
    mass[heavy], mass_low[heavy] = add(mass[heavy], 0.0, -excess, -excess_low)
    for w in range(n + m):
        p, q = two_product(mass[w], high[w])
        dual, left_out = two_sum(dual, p)
        dual_low += left_out + (q + mass[w] * low[w])
    for k in range(n + m - 1):
        w = order[k]
        if w != heavy and (made[w] == 0 or not has(below, w, heavy)):
            up = parent[w]
            mass[up], mass_low[up] = add(mass[up], mass_low[up], mass[w], mass_low[w])
            flow[w] = mass[w] if w < n else -mass[w]
    beyond = beyond_low = lack = 0.0
    short = order[0]
    for k in range(n + m - 2, -1, -1):
        w = order[k]
        up = parent[w]
        if w == heavy or (made[w] != 0 and has(below, w, heavy)):
            beyond, beyond_low = add(beyond, beyond_low, mass[up], mass_low[up])
            flow[w] = -beyond if w < n else beyond
        if flow[w] < -lack:
            short, lack = w, -flow[w]
        flow[w] = greater(flow[w], 0.0)
        p, q = two_product(flow[w], arc_cost(C, n, w, up))
        value, left_out = two_sum(value, p)
        rest += left_out + q
    gap, _ = add(value, rest, -dual, -dual_low)
    return value + rest, abs(gap), short, lack


@exact_core
def exchange(C, T, root, short):
    """Let the arc of ``short`` leave the tree, and that of least reduced cost that ships the other way enter.

    A step of the dual simplex method: reduced costs stay at least 0, with potentials that are then computed anew.
    """
    parent, below, flow, high, low = T.parent, T.below, T.flow, T.high, T.low
    n, m = C.shape
    make(below, T.made, short)
    lacking = short < n  # what is below is short of mass; otherwise it has too much
    source, sink = np.uint32(0), np.uint32(n)
    least, rest = np.inf, 0.0
    for i in range(n):
        if has(below, short, i) != lacking:
            for j in range(m):
                if has(below, short, n + j) == lacking:
                    cost, cost_low = add(C[i, j], 0.0, -high[i], -low[i])
                    cost, cost_low = add(cost, cost_low, high[n + j], low[n + j])
                    if cost < least or (cost == least and cost_low < rest):
                        least, rest, source, sink = cost, cost_low, np.uint32(i), np.uint32(n + j)
    top = sink if lacking else source
    above = source if lacking else sink
    make(below, T.made, top)
    make(below, T.made, above)
    cut = hang(parent, below, flow, n, top, above, short, 0.0, 0.0)
    pass_on(parent, below, flow, n, cut, root, 0.0, NONE)
    pass_on(parent, below, flow, n, above, root, 0.0, ALL)


@exact_core
def unproved(C, a, b, T):
    """Return by how much more the plan may cost than the least; all 32 digits of the potentials are taken as exact.

    With reduced costs r it costs sum_ij P_ij r_ij more than their dual value. That falls by at most |r_ij| min(a_i,
    b_j) when an arc of negative r_ij is closed by lowering the potential of its lighter end.
    """
    parent, flow, high, low, (n, m) = T.parent, T.flow, T.high, T.low, C.shape
    more = 0.0
    for i in range(n):
        for j in range(m):
            value, p = two_sum(C[i, j], -high[i])
            value, q = two_sum(value, high[n + j])
            rest, left_out = two_sum(p, q)
            rest, p = two_sum(rest, -low[i])
            rest, q = two_sum(rest, low[n + j])
            value, rest = two_sum(value, rest)
            reduced = value + (rest + (left_out + p + q))
            if reduced != 0.0:
                shipped = flow[n + j] if parent[n + j] == i else flow[i] if parent[i] == n + j else 0.0
                more += reduced * shipped - lesser(reduced, 0.0) * min(a[i], b[j])
    return more


@exact_core
def is_optimal(C, a, b, T, value, gap):
    """Whether a plan is proved to cost no more than the least, to ``GAP`` of itself or ``ROUNDING`` of that of a b'.

    The duality gap is proof enough where 32 digits are enough for all arcs, and for masses; if not, arcs are read
    again.
    """
    if gap <= GAP * value and value >= SEEN * greatest(C.reshape(C.size)):
        return True
    mean = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            mean += a[i] * b[j] * C[i, j]
    return unproved(C, a, b, T) <= GAP * value + ROUNDING * mean
