"""Sums of |a - b|^p between rows of dense matrices; of squares, and total variation, between sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray
from .intrinsics import greater
from .jit import inline_core, strict_core, tile_core

#: Columns from which a matrix product beats differences.
WIDE = 64
#: Below this fraction of the norms a squared distance from a product is computed again by differences.
CANCELLED = 1e-2
#: Numbers of the rows that are copied at a time (8 MB).
COPIED = 1 << 20


def squared_tile(a: FloatArray, rows: IndexArray, b: FloatArray, cols: IndexArray, triangle: bool) -> FloatArray:
    """Return |a[rows[i]] - b[cols[j]]|^2: by differences if narrow, by one matrix product if wide.

    |x|^2 + |y|^2 - 2 <x, y> cancels when x and y are close compared with their norms. Both are moved by
    the mean of y first (distances do not change), and what still cancels is computed by differences of what was given,
    so that the relative error stays below 1e-12, whatever else is in the tile.
    """
    if a.shape[1] < WIDE:
        out = np.zeros((len(rows), len(cols)))
        power_tile(a, rows, b, cols, triangle, 2.0, out)
        return out
    x_squares, y_squares, out = np.zeros(len(rows)), np.zeros(len(cols)), np.zeros((len(rows), len(cols)))
    width = max(WIDE, COPIED // (len(rows) + len(cols)))
    left, right = _index(rows), _index(cols)
    for start in range(0, a.shape[1], width):
        part = b[right, start : start + width]
        centre = part.mean(axis=0)
        x, y = a[left, start : start + width] - centre, part - centre
        x_squares += np.einsum("ik,ik->i", x, x)
        y_squares += np.einsum("ik,ik->i", y, y)
        out += x @ y.T
    subtract_products(a, rows, b, cols, x_squares, y_squares, out)
    return out


def _index(rows: IndexArray) -> IndexArray | slice:
    """Return an index of these rows, one that copies nothing if they follow each other."""
    follow = len(rows) and (np.diff(rows) == 1).all()
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows


def form_tile(A: Any, rows: IndexArray, B: Any, cols: IndexArray) -> FloatArray:
    """Return <w - v, K w - K v> for w = A.weights[rows[i]], v = B.weights[cols[j]] and their ``potentials`` K w, K v.

    By one matrix product, from ``norms`` w'K w; what cancels is computed by differences.
    """
    out = A.weights[rows] @ B.potentials[cols].T
    subtract_forms(A.weights, A.potentials, rows, B.weights, B.potentials, cols, A.norms[rows], B.norms[cols], out)
    return np.asarray(out)


@inline_core
def subtract(left, right, row):
    """row[j] = left + right[j] - 2 row[j]; returns how many of them cancel. Once over a row: it stays in the cache."""
    count = 0
    for j in range(row.size):
        whole = left + right[j]
        row[j] = whole - 2.0 * row[j]
        count += row[j] < CANCELLED * whole
    return count


@tile_core
def subtract_forms(a, f, rows, b, g, cols, left, right, out):
    """From products <a_i, g_j> in out to <a_i - b_j, f_i - g_j>, by differences where these cancel."""
    for i in range(out.shape[0]):
        x, u, row = a[rows[i]], f[rows[i]], out[i]
        for j in range(row.size if subtract(left[i], right, row) else 0):
            if row[j] < CANCELLED * (left[i] + right[j]):
                y, v = b[cols[j]], g[cols[j]]
                total = 0.0
                for k in range(len(x)):
                    total += (x[k] - y[k]) * (u[k] - v[k])
                row[j] = total


@tile_core
def subtract_products(a, rows, b, cols, left, right, out):
    """From products <x_i, y_j> in out to |a[rows[i]] - b[cols[j]]|^2, by differences where these cancel.

    x and y may be a and b moved by the same vector; left and right are their squares.
    """
    for i in range(out.shape[0]):
        x, row = a[rows[i]], out[i]
        for j in range(row.size if subtract(left[i], right, row) else 0):
            if row[j] < CANCELLED * (left[i] + right[j]):
                y = b[cols[j]]
                total = 0.0
                for k in range(len(x)):
                    total += (x[k] - y[k]) * (x[k] - y[k])
                row[j] = total


@tile_core
def power_tile(a, rows, b, cols, triangle, p, out):
    """Fill out[i, j] = sum_k |a[rows[i], k] - b[cols[j], k]|^p, by differences."""
    m = a.shape[1]
    for i in range(len(rows)):
        ai = a[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            bj = b[cols[j]]
            total = 0.0
            if p == 2.0:
                for k in range(m):
                    total += (ai[k] - bj[k]) * (ai[k] - bj[k])
            elif p == 1.0:
                for k in range(m):
                    total += abs(ai[k] - bj[k])
            else:
                for k in range(m):
                    total += abs(ai[k] - bj[k]) ** p
            out[i, j] = total


@strict_core
def norm_tile(a, rows, b, cols, triangle, p, out):
    """Fill out[i, j] = (sum_k |a[rows[i], k] - b[cols[j], k]|^p)^(1/p), in units of the largest difference.

    The unit may be subnormal, and its reciprocal infinite: divisions must not become products.
    """
    for i in range(len(rows)):
        ai = a[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            bj = b[cols[j]]
            unit = 0.0
            for k in range(a.shape[1]):
                unit = max(unit, abs(ai[k] - bj[k]))
            total = 0.0
            if unit > 0.0:
                for k in range(a.shape[1]):
                    total += (abs(ai[k] - bj[k]) / unit) ** p
            out[i, j] = unit * total ** (1.0 / p)


@tile_core
def sparse_tile(A, rows, B, cols, triangle, out):
    """Fill out[i, j] = sum_k (a_k - b_k)^2 between sparse vectors, :class:`.ragged.Rows`."""
    ids_a, w_a, off_a = A.ids, A.weights, A.offsets
    ids_b, w_b, off_b = B.ids, B.weights, B.offsets
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            s = off_a[rows[i]]
            t = off_b[cols[j]]
            end_s = off_a[rows[i] + 1]
            end_t = off_b[cols[j] + 1]
            total = 0.0
            while s < end_s or t < end_t:
                if t == end_t or (s < end_s and ids_a[s] < ids_b[t]):
                    diff = w_a[s]
                    s += 1
                elif s == end_s or ids_b[t] < ids_a[s]:
                    diff = w_b[t]
                    t += 1
                else:
                    diff = w_a[s] - w_b[t]
                    s += 1
                    t += 1
                total += diff * diff
            out[i, j] = total


@tile_core
def variation_tile(A, rows, B, cols, triangle, enough, out):
    """Fill out[i, j] = sum_k max(a_k - b_k, 0) between sparse probability vectors, :class:`.ragged.Rows`.

    Gains and losses are equal. The difference at the heaviest point is left out of both, and the larger sum taken: it
    has the relative accuracy of the small weights, while a heavy one has rounded them away. Sums end beyond ``enough``.
    """
    (a_ids, a_weights, a_offsets), (b_ids, b_weights, b_offsets) = A, B
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            s, t = a_offsets[rows[i]], b_offsets[cols[j]]
            end_s, end_t = a_offsets[rows[i] + 1], b_offsets[cols[j] + 1]
            gains = losses = heaviest = aside = 0.0
            while (s < end_s or t < end_t) and gains <= enough and losses <= enough:
                a = b = 0.0
                left = s < end_s and (t == end_t or a_ids[s] <= b_ids[t])
                right = t < end_t and (s == end_s or b_ids[t] <= a_ids[s])
                if left:
                    a = a_weights[s]
                    s += 1
                if right:
                    b = b_weights[t]
                    t += 1
                diff = a - b
                if a + b > heaviest:
                    heaviest = a + b
                    diff, aside = aside, diff
                gains += greater(diff, 0.0)
                losses += greater(-diff, 0.0)
            out[i, j] = greater(gains, losses)
