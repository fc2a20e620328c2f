"""The search for an arc of negative reduced cost, in double precision."""

from __future__ import annotations

import numpy as np

from ..intrinsics import greater, lesser
from ..jit import inline_core, least_core
from .doubles import EPS

#: Rows searched for the next arc: fewer pivots against longer searches; 3 to 5 are best for 20 to 500 atoms.
BLOCK = 5
#: A reduced cost counts as negative beyond this fraction of its parts.
NOISE = 8.0 * EPS


@least_core
def least(row, prices):
    """Return min_j row[j] + prices[j]."""
    best = np.inf
    for j in range(len(row)):
        best = lesser(best, row[j] + prices[j])
    return best


@least_core
def place_of_least(row, prices):
    """Return a j for which row[j] + prices[j] is least."""
    best = np.inf
    for j in range(len(row)):
        best = lesser(best, row[j] + prices[j])
    at = 0
    for j in range(len(row)):
        at = max(at, j if row[j] + prices[j] == best else 0)
    return at


@least_core
def greatest(values):
    """Return the greatest of some numbers of at least 0."""
    best = 0.0
    for k in range(len(values)):
        best = greater(best, values[k])
    return best


@inline_core
def negative_arc(C, high, sinks, first):
    """Return the arc of least reduced cost in some rows from ``first`` on; its sink is -1 if rounding explains it."""
    n = C.shape[0]
    best, i, j = 0.0, -1, -1
    for k in range(min(BLOCK, n)):
        at = first + k if first + k < n else first + k - n
        value = least(C[at], sinks) - high[at]
        if value < best:
            best, i = value, at
    if i >= 0:
        j = place_of_least(C[i], sinks)
        if C[i, j] - high[i] + sinks[j] >= -NOISE * (C[i, j] + abs(high[i]) + abs(sinks[j])):
            j = -1
    return i, j
