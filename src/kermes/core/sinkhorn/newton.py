"""Newton's method on the semi-dual, which brings potentials close to their optimum where epsilon is small.

With f the soft minimum of C - g, the rows of P = exp((f + g - C) / eps) are exact, and the dual value is a concave
function of g alone: its gradient is b - c, with c the column sums of P, and -1 / eps times its Hessian is

    diag(c) - P' diag(1 / a) P

the Laplacian of a graph in which columns are linked by the rows they share. The plan is nearly sparse: entries below
CUT of their row are left out of the product. Steps are shortened until the derivative along them is no longer clearly
negative; a part of b, as large as the error, keeps columns without mass in place. Iterations of Sinkhorn crawl there:
at eps = 1e-3 of the median cost they take thousands, Newton about 20 over all stages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray
from ..cholesky import factor, forward, pad
from ..exp import exp
from ..jit import strict_core, tile_core
from ..points import padded

STEPS = 30  # most steps at one epsilon
SHORTEST = 1e-4  # steps shorter than this part of Newton's are given up
LEAST_DERIVATIVE = -0.5  # along a step at its end, in parts of that at its beginning, from which it is accepted
DAMPING = 1e-3  # part of the error, times b, that is added to the Hessian
CUT = 1e-10  # part of its row below which an entry of the plan is left out of the Hessian


class Semidual(NamedTuple):
    """The plan (n, m) at given g, and its column sums."""

    plan: FloatArray
    sums: FloatArray


@tile_core
def fill_rows(C, a, g, eps, at):
    """Fill the plan whose rows are exp((g - C) / eps) but for a factor, and add up to a; and its column sums."""
    n, m = C.shape
    inv = 1.0 / eps
    sums = at.sums
    for j in range(m):
        sums[j] = 0.0
    for i in range(n):
        row, out = C[i], at.plan[i]
        top = g[0] - row[0]
        for j in range(1, m):
            top = max(top, g[j] - row[j])
        total = 0.0
        for j in range(m):
            value = exp((g[j] - row[j] - top) * inv)
            out[j] = value
            total += value
        scale = a[i] / total
        for j in range(m):
            out[j] *= scale
            sums[j] += out[j]


@tile_core
def fill_hessian(at, a, b, damping, indices, H):
    """Lower triangle of diag(c + damping b) - P' diag(1 / a) P."""
    n, m = at.plan.shape
    for j in range(m):
        for k in range(j):
            H[j, k] = 0.0
        H[j, j] = at.sums[j] * (1.0 + 1e-13) + damping * b[j]
    for i in range(n):
        row, count, least, inverse = at.plan[i], 0, CUT * a[i], 1.0 / a[i]
        for j in range(m):
            if row[j] > least:
                indices[count] = j
                count += 1
        for s in range(count):
            j = indices[s]
            scaled, target = row[j] * inverse, H[j]
            for t in range(s + 1):
                target[indices[t]] -= scaled * row[indices[t]]


@tile_core
def backward(L, inverse, side, z):
    """Solve L' z = z in place."""
    for i in range(side - 1, -1, -1):
        z[i] *= inverse[i]
        row, value = L[i], z[i]
        for k in range(i):
            z[k] -= row[k] * value


@tile_core
def derivative_along(d, b, sums):
    """(sum d (b - c), sum |b - c|)."""
    derivative, error = 0.0, 0.0
    for j in range(b.size):
        gap = b[j] - sums[j]
        derivative += d[j] * gap
        error += abs(gap)
    return derivative, error


@strict_core
def newton(C, a, b, g, eps, tol):
    """Improve g until the column sums are within tol; False if no step along the direction of Newton is long enough."""
    n, m = C.shape
    side = padded(m)
    at = Semidual(np.empty((n, m)), np.empty(m))
    H, inverse, z, indices = np.empty((side, side)), np.empty(side), np.empty(side), np.empty(m, np.int64)
    trial = np.empty(m)
    fill_rows(C, a, g, eps, at)
    error = derivative_along(g, b, at.sums)[1]
    for _ in range(STEPS):
        if not error > tol:
            return True
        fill_hessian(at, a, b, DAMPING * min(error, 1.0), indices, H)
        pad(H, m, side)
        for j in range(side):
            z[j] = eps * (b[j] - at.sums[j]) if j < m else 0.0
        if not abs(factor(H, inverse, 0, side)) < np.inf:
            return False
        forward(H, inverse, 0, side, z)
        backward(H, inverse, side, z)
        first, step = derivative_along(z, b, at.sums)[0], 1.0
        accepted = False
        while first > 0.0 and step > SHORTEST:
            for j in range(m):
                trial[j] = g[j] + step * z[j]
            fill_rows(C, a, trial, eps, at)
            derivative, error = derivative_along(z, b, at.sums)
            accepted = derivative >= LEAST_DERIVATIVE * first
            if accepted:
                break
            step *= max(0.1, min(0.5, first / (first - derivative)))  # where a line through both is 0
        if not accepted:
            return False
        for j in range(m):
            g[j] = trial[j]
    return not error > tol
