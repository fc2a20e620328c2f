"""Entropic transport from coordinates: cost block per pair, then the loops of `sinkhorn`; and the self terms.

Coordinates are laid out (d, N), one coordinate of all atoms after the other, so that cost blocks vectorise.
"""

from __future__ import annotations

import math

import numpy as np

from .jit import strict_core
from .points import cost_row
from .sinkhorn import fill_gibbs, fill_gibbs32, load, longest, scaled_pair, up8
from .sinkhorn_log import log_rows, stable_value
from .status import OK, RETRY, UNCONVERGED


@strict_core
def cost_block(C, x, x0, n, y, y0, m, metric, params):
    """C[:n, :m] = ground cost between the points x0.. of x (d, N) and y0.. of y (d, M)."""
    for r in range(n):
        cost_row(metric, params, x, x0 + r, y, y0, y0 + m, C[r])


@strict_core
def pair_block(xA, xB, lo, m, at, n, metric, params, eps, cost, K, KC):
    """Fill K, KC [: n + 1, : up8(m)]: rows the n atoms of B from ``at``, columns the m of A from ``lo``; padded."""
    w = up8(m)
    cost_block(cost, xB, at, n, xA, lo, m, metric, params)
    if K.itemsize == 4:
        fill_gibbs32(cost, n, m, eps, K, KC)
    else:
        fill_gibbs(cost, n, m, eps, K, KC)
    for r in range(n):
        for c in range(m, w):
            K[r, c] = KC[r, c] = 0
    for c in range(w):
        K[n, c] = 1
        KC[n, c] = 0


@strict_core
def tile_points(
    like,
    xA,
    wA,
    oA,
    xB,
    wB,
    oB,
    rows,
    cols,
    triangle,
    again,
    metric,
    params,
    eps,
    tol,
    max_iter,
    code,
    out,
    status,
    iterations,
):
    """Plain scaling of a tile from coordinates; status RETRY marks the pairs that `retry_points` must do.

    `like`: an array of the type to iterate in (float32 for tol >= 1e-5, else float64). metric: a code of
    ``codes``, with its params. The rest as in `sinkhorn.tile_table`.
    """
    wide, high = longest(oA, rows), longest(oB, cols)
    cost, idx = np.empty((high, wide)), np.empty(high, np.int64)
    K, KC = np.empty((high + 1, wide), like.dtype), np.empty((high + 1, wide), like.dtype)
    a, b, work = np.empty(high, like.dtype), np.empty(wide, like.dtype), np.empty((4, max(wide, high)), like.dtype)
    for p in range(rows.size):
        lo, m = oA[rows[p]], oA[rows[p] + 1] - oA[rows[p]]
        w = up8(m)
        load(wA[lo : lo + m], b[:w])
        for q in range(cols.size):
            if (triangle and q <= p) or (again and status[p, q] != RETRY):
                continue
            at, n = oB[cols[q]], oB[cols[q] + 1] - oB[cols[q]]
            h = up8(n)
            pair_block(xA, xB, lo, m, at, n, metric, params, eps, cost, K, KC)
            load(wB[at : at + n], a[:h])
            for k in range(h):
                idx[k] = min(k, n)
            out[p, q], status[p, q], iterations[p, q] = scaled_pair(
                K, KC, idx[:h], a[:h], b[:w], n, m, work, eps, tol, max_iter, code
            )


@strict_core
def retry_points(xA, wA, oA, xB, wB, oB, rows, cols, metric, params, eps, tol, max_iter, code, out, status, iterations):
    """Stabilised route for the pairs of a tile whose status is RETRY."""
    for p in range(rows.size):
        for q in range(cols.size):
            if status[p, q] != RETRY:
                continue
            lo, end = oA[rows[p]], oA[rows[p] + 1]
            at, stop = oB[cols[q]], oB[cols[q] + 1]
            C = np.empty((end - lo, stop - at))
            cost_block(C, xA, lo, end - lo, xB, at, stop - at, metric, params)
            value, done, it = stable_value(C, wA[lo:end], wB[at:stop], eps, tol, max_iter, code)
            out[p, q], status[p, q], iterations[p, q] = value, done, iterations[p, q] + it


@strict_core
def self_value(C, a, eps, tol, max_iter):
    """(REGULARIZED value of (a, a), status) for a symmetric cost with zero diagonal.

    The potentials are equal, so f <- (f + T(f)) / 2, T the log-domain row update, which contracts by about 1/2 or
    better per step at every epsilon. Row sums are a_i exp((f_i - T_i) / eps), so the L1 error costs nothing.
    """
    n = a.size
    f, g, loga, status = np.empty(n), np.empty(n), np.empty(n), UNCONVERGED
    for i in range(n):
        loga[i] = math.log(a[i])
        f[i] = 0.5 * eps * loga[i]
    for _ in range(max_iter):
        log_rows(C, loga, g, f, eps)
        error = 0.0
        for i in range(n):
            error += a[i] * abs(math.exp(min((f[i] - g[i]) / eps, 700.0)) - 1.0)
            f[i] = 0.5 * (f[i] + g[i])
        if error <= tol:
            status = OK
            break
    log_rows(C, loga, g, f, eps)
    value = 0.0
    for i in range(n):
        value += a[i] * (f[i] + g[i] - 2.0 * eps * loga[i])
    return value, status


@strict_core
def self_table(cost, weights, offsets, ids, which, eps, tol, max_iter, out, status):
    """out[k] = REGULARIZED(mu, mu) for mu = which[k], on a shared support with a symmetric cost table."""
    for k in range(which.size):
        lo, end = offsets[which[k]], offsets[which[k] + 1]
        C = np.empty((end - lo, end - lo))
        for r in range(end - lo):
            for c in range(end - lo):
                C[r, c] = cost[ids[lo + r], ids[lo + c]]
        out[k], status[k] = self_value(C, weights[lo:end], eps, tol, max_iter)


@strict_core
def self_points(x, weights, offsets, which, metric, params, eps, tol, max_iter, out, status):
    """out[k] = REGULARIZED(mu, mu) for mu = which[k], from coordinates (d, N)."""
    for k in range(which.size):
        lo, end = offsets[which[k]], offsets[which[k] + 1]
        C = np.empty((end - lo, end - lo))
        cost_block(C, x, lo, end - lo, x, lo, end - lo, metric, params)
        out[k], status[k] = self_value(C, weights[lo:end], eps, tol, max_iter)
