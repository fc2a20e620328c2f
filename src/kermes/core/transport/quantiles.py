"""Quantile functions: transport on the line merges those of both measures; means over cells make vectors of them.

W_p^p = int_0^1 |Q_a(t) - Q_b(t)|^p dt. Both quantile functions are steps, so the integral is a sum over
the merged jumps of the two distribution functions: n + m - 1 terms, no optimisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import FloatArray, IndexArray
from ..jit import inline_core, strict_core

#: Levels that differ by less than this fraction are equal: weights and their sums carry rounding.
EQUAL = 8.0 * float(np.finfo(np.float64).eps)


class Sorted(NamedTuple):
    """Measures projected on L lines (on the line L = 1), each in two halves that meet at the level 1/2.

    The lower half of a measure has its atoms in increasing order and the mass up to and with each, the upper half those
    in decreasing order and the mass down to and with each: small masses count with all their digits at both ends. The
    last level of either is exactly 1/2. Points and levels are (L, N + n); measure i has its lower half from
    ``starts[i]`` to ``uppers[l, i] - 1``, and its upper half from there to ``lasts[l, i]``.
    """

    points: FloatArray
    levels: FloatArray
    starts: IndexArray
    uppers: IndexArray
    lasts: IndexArray


@inline_core
def _add(total, rest, weight):
    """Return total + weight, and what rounding has left out so far (Neumaier)."""
    new = total + weight
    if abs(total) >= abs(weight):
        rest += (total - new) + weight
    else:
        rest += (weight - new) + total
    return new, rest


@strict_core
def split(points, weights, offsets, out):
    """Fill ``out``, :class:`Sorted`, from sorted points and their weights, both (L, N)."""
    for line in range(points.shape[0]):
        for i in range(len(offsets) - 1):
            first = offsets[i]
            stop = offsets[i + 1]
            mass = 0.0
            rest = 0.0
            for k in range(first, stop):
                mass, rest = _add(mass, rest, weights[line, k])
            mass += rest
            place = first + i
            out.starts[i] = place
            for half in range(2):
                total = 0.0
                rest = 0.0
                for step in range(stop - first):
                    k = first + step if half == 0 else stop - 1 - step
                    total, rest = _add(total, rest, weights[line, k])
                    level = (total + rest) / mass
                    out.points[line, place] = points[line, k]
                    out.levels[line, place] = min(level, 0.5)
                    if level >= 0.5 * (1.0 - EQUAL) or step == stop - first - 1:
                        out.levels[line, place] = 0.5
                        break
                    place += 1
                if half == 0:
                    place += 1
                    out.uppers[line, i] = place
                else:
                    out.lasts[line, i] = place


@inline_core
def _step(x, f, i, last_i, y, g, j, last_j, t):
    """Move to the next jump of either distribution function; return the mass moved and the gap it moves over.

    Jumps at equal levels are passed at once. At the end both sit on their last atom with f = g = 1/2 = t, so
    further steps move exactly 0.
    """
    fi = f[i]
    gj = g[j]
    s = min(fi, gj)
    mass = s - t
    gap = abs(x[i] - y[j])
    i += np.int64(fi <= gj * (1.0 + EQUAL)) & np.int64(i < last_i)
    j += np.int64(gj <= fi * (1.0 + EQUAL)) & np.int64(j < last_j)
    return i, j, s, mass, gap


@inline_core
def _merge(x, f, i0, i1, i1_last, y, g, j0, j1, j1_last, p, unit):
    """Return sum of mass * (gap / unit)^p, with unit = 1 if p is 1 or 2, or the largest gap if p is inf.

    Both halves advance in one loop: a merge is a chain of dependent loads, and a second chain in its shadow makes
    it 1.4 times faster.
    """
    i0_last = i1 - 1
    j0_last = j1 - 1
    t0 = 0.0
    t1 = 0.0
    sum0 = 0.0
    sum1 = 0.0
    for _ in range(max(i0_last - i0 + j0_last - j0, i1_last - i1 + j1_last - j1) + 1):
        i0, j0, t0, mass0, gap0 = _step(x, f, i0, i0_last, y, g, j0, j0_last, t0)
        i1, j1, t1, mass1, gap1 = _step(x, f, i1, i1_last, y, g, j1, j1_last, t1)
        if p == 2.0:
            sum0 += mass0 * (gap0 * gap0)
            sum1 += mass1 * (gap1 * gap1)
        elif p == 1.0:
            sum0 += mass0 * gap0
            sum1 += mass1 * gap1
        else:
            if mass0 > 0.0:
                sum0 = max(sum0, gap0) if p == np.inf else sum0 + mass0 * (gap0 / unit) ** p
            if mass1 > 0.0:
                sum1 = max(sum1, gap1) if p == np.inf else sum1 + mass1 * (gap1 / unit) ** p
    return max(sum0, sum1) if p == np.inf else sum0 + sum1


@strict_core
def _pair(A, i, B, j, p, unit):
    """Return the sum over lines of what ``_merge`` returns for measures i of A and j of B, or the largest of it."""
    total = 0.0
    for k in range(A.points.shape[0]):
        part = _merge(
            A.points[k], A.levels[k], A.starts[i], A.uppers[k, i], A.lasts[k, i],
            B.points[k], B.levels[k], B.starts[j], B.uppers[k, j], B.lasts[k, j],
            p, unit,
        )  # fmt: skip
        total = max(total, part) if p == np.inf else total + part
    return total


@strict_core
def tile(A, rows, B, cols, triangle, p, out):
    """Fill out[i, j] = mean over lines of W_p^p (p = 1, 2), or its p-th root (else), of :class:`Sorted` measures.

    Powers other than 1 and 2 are taken of gaps relative to the largest one: they neither overflow nor underflow.
    """
    n_lines = A.points.shape[0]
    power = p if p == 1.0 or p == 2.0 else np.inf
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            value = _pair(A, rows[i], B, cols[j], power, 1.0)
            if power < np.inf:
                value /= n_lines
            elif value > 0.0:
                value *= (_pair(A, rows[i], B, cols[j], p, value) / n_lines) ** (1.0 / p)
            out[i, j] = value


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
