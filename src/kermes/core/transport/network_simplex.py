"""Exact transport between two discrete measures: the network simplex method, with a certificate.

    min <C, P>  over  P >= 0, P 1 = a, P' 1 = b,          max a'u + b'v  over  u_i + v_j <= C_ij

A basis is a spanning tree (``tree``). Potentials make the reduced costs C_ij - u_i - v_j of its arcs zero; an arc of
negative reduced cost enters (``pricing``), and the arc of its cycle that runs empty first leaves.

*Exactness.* Pivots go on in double precision while an arc is negative beyond rounding. Then the potentials of the tree
are computed as sums of two doubles (about 32 digits), and all arcs near 0 are judged by both parts; if one is open,
pivots go on in that precision (``certificate``). Costs may span twenty orders of magnitude, and a path through the
largest of them would lose the smallest: the last tree is optimal for the costs as given, not within some tolerance.

Masses are rounded while flows change. At the end they are summed anew, and where that shows an arc of the tree to ship
less than nothing (two measures that hardly differ, or atoms of next to no mass), arcs are exchanged by the dual method.
A plan that is still short of mass after as many exchanges as there may be is given up, like one of too many pivots.

*Termination.* Trees stay strongly feasible (an empty arc leads from a source up to a sink), because the leaving arc is
the last one to block in the direction of the cycle (Cunningham 1976): ties cannot make it cycle. Rounding of potentials
could, so that the number of pivots in double precision is bounded.
"""

from __future__ import annotations

import math

from ..jit import exact_core
from .certificate import compute_potentials, exchange, is_optimal, only_tree_is_near, open_arc, settle
from .pricing import BLOCK, FEW, LONG_BLOCK, bits_of, greatest, negative_arc
from .start import Bench, make_bench, start
from .tree import Tree, make_tree, pivot, plant, shaped, sort

__all__ = ["MAX_PIVOTS", "Bench", "Tree", "make_bench", "make_tree", "scale_costs", "solve", "transport", "write_plan"]

#: Pivots after which a problem is given up; thousands of atoms need far fewer.
MAX_PIVOTS = 10_000_000
#: Pivots in double precision for each node, at most; 1000 and 1000 atoms need 7.
ROUNDED_PIVOTS = 1000
#: Masses that arcs are short of matter if, at the largest cost, they are more than this part of the value. Exchanges of
#: arcs for each node, at most: 100 atoms and 100 of nearly equal masses at the same points take about 50.
LACK, EXCHANGES = 1e-15, 2


@exact_core
def solve(C, a, b, tree, bench, max_pivots):
    """Return the cost of an optimal plan, its duality gap, and the number of pivots and exchanges (-1: too many).

    Masses are positive and have equal totals up to rounding. ``tree`` holds the plan and the potentials afterwards.
    Rows are searched in turn; those without a candidate are clean, first in double precision, then by both parts.
    """
    n, m = C.shape
    T = shaped(tree, n + m)
    root = start(C, a, b, T, bench)
    plant(C, T, root)
    high, block, bits = T.high, LONG_BLOCK if m <= FEW else BLOCK, bits_of(m)
    row, clean, both, pivots, sorted_at, rounded = 0, 0, False, 0, 0, min(max_pivots, ROUNDED_PIVOTS * (n + m))
    while clean < n:
        i, j, searched = row, -1, 1
        cost = rest = 0.0
        if both:
            j, cost, rest = open_arc(C, T, i)
        else:
            i, j, cost = negative_arc(C, high, row, block, bits)
            searched = block
        row = (row + searched) % n
        clean = 0 if j >= 0 else clean + searched
        if j >= 0 and pivots == max_pivots:
            pivots = -1
            break
        if j >= 0:
            pivot(T, n, root, i, j, cost, rest, both)
            pivots += 1
        if not both and (clean >= n or pivots == rounded):
            sort(T)
            compute_potentials(C, T, root)
            sorted_at = pivots
            clean, both = n if only_tree_is_near(C, high) else 0, True
    if pivots != sorted_at:
        sort(T)
    most = min(max_pivots, pivots + EXCHANGES * (n + m))
    while True:
        value, gap, short, lack = settle(C, a, b, T)
        if lack == 0.0 or lack * greatest(C.reshape(C.size)) <= LACK * value or pivots < 0:
            break
        if pivots == most:
            pivots = -1
            break
        exchange(C, T, root, short)
        sort(T)
        compute_potentials(C, T, root)
        pivots += 1
    return value, gap, pivots


@exact_core
def transport(C, a, b, tree, bench, max_pivots):
    """Solve a problem; returns what ``solve`` does, and whether the plan is proved to be optimal."""
    value, gap, pivots = solve(C, a, b, tree, bench, max_pivots)
    return value, gap, pivots, pivots >= 0 and is_optimal(C, a, b, tree, value, gap)


@exact_core
def write_plan(T, n, m, plan):
    """Write the flows of a tree to a plan (n, m) of zeros."""
    for w in range(n + m):
        up = T.parent[w]
        if w < n and up != w:
            plan[w, up - n] = T.flow[w]
        elif up != w:
            plan[up, w - n] = T.flow[w]


@exact_core
def scale_costs(C):
    """Divide extreme costs by a power of 2, which changes no digit, so that products stay in range.

    Returns its exponent, and the largest of the scaled costs. Infinite costs stay; no problem with one can be solved.
    """
    top = greatest(C.reshape(C.size))
    if top == 0.0 or 1e-100 < top < 1e100 or not top < math.inf:
        return 0, top
    exponent = math.frexp(top)[1]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = math.ldexp(C[i, j], -exponent)
    return exponent, math.ldexp(top, -exponent)
