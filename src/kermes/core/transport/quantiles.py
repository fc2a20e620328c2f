"""Quantile functions: transport on the line merges those of both measures; means over cells make vectors of them.

W_p^p = int_0^1 |Q_a(t) - Q_b(t)|^p dt. Both quantile functions are steps, so the integral is a sum over
the merged jumps of the two distribution functions: n + m - 1 terms, no optimisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..jit import inline_core, strict_core


class Sorted(NamedTuple):
    """Measures on the line, or their projections on L lines: sorted atoms, (N,) or (L, N), and offsets by measure.

    ``cumulative`` are the cumulative probabilities of each measure, of the same shape, exactly 1 at its end.
    """

    points: FloatArray
    cumulative: FloatArray
    offsets: IndexArray


@inline_core
def _gap(diff, p):
    if p == 2.0:
        return diff * diff
    if p == 1.0:
        return abs(diff)
    return abs(diff) ** p


@inline_core
def step(x, f, i, last_i, y, g, j, last_j, t, p):
    """Move to the next jump of either distribution function; return the mass moved times the gap.

    At the end both sit on their last atom with f = g = 1 = t, so further steps add exactly 0.
    """
    fi = f[i]
    gj = g[j]
    s = min(fi, gj)
    term = (s - t) * _gap(x[i] - y[j], p)
    i += np.int64(fi <= gj) & np.int64(i < last_i)
    j += np.int64(gj <= fi) & np.int64(j < last_j)
    return i, j, s, term


@strict_core
def tile(A, rows, B, cols, triangle, p, out):
    """Fill out[i, j] = W_p^p between measures rows[i] of A and cols[j] of B, both :class:`Sorted`.

    Two columns advance in one loop: a merge is a chain of dependent loads, and a second chain in its
    shadow makes each pair 1.4 times faster.
    """
    x, f, off_x = A.points, A.cumulative, A.offsets
    y, g, off_y = B.points, B.cumulative, B.offsets
    for i in range(len(rows)):
        start = off_x[rows[i]]
        last = off_x[rows[i] + 1] - 1
        first = i + 1 if triangle else 0
        for j in range(first, len(cols), 2):
            k = min(j + 1, len(cols) - 1)
            i0 = start
            i1 = start
            j0 = off_y[cols[j]]
            j1 = off_y[cols[k]]
            last0 = off_y[cols[j] + 1] - 1
            last1 = off_y[cols[k] + 1] - 1
            t0 = 0.0
            t1 = 0.0
            sum0 = 0.0
            sum1 = 0.0
            for _ in range(last - start + max(last0 - j0, last1 - j1) + 1):
                i0, j0, t0, term = step(x, f, i0, last, y, g, j0, last0, t0, p)
                sum0 += term
                i1, j1, t1, term = step(x, f, i1, last, y, g, j1, last1, t1, p)
                sum1 += term
            out[i, k] = sum1
            out[i, j] = sum0


@strict_core
def cumulate(weights, offsets, out):
    """Fill out with the cumulative probabilities of each measure; exactly 1 at its end."""
    for i in range(len(offsets) - 1):
        total = 0.0
        for k in range(offsets[i], offsets[i + 1]):
            total += weights[k]
            out[k] = total
        for k in range(offsets[i], offsets[i + 1]):
            out[k] = min(out[k] / total, 1.0)
        out[offsets[i + 1] - 1] = 1.0


@strict_core
def cell_means(x, w, offsets, levels, out, rest):
    """Fill out[i, l, c] = sqrt(h_c) * mean over cell c of the quantile function of row l of x (L, N), measure i.

    Cell c reaches from levels[c - 1] (0 for the first) to levels[c] and has the width h_c; the last level is 1.
    rest[i] = sum over rows of the squared L2 distance of the quantile functions from their means: what the
    projection on steps loses. Values are taken relative to the first atom of a cell, so that the loss of a cell with
    one atom is exactly 0.
    """
    f = np.empty(np.max(np.diff(offsets)))
    for i in range(len(offsets) - 1):
        start = offsets[i]
        last = offsets[i + 1] - start - 1
        rest[i] = 0.0
        for row in range(x.shape[0]):
            values = x[row, start : start + last + 1]
            order = np.argsort(values)
            total = 0.0
            for k in range(last + 1):
                total += w[start + order[k]]
                f[k] = total
            for k in range(last):
                f[k] = min(f[k] / total, 1.0)
            f[last] = 1.0
            a = 0
            t = 0.0
            for c in range(len(levels)):
                top = levels[c]
                width = top - t
                origin = values[order[a]]
                first = 0.0
                second = 0.0
                while True:
                    s = min(f[a], top)
                    gap = values[order[a]] - origin
                    first += (s - t) * gap
                    second += (s - t) * gap * gap
                    t = s
                    if f[a] <= top and a < last:
                        a += 1
                    if s >= top:
                        break
                out[i, row, c] = np.sqrt(width) * (origin + first / width)
                rest[i] += max(second - first * first / width, 0.0)
