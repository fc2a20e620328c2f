"""Entropic transport between many pairs of weighted point sets: shared-support route and coordinates route.

For one pair, P = diag(u) exp(-C / eps) diag(v) with marginals a and b. The iteration stops when the plan with one
marginal exact (u = a / K v, so P 1 = a to rounding) has sum_j |(P^T 1 - b)_j| <= tol. Status: OK if that holds;
UNCONVERGED if it does not after max_iter iterations (the value is the last plan's); FAILED without a finite value.

Values, f = eps log(u / a) and g = eps log(v / b) throughout:
  TRANSPORT    <P, C> + sum_j g_j (b - P^T 1)_j: the cost of the plan, corrected for what is left of the marginal error
  REGULARIZED  <P, C> + eps KL(P | a b^T) at the optimum, computed as the dual value sum a f + sum b g

Routes: plain over-relaxed scaling in the type of the tables (float32 for tol >= 1e-5, else float64); a pair for which
it is not safe or too slow is marked RETRY and goes to ``sinkhorn_log``.
"""

from __future__ import annotations

import math

import numpy as np

from .._typing import AnyArray, FloatArray
from .exp import LOWEST, LOWEST32, exp, exp32
from .jit import inline_core, strict_core, tile_core
from .sinkhorn_log import stable_value
from .sinkhorn_ops import GROUP, TRANSPORT, dots8, f4, half_steps, l1_gap, next_theta, relax, spread
from .status import OK, RETRY, UNCONVERGED

THETA = 0.7  # relaxation exponent - 1: 25 iterations on MNIST at eps 0.4 against 115 plain, 28 at 0.75
FIRST, WINDOW = 20, 10  # first look at the rate, then every WINDOW iterations
PLAIN = 300  # iterations of plain scaling before the stabilised route takes over from its potentials


@inline_core
def log_smallest(dtype_probe):
    """Log of the smallest kernel entry the tables hold; smaller ones are stored as 0."""
    return LOWEST32 if dtype_probe.itemsize == 4 else LOWEST


@tile_core
def fill_gibbs(cost, n, m, eps, K, KC):
    """K = exp(-cost / eps) and KC = K cost on [:n, :m], 0 where K would be subnormal in the type of K."""
    low, inv = log_smallest(K), -1.0 / eps
    for r in range(n):
        c_row, k_row, kc_row = cost[r], K[r], KC[r]
        for c in range(m):
            x = c_row[c] * inv
            k = exp(x)
            k = k if x > low else 0.0
            k_row[c] = k
            kc_row[c] = k * c_row[c]


@tile_core
def fill_gibbs32(cost, n, m, eps, K, KC):
    """`fill_gibbs` in float32 throughout: as accurate as costs rounded to float32 (relative 6e-8), and faster."""
    inv = -1.0 / eps
    for r in range(n):
        c_row, k_row, kc_row = cost[r], K[r], KC[r]
        for c in range(m):
            k = exp32(f4(c_row[c] * inv))
            k_row[c] = k
            kc_row[c] = k * f4(c_row[c])


def gibbs_tables(cost: FloatArray, eps: float, dtype: type) -> tuple[AnyArray, AnyArray]:
    """Tables (K, K C) for `tile_table`, from the (mA, mB) cost between the shared supports; stored transposed."""
    cost = np.ascontiguousarray(cost.T, dtype=np.float64)
    K: AnyArray = np.empty(cost.shape, dtype)
    KC: AnyArray = np.empty(cost.shape, dtype)
    fill_gibbs(cost, *cost.shape, float(eps), K, KC)
    return K, KC


@inline_core
def solve_scaled(K, idx, a, b, u, v, s, t, n, m, tol, max_iter):
    """Over-relaxed scaling from the v given; returns (status, iterations).

    OK: rows exact, t = K^T u, |v t - b|_1 <= tol.

    RETRY when something is not finite, when PLAIN iterations were not enough, or when entries of K stored as 0 could
    hold mass: they are below ``low``, so the missing mass is at most n m max(u) max(v) low; it must be under tol / 10.
    """
    theta, cap = THETA, 0.97
    error, mark, it, last = np.inf, np.inf, 0, min(max_iter, PLAIN)
    while it < last:
        it += 1
        exact = it == 1 or it == last or not error > 4.0 * tol
        rows = half_steps(K, idx, a, u, v, s, t, m, f4(0) if exact else f4(theta))
        columns = l1_gap(v, t, b)
        error = rows + columns
        if not error < 1e30 and it > 1:
            return RETRY, it
        if (exact and columns <= tol) or it == max_iter:
            missing = math.log(n * m) + math.log(spread(u, n)[1]) + math.log(spread(v, m)[1]) + log_smallest(K)
            if not missing < math.log(0.1 * tol):
                return RETRY, it
            return (OK if columns <= tol else UNCONVERGED), it
        relax(b, v, t, 0, b.size, f4(theta))
        if it >= FIRST and it % WINDOW == 0:
            new, cap = next_theta(theta, cap, mark, error, WINDOW)
            mark = error if new == theta else np.inf
            theta = new
    return RETRY, it


@inline_core
def dual_value(w, x, n, eps):
    """Eps sum w log(x / w) over the first n entries."""
    total = 0.0
    for i in range(n):
        total += np.float64(w[i]) * math.log(np.float64(x[i]) / np.float64(w[i]))
    return eps * total


@strict_core
def corrected_cost(KC, idx, b, u, v, s, t, m, eps):
    """<P, C> + <g, b - P^T 1>: first-order estimate of the cost at convergence (rows of P exact, t = K^T u).

    The gaps sum to 0 but for rounding; taking the mean of g out keeps eps times that rounding out of the value.
    """
    total, mean, gaps = 0.0, 0.0, 0.0
    for r in range(0, u.size, GROUP):
        dots8(KC, idx, v, s, r, v.size)
    for r in range(u.size):
        total += np.float64(u[r]) * np.float64(s[r])
    for c in range(m):
        gap = np.float64(b[c]) - np.float64(v[c]) * np.float64(t[c])
        g = eps * math.log(np.float64(v[c]) / np.float64(b[c]))
        total += g * gap
        mean += np.float64(b[c]) * g
        gaps += gap
    return total - mean * gaps


@inline_core
def scaled_pair(K, KC, idx, a, b, n, m, work, eps, tol, max_iter, code):
    """Plain scaling of one block: rows idx (atoms of B, padded weights a, n true ones), columns (A, b, m true ones).

    Returns (TRANSPORT or REGULARIZED value, status, iterations); status RETRY: use the stabilised route. work is
    (4, at least max(len(a), len(b))) in the type of K: the scalings u, v and the sums s, t.
    """
    u, s = work[0, : a.size], work[1, : a.size]
    v, t = work[2, : b.size], work[3, : b.size]
    for r in range(a.size):
        u[r] = 0
    for c in range(b.size):
        v[c] = b[c]  # P = a b^T, the limit of large epsilon, is then reached at once
    status, it = solve_scaled(K, idx, a, b, u, v, s, t, n, m, tol, max_iter)
    if status == RETRY:
        return np.nan, RETRY, it
    if code == TRANSPORT:
        value = corrected_cost(KC, idx, b, u, v, s, t, m, eps)
    else:
        value = dual_value(a, u, n, eps) + dual_value(b, v, m, eps)
        # the dual sums cancel: their float32 error is about 1e-6 eps, too much for a value far below eps
        if K.itemsize == 4 and not abs(value) > 0.02 * eps:
            return np.nan, RETRY, it
    return value, (status if abs(value) < np.inf else RETRY), it


@inline_core
def up8(n):
    """N rounded up to a multiple of GROUP."""
    return (n + GROUP - 1) // GROUP * GROUP


@strict_core
def longest(offsets, which):
    """Largest padded number of atoms among the measures `which`."""
    n = 0
    for k in range(which.size):
        n = max(n, offsets[which[k] + 1] - offsets[which[k]])
    return up8(n)


@strict_core
def used_atoms(offsets, ids, cols, place):
    """Fill place (m,) with the rank of each atom among those the measures ``cols`` use (-1: none); returns how many."""
    for k in range(place.size):
        place[k] = -1
    for q in range(cols.size):
        for k in range(offsets[cols[q]], offsets[cols[q] + 1]):
            place[ids[k]] = 0
    count = 0
    for k in range(place.size):
        if place[k] == 0:
            place[k] = count
            count += 1
    return count


@strict_core
def gather_rows(table, place, ids, out, width, last):
    """out[place[k], c] = table[k, ids[c]] (0 in padded columns); the row after the last one is `last`, for padding."""
    n, count = ids.size, 0
    for k in range(place.size):
        if place[k] >= 0:
            src, dst = table[k], out[place[k]]
            for c in range(n):
                dst[c] = src[ids[c]]
            for c in range(n, width):
                dst[c] = 0
            count += 1
    for c in range(width):
        out[count, c] = last


@inline_core
def load(weights, out):
    """Copy weights into out (longer, other type), zeros behind; returns nothing."""
    for k in range(weights.size):
        out[k] = weights[k]
    for k in range(weights.size, out.size):
        out[k] = 0


@strict_core
def tile_table(
    K, KC, wA, oA, iA, wB, oB, iB, rows, cols, triangle, again, eps, tol, max_iter, code, out, status, iterations
):
    """Plain scaling of a tile on shared supports; status RETRY marks the pairs that `retry_table` must do.

    K, KC from ``gibbs_tables``; (wA, oA, iA) weights > 0, offsets, atom numbers of the collection A, and B likewise.
    Fills out, status, iterations (len(rows), len(cols)), only above the diagonal if triangle, only where status
    is RETRY if `again` (second attempt with float64 tables after one with float32). Values are TRANSPORT, or
    REGULARIZED for every other code.
    """
    wide, high = longest(oA, rows), longest(oB, cols)
    place, idx = np.empty(K.shape[0], np.int64), np.empty(high, np.int64)
    count = used_atoms(oB, iB, cols, place)
    T, TC = np.empty((count + 1, wide), K.dtype), np.empty((count + 1, wide), K.dtype)
    a, b, work = np.empty(high, K.dtype), np.empty(wide, K.dtype), np.empty((4, max(wide, high)), K.dtype)
    for p in range(rows.size):
        lo, m = oA[rows[p]], oA[rows[p] + 1] - oA[rows[p]]
        w = up8(m)
        gather_rows(K, place, iA[lo : lo + m], T, w, 1)
        if code == TRANSPORT:
            gather_rows(KC, place, iA[lo : lo + m], TC, w, 0)
        load(wA[lo : lo + m], b[:w])
        for q in range(cols.size):
            if (triangle and q <= p) or (again and status[p, q] != RETRY):
                continue
            at, n = oB[cols[q]], oB[cols[q] + 1] - oB[cols[q]]
            h = up8(n)
            load(wB[at : at + n], a[:h])
            for k in range(h):
                idx[k] = place[iB[at + k]] if k < n else count
            out[p, q], status[p, q], iterations[p, q] = scaled_pair(
                T, TC, idx[:h], a[:h], b[:w], n, m, work, eps, tol, max_iter, code
            )


@strict_core
def retry_table(cost, wA, oA, iA, wB, oB, iB, rows, cols, eps, tol, max_iter, code, out, status, iterations):
    """Stabilised route for the pairs of a tile whose status is RETRY; cost (mA, mB) float64."""
    for p in range(rows.size):
        for q in range(cols.size):
            if status[p, q] != RETRY:
                continue
            lo, n = oA[rows[p]], oA[rows[p] + 1] - oA[rows[p]]
            at, m = oB[cols[q]], oB[cols[q] + 1] - oB[cols[q]]
            C = np.empty((n, m))
            for r in range(n):
                for c in range(m):
                    C[r, c] = cost[iA[lo + r], iB[at + c]]
            value, done, it = stable_value(C, wA[lo : lo + n], wB[at : at + m], eps, tol, max_iter, code)
            out[p, q], status[p, q], iterations[p, q] = value, done, iterations[p, q] + it
