"""Separable route: cost c1(x, x') + c2(y, y') on an h x w pixel grid, so the Gibbs kernel is K1 (x) K2.

One application is two small matrix products. LANES pairs (one measure of A against LANES measures of B) go through
the loop together, lane index last, cut to the bounding boxes of their supports: v lives on B's common box as
[row][column][lane], u on A's box as [column][row][lane]; each application contracts the leading axis, swaps the two
axes, and contracts the other one, so the layouts alternate without further copies. Pixels without mass keep u or v = 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._typing import AnyArray, FloatArray, IndexArray
from ..exp import LOWEST, LOWEST32
from ..jit import inline_core, strict_core, tile_core
from ..status import OK, RETRY, UNCONVERGED
from .block import log_smallest, log_subnormal, up
from .gap import estimate_gap
from .loop import DIVERGED, f4, iterate
from .structs import TRANSPORT, Gibbs

LANES = 8


class Half(NamedTuple):
    """One side of a batch: weights, scalings and sums, (outer, inner x LANES) of them true, the rest padding.

    ``row`` and ``column`` are the corner of its box. A has the columns of the grid outside, B the rows.
    """

    weights: AnyArray
    scaling: AnyArray
    sums: AnyArray
    row: int
    column: int
    outer: int
    inner: int


class Lanes(NamedTuple):
    """A batch of pairs, and scratch arrays.

    ``kernels``: K1 (rows A, rows B), K2 (columns A, columns B) and their transposes; ``costs``: K C of both, likewise.
    ``errors`` and ``failed``: L1 error of B's marginal with A's exact, and whether it was ever not finite, per lane.
    """

    kernels: AnyArray
    costs: AnyArray
    a: Half
    b: Half
    scratch: AnyArray
    gaps: AnyArray
    errors: FloatArray
    failed: AnyArray


def axis_kernel(positions: FloatArray, eps: float, dtype: type) -> Gibbs:
    """Return the kernel of the squared distances between the rows (or columns) of the grid; 0 where subnormal."""
    cost = (positions[:, None] - positions[None]) ** 2
    x = -cost / eps
    k = np.where(x > (LOWEST32 if np.dtype(dtype).itemsize == 4 else LOWEST), np.exp(x), 0.0)
    return Gibbs(k.astype(dtype), (k * cost).astype(dtype))


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
def relax_lanes(half, theta, gaps):
    """Relaxed update of `block.relax`; adds |u s - a| of the old u to gaps (inner x LANES,)."""
    up, down = f4(1) + theta, f4(1) - theta
    for i in range(half.outer):
        w, x, y = half.weights[i], half.scaling[i], half.sums[i]
        for c in range(half.inner * LANES):
            m = w[c]
            t = x[c] * y[c]
            gaps[c] += abs(t - m)
            new = m * (up * m + down * t) / (y[c] * (down * m + up * t))
            x[c] = new if m > f4(0) else f4(0)


@tile_core
def gap_lanes(half, gaps):
    """gaps[c] += |v t - b|, over the outer axis."""
    for i in range(half.outer):
        w, x, y = half.weights[i], half.scaling[i], half.sums[i]
        for c in range(half.inner * LANES):
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
        failed[lane] |= not total < DIVERGED
        if not failed[lane]:
            top = max(top, total)
    return top


@strict_core
def apply_kernel(first, second, source, target, scratch, out):
    """Out = second (first v)^T per lane, v the scalings of the source; out in the layout of the target.

    first (inner of the target, outer of the source) contracts the outer axis of v, second the other one.
    """
    factors, sources, targets = (first, second), (source.scaling, scratch[1]), (scratch[0], out)
    shapes = (
        (up(target.inner, 3), up(source.outer, 4), source.inner * LANES),
        (up(target.outer, 3), up(source.inner, 4), target.inner * LANES),
    )
    for stage in range(2):  # a loop, so that the unrolled product is compiled once
        p, q, size = shapes[stage]
        product(factors[stage], sources[stage], targets[stage], p, q, size)
        if stage == 0:
            swap_axes(scratch[0], scratch[1], target.inner, source.inner)


@inline_core
def step_lanes(lanes, theta):
    """Update u, then t = K^T u; returns the worst errors of a lane, of the rows before and of the columns after it."""
    k, a, b, gaps = lanes.kernels, lanes.a, lanes.b, lanes.gaps
    apply_kernel(k[0], k[1], b, a, lanes.scratch, a.sums)
    relax_lanes(a, theta, gaps)
    rows = worst(gaps, a.inner * LANES, lanes.errors, lanes.failed)
    apply_kernel(k[3], k[2], a, b, lanes.scratch, b.sums)
    gap_lanes(b, gaps)
    return rows, worst(gaps, b.inner * LANES, lanes.errors, lanes.failed)


@inline_core
def relax_lane_columns(lanes, theta):
    """Relaxed update of v."""
    relax_lanes(lanes.b, theta, lanes.gaps)
    lanes.gaps[:] = 0


@strict_core
def sub_block(table, r0, n, c0, m, out, flipped):
    """out[:n, :m] = table[r0.., c0..], flipped = its transpose, zeros around both."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = table[r0 + i, c0 + j] if i < n and j < m else 0
            flipped[j, i] = out[i, j]


@strict_core
def lane_dual(half, lane, eps, wanted):
    """(eps sum w log(x / w) if wanted, log of the largest x) of one lane, x the scalings."""
    w, x, total, top = half.weights, half.scaling, 0.0, 0.0
    for i in range(half.outer):
        for j in range(lane, half.inner * LANES, LANES):
            top = max(top, np.float64(x[i, j]))
            if wanted and w[i, j] > 0:
                total += np.float64(w[i, j]) * math.log(np.float64(x[i, j]) / np.float64(w[i, j]))
    return eps * total, math.log(top)


@strict_core
def lane_cost(a, b, lane, eps):
    """Sum u s + sum g (b - v t) of one lane: s = (K C) v gives <P, C>; see `block.corrected_cost`."""
    total, mean, gaps = 0.0, 0.0, 0.0
    for i in range(a.outer):
        for j in range(lane, a.inner * LANES, LANES):
            total += np.float64(a.scaling[i, j]) * np.float64(a.sums[i, j])
    for i in range(b.outer):
        for j in range(lane, b.inner * LANES, LANES):
            if b.weights[i, j] > 0:
                w, v = np.float64(b.weights[i, j]), np.float64(b.scaling[i, j])
                g, gap = eps * math.log(v / w), w - v * np.float64(b.sums[i, j])
                total += g * gap
                mean += w * g
                gaps += gap
    return total - mean * gaps


@inline_core
def cost_sums(lanes):
    """S = (K C) v = K2 (K1 c1) v + (K2 c2) K1 v."""
    k, kc, a, b, spare = lanes.kernels, lanes.costs, lanes.a, lanes.b, lanes.scratch[2]
    apply_kernel(k[0], kc[1], b, a, lanes.scratch, spare)
    apply_kernel(kc[0], k[1], b, a, lanes.scratch, a.sums)
    for i in range(a.outer):
        for j in range(a.inner * LANES):
            a.sums[i, j] += spare[i, j]


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
def pick(status, order, q, picked):
    """Fill picked with the next columns from order[q:] whose status is RETRY; returns how many, and the next q."""
    count = 0
    while q < order.size and count < LANES:
        if status[order[q]] == RETRY:
            picked[count] = order[q]
            count += 1
        q += 1
    picked[count:] = picked[0]
    return count, q


@inline_core
def fill_left(A, i, weights, state):
    """The measure i of A in every lane on its box, columns outside, u = 0."""
    top, bottom, left, right = A.boxes[i, 0], A.boxes[i, 1], A.boxes[i, 2], A.boxes[i, 3]
    for r in range(bottom - top):
        for c in range(right - left):
            for lane in range(LANES):
                weights[c, r * LANES + lane] = A.weights[i, top + r, left + c]
                state[0, c, r * LANES + lane] = 0
    return Half(weights, state[0], state[1], top, left, right - left, bottom - top)


@inline_core
def fill_right(B, cols, picked, weights, state):
    """The picked measures of B, one in each lane, on their common box, rows outside, v = b."""
    top, left, bottom, right = B.boxes[cols[picked[0]], 0], B.boxes[cols[picked[0]], 2], 0, 0
    for lane in range(LANES):
        box = B.boxes[cols[picked[lane]]]
        top, bottom, left, right = min(top, box[0]), max(bottom, box[1]), min(left, box[2]), max(right, box[3])
    for lane in range(LANES):
        image = B.weights[cols[picked[lane]]]
        for r in range(bottom - top):
            for c in range(right - left):
                weights[r, c * LANES + lane] = image[top + r, left + c]
                state[2, r, c * LANES + lane] = image[top + r, left + c]
    return Half(weights, state[2], state[3], top, left, bottom - top, right - left)


@inline_core
def fill_kernels(first, second, a, b, out):
    """Cut both tables to the boxes of a and b, into out[0], out[1], and their transposes into out[2], out[3]."""
    sub_block(first, a.row, a.inner, b.row, b.outer, out[0], out[2])
    sub_block(second, a.column, a.outer, b.column, b.inner, out[1], out[3])


@inline_core
def lane_value(lanes, lane, it, options):
    """(value, status) of one lane; RETRY when masses below the smallest kernel entry could exceed tol / 10.

    The intermediate product may also underflow, hence the scalings count with at least 1 each in that bound.
    """
    a, b, error, tol, eps = lanes.a, lanes.b, lanes.errors[lane], options.tol, options.epsilon
    transport = options.value == TRANSPORT
    f, top_u = lane_dual(a, lane, eps, not transport)
    g, top_v = lane_dual(b, lane, eps, not transport)
    cells = a.inner * a.outer * b.outer * b.inner
    most = math.log(cells) + max(top_u, 0.0) + max(top_v, 0.0)
    value = lane_cost(a, b, lane, eps) if transport else f + g
    if transport and not most + log_subnormal(a.scaling) < math.log(max(0.1 * tol * abs(value), 1e-323)):
        return np.nan, RETRY
    if not transport and a.scaling.itemsize == 4 and not abs(value) > 0.02 * eps:
        return np.nan, RETRY  # see `block.scaled_value`
    if not (
        most + log_smallest(a.scaling) < math.log(0.1 * tol)
        and abs(value) < np.inf
        and (error <= tol or it == options.max_iter)
    ):
        return np.nan, RETRY
    return value, OK if error <= tol else UNCONVERGED


@strict_core
def tile_grid(axes, A, rows, B, cols, options, out):
    """Pairs (len(rows), len(cols)) of images whose status is RETRY; those that plain scaling does not suit stay RETRY.

    axes: `axis_kernel` of the rows and of the columns; A and B ``structs.Images``.
    """
    K1, K2 = axes[0].kernel, axes[1].kernel
    side = up(max(K1.shape[0], K2.shape[0]), 12)
    state, weights = (np.zeros((7, side, side * LANES), K1.dtype), np.zeros((2, side, side * LANES), K1.dtype))
    k, kc = np.zeros((4, side, side), K1.dtype), np.zeros((4, side, side), K1.dtype)
    gaps, errors = np.zeros(side * LANES, K1.dtype), np.zeros(LANES)
    order, picked = order_by_box(B.boxes, cols), np.zeros(LANES, np.int64)
    for p in range(rows.size):
        q = 0
        while True:
            count, q = pick(out.status[p], order, q, picked)
            if count == 0:
                break
            a, b = fill_left(A, rows[p], weights[0], state), fill_right(B, cols, picked, weights[1], state)
            fill_kernels(K1, K2, a, b, k)
            lanes = Lanes(k, kc, a, b, state[4:], gaps, errors, np.zeros(LANES, np.bool_))
            _, _, it = iterate(step_lanes, relax_lane_columns, lanes, options.tol, options.max_iter)
            if options.value == TRANSPORT:
                fill_kernels(axes[0].weighted, axes[1].weighted, a, b, kc)
                cost_sums(lanes)
            for lane in range(count):
                at = picked[lane]
                out.values[p, at], out.status[p, at] = lane_value(lanes, lane, it, options)
                estimate_gap(out, b, lane, LANES, p, at)
            if lanes.failed.any():
                state[:] = 0  # padding must stay finite: its coefficients are 0, and 0 nan = nan
