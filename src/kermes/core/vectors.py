"""Sums of |a - b|^p between rows of dense matrices; of squares, and total variation, between sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray
from .jit import strict_core, tile_core

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
    out *= -2.0
    out += x_squares[:, None]
    out += y_squares
    refine(a, rows, b, cols, CANCELLED * x_squares, CANCELLED * y_squares, out)
    return out


def _index(rows: IndexArray) -> IndexArray | slice:
    """Return an index of these rows, one that copies nothing if they follow each other."""
    follow = len(rows) and (np.diff(rows) == 1).all()
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows


def form_tile(A: Any, rows: IndexArray, B: Any, cols: IndexArray) -> FloatArray:
    """Return <w - v, K w - K v> for w = A.weights[rows[i]], v = B.weights[cols[j]] and their ``potentials`` K w, K v.

    By one matrix product, from ``norms`` w'K w; what cancels is computed by differences.
    """
    out = A.norms[rows][:, None] + B.norms[cols][None]
    limit = CANCELLED * out
    out -= 2.0 * (A.weights[rows] @ B.potentials[cols].T)
    refine_form(A.weights, A.potentials, rows, B.weights, B.potentials, cols, limit, out)
    return np.asarray(out)


@tile_core
def refine_form(a, f, rows, b, g, cols, limit, out):
    """Compute out[i, j] = <a_i - b_j, f_i - g_j> again wherever it is below limit[i, j]."""
    for i in range(out.shape[0]):
        x, u = a[rows[i]], f[rows[i]]
        for j in range(out.shape[1]):
            if out[i, j] < limit[i, j]:
                y, v = b[cols[j]], g[cols[j]]
                total = 0.0
                for k in range(len(x)):
                    total += (x[k] - y[k]) * (u[k] - v[k])
                out[i, j] = total


@tile_core
def refine(a, rows, b, cols, limits, others, out):
    """Compute out[i, j] = |a[rows[i]] - b[cols[j]]|^2 again wherever it is below limits[i] + others[j]."""
    for i in range(out.shape[0]):
        x = a[rows[i]]
        for j in range(out.shape[1]):
            if out[i, j] < limits[i] + others[j]:
                y = b[cols[j]]
                total = 0.0
                for k in range(len(x)):
                    total += (x[k] - y[k]) * (x[k] - y[k])
                out[i, j] = total


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
                gains += max(diff, 0.0)
                losses += max(-diff, 0.0)
            out[i, j] = max(gains, losses)
