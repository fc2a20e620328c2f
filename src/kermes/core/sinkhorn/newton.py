"""Newton's method on the semi-dual, which brings potentials close to their optimum where epsilon is small.

With f the soft minimum of C - g, the rows of P = exp((f + g - C) / eps) are exact, and the dual value is a concave
function of g alone: its gradient is b - c, with c the column sums of P, and -1 / eps times its Hessian is

    diag(c) - P' diag(1 / a) P

the Laplacian of a graph in which columns are linked by the rows they share. The plan is nearly sparse: only entries
that may count are listed and evaluated, and those below CUT of their row are left out of the product. Steps are
shortened until the derivative along them is no longer clearly negative; a part of b, as large as the error, keeps
columns without mass in place, and a larger one is taken where that is not enough. Iterations of Sinkhorn crawl there:
at eps = 1e-3 of the median cost they take thousands, Newton's method 5 to 12 steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..cholesky import factor, forward, pad
from ..exp import exp
from ..jit import raw_strict_core, raw_tile_core
from ..points import padded
from .block import spread

STEPS = 30  # most steps at one epsilon
SHORTEST, LONGEST = 1e-4, 64.0  # steps below this part of the first one are given up; none beyond that of Newton's
LEAST_DERIVATIVE = -0.5  # along a step at its end, in parts of that at its beginning, from which it is accepted
MOVE = 10.0  # that a step may change potentials by relative to each other at first, in units of eps
LEFT = 0.3  # of the derivative at the end of a step, from which twice that step is tried: excess falls by e in one
DAMPING = 1e-2  # part of the error, times b, that is added to the Hessian at first
LESS, MORE, MOST = 0.03, 100.0, 1e5  # factors of it after a whole step and after none, and where it is given up
CUT = 1e-10  # part of its row below which an entry of the plan is left out of the Hessian
#: Entries exp(-REACH) below the largest of their row are not listed; none of them exceeds exp(-REACH + DRIFT) of it
#: before potentials have changed by DRIFT eps relative to each other, when a new list is made.
REACH, DRIFT = 60.0, 25.0


class Entries(NamedTuple):
    """Entries of the plan, row after row: row i owns starts[i]:starts[i + 1]; their columns, costs and values.

    ``listed``: the potentials for which they were listed.
    """

    starts: IndexArray
    columns: IndexArray
    costs: FloatArray
    plan: FloatArray
    listed: FloatArray


@raw_tile_core
def list_entries(C, g, reach, entries):
    """List the entries whose g - C is within ``reach`` of the largest of their row."""
    starts, columns, costs, _, listed = entries
    n, m = C.shape
    count = 0
    starts[0] = 0
    for i in range(n):
        row, top = C[i], -np.inf
        for j in range(m):
            top = g[j] - row[j] if g[j] - row[j] > top else top  # of nan ``greater`` would make anything
        for j in range(m):
            if g[j] - row[j] >= top - reach:
                columns[count], costs[count] = j, row[j]
                count += 1
        starts[i + 1] = count
    for j in range(m):
        listed[j] = g[j]


@raw_tile_core
def fill_rows(entries, a, f, g, eps, sums):
    """Fill the plan exp((f + g - C) / eps) with f such that its rows add up to a; and its column sums."""
    starts, columns, costs, plan, _ = entries
    n, inv = a.size, 1.0 / eps
    for i in range(n):
        top = -np.inf
        for k in range(starts[i], starts[i + 1]):
            value = g[columns[k]] - costs[k]
            plan[k] = value
            top = max(top, value)
        f[i] = -top
        for k in range(starts[i], starts[i + 1]):
            plan[k] = (plan[k] - top) * inv
    for k in range(starts[n]):
        plan[k] = exp(plan[k])
    for j in range(g.size):
        sums[j] = 0.0
    for i in range(n):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += plan[k]
        scale = a[i] / total
        f[i] += eps * math.log(scale)
        for k in range(starts[i], starts[i + 1]):
            plan[k] *= scale
            sums[columns[k]] += plan[k]


@raw_strict_core
def evaluate(C, entries, a, f, g, eps, sums):
    """Fill the plan at g, by a new list if potentials have drifted."""
    first, drifted = g[0] - entries.listed[0], False
    for j in range(g.size):
        drifted = drifted or not abs(g[j] - entries.listed[j] - first) <= 0.5 * DRIFT * eps  # nan: always
    if drifted:
        list_entries(C, g, REACH * eps, entries)
    fill_rows(entries, a, f, g, eps, sums)


@raw_tile_core
def fill_hessian(entries, a, b, sums, damping, large, H):
    """Lower triangle of diag(c + damping b) - P' diag(1 / a) P."""
    starts, columns, _, plan, _ = entries
    for j in range(b.size):
        for k in range(j):
            H[j, k] = 0.0
        H[j, j] = sums[j] * (1.0 + 1e-13) + damping * b[j]
    for i in range(a.size):
        least, inverse, count = CUT * a[i], 1.0 / a[i], 0
        for k in range(starts[i], starts[i + 1]):
            if plan[k] > least:
                large[count] = k
                count += 1
        for s in range(count):
            scaled, target = plan[large[s]] * inverse, H[columns[large[s]]]
            for t in range(s + 1):
                target[columns[large[t]]] -= scaled * plan[large[t]]


@raw_tile_core
def backward(L, inverse, side, z):
    """Solve L' z = z in place."""
    for i in range(side - 1, -1, -1):
        z[i] *= inverse[i]
        row, value = L[i], z[i]
        for k in range(i):
            z[k] -= row[k] * value


@raw_tile_core
def derivative_along(d, b, sums):
    """(sum d (b - c), sum |b - c|)."""
    derivative, error = 0.0, 0.0
    for j in range(b.size):
        gap = b[j] - sums[j]
        derivative += d[j] * gap
        error += abs(gap)
    return derivative, error


@raw_strict_core
def try_step(C, entries, a, b, f, g, z, step, eps, trial, sums):
    """(Derivative along z, error) of the plan at trial = g + step z, which is filled."""
    for j in range(b.size):
        trial[j] = g[j] + step * z[j] if step > 0.0 else g[j]  # z may be anything then
    evaluate(C, entries, a, f, trial, eps, sums)
    return derivative_along(z, b, sums)


@raw_strict_core
def newton(C, a, b, f, g, eps, tol):
    """Improve f and g until the plan has the row sums a and column sums within tol of b; whether that succeeded.

    A step along z begins as Newton's, or where potentials have moved by MOVE; ``taken`` is the longest that is good.
    """
    n, m = C.shape
    side = padded(m)
    columns, costs, plan = np.empty(n * m, np.int64), np.empty(n * m), np.empty(n * m)
    entries = Entries(np.empty(n + 1, np.int64), columns, costs, plan, np.full(m, np.nan))
    H, inverse, z, large = np.empty((side, side)), np.empty(side), np.zeros(side), np.empty(m, np.int64)
    sums, trial, error, damping = np.empty(m), np.empty(m), np.inf, DAMPING
    for k in range(STEPS + 1):  # first the plan of g as it is, then steps: one call of `try_step`, compiled once
        first, step, taken = 0.0, 0.0, 0.0
        if k > 0:
            fill_hessian(entries, a, b, sums, damping * min(error, 1.0), large, H)
            pad(H, m, side)
            for j in range(side):
                z[j] = eps * (b[j] - sums[j]) if j < m else 0.0
            if abs(factor(H, inverse, 0, side)) < np.inf:
                forward(H, inverse, 0, side, z)
                backward(H, inverse, side, z)
                first = derivative_along(z, b, sums)[0]
                low, high = spread(z, m)
                step = min(1.0, MOVE * eps / (high - low))
        shortest, back = SHORTEST * step, not (first > 0.0 and step > 0.0)
        while True:
            derivative, error = try_step(C, entries, a, b, f, g, z, taken if back else step, eps, trial, sums)
            if back:
                break
            if derivative >= LEAST_DERIVATIVE * first:
                taken = step
                if not (error > tol and derivative > LEFT * first and step < LONGEST):
                    break
                step *= 2.0
            else:  # shorter, where a line through both derivatives is 0; or back to what was good
                step *= max(0.1, min(0.5, first / (first - derivative)))
                back = taken > 0.0 or not step > shortest
        for j in range(m):
            g[j] = trial[j]
        if not error > tol:
            return True
        damping *= 1.0 if k == 0 or 0.0 < taken < 1.0 else LESS if taken > 0.0 else MORE
        if damping > MOST:
            break
    return False
