"""Transport between projections of equally heavy atoms: one merge of quantile functions serves all slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .jit import inline_core, tile_core


class Ranked(NamedTuple):
    """Measures of equally heavy atoms: the r-th smallest projection on each of the L lines in row r, (N, L)."""

    projections: FloatArray
    offsets: IndexArray


@inline_core
def _gaps(xa, yb, p, unit):
    """Return sum over slices of (gap / unit)^p, with unit = 1 if p is 1 or 2, or the largest gap if p is inf."""
    total = 0.0
    if p == 2.0:
        for k in range(len(xa)):
            total += (xa[k] - yb[k]) * (xa[k] - yb[k])
    elif p == 1.0:
        for k in range(len(xa)):
            total += abs(xa[k] - yb[k])
    elif p == np.inf:
        for k in range(len(xa)):
            total = max(total, abs(xa[k] - yb[k]))
    else:
        for k in range(len(xa)):
            total += (abs(xa[k] - yb[k]) / unit) ** p
    return total


@tile_core
def _pair(x, start_i, n, y, start_j, m, p, unit):
    """Return the mean over slices of W_p^p in units of ``unit``, or the largest gap if p is inf.

    With n and m equal atoms all slices jump at the same levels k / n and l / m: the merge is done once, in
    integers, and the inner loop over slices vectorises.
    """
    a = 0
    b = 0
    level = 0  # in units of 1 / (n m)
    total = 0.0
    while level < n * m:
        upper_a = (a + 1) * m
        upper_b = (b + 1) * n
        upper = min(upper_a, upper_b)
        gap = _gaps(x[start_i + a], y[start_j + b], p, unit)
        total = max(total, gap) if p == np.inf else total + (upper - level) * gap
        level = upper
        a += 1 if upper_a == upper else 0
        b += 1 if upper_b == upper else 0
    return total if p == np.inf else total / (n * m) / x.shape[1]


@tile_core
def uniform_tile(A, rows, B, cols, triangle, p, out):
    """Fill out[i, j] = mean over slices of W_p^p (p = 1, 2), or its p-th root (else), of :class:`Ranked` measures.

    Powers other than 1 and 2 are taken of gaps relative to the largest one: they neither overflow nor underflow.
    """
    x, off_x = A.projections, A.offsets
    y, off_y = B.projections, B.offsets
    power = p if p == 1.0 or p == 2.0 else np.inf
    for i in range(len(rows)):
        start_i = off_x[rows[i]]
        n = off_x[rows[i] + 1] - start_i
        for j in range(i + 1 if triangle else 0, len(cols)):
            start_j = off_y[cols[j]]
            m = off_y[cols[j] + 1] - start_j
            value = _pair(x, start_i, n, y, start_j, m, power, 1.0)
            if power == np.inf and value > 0.0:
                value *= _pair(x, start_i, n, y, start_j, m, p, value) ** (1.0 / p)
            out[i, j] = value


@tile_core
def relabelled(projections, order, first, p, out):
    """Fill out[b] = mean over slices of W_p^p (p = 1, 2), or SW_p (else), of two clouds made of one pool of N atoms.

    ``order`` (L, N) sorts the ``projections`` (N, L) of the pool; the atoms with ``first[b]`` (B, N) are one cloud.
    Every row of ``first`` has equally many.
    """
    N, L = projections.shape
    n = 0
    for i in range(N):
        n += 1 if first[0, i] else 0
    x = np.empty((n, L))
    y = np.empty((N - n, L))
    power = p if p == 1.0 or p == 2.0 else np.inf
    for b in range(len(first)):
        for k in range(L):
            a = 0
            c = 0
            for r in range(N):
                i = order[k, r]
                if first[b, i]:
                    x[a, k] = projections[i, k]
                    a += 1
                else:
                    y[c, k] = projections[i, k]
                    c += 1
        value = _pair(x, 0, n, y, 0, N - n, power, 1.0)
        if power == np.inf and value > 0.0:
            value *= _pair(x, 0, n, y, 0, N - n, p, value) ** (1.0 / p)
        out[b] = value
