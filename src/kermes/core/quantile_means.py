"""Means of quantile functions over cells of (0, 1): the step from transport on the line to vectors."""

from __future__ import annotations

import numpy as np

from .jit import strict_core


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
