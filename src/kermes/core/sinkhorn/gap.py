"""How far a dual value is from the optimum at most, by a plan with both marginals right.

Let P = diag(u) K diag(v) have the row sums a, and column sums c = b - r. For every plan Q with the marginals a and b

    optimum - dual value  <=  eps KL(Q | P)  =  eps sum P h(Q / P),    h(1 + x + y) <= x^2 + y log(2 + y)

for |x| <= 1 and y >= 0. Q is made of P in two steps. Columns are scaled to b: x = r_j / c_j, sum r^2 / c in all. That
leaves rows with a surplus, which flows along a tree of the rows. Neighbours i and i' exchange F of mass in the columns
that both use, in proportion to m_j = min(P_ij, P_i'j): |x| <= F / sum m. Where they share too little for that, it is
min(P_ij, k P_i'j) with a factor k: i gives F as before, and i' gets y <= k F / sum m. All x of the second step make up
sum_i (sum of |x|) (sum of F) at most, sums over the neighbours of i; the root of both steps is at most the sum of their
roots.

Where groups of atoms exchange next to nothing, log k is the way between them over eps, and the bound is what the
exchange of F would cost; beyond log MOST nothing is proved.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.extending import overload

from ..intrinsics import borrowed, lesser
from ..jit import PART, inline_core, tile_core
from ..status import OK
from .loop import f4
from .products import GROUP, dots8

LITTLE = 0.25  # part of an entry that an exchange may take away
STEP, MOST = f4(1e3), f4(1e24)  # factors by which entries may grow instead
ROUNDED, ROUNDED32 = 1e-14, 1e-6  # parts of masses that are rounding


@tile_core
def shared(k, scale, other, other_scale, v):
    """Mass that two rows of the plan have in common: sum_j min(scale k_j, other_scale other_j) v_j."""
    total = f4(0)
    for c in range(v.size):
        total += lesser(scale * k[c], other_scale * other[c]) * v[c]
    return total


@inline_core
def missed(weight, scaling, product, most):
    """r^2 / c of a column: about what its error r takes from the value, over eps. The L1 error hides light ones.

    A column that got nothing, c = 0, costs ``most`` times its mass.
    """
    held = np.float64(scaling) * np.float64(product)
    gap = np.float64(weight) - held
    return min(gap / held, most) * gap


@inline_core
def missed_by_columns(side, most):
    """Sum r^2 / c of a side whose products are those with exact rows."""
    b, v, t, m = side
    energy = 0.0
    for c in range(m):
        energy += missed(b[c], v[c], t[c], most)
    return energy


@inline_core
def scale_columns(block):
    """Put the surplus of each row after the columns are scaled to b into its sum; (sum r^2 / c, largest |r / c|)."""
    b, v, t, m = block.columns
    s, u = block.rows.sums, block.rows.scaling
    energy, largest = missed_by_columns(block.columns, np.inf), 0.0
    for c in range(t.size):
        held = np.float64(v[c]) * np.float64(t[c]) if c < m else 1.0
        gap = np.float64(b[c]) - held if c < m else 0.0
        largest = max(largest, abs(gap) / held)
        t[c] = v[c] * f4(gap / held)
    for r in range(0, u.size, GROUP):
        dots8(block.gibbs.kernel, block.ids, t, s, r)
    for r in range(u.size):
        s[r] *= u[r]
    return energy, largest


@inline_core
def gap_bound(block, order, parent, first):
    """Bound (optimum - dual value) / eps of a block whose rows are exact; inf if none is proved. Spoils the sums.

    ``order`` lists the rows from the root of a tree on, and ``parent`` has that of each, from ``first`` on.
    """
    energy, largest = scale_columns(block)
    K, ids, v = borrowed(block.gibbs.kernel), block.ids, block.columns.scaling
    a, u, s, n = block.rows
    rounded = ROUNDED32 if K.itemsize == 4 else ROUNDED
    parts, flows, mass = np.zeros(n), np.zeros(n), np.empty(n)
    routed, most, handed = 0.0, 0.0, 0.0
    for i in range(n):
        mass[i] = a[i]
    for k in range(n - 1, 0, -1):
        i = order[first + k]
        j = parent[first + i]
        flow = abs(np.float64(s[i])) + rounded * min(mass[i], abs(1.0 - mass[i]))
        part, factor = np.inf, f4(0)
        while not part <= LITTLE and factor < MOST:
            factor = factor * STEP if factor > f4(0) else f4(1)
            common = shared(K[ids[i]], factor * u[i], K[ids[j]], u[j], v)
            if factor > f4(1):  # rounding leaves the direction of small flows open: the worse one
                common = min(common, shared(K[ids[i]], u[i], K[ids[j]], factor * u[j], v))
            part = flow / np.float64(common)
        if factor > f4(1):
            handed += flow * math.log(2.0 + factor * part)
        s[j] += s[i]
        mass[j] += mass[i]
        parts[i] += part
        parts[j] += part
        flows[j] += flow
        routed += parts[i] * (flows[i] + flow)  # its children come before it
        most = max(most, parts[i])
    root = order[first]
    routed += parts[root] * flows[root]
    bound = (math.sqrt(energy) + math.sqrt(routed)) ** 2 + handed
    return bound if largest + max(most, parts[root]) <= 1.0 and bound < np.inf else np.inf


def bound_gap(out, side, block, first, p, q):
    """Say what is left of the value of a pair, if that is asked for; its rows are atoms of ``side``."""
    if out.bounds is not None and out.status[p, q] == OK:
        gaps, missed, apart, trees, most = out.bounds
        missed[p, q] = missed_by_columns(block.columns, most)
        if apart[p, q]:
            gaps[p, q] = gap_bound(block, trees[side].order, trees[side].parent, first)


@overload(bound_gap, jit_options=PART)
def _bound_gap(out, side, block, first, p, q):
    """Compile nothing where nothing is asked for: plain values would take a second longer."""
    if isinstance(out.types[out.fields.index("bounds")], types.NoneType):
        return lambda out, side, block, first, p, q: None

    def bound(out, side, block, first, p, q):
        if out.status[p, q] == OK:
            gaps, missed, apart, trees, most = out.bounds
            missed[p, q] = missed_by_columns(block.columns, most)
            if apart[p, q]:
                gaps[p, q] = gap_bound(block, trees[side].order, trees[side].parent, first)

    return bound


def estimate_gap(out, side, lane, stride, p, q):
    """Say what columns miss of the value of one lane of images, if that is asked for."""
    if out.bounds is not None:
        out.bounds.missed[p, q] = missed_by_lane(side, lane, stride, out.bounds.most)


@overload(estimate_gap, jit_options=PART)
def _estimate_gap(out, side, lane, stride, p, q):
    if isinstance(out.types[out.fields.index("bounds")], types.NoneType):
        return lambda out, side, lane, stride, p, q: None

    def estimate(out, side, lane, stride, p, q):
        out.bounds.missed[p, q] = missed_by_lane(side, lane, stride, out.bounds.most)

    return estimate


@inline_core
def missed_by_lane(side, lane, stride, most):
    """Sum r^2 / c over the pixels of one image in ``stride`` lanes."""
    energy = 0.0
    for i in range(side.outer):
        for j in range(lane, side.inner * stride, stride):
            if side.weights[i, j] > 0:
                energy += missed(side.weights[i, j], side.scaling[i, j], side.sums[i, j], most)
    return energy
