"""What makes the last tree optimal for the costs as given: its potentials and flows in twice the working precision."""

from __future__ import annotations

from ..jit import inline_core
from .doubles import EPS, add, two_product, two_sum
from .pricing import place_of_least
from .tree import arc_cost


@inline_core
def compute_potentials(C, parent, ring, high, low, root):
    """Compute the potentials of a tree anew, in two parts, from that of the root, 0."""
    n = C.shape[0]
    high[root], low[root] = 0.0, 0.0
    w = ring[root]
    while w != root:
        up = parent[w]
        cost = arc_cost(C, n, w, up)
        high[w], low[w] = add(high[up], low[up], cost if w < n else -cost, 0.0)
        w = ring[w]


@inline_core
def open_arc(C, parent, high, low, i, value, rest):
    """Return the sink j of least reduced cost C_ij - u_i - v_j if that is below 0, else -1.

    ``value`` and ``rest`` get the reduced costs of the row in two parts, raised by what rounding may have left out.
    """
    n, m = C.shape
    row, v, v_low, parents = C[i], high[n : n + m], low[n : n + m], parent[n : n + m]
    u, u_low = high[i], low[i]
    for j in range(m):
        s, e = two_sum(row[j], -u)
        t, f = two_sum(s, v[j])
        slack = EPS * EPS * (row[j] + abs(u) + abs(v[j]))
        in_tree = parents[j] == i
        value[j] = 0.0 if in_tree else t
        rest[j] = 0.0 if in_tree else (e + f) + (v_low[j] - u_low) + slack
    if parent[i] != i:
        value[parent[i] - n] = rest[parent[i] - n] = 0.0
    j = place_of_least(value, rest)
    return j if value[j] + rest[j] < 0.0 else -1


@inline_core
def settle(C, a, b, parent, back, flow, high, low, mass, mass_low, root):
    """Compute the flow of each arc anew, from the masses below it; return the cost of the plan and its duality gap.

    Masses are summed in two parts: flows have an error of rounding, however often they were changed on the way. The
    heaviest node takes the difference of the totals, which its own rounding may have made.
    """
    n, m = C.shape
    value = rest = dual = dual_low = excess = excess_low = 0.0
    heavy = 0
    for w in range(n + m):
        mass[w], mass_low[w] = a[w] if w < n else -b[w - n], 0.0
        excess, excess_low = add(excess, excess_low, mass[w], 0.0)
        heavy = w if abs(mass[w]) > abs(mass[heavy]) else heavy
    mass[heavy], mass_low[heavy] = add(mass[heavy], 0.0, -excess, -excess_low)
    for w in range(n + m):
        p, q = two_product(mass[w], high[w])
        dual, dual_low = add(dual, dual_low, p, q + mass[w] * low[w])
    w = back[root]
    while w != root:
        up = parent[w]
        mass[up], mass_low[up] = add(mass[up], mass_low[up], mass[w], mass_low[w])
        flow[w] = max(mass[w] if w < n else -mass[w], 0.0)
        p, q = two_product(flow[w], arc_cost(C, n, w, up))
        value, rest = add(value, rest, p, q)
        w = back[w]
    gap, _ = add(value, rest, -dual, -dual_low)
    return value, abs(gap)
