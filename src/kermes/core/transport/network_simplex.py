"""Exact transport between two discrete measures: the network simplex method, with a certificate.

    min <C, P>  over  P >= 0, P 1 = a, P' 1 = b,          max a'u + b'v  over  u_i + v_j <= C_ij

A basis is a spanning tree of sources (nodes 0 .. n - 1) and sinks (n .. n + m - 1). Node w owns the arc to its parent,
along which ``flow[w]`` is shipped. Potentials make the reduced costs C_ij - u_i - v_j of the tree zero; an arc of
negative reduced cost enters, and the arc of its cycle that runs empty first leaves.

*Exactness.* Potentials are sums of two doubles (about 32 digits): costs may span twenty orders of magnitude, and a path
through the largest of them would lose the smallest. Arcs are looked for in double precision; one that rounding leaves
open is judged by both parts. So the last tree is optimal for the costs as given, not within some tolerance.

*Termination.* Trees stay strongly feasible (an empty arc leads from a source up to a sink), because the leaving arc is
the last one to block in the direction of the cycle (Cunningham 1976): ties cannot make it cycle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..jit import exact_core, inline_core, least_core

EPS = 2.0**-52
#: Splits a double into two halves of 26 bits.
SPLIT = 2.0**27 + 1.0
#: Rows searched for the next arc: fewer pivots against longer searches; 2 to 4 are best for 50 to 500 atoms.
BLOCK = 3
#: Pivots after which a problem is given up; thousands of atoms need far fewer.
MAX_PIVOTS = 10_000_000


class Tree(NamedTuple):
    """A spanning tree. The nodes below w, itself first, are ``order[place[w]]`` and the ``size[w]`` - 1 after it."""

    parent: IndexArray
    size: IndexArray
    place: IndexArray
    order: IndexArray
    spare: IndexArray  # room for a part of the order
    flow: FloatArray
    high: FloatArray  # potentials, u of sources and v of sinks: the double next to each ...
    low: FloatArray  # ... and the rest
    mass: FloatArray  # of the nodes below, in two parts
    mass_low: FloatArray


def make_tree(size: int) -> Tree:
    """Return room for a tree of ``size`` nodes."""
    nodes, numbers = np.empty((5, size), dtype=np.int64), np.empty((5, size))
    return Tree(*nodes, *numbers)


@inline_core
def two_sum(a, b):
    """Return the rounded sum of two doubles, and what rounding left out."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inline_core
def add(high, low, other_high, other_low):
    """Return the sum of two numbers of two parts each."""
    s, e = two_sum(high, other_high)
    return two_sum(s, e + (low + other_low))


@inline_core
def reduced_cost(C, T, i, j):
    """Return C_ij - u_i - v_j in two parts."""
    n = C.shape[0]
    high, low = add(C[i, j], 0.0, -T.high[i], -T.low[i])
    return add(high, low, -T.high[n + j], -T.low[n + j])


@least_core
def least(row, prices):
    """Return min_j row[j] - prices[j]."""
    best = np.inf
    for j in range(len(row)):
        best = min(best, row[j] - prices[j])
    return best


@least_core
def place_of_least(row, prices):
    """Return the j for which row[j] - prices[j] is least."""
    best, at = np.inf, 0
    for j in range(len(row)):
        gap = row[j] - prices[j]
        if gap < best:
            best, at = gap, j
    return at


@exact_core
def start(C, a, b, T, room, prices):
    """Ship each source to the cheapest sinks that have room left, relative to the least cost of each sink.

    Sources count as a trifle heavier than they are, and the last open sink as large enough for all trifles: at a tie
    the sink is full, and the source, empty, goes on to another sink with flow 0. That makes the tree strongly feasible.
    Each step closes a source, whose parent the sink becomes, or a sink, whose parent the source becomes; so children
    are closed before their parents.
    """
    n, m = C.shape
    for j in range(m):
        room[j] = b[j]
        prices[j] = C[0, j]
    for i in range(1, n):
        for j in range(m):
            prices[j] = min(prices[j], C[i, j])
    n_open, closed, root = m, 0, n
    for i in range(n):
        left = a[i]
        while True:
            j = place_of_least(C[i], prices)
            # The last source closes all sinks but one, whatever rounding has left of it.
            is_source = n_open == 1 or (left < room[j] and i < n - 1)
            node = i if is_source else n + j
            T.spare[closed] = node
            closed += 1
            if is_source:
                T.parent[i], T.flow[i] = n + j, left
                room[j] -= left
                root = n + j
                break
            T.parent[n + j], T.flow[n + j] = i, min(left, room[j])
            left = max(left - room[j], 0.0)
            prices[j] = -np.inf
            n_open -= 1
    T.parent[root] = -1
    T.spare[closed] = root
    unfold(C, T, n + m)
    return root


@exact_core
def unfold(C, T, size):
    """Set sizes, order and potentials of a tree whose nodes stand in ``spare``, children before their parents."""
    n = C.shape[0]
    for w in range(size):
        T.size[w] = 1
    for k in range(size - 1):
        w = T.spare[k]
        T.size[T.parent[w]] += T.size[w]
    root = T.spare[size - 1]
    T.place[root], T.high[root], T.low[root] = 0, 0.0, 0.0
    # Until all nodes have a place, order[place[w]] counts the places that are taken below w.
    for k in range(size):
        T.order[k] = 0
    for k in range(size - 2, -1, -1):
        w = T.spare[k]
        up = T.parent[w]
        T.place[w] = T.place[up] + 1 + T.order[T.place[up]]
        T.order[T.place[up]] += T.size[w]
        cost = C[w, up - n] if w < n else C[up, w - n]
        T.high[w], T.low[w] = add(cost, 0.0, -T.high[up], -T.low[up])
    for w in range(size):
        T.order[T.place[w]] = w


@exact_core
def pivot(C, T, i, j):
    """Let the arc from source i to sink j enter the tree."""
    n, m = C.shape
    parent, size, flow = T.parent, T.size, T.flow
    # Arcs against the direction of the cycle lose flow: on the way up from i those of sources, from j those of sinks.
    left, right = i, n + j
    left_least, right_least, left_arc, right_arc = np.inf, np.inf, -1, -1
    while left != right:
        if size[left] < size[right]:
            if left < n and flow[left] < left_least:
                left_least, left_arc = flow[left], left
            left = parent[left]
        else:
            if right >= n and flow[right] <= right_least:
                right_least, right_arc = flow[right], right
            right = parent[right]
    join = left
    high, low = reduced_cost(C, T, i, j)
    delta, leaving, top, above = left_least, left_arc, i, n + j
    if right_least <= left_least:
        delta, leaving, top, above = right_least, right_arc, n + j, i
        high, low = -high, -low
    moved = size[leaving]
    change(T, n, i, join, -delta)
    change(T, n, n + j, join, delta)
    w = parent[leaving]
    while w != join:
        size[w] -= moved
        w = parent[w]
    w = above
    while w != join:
        size[w] += moved
        w = parent[w]
    turn(T, top, above, leaving, delta, moved)
    first = move(T, above, leaving, moved)
    # Only differences of potentials matter: the smaller part changes.
    if 2 * moved <= n + m:
        shift(T, n, first, first + moved, high, low)
    else:
        shift(T, n, 0, first, -high, -low)
        shift(T, n, first + moved, n + m, -high, -low)


@inline_core
def change(T, n, node, join, delta):
    """Add ``delta`` to the flow of sources from ``node`` up to ``join``, and take it from that of sinks."""
    while node != join:
        T.flow[node] += delta if node < n else -delta
        node = T.parent[node]


@inline_core
def turn(T, top, above, leaving, flow, whole):
    """Turn over the path from ``top`` to ``leaving``, so that it hangs from ``above``; ``spare`` gets its new order."""
    parent, size, place, order, spare = T.parent, T.size, T.place, T.order, T.spare
    count, first, last, node, inner = 0, place[top], place[top], top, 0
    while True:
        # The nodes below this one, without those below the one before.
        begin, end = place[node], place[node] + size[node]
        for k in range(begin, first):
            spare[count] = order[k]
            count += 1
        for k in range(last, end):
            spare[count] = order[k]
            count += 1
        first, last = begin, end
        up, old_flow, old_size = parent[node], T.flow[node], size[node]
        parent[node], T.flow[node], size[node] = above, flow, whole - inner
        if node == leaving:
            break
        node, above, flow, inner = up, node, old_flow, old_size


@inline_core
def move(T, above, leaving, moved):
    """Put the nodes in ``spare`` behind ``above``; returns the place of the first of them."""
    place, order = T.place, T.order
    old, target = place[leaving], place[above]
    if target < old:
        for k in range(old - 1, target, -1):
            w = order[k]
            order[k + moved] = w
            place[w] = k + moved
        first = target + 1
    else:
        for k in range(old + moved, target + 1):
            w = order[k]
            order[k - moved] = w
            place[w] = k - moved
        first = target + 1 - moved
    for k in range(moved):
        w = T.spare[k]
        order[first + k] = w
        place[w] = first + k
    return first


@inline_core
def shift(T, n, begin, end, high, low):
    """Add a number of two parts to the potentials of sources, and take it from those of sinks, from place to place."""
    for k in range(begin, end):
        w = T.order[k]
        sign = 1.0 if w < n else -1.0
        T.high[w], T.low[w] = add(T.high[w], T.low[w], sign * high, sign * low)


@exact_core
def judged(C, T, i):
    """Return the sink of least reduced cost, by both parts, among those that rounding leaves open; -1: none below 0."""
    n, m = C.shape
    u = T.high[i]
    best, at = 0.0, -1
    for j in range(m):
        c, v = C[i, j], T.high[n + j]
        size = abs(c) + abs(u) + abs(v)
        if c - u - v < 4.0 * EPS * size and T.parent[i] != n + j and T.parent[n + j] != i:
            value, _ = reduced_cost(C, T, i, j)
            if value < best and value < -EPS * EPS * size:
                best, at = value, j
    return at


@inline_core
def promising(C, T, sinks, first):
    """Return among some rows from ``first`` on the one with the least reduced cost, if that is below 0; else -1."""
    n = C.shape[0]
    best, at = 0.0, -1
    for k in range(min(BLOCK, n)):
        i = first + k if first + k < n else first + k - n
        value = least(C[i], sinks) - T.high[i]
        if value < best:
            best, at = value, i
    return at


@inline_core
def solve(C, a, b, T, room, prices, max_pivots):
    """Return the number of pivots, or -1 if there were too many; the tree is then not optimal.

    Rows are searched in turn. Those without a candidate are clean: first in double precision, then by both parts.
    """
    n, m = C.shape
    start(C, a, b, T, room, prices)
    if n == 1 or m == 1:
        return 0
    sinks = T.high[n : n + m]
    row, clean, exact, pivots = 0, 0, False, 0
    while clean < n:
        i, j, searched = row, -1, 1
        if exact:
            j = judged(C, T, row)
        else:
            searched = min(BLOCK, n)
            i = promising(C, T, sinks, row)
            if i >= 0:
                j = place_of_least(C[i], sinks)
                value, _ = reduced_cost(C, T, i, j)
                if value >= -EPS * (abs(C[i, j]) + abs(T.high[i]) + abs(sinks[j])):
                    j = -1
        row = (row + searched) % n
        if j >= 0:
            if pivots == max_pivots:
                return -1
            pivot(C, T, i, j)
            pivots += 1
            clean, exact = 0, False
            continue
        clean += searched
        if clean >= n and not exact:
            clean, exact = 0, True
    return pivots


@exact_core
def settle(C, a, b, T):
    """Compute the flow of each arc anew, from the masses below it; return the cost of the plan and its duality gap.

    Masses are summed in two parts: flows have an error of rounding, however often they were changed on the way. The
    heaviest node takes the difference of the totals, which its own rounding may have made.
    """
    n, m = C.shape
    value = rest = dual = dual_low = excess = excess_low = 0.0
    heavy = 0
    for w in range(n + m):
        T.mass[w], T.mass_low[w] = a[w] if w < n else -b[w - n], 0.0
        excess, excess_low = add(excess, excess_low, T.mass[w], 0.0)
        heavy = w if abs(T.mass[w]) > abs(T.mass[heavy]) else heavy
        high, low = two_product(abs(T.mass[w]), T.high[w])
        dual, dual_low = add(dual, dual_low, high, low + abs(T.mass[w]) * T.low[w])
    T.mass[heavy], T.mass_low[heavy] = add(T.mass[heavy], 0.0, -excess, -excess_low)
    high, low = two_product(-excess if heavy < n else excess, T.high[heavy])
    dual, dual_low = add(dual, dual_low, high, low)
    for k in range(n + m - 1, 0, -1):
        w = T.order[k]
        up = T.parent[w]
        T.mass[up], T.mass_low[up] = add(T.mass[up], T.mass_low[up], T.mass[w], T.mass_low[w])
        T.flow[w] = max(T.mass[w] if w < n else -T.mass[w], 0.0)
        high, low = two_product(T.flow[w], C[w, up - n] if w < n else C[up, w - n])
        value, rest = add(value, rest, high, low)
    gap, _ = add(value, rest, -dual, -dual_low)
    return value, abs(gap)


@inline_core
def two_product(a, b):
    """Return the rounded product of two doubles, and what rounding left out (Dekker; numbers up to 1e290)."""
    p = a * b
    s, t = SPLIT * a, SPLIT * b
    a_high, b_high = s - (s - a), t - (t - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@exact_core
def transport(C, a, b, T, room, prices, max_pivots):
    """Return the cost of an optimal plan, its duality gap, and the number of pivots (-1: too many).

    Masses are positive and have equal totals up to rounding. ``T`` holds the plan and the potentials afterwards.
    """
    pivots = solve(C, a, b, T, room, prices, max_pivots)
    value, gap = settle(C, a, b, T)
    return value, gap, pivots


@exact_core
def write_plan(T, n, plan):
    """Write the flows of a tree to a plan (n, m) of zeros."""
    for w in range(len(T.parent)):
        up = T.parent[w]
        if up >= 0 and w < n:
            plan[w, up - n] = T.flow[w]
        elif up >= 0:
            plan[up, w - n] = T.flow[w]


@exact_core
def scale_costs(C):
    """Divide extreme costs by a power of 2, which changes no digit, so that products stay in range.

    Returns its exponent, and the largest of the scaled costs.
    """
    top = 0.0
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            top = max(top, C[i, j])
    if top == 0.0 or 1e-100 < top < 1e100:
        return 0, top
    exponent = math.frexp(top)[1]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = math.ldexp(C[i, j], -exponent)
    return exponent, math.ldexp(top, -exponent)
