"""Separable route: cost c1(x, x') + c2(y, y') on an h x w pixel grid, so the Gibbs kernel is K1 (x) K2.

One application is two small matrix products. LANES pairs (one measure of A against LANES measures of B) go through
the loop together, lane index last, cut to the bounding boxes of their supports: v lives on B's common box as
[row][column][lane], u on A's box as [column][row][lane]; each application contracts the leading axis, swaps the two
axes, and contracts the other one, so the layouts alternate without further copies. Pixels without mass keep u or v = 0.
"""

from __future__ import annotations

import math

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from .exp import LOWEST, LOWEST32
from .jit import inline_core, strict_core, tile_core
from .sinkhorn_ops import TRANSPORT, f4, next_theta
from .status import OK, RETRY, UNCONVERGED

LANES = 8
THETA = 0.7
PLAIN = 300
FIRST, WINDOW = 20, 10


def grid_tables(cost1: FloatArray, cost2: FloatArray, eps: float, dtype: type) -> tuple[AnyArray, ...]:
    """(K1, K1 c1, K2, K2 c2) for the row costs (h, h) and column costs (w, w); 0 where K would be subnormal."""
    out: list[AnyArray] = []
    for cost in (cost1, cost2):
        x = -np.asarray(cost, np.float64) / eps
        k = np.where(x > (LOWEST32 if np.dtype(dtype).itemsize == 4 else LOWEST), np.exp(x), 0.0)
        out += [k.astype(dtype), (k * cost).astype(dtype)]
    return tuple(out)


def bounding_boxes(dense: FloatArray) -> IndexArray:
    """(n, 4) int64: first row, end row, first column, end column of the support of every (h, w) image."""
    ink = dense > 0
    rows, cols = np.any(ink, axis=2), np.any(ink, axis=1)
    h, w = dense.shape[1:]
    top, left = rows.argmax(1), cols.argmax(1)
    return np.stack([top, h - rows[:, ::-1].argmax(1), left, w - cols[:, ::-1].argmax(1)], 1).astype(np.int64)


@tile_core
def product(coef, X, Y, p, q, size):
    """Y[i, :size] = sum_k coef[i, k] X[k, :size], i < p, k < q; p a multiple of 3, q of 4 (padding: coef 0, X finite).

    3 x 4 coefficients in registers: 66 GF on 144 columns in L1, against 42 for 2 x 4, 41 for 4 x 4, 32 for 1 x 8.
    """
    for i in range(0, p, 3):
        y0, y1, y2 = Y[i], Y[i + 1], Y[i + 2]
        ca, cb, cc = coef[i], coef[i + 1], coef[i + 2]
        for c in range(size):
            y0[c] = y1[c] = y2[c] = 0
        for k in range(0, q, 4):
            x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
            a0, a1, a2, a3 = ca[k], ca[k + 1], ca[k + 2], ca[k + 3]
            b0, b1, b2, b3 = cb[k], cb[k + 1], cb[k + 2], cb[k + 3]
            c0, c1, c2, c3 = cc[k], cc[k + 1], cc[k + 2], cc[k + 3]
            for c in range(size):
                z0, z1, z2, z3 = x0[c], x1[c], x2[c], x3[c]
                y0[c] += a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3
                y1[c] += b0 * z0 + b1 * z1 + b2 * z2 + b3 * z3
                y2[c] += c0 * z0 + c1 * z1 + c2 * z2 + c3 * z3


@tile_core
def swap_axes(X, Y, p, q):
    """Y[j][i][lane] = X[i][j][lane] for i < p, j < q."""
    for i in range(p):
        x = X[i]
        for j in range(q):
            y = Y[j]
            for lane in range(LANES):
                y[i * LANES + lane] = x[j * LANES + lane]


@tile_core
def relax_lanes(a, u, s, p, size, theta, gaps):
    """Relaxed update of `relax` on u[:p, :size]; adds |u s - a| of the old u to gaps (size,)."""
    up, down = f4(1) + theta, f4(1) - theta
    for i in range(p):
        w, x, y = a[i], u[i], s[i]
        for c in range(size):
            m = w[c]
            t = x[c] * y[c]
            gaps[c] += abs(t - m)
            new = m * (up * m + down * t) / (y[c] * (down * m + up * t))
            x[c] = new if m > f4(0) else f4(0)


@tile_core
def gap_lanes(v, t, b, p, size, gaps):
    """gaps[c] += |v t - b|, over rows."""
    for i in range(p):
        x, y, w = v[i], t[i], b[i]
        for c in range(size):
            gaps[c] += abs(x[c] * y[c] - w[c])


@strict_core
def worst(gaps, size, errors, failed):
    """Sum gaps (size,) into errors (LANES,), clear gaps, mark lanes that are not finite; returns the worst other."""
    top = 0.0
    for lane in range(LANES):
        total = 0.0
        for c in range(lane, size, LANES):
            total += gaps[c]
            gaps[c] = 0
        errors[lane] = total
        failed[lane] |= not total < 1e30
        if not failed[lane]:
            top = max(top, total)
    return top


@inline_core
def up(n, k):
    """N rounded up to a multiple of k."""
    return (n + k - 1) // k * k


@strict_core
def apply_kernel(first, second, v, x, y, s, p1, q1, p2, q2):
    """S = second (first v)^T per lane; first (p1, q1) contracts the leading axis of v [q1][q2], second the other."""
    factors, sources, targets = (first, second), (v, y), (x, s)
    shapes = ((up(p1, 3), up(q1, 4), q2 * LANES), (up(p2, 3), up(q2, 4), p1 * LANES))
    for stage in range(2):  # a loop, so that the unrolled product is compiled once
        p, q, size = shapes[stage]
        product(factors[stage], sources[stage], targets[stage], p, q, size)
        if stage == 0:
            swap_axes(x, y, p1, q2)


@inline_core
def solve_lanes(k, wa, wb, state, box, gaps, tol, max_iter, errors, failed):
    """Scaling loop for LANES pairs; returns iterations. box = (rows A, columns A, rows B, columns B).

    k holds K1 (rows A, rows B), K2 (columns A, columns B) and their transposes; state u, v, s, t and two scratch
    arrays. On return errors[lane] is the L1 error of B's marginal with A's exact, and t = K^T u.
    """
    ha, ca, hb, cb = box
    u, v, s, t, x, y = state[0], state[1], state[2], state[3], state[4], state[5]
    theta, cap, error, mark, it, last = THETA, 0.97, np.inf, np.inf, 0, min(max_iter, PLAIN)
    while True:
        it += 1
        exact = it == 1 or it == last or not error > 4.0 * tol
        apply_kernel(k[0], k[1], v, x, y, s, ha, hb, ca, cb)
        relax_lanes(wa, u, s, ca, ha * LANES, f4(0) if exact else f4(theta), gaps)
        error = worst(gaps, ha * LANES, errors, failed)
        apply_kernel(k[3], k[2], u, x, y, t, cb, ca, hb, ha)
        gap_lanes(v, t, wb, hb, cb * LANES, gaps)
        gap = worst(gaps, cb * LANES, errors, failed)
        error += gap
        if (exact and gap <= tol) or it == last:
            return it
        relax_lanes(wb, v, t, hb, cb * LANES, f4(theta), gaps)
        gaps[:] = 0
        if it >= FIRST and it % WINDOW == 0:
            new, cap = next_theta(theta, cap, mark, error, WINDOW)
            mark = error if new == theta else np.inf
            theta = new


@strict_core
def sub_block(table, r0, n, c0, m, out, flipped):
    """out[:n, :m] = table[r0.., c0..], flipped = its transpose, zeros around both."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = table[r0 + i, c0 + j] if i < n and j < m else 0
            flipped[j, i] = out[i, j]


@strict_core
def lane_dual(w, x, p, q, lane, eps, wanted):
    """(eps sum w log(x / w) if wanted, log of the largest x) of one lane of [p][q][lane] arrays."""
    total, top = 0.0, 0.0
    for i in range(p):
        for j in range(lane, q * LANES, LANES):
            top = max(top, np.float64(x[i, j]))
            if wanted and w[i, j] > 0:
                total += np.float64(w[i, j]) * math.log(np.float64(x[i, j]) / np.float64(w[i, j]))
    return eps * total, math.log(top)


@strict_core
def lane_cost(wb, u, s, v, t, box, lane, eps):
    """Sum u s + sum g (b - v t) of one lane: s = (K C) v gives <P, C>, the rest is the first-order correction."""
    ha, ca, hb, cb = box
    total, mean, gaps = 0.0, 0.0, 0.0
    for i in range(ca):
        for j in range(lane, ha * LANES, LANES):
            total += np.float64(u[i, j]) * np.float64(s[i, j])
    for i in range(hb):
        for j in range(lane, cb * LANES, LANES):
            if wb[i, j] > 0:
                b = np.float64(wb[i, j])
                g, gap = eps * math.log(np.float64(v[i, j]) / b), b - np.float64(v[i, j]) * np.float64(t[i, j])
                total += g * gap
                mean += b * g
                gaps += gap
    return total - mean * gaps


@inline_core
def cost_sums(k, kc, state, box):
    """State s = (K C) v = K2 (K1 c1) v + (K2 c2) K1 v; uses x, y and the spare array 6."""
    ha, ca, hb, cb = box
    v, s, x, y, spare = state[1], state[2], state[4], state[5], state[6]
    apply_kernel(k[0], kc[1], v, x, y, spare, ha, hb, ca, cb)
    apply_kernel(kc[0], k[1], v, x, y, s, ha, hb, ca, cb)
    for i in range(ca):
        for j in range(ha * LANES):
            s[i, j] += spare[i, j]


@strict_core
def order_by_box(boxes, cols):
    """Positions of cols in order of box width, then height (insertion sort: a tile has few columns)."""
    order = np.empty(cols.size, np.int64)
    for q in range(cols.size):
        key, k = boxes[cols[q], 3] - boxes[cols[q], 2], q
        while k > 0 and boxes[cols[order[k - 1]], 3] - boxes[cols[order[k - 1]], 2] > key:
            order[k] = order[k - 1]
            k -= 1
        order[k] = q
    return order


@inline_core
def fill_lanes(denseA, boxA, denseB, boxB, i, picked, cols, wa, wb, state):
    """Weights of the batch on the boxes (layouts of the module docstring), u = 0, v = b; returns the sizes."""
    top, left, bottom, right = boxB[cols[picked[0]], 0], boxB[cols[picked[0]], 2], 0, 0
    for lane in range(LANES):
        box = boxB[cols[picked[lane]]]
        top, bottom, left, right = min(top, box[0]), max(bottom, box[1]), min(left, box[2]), max(right, box[3])
    ha, ca = boxA[i, 1] - boxA[i, 0], boxA[i, 3] - boxA[i, 2]
    for r in range(ha):
        for c in range(ca):
            for lane in range(LANES):
                wa[c, r * LANES + lane] = denseA[i, boxA[i, 0] + r, boxA[i, 2] + c]
                state[0, c, r * LANES + lane] = 0
    for lane in range(LANES):
        image = denseB[cols[picked[lane]]]
        for r in range(bottom - top):
            for c in range(right - left):
                wb[r, c * LANES + lane] = image[top + r, left + c]
                state[1, r, c * LANES + lane] = image[top + r, left + c]
    return top, left, (ha, ca, bottom - top, right - left)


@inline_core
def lane_value(wa, wb, state, box, lane, eps, tol, error, it, max_iter, code):
    """(value, status) of one lane; RETRY when masses below the smallest kernel entry could exceed tol / 10.

    The intermediate product may also underflow, hence the scalings count with at least 1 each in that bound.
    """
    ha, ca, hb, cb = box
    f, top_u = lane_dual(wa, state[0], ca, ha, lane, eps, code != TRANSPORT)
    g, top_v = lane_dual(wb, state[1], hb, cb, lane, eps, code != TRANSPORT)
    low = LOWEST32 if state.itemsize == 4 else LOWEST
    missing = math.log(ha * ca * hb * cb) + max(top_u, 0.0) + max(top_v, 0.0) + low
    value = lane_cost(wb, state[0], state[2], state[1], state[3], box, lane, eps) if code == TRANSPORT else f + g
    if code != TRANSPORT and state.itemsize == 4 and not abs(value) > 0.02 * eps:
        return np.nan, RETRY  # see `scaled_pair`
    if not (missing < math.log(0.1 * tol) and abs(value) < np.inf and (error <= tol or it == max_iter)):
        return np.nan, RETRY
    return value, OK if error <= tol else UNCONVERGED


@strict_core
def tile_grid(
    K1,
    KC1,
    K2,
    KC2,
    denseA,
    boxA,
    denseB,
    boxB,
    rows,
    cols,
    triangle,
    again,
    eps,
    tol,
    max_iter,
    code,
    out,
    status,
    iterations,
):
    """Tile of pairs of (h, w) images with a separable cost; status RETRY marks the pairs that another route must do.

    Tables from ``grid_tables``; dense (n, h, w) weights, zeros allowed; boxes from ``bounding_boxes``. The rest as in
    ``sinkhorn.tile_table``.
    """
    h, w = K1.shape[0], K2.shape[0]
    side = up(max(h, w), 12)
    state = np.zeros((7, side, side * LANES), K1.dtype)
    wa, wb = np.zeros((side, side * LANES), K1.dtype), np.zeros((side, side * LANES), K1.dtype)
    k, kc = np.zeros((4, side, side), K1.dtype), np.zeros((4, side, side), K1.dtype)
    gaps, errors = np.zeros(side * LANES, K1.dtype), np.zeros(LANES)
    order, picked = order_by_box(boxB, cols), np.zeros(LANES, np.int64)
    for p in range(rows.size):
        i, q = rows[p], 0
        while True:
            count = 0
            while q < cols.size and count < LANES:
                at = order[q]
                q += 1
                if not ((triangle and at <= p) or (again and status[p, at] != RETRY)):
                    picked[count] = at
                    count += 1
            if count == 0:
                break
            picked[count:] = picked[0]
            top, left, box = fill_lanes(denseA, boxA, denseB, boxB, i, picked, cols, wa, wb, state)
            sub_block(K1, boxA[i, 0], box[0], top, box[2], k[0], k[2])
            sub_block(K2, boxA[i, 2], box[1], left, box[3], k[1], k[3])
            failed = np.zeros(LANES, np.bool_)
            it = solve_lanes(k, wa, wb, state, box, gaps, tol, max_iter, errors, failed)
            if code == TRANSPORT:
                sub_block(KC1, boxA[i, 0], box[0], top, box[2], kc[0], kc[2])
                sub_block(KC2, boxA[i, 2], box[1], left, box[3], kc[1], kc[3])
                cost_sums(k, kc, state, box)
            for lane in range(count):
                at = picked[lane]
                value, done = lane_value(wa, wb, state, box, lane, eps, tol, errors[lane], it, max_iter, code)
                out[p, at], status[p, at], iterations[p, at] = value, done, it
            if failed.any():
                state[:] = 0  # padding must stay finite: its coefficients are 0, and 0 nan = nan
