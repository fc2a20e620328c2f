"""The search for an arc of negative reduced cost, in double precision."""

from __future__ import annotations

from ..intrinsics import greater, lesser, tag_of, tagged
from ..jit import least_core, part_core
from .doubles import EPS

#: Rows searched for the next arc, by a power of 2 of four at a time: fewer pivots against longer searches. More of them
#: are searched where sinks are FEW.
BLOCK, LONG_BLOCK, FEW = 4, 8, 128
#: A reduced cost counts as negative beyond this fraction of its parts.
NOISE = 8.0 * EPS
#: More than any cost, and far from what a tag would make nan.
HUGE = 1e300


@part_core
def bits_of(size):
    """Return how many bits a number below ``size`` has."""
    bits = 0
    while (1 << bits) < size:
        bits += 1
    return bits


@least_core
def place_of_least(row, prices, kept):
    """Return a j for which row[j] + prices[j] is least, but for what its tag hides."""
    best = HUGE
    for j in range(len(row)):
        best = lesser(best, tagged(row[j] + prices[j], kept, j))
    return tag_of(best, kept)


@least_core
def place_of_arc(C, high, first, block, bits):
    """Return where the least reduced cost is in ``block`` rows from ``first`` on, 0 after the last.

    As a number of four rows, shifted by the ``bits`` of sinks, and a sink. The least of four costs of a column, each
    less the potential of its row, is all that is tagged and added to: half of the arithmetic of a search row by row.
    """
    n, m = C.shape
    sinks, best, i, kept = high[n : n + m], HUGE, first, -(block >> 2 << bits)
    for k in range(block // 4):
        row0, u0, i = C[i], high[i], after(i, n)
        row1, u1, i = C[i], high[i], after(i, n)
        row2, u2, i = C[i], high[i], after(i, n)
        row3, u3, i = C[i], high[i], after(i, n)
        for j in range(m):
            least = lesser(lesser(row0[j] - u0, row1[j] - u1), lesser(row2[j] - u2, row3[j] - u3))
            best = lesser(best, tagged(least + sinks[j], kept, (k << bits) + j))
    return tag_of(best, kept)


@part_core
def after(i, n):
    """Return the row after i, 0 after the last."""
    return i + 1 if i + 1 < n else 0


@least_core
def greatest(values):
    """Return the greatest of some numbers of at least 0."""
    best = 0.0
    for k in range(len(values)):
        best = greater(best, values[k])
    return best


@part_core
def negative_arc(C, high, first, block, bits):
    """Return the arc of least reduced cost in some rows from ``first`` on, and that; no sink, -1, if it is rounding."""
    n = C.shape[0]
    place = place_of_arc(C, high, first, block, bits)
    at, j = first + (place >> bits << 2), place & ((1 << bits) - 1)
    while at >= n:
        at -= n
    i, least = at, C[at, j] - high[at]
    for _ in range(3):
        at = after(at, n)
        i, least = (at, C[at, j] - high[at]) if C[at, j] - high[at] < least else (i, least)
    u, v = high[i], high[n + j]
    cost = least + v
    return i, j if cost < -NOISE * (C[i, j] + abs(u) + abs(v)) else -1, cost
