"""Stabilised Sinkhorn for one pair, float64: potentials absorbed into the kernel, epsilon scaling, never nan.

P = diag(u) exp((f + g - C) / eps) diag(v). u and v start at 1 and stay within exp(+-RANGE); beyond that (or when a sum
vanishes) they are absorbed into f and g by one exact log-domain iteration, so entries of the kernel that underflow to 0
(below exp(-708)) can never carry more than exp(2 RANGE - 708) of mass, and each absorption makes the progress of a
plain iteration: the loop cannot stall in a cycle.
"""

from __future__ import annotations

import math

import numpy as np

from .exp import exp
from .jit import strict_core, tile_core
from .sinkhorn_ops import GROUP, TRANSPORT, half_steps, l1_gap, next_theta, relax, spread
from .status import FAILED, OK, UNCONVERGED

RANGE = 100.0
WINDOW = 10


@tile_core
def log_rows(C, loga, f, g, eps):
    """f_i = eps log a_i - eps log sum_j exp((g_j - C_ij) / eps): row sums of the plan become a."""
    n, m = C.shape
    inv = 1.0 / eps
    for i in range(n):
        row = C[i]
        top = g[0] - row[0]
        for j in range(1, m):
            top = max(top, g[j] - row[j])
        total = 0.0
        for j in range(m):
            total += exp((g[j] - row[j] - top) * inv)
        f[i] = eps * (loga[i] - math.log(total)) - top


@tile_core
def log_columns(C, logb, f, g, eps, top, total):
    """g_j = eps log b_j - eps log sum_i exp((f_i - C_ij) / eps): column sums of the plan become b."""
    n, m = C.shape
    inv = 1.0 / eps
    for j in range(m):
        top[j] = f[0] - C[0, j]
        total[j] = 0.0
    for i in range(1, n):
        row, fi = C[i], f[i]
        for j in range(m):
            top[j] = max(top[j], fi - row[j])
    for i in range(n):
        row, fi = C[i], f[i]
        for j in range(m):
            total[j] += exp((fi - row[j] - top[j]) * inv)
    for j in range(m):
        g[j] = eps * (logb[j] - math.log(total[j])) - top[j]


@tile_core
def fill_kernel(K, C, f, g, eps):
    """K = exp((f + g - C) / eps)."""
    inv = 1.0 / eps
    for i in range(C.shape[0]):
        row, out, fi = C[i], K[i], f[i]
        for j in range(C.shape[1]):
            out[j] = exp((fi + g[j] - row[j]) * inv)


@strict_core
def fold(x, potential, eps):
    """Potential += eps log x, x = 1, over the true entries, if all of x is positive and finite; else only x = 1."""
    n = potential.size
    lo, hi = spread(x, n)
    if lo > 0.0 and hi < np.inf:
        for i in range(n):
            potential[i] += eps * math.log(x[i])
    for i in range(n):
        x[i] = 1.0


@strict_core
def in_range(u, v, n, m):
    """True when the scalings lie within exp(+-RANGE); nan gives False."""
    bound = math.exp(RANGE)
    lo, hi = spread(u, n)
    lo2, hi2 = spread(v, m)
    return min(lo, lo2) * bound > 1.0 and max(hi, hi2) < bound


@strict_core
def absorb(C, K, loga, logb, f, g, u, v, eps):
    """Fold u, v into f, g, do one log-domain iteration, refill K with u = v = 1."""
    fold(u, f, eps)
    fold(v, g, eps)
    log_rows(C, loga, f, g, eps)
    log_columns(C, logb, f, g, eps, np.empty(g.size), np.empty(g.size))
    fill_kernel(K, C, f, g, eps)


@strict_core
def run_stage(C, K, idx, a, b, loga, logb, f, g, eps, tol, max_iter):
    """Iterate at one epsilon; returns (status, iterations). On return f, g hold the potentials, rows exact if OK."""
    n, m = C.shape
    u, v, s, t = np.zeros(a.size), np.zeros(b.size), np.ones(a.size), np.ones(b.size)
    u[:n] = 1.0
    v[:m] = 1.0
    absorb(C, K, loga, logb, f, g, u, v, eps)
    it, status, error, mark, theta, cap = 1, UNCONVERGED, np.inf, np.inf, 0.7, 0.99
    while it < max_iter:
        it += 1
        exact = not error > 1.5 * tol
        rows = half_steps(K, idx, a, u, v, s, t, m, 0.0 if exact else theta)
        columns = l1_gap(v, t, b)
        if exact and columns <= tol and in_range(u, v, n, m):
            status = OK
            break
        relax(b, v, t, 0, b.size, theta)
        error = rows + columns
        if not in_range(u, v, n, m):
            absorb(C, K, loga, logb, f, g, u, v, eps)
            it += 1
            error = mark = np.inf
        elif it % WINDOW == 0:
            new, cap = next_theta(theta, cap, mark, error, WINDOW)
            mark = error if new == theta else np.inf
            theta = new
    fold(u, f, eps)
    fold(v, g, eps)
    return status, it


@strict_core
def solve_stable(C, a, b, f, g, eps, tol, max_iter):
    """Potentials f (n,), g (m,) of the entropic problem with cost block C; returns (status, iterations).

    Starts from zero at epsilon = max(C) / 2 and divides it by 4 per stage (L1 error 0.05, at most 100 iterations each).
    """
    n, m = C.shape
    rows, cols = (n + GROUP - 1) // GROUP * GROUP, (m + GROUP - 1) // GROUP * GROUP
    K, idx = np.zeros((n + 1, cols)), np.empty(rows, np.int64)
    wa, wb, loga, logb = np.zeros(rows), np.zeros(cols), np.empty(n), np.empty(m)
    top = 0.0
    for j in range(cols):
        K[n, j] = 1.0
    for i in range(rows):
        idx[i] = min(i, n)
    for i in range(n):
        wa[i], loga[i], f[i] = a[i], math.log(a[i]), 0.0
        top = max(top, spread(C[i], m)[1])
    for j in range(m):
        wb[j], logb[j], g[j] = b[j], math.log(b[j]), 0.0
    stage, used, status = max(eps, 0.5 * top), 0, UNCONVERGED
    while True:
        last = stage <= eps
        status, it = run_stage(
            C, K, idx, wa, wb, loga, logb, f, g, stage, tol if last else 0.05, max_iter if last else min(100, max_iter)
        )
        used += it
        if last:
            break
        stage = max(eps, 0.25 * stage)
    log_rows(C, loga, f, g, eps)
    return status, used


@tile_core
def plan_sums(C, f, g, eps, columns):
    """<P, C> and the column sums of P = exp((f + g - C) / eps)."""
    inv, cost = 1.0 / eps, 0.0
    for i in range(C.shape[0]):
        row, fi = C[i], f[i]
        for j in range(C.shape[1]):
            p = exp((fi + g[j] - row[j]) * inv)
            cost += p * row[j]
            columns[j] += p
    return cost


@strict_core
def stable_value(C, a, b, eps, tol, max_iter, code):
    """(value, status, iterations) by the stabilised route: TRANSPORT, or REGULARIZED for any other code."""
    f, g, columns = np.empty(a.size), np.empty(b.size), np.zeros(b.size)
    status, it = solve_stable(C, a, b, f, g, eps, tol, max_iter)
    value = plan_sums(C, f, g, eps, columns)
    if code == TRANSPORT:
        for j in range(b.size):
            value += (g[j] - eps * math.log(b[j])) * (b[j] - columns[j])
    else:
        value = eps  # rows are exact, so sum P = 1 to rounding; the sum below keeps the dual exact
        for i in range(a.size):
            value += a[i] * (f[i] - eps * math.log(a[i]))
        for j in range(b.size):
            value += b[j] * (g[j] - eps * math.log(b[j])) - eps * columns[j]
    if not abs(value) < np.inf:
        return np.nan, FAILED, it
    return value, status, it
