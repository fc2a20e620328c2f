"""Stabilised Sinkhorn for one pair, float64: potentials absorbed into the kernel, epsilon scaling, never nan.

P = diag(u) exp((f + g - C) / eps) diag(v). u and v start at 1 and stay within exp(+-RANGE); beyond that (or when a sum
vanishes) they are absorbed into f and g by one exact log-domain iteration, so entries of the kernel that underflow to 0
(below exp(-708)) can never carry more than exp(2 RANGE - 708) of mass, and each absorption makes the progress of a
plain iteration: the loop cannot stall in a cycle.

Potentials may be far larger than the costs that matter (atoms far from all others fix their own up to the cost of the
way there), and f + g - C then has few digits. The last u and v are therefore not absorbed: whatever the rounding of K,
diag(u) K diag(v) has the marginals a and b, and is the plan of costs within rounding of C. Values and status are its.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray
from ..exp import exp
from ..jit import raw_strict_core, raw_tile_core, strict_core
from ..status import FAILED, OK, RETRY, UNCONVERGED
from .block import Block, atom_costs, fill_side, relax_columns, spread, step, up
from .gap import bound_gap
from .loop import STRONG, WINDOW, adapt
from .newton import newton
from .products import GROUP
from .structs import TRANSPORT, Gibbs

RANGE = 100.0
STABLE_CAP = 0.99  # largest relaxation
STAGE_TOL, STAGE_ITER = 0.02, 100  # what the stages before the last one are given
START = 0.01  # epsilon of the first stage, in units of the largest cost
#: Iterations of the last stage before Newton's method looks for the potentials, at first (or COLUMNS of the columns: a
#: step takes as long as a twelfth of them or so), and again if it did not find them.
FEW, COLUMNS, PATIENCE = 12, 0.06, 300
SIDE = 1024  # most columns of a pair for it: a step takes a sixth of their cube


class Absorbed(NamedTuple):
    """A pair: its costs, the block of the kernel that has absorbed f and g, and the logs of the weights."""

    cost: FloatArray
    block: Block
    loga: FloatArray
    logb: FloatArray
    f: FloatArray
    g: FloatArray


@raw_tile_core
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


@raw_tile_core
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


@raw_tile_core
def fill_kernel(K, C, f, g, eps):
    """K = exp((f + g - C) / eps)."""
    inv = 1.0 / eps
    for i in range(C.shape[0]):
        row, out, fi = C[i], K[i], f[i]
        for j in range(C.shape[1]):
            out[j] = exp((fi + g[j] - row[j]) * inv)


@raw_strict_core
def fold(x, potential, eps):
    """Potential += eps log x, x = 1, over the true entries, if all of x is positive and finite; else only x = 1."""
    n = potential.size
    lo, hi = spread(x, n)
    if lo > 0.0 and hi < np.inf:
        for i in range(n):
            potential[i] += eps * math.log(x[i])
    for i in range(n):
        x[i] = 1.0


@raw_strict_core
def in_range(block):
    """True when the scalings lie within exp(+-RANGE); nan gives False."""
    bound = math.exp(RANGE)
    lo, hi = spread(block.rows.scaling, block.rows.size)
    lo2, hi2 = spread(block.columns.scaling, block.columns.size)
    return min(lo, lo2) * bound > 1.0 and max(hi, hi2) < bound


@raw_strict_core
def absorb(pair, eps):
    """Fold u, v into f, g, do one log-domain iteration, refill K with u = v = 1."""
    C, f, g = pair.cost, pair.f, pair.g
    fold(pair.block.rows.scaling, f, eps)
    fold(pair.block.columns.scaling, g, eps)
    log_rows(C, pair.loga, f, g, eps)
    log_columns(C, pair.logb, f, g, eps, np.empty(g.size), np.empty(g.size))
    fill_kernel(pair.block.gibbs.kernel, C, f, g, eps)


@raw_strict_core
def run_stage(pair, eps, tol, max_iter):
    """Iterate at one epsilon; returns the status. On return the rows of diag(u) K diag(v) are exact, t = K^T u."""
    block = pair.block
    for i in range(block.rows.size):
        block.rows.scaling[i] = 1.0
    for j in range(block.columns.size):
        block.columns.scaling[j] = 1.0
    fill_kernel(block.gibbs.kernel, pair.cost, pair.f, pair.g, eps)
    it, status, error, mark, theta, cap = 0, UNCONVERGED, np.inf, np.inf, STRONG, STABLE_CAP
    while it < max_iter:
        it += 1
        exact = it == 1 or not error > 1.5 * tol
        rows, columns = step(block, 0.0 if exact else theta)
        if exact and columns <= tol and in_range(block):
            status = OK
            break
        relax_columns(block, 0.0 if it == 1 else theta)
        error = rows + columns
        if not in_range(block):
            absorb(pair, eps)
            it += 1
            error = mark = np.inf
        elif it % WINDOW == 0:
            theta, cap, mark = adapt(theta, cap, mark, error)
    for attempt in range(0 if status == OK else 3):
        columns = step(block, 0.0)[1]
        status = OK if columns <= tol else UNCONVERGED
        if attempt == 2 or in_range(block):  # the status is that of the plan which is returned
            break
        absorb(pair, eps)  # a sum vanished, or nearly: begin again with rows that are exact
        log_rows(pair.cost, pair.loga, pair.f, pair.g, eps)
        fill_kernel(block.gibbs.kernel, pair.cost, pair.f, pair.g, eps)
    return status


@raw_strict_core
def reduce(pair, C, f, g):
    """Add the potentials of a pair to f and g, and take these off its costs: the plan stays the same.

    What is left of costs is small where the plan has mass, so that potentials of it keep their digits.
    """
    for i in range(f.size):
        f[i] += pair.f[i]
        pair.f[i] = 0.0
    for j in range(g.size):
        g[j] += pair.g[j]
        pair.g[j] = 0.0
    for i in range(f.size):
        for j in range(g.size):
            pair.cost[i, j] = C[i, j] - (f[i] + g[j])


@raw_strict_core
def restore(pair, C, f, g):
    """Give a pair that was reduced its costs and potentials back."""
    for i in range(f.size):
        pair.f[i] += f[i]
        for j in range(g.size):
            pair.cost[i, j] = C[i, j]
    for j in range(g.size):
        pair.g[j] += g[j]


@raw_strict_core
def solve_stable(C, a, b, options):
    """(Pair, status) of the entropic problem with cost block C; its plan is diag(u) K diag(v), rows exact.

    Starts from zero at epsilon = START max(C) and divides it by 4 per stage, but for the last one only roughly solved.
    Where the last stage is not soon done Newton's method finds the potentials, and the iteration confirms them. It
    cannot where groups of atoms exchange nothing: what their masses differ by, below the tolerance of the stages, has
    to cross at potentials that are far from those of balanced groups. Then all stages are solved closely, again by
    Newton's method: at large epsilon groups do exchange mass. Costs that are not finite: FAILED.
    """
    n, m = C.shape
    rows, columns = fill_side(np.empty((3, up(n, GROUP))), a), fill_side(np.empty((3, up(m, GROUP))), b)
    K, ids, top = np.zeros((n + 1, columns.weights.size)), np.empty(rows.weights.size, np.int64), 0.0
    block = Block(Gibbs(K, K), ids, rows, columns)
    pair = Absorbed(C.copy(), block, np.empty(n), np.empty(m), np.zeros(n), np.zeros(m))
    for j in range(columns.weights.size):
        K[n, j] = 1.0
    for i in range(rows.weights.size):
        ids[i] = min(i, n)
    for i in range(n):
        pair.loga[i] = math.log(a[i])
        largest = spread(C[i], m)[1]
        top = top if largest <= top else largest
    for j in range(m):
        pair.logb[j] = math.log(b[j])
    eps, tol, max_iter = options.epsilon, options.tol, options.max_iter
    stage = max(eps, START * top)
    if not top < np.inf:
        return pair, FAILED
    patience, close, f, g = max(FEW, int(COLUMNS * m)) if m <= SIDE else max_iter, False, np.zeros(n), np.zeros(m)
    while True:  # one call of `run_stage` and of `newton`: they are compiled once
        last = stage <= eps
        status = run_stage(pair, stage, tol if last else STAGE_TOL, min(patience if last else STAGE_ITER, max_iter))
        if last and (status == OK or patience >= max_iter):
            restore(pair, C, f, g)
            return pair, status
        fold(rows.scaling, pair.f, stage)
        fold(columns.scaling, pair.g, stage)
        if last:
            reduce(pair, C, f, g)
        solved = not (last or close) or newton(pair.cost, a, b, pair.f, pair.g, stage, 0.5 * tol)
        if last and (solved or close):
            patience = max_iter
        elif last and patience < PATIENCE:
            patience = PATIENCE
        elif last:
            close, stage = True, max(2.0 * top, 4.0 * eps)
        stage = max(eps, 0.25 * stage)


@strict_core
def fill_plan(C, a, b, options, plan):
    """Fill the plan (n, m), rows exact, columns within tol if the status that is returned is OK."""
    pair, status = solve_stable(C, a, b, options)
    u, v, K = pair.block.rows.scaling, pair.block.columns.scaling, pair.block.gibbs.kernel
    for i in range(a.size):
        for j in range(b.size):
            plan[i, j] = u[i] * K[i, j] * v[j]
    return status


@raw_strict_core
def plan_value(pair, eps, transport):
    """<P, C> or <P, F + G>, + <G, b - P^T 1>, with F = f + eps log(u / a) and G = g + eps log(v / b).

    <P, F + G> = <P, C> + eps KL(P | a b^T), and the last term makes it the dual value. F and G are added pair by pair:
    each may be far larger than their sum. The gaps add up to 0 but for rounding, so the mean of G is taken out.
    """
    C, K = pair.cost, pair.block.gibbs.kernel
    u, (b, v, t, m) = pair.block.rows.scaling, pair.block.columns
    log_v, total, mean, gaps = np.empty(m), 0.0, 0.0, 0.0
    for j in range(m):
        log_v[j] = eps * (math.log(v[j]) - pair.logb[j])
    for i in range(pair.f.size):
        f, log_u = pair.f[i], eps * (math.log(u[i]) - pair.loga[i])
        for j in range(m):
            total += u[i] * K[i, j] * v[j] * (C[i, j] if transport else (f + pair.g[j]) + (log_u + log_v[j]))
    for j in range(m):
        g, gap = pair.g[j] + log_v[j], b[j] - v[j] * t[j]
        total += g * gap
        mean += b[j] * g
        gaps += gap
    return total - mean * gaps


@raw_strict_core
def stable_value(pair, status, options):
    """(value, status) of a pair that was solved: TRANSPORT, or REGULARIZED for any other code."""
    if status == FAILED:
        return np.nan, FAILED
    value = plan_value(pair, options.epsilon, options.value == TRANSPORT)
    if not abs(value) < np.inf:
        return np.nan, FAILED
    return value, status


@strict_core
def retry(ground, A, rows, B, cols, options, out):
    """Compute the pairs of a tile whose status is RETRY."""
    for p in range(rows.size):
        for q in range(cols.size):
            if out.status[p, q] != RETRY:
                continue
            a = A.weights[A.offsets[rows[p]] : A.offsets[rows[p] + 1]]
            b = B.weights[B.offsets[cols[q]] : B.offsets[cols[q] + 1]]
            C = np.empty((a.size, b.size))
            atom_costs(ground, A, rows[p], B, cols[q], C)
            pair, status = solve_stable(C, a, b, options)
            out.values[p, q], out.status[p, q] = stable_value(pair, status, options)
            bound_gap(out, 0, pair.block, A.offsets[rows[p]], p, q)
