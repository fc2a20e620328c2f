"""One pair by a dense block of the Gibbs kernel: products, relaxed updates, plain scaling, value.

Conventions. A block ``K`` has rows (index r, weights a, scalings u, sums s = K v) and columns (index c, weights b,
scalings v, sums t = K^T u); the plan is P = diag(u) K diag(v). ``ids`` lists which rows of a larger table form the
block, so a table built once per measure serves many pairs without gathering. Rows come in groups of 8 and columns are
padded to a multiple of 8:

* padded rows point to a row of ones and carry a = 0, hence u = 0 and no 0/0;
* padded columns hold K = 0 and b = 0; their sums are set to 1, hence v = 0 and no 0/0.

Every function works for float32 and float64 arrays: constants are float32, which promotes to the array's type.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import AnyArray, IndexArray
from ..exp import LOWEST, LOWEST32, exp, exp32
from ..jit import inline_core, strict_core, tile_core
from ..points import TABLE, cost_block, longest
from ..status import OK, RETRY, UNCONVERGED
from .loop import DIVERGED, f4, iterate
from .products import GROUP, axpy8, dots8, relax
from .structs import TRANSPORT, Gibbs

CHUNK = 32  # rows whose block stays in L1 between the product with v and the product with u


class Side(NamedTuple):
    """One marginal of a block, padded: weights, scalings and sums; ``size`` of the atoms are true ones."""

    weights: AnyArray
    scaling: AnyArray
    sums: AnyArray
    size: int


class Block(NamedTuple):
    """A pair: the rows ``ids`` of a Gibbs kernel, and both sides."""

    gibbs: Gibbs
    ids: IndexArray
    rows: Side
    columns: Side


@inline_core
def up(n, k):
    """Return n rounded up to a multiple of k."""
    return (n + k - 1) // k * k


@inline_core
def buffers(offsets, which, dtype):
    """Return room for a padded side of any of the measures ``which``."""
    return np.empty((3, up(longest(offsets, which), GROUP)), dtype)


@inline_core
def fill_side(buffer, weights):
    """Put weights into a buffer (3, at least their padded number), zeros behind; returns the side, u = 0."""
    n, width = weights.size, up(weights.size, GROUP)
    side = Side(buffer[0, :width], buffer[1, :width], buffer[2, :width], n)
    for k in range(n):
        side.weights[k] = weights[k]
    for k in range(n, width):
        side.weights[k] = 0
    for k in range(width):
        side.scaling[k] = 0
    return side


@strict_core
def atom_costs(ground, A, i, B, j, C):
    """Fill C (n, m) with the costs between the atoms of the measure i of A and those of the measure j of B.

    By ``cost_block``, which tables are made by: rows one by one would be compiled besides, one second.
    """
    lo, end, at, stop = A.offsets[i], A.offsets[i + 1], B.offsets[j], B.offsets[j + 1]
    if ground.code == TABLE:
        for r in range(end - lo):
            for c in range(stop - at):
                C[r, c] = ground.table[A.ids[lo + r], B.ids[at + c]]
    else:
        x, y = A.coordinates[:, lo:end].copy(), B.coordinates[:, at:stop].copy()
        cost_block(ground.code, ground.params, x, y, C)


@inline_core
def log_smallest(table):
    """Log of the smallest kernel entry that tables of this type hold; smaller ones are stored as 0."""
    return LOWEST32 if table.itemsize == 4 else LOWEST


@inline_core
def log_subnormal(table):
    """Log of the smallest positive number of this type: products K C are rounded to its multiples."""
    return -103.27892990343185 if table.itemsize == 4 else -744.4400719213812


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


@tile_core
def half_steps(block, theta):
    """Rows: s = K v, then u relaxed; columns: t = K^T u. One read of the block. Returns sum |u s - a| of the old u."""
    K, ids, a, u, s = block.gibbs.kernel, block.ids, block.rows.weights, block.rows.scaling, block.rows.sums
    v, t, m = block.columns.scaling, block.columns.sums, block.columns.size
    w, n, e = v.size, a.size, f4(0)
    for c in range(w):
        t[c] = f4(0) if c < m else f4(1)
    for lo in range(0, n, CHUNK):
        hi = min(n, lo + CHUNK)
        for r in range(lo, hi, GROUP):
            dots8(K, ids, v, s, r)
        e += relax(a, u, s, lo, hi, theta)
        for r in range(lo, hi, GROUP):
            axpy8(K, ids, u, t, r)
    return e


@tile_core
def l1_gap(v, t, b):
    """Sum |v t - b|: L1 error of the column marginal."""
    e = f4(0)
    for c in range(b.size):
        e += abs(v[c] * t[c] - b[c])
    return e


@inline_core
def step(block, theta):
    """Both half steps; returns the errors of the rows before and of the columns after them."""
    rows = half_steps(block, theta)
    return rows, l1_gap(block.columns.scaling, block.columns.sums, block.columns.weights)


@inline_core
def relax_columns(block, theta):
    """Relaxed update of v."""
    b = block.columns.weights
    relax(b, block.columns.scaling, block.columns.sums, 0, b.size, theta)


@strict_core
def spread(x, n):
    """(smallest, largest) of the first n entries; (nan, nan) if one of them is nan."""
    lo = hi = x[0]
    for i in range(n):
        lo = x[i] if not lo <= x[i] else lo
        hi = x[i] if not hi >= x[i] else hi
        if x[i] != x[i]:
            return x[i], x[i]
    return lo, hi


@inline_core
def dual_value(side, eps):
    """Eps sum w log(x / w) over the true atoms, w their weights and x their scalings."""
    total = 0.0
    for i in range(side.size):
        w = np.float64(side.weights[i])
        total += w * math.log(np.float64(side.scaling[i]) / w)
    return eps * total


@strict_core
def corrected_cost(block, eps):
    """<P, C> + <g, b - P^T 1> (rows of P exact, t = K^T u): corrected by the derivative of the regularised value.

    What is left of the marginal error is linear in it, epsilon times the change of KL(P | a b^T). The gaps sum to 0 but
    for rounding; taking the mean of g out keeps eps times that rounding out of the value.
    """
    u, s = block.rows.scaling, block.rows.sums
    b, v, t, m = block.columns
    total, mean, gaps = 0.0, 0.0, 0.0
    for r in range(0, u.size, GROUP):
        dots8(block.gibbs.weighted, block.ids, v, s, r)
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
def scaled_value(block, options):
    """(Value, status) of one pair by plain scaling; status RETRY: use the stabilised route.

    That is when something is not finite, when PLAIN iterations were not enough, or when entries of K stored as 0 could
    hold mass: they are below ``low``, so the missing mass is at most n m max(u) max(v) low; it must be under tol / 10.
    Likewise, what underflow of K C takes from the cost must be under tol / 10 of it.
    """
    eps, tol, max_iter, code = options
    rows, columns, K = block.rows, block.columns, block.gibbs.kernel
    for c in range(columns.weights.size):
        columns.scaling[c] = columns.weights[c]  # P = a b^T, the limit of large epsilon, is then reached at once
    error, gap, it = iterate(step, relax_columns, block, tol, max_iter)
    if not (error < DIVERGED and (gap <= tol or it == max_iter)):
        return np.nan, RETRY
    tops = math.log(spread(rows.scaling, rows.size)[1]) + math.log(spread(columns.scaling, columns.size)[1])
    most = math.log(rows.size * columns.size) + tops
    if not most + log_smallest(K) < math.log(0.1 * tol):
        return np.nan, RETRY
    if code == TRANSPORT:
        value = corrected_cost(block, eps)
        if not most + log_subnormal(K) < math.log(max(0.1 * tol * abs(value), 1e-323)):
            return np.nan, RETRY
    else:
        value = dual_value(rows, eps) + dual_value(columns, eps)
        # the dual sums cancel: their float32 error is about 1e-6 eps, too much for a value far below eps
        if K.itemsize == 4 and not abs(value) > 0.02 * eps:
            return np.nan, RETRY
    if not abs(value) < np.inf:
        return value, RETRY
    return value, (OK if gap <= tol else UNCONVERGED)
