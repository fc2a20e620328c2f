"""What the debiased value takes from each measure alone; the cost is symmetric with zero diagonal.

REGULARIZED(mu, mu), by the symmetric iteration, and the shortest tree of its atoms: how far groups are apart.
"""

from __future__ import annotations

import math

import numpy as np

from ..exp import exp
from ..intrinsics import lesser
from ..jit import inline_core, least_core, strict_core, tile_core
from ..status import OK, UNCONVERGED
from .block import atom_costs, spread
from .stabilised import RANGE, fill_kernel

LIGHT = 0.1  # part of the mean weight of its measure below which an atom does not link others: it carries too little


@tile_core
def soft_rows(C, a, f, eps, out):
    """out_i = -eps log sum_j a_j exp((f_j - C_ij) / eps): with it as the other potential the rows of the plan are a."""
    n, inv = a.size, 1.0 / eps
    for i in range(n):
        row, top, total = C[i], f[0] - C[i, 0], 0.0
        for j in range(1, n):
            top = max(top, f[j] - row[j])
        for j in range(n):
            total += a[j] * exp((f[j] - row[j] - top) * inv)
        out[i] = -eps * math.log(total) - top


@tile_core
def scaled_sums(K, a, u, scaled, out):
    """Fill out = K diag(a) u."""
    for j in range(a.size):
        scaled[j] = a[j] * u[j]
    for i in range(a.size):
        row, total = K[i], 0.0
        for j in range(a.size):
            total += row[j] * scaled[j]
        out[i] = total


@inline_core
def self_value(C, a, options, K, work):
    """(REGULARIZED value of (a, a), status); K (n, n) and work (4, n) are scratch.

    The plan is a_i a_j exp((f_i + f_j - C_ij) / eps), and f <- (f + T(f)) / 2, T as in `soft_rows`, contracts by about
    1/2 or better per step at every epsilon. After one such step the exponentials are kept, f is eps log u more, and a
    step is u <- sqrt(u / K a u); where u leaves exp(+-RANGE) it is absorbed into f. Row sums are a u (K a u).

    With the relative errors x of these the value is off by about eps sum a x^2, whose root is at least the L1 error:
    one light atom that is wholly wrong would pass for converged by that.
    """
    n, eps = a.size, options.epsilon
    f, g, u, s = work[0], work[1], work[2], work[3]
    for i in range(n):
        f[i], u[i] = 0.0, 1.0
    absorbed, error = False, np.inf
    for _ in range(options.max_iter):
        if not absorbed:
            for i in range(n):
                f[i] += eps * math.log(u[i])
                u[i] = 1.0
            soft_rows(C, a, f, eps, g)
            for i in range(n):
                f[i] = 0.5 * (f[i] + g[i])
            fill_kernel(K, C, f, f, eps)
        scaled_sums(K, a, u, g, s)
        error = 0.0
        for i in range(n):
            error += a[i] * (u[i] * s[i] - 1.0) ** 2
        error = math.sqrt(error)
        if error <= options.tol:
            break
        for i in range(n):
            u[i] = math.sqrt(u[i] / s[i])
        low, high = spread(u, n)
        absorbed = low * math.exp(RANGE) > 1.0 and high < math.exp(RANGE)
    value = 0.0
    for i in range(n):
        value += a[i] * (2.0 * f[i] + eps * (math.log(u[i]) - math.log(s[i])))
    return value, OK if error <= options.tol else UNCONVERGED


@least_core
def place_of_least(row, prices):
    """Return a j for which row[j] + prices[j] is least."""
    best = np.inf
    for j in range(len(row)):
        best = lesser(best, row[j] + prices[j])
    at = 0
    for j in range(len(row)):
        at = max(at, j if row[j] + prices[j] == best else 0)
    return at


@least_core
def tree(C, a, roots, order, parent, nearest, joined):
    """(longest link, sum of the links) of the shortest tree that spans the atoms; those of little mass are leaves.

    Links are costs, or their ``roots``. ``order`` gets the atoms as they join the tree, the heaviest first, and
    ``parent`` what they are linked to; ``nearest`` and ``joined`` are scratch.
    """
    n, at, longest, total = a.size, 0, 0.0, 0.0
    least = LIGHT / n  # weights add up to 1
    for j in range(n):
        nearest[j], joined[j] = np.inf, 0.0
        at = j if a[j] > a[at] else at
    parent[at] = at
    for k in range(n):
        order[k], joined[at], nearest[at] = at, np.inf, -1.0  # no cost is less
        if k == n - 1:
            break
        row = C[at]
        for j in range(n if a[at] >= least else 0):
            parent[j] = at if row[j] < nearest[j] else parent[j]
        for j in range(n if a[at] >= least else 0):
            nearest[j] = lesser(nearest[j], row[j])
        at = place_of_least(nearest, joined)
        link = math.sqrt(nearest[at]) if roots else nearest[at]
        longest, total = max(longest, link), total + link
    return longest, total


@strict_core
def self_values(ground, A, rows, options, out, roots, trees):
    """out[i] = REGULARIZED(mu_i, mu_i), and the `tree` of the measure i, for i in rows."""
    for i in rows:
        lo, end = A.offsets[i], A.offsets[i + 1]
        a = A.weights[lo:end]
        # One kind of array, made in one function: each kind of each caller takes a tenth of a second to compile.
        C, K, work = np.empty((a.size, a.size)), np.empty((a.size, a.size)), np.empty((6, a.size))
        atom_costs(ground, A, i, A, i, C)
        out.values[i], out.status[i] = self_value(C, a, options, K, work)
        longest, total = tree(C, a, roots, trees.order[lo:end], trees.parent[lo:end], work[4], work[5])
        trees.links[i, 0], trees.links[i, 1] = longest, total
