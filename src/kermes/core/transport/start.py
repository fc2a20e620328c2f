"""A first basis of the transport problem, near the optimum: it takes half of the pivots that the cheapest arcs take.

A few of Sinkhorn's iterations, in single precision, give potentials; sources then ship to the sinks that are cheapest
relative to them, those with the fewest good sinks first. The basis decides how many pivots follow, and nothing else.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._typing import FloatArray
from ..exp import exp32
from ..intrinsics import greater, lesser
from ..jit import exact_core, inline_core, least_core
from .pricing import HUGE, bits_of, place_of_least

#: Regularisation as a part of the mean cost, and iterations: more of them cost more than the pivots they save.
EPSILON, ITERATIONS = 0.1, 5
#: Rows of which the mean cost is taken.
SAMPLE = 8
#: Bounds of kernel values and of Sinkhorn's scalings, within which no product or quotient leaves single precision.
LEAST_VALUE, LEAST, MOST = np.float32(1e-12), np.float32(1e-30), np.float32(1e30)
#: Sources are taken in turn of their number of good sinks: steps for each doubling, and the last one.
STEPS, LAST_STEP = 4.0, 31

f4 = np.float32


class Bench(NamedTuple):
    """Room for the start, and for rows of reduced costs later."""

    room: FloatArray  # (m,) what sinks still take
    prices: FloatArray  # (m,) of sinks, inf for full ones
    kernel: Any  # (n, m), float32
    scaling: Any  # (m,), float32
    sums: Any  # (m,), float32
    choices: Any  # (n,) step at which each source ships, by its number of good sinks
    order: Any  # (n,) sources by their steps
    first: Any  # (LAST_STEP + 2,) places of the steps in that order


def padded_size(m: Any) -> Any:
    """Return m rounded up to a multiple of 32, four vectors in single precision: no row has a rest to go through."""
    return (m + 31) // 32 * 32


padded = inline_core(padded_size)


def make_bench(n: int, m: int) -> Bench:
    """Return room for problems of up to n sources and m sinks."""
    size = padded_size(m)
    kernel, scaling, sums = (np.empty(k, dtype=np.float32) for k in (n * size, size, size))
    choices, order, first = (np.empty(k, dtype=np.int64) for k in (n, n, LAST_STEP + 2))
    return Bench(np.empty(m), np.empty(m), kernel, scaling, sums, choices, order, first)


@least_core
def soft_prices(C, a, b, prices, kernel, scaling, sums, choices):
    """Fill ``prices`` with -v, from a dual feasible (u, v), and ``choices``."""
    n, m = C.shape
    size = padded(m)
    total, stride = 0.0, max(n // SAMPLE, 1)
    for i in range(0, n, stride):
        for j in range(m):
            total += C[i, j]
    epsilon = EPSILON * total / (m * ((n - 1) // stride + 1))
    rate = 1.0 / epsilon if epsilon > 0.0 else 0.0
    K, scaling, sums = kernel[: n * size].reshape(n, size), scaling[:size], sums[:size]
    for i in range(n):
        row, values, low = C[i], K[i], np.inf
        for j in range(m):
            low = lesser(low, row[j])
        for j in range(m):
            values[j] = f4(greater((low - row[j]) * rate, -80.0))
        for j in range(m, size):
            values[j] = f4(-80.0)
        for j in range(size):
            values[j] = greater(exp32(values[j]), LEAST_VALUE)
    for j in range(size):
        scaling[j] = f4(1.0 if j < m else 0.0)
    for _ in range(ITERATIONS):
        for j in range(size):
            sums[j] = f4(0.0)
        for i in range(n):
            values, shipped = K[i], f4(0.0)
            for j in range(size):
                shipped += values[j] * scaling[j]
            scale = f4(greater(a[i], 1e-30)) / greater(shipped, LEAST)
            for j in range(size):
                sums[j] += scale * values[j]
        for j in range(m):
            scaling[j] = lesser(greater(f4(greater(b[j], 1e-30)) / greater(sums[j], LEAST), LEAST), MOST)
    for i in range(n):
        values, shipped, top = K[i], f4(0.0), f4(0.0)
        for j in range(size):
            part = values[j] * scaling[j]
            shipped += part
            top = greater(top, part)
        choices[i] = min(np.int64(STEPS * math.log2(shipped / top)), LAST_STEP)
    for j in range(m):  # v in units of epsilon, from here on
        sums[j], prices[j] = f4(math.log(scaling[j])), np.inf
    for i in range(n):
        row, u = C[i], np.inf
        for j in range(m):
            u = lesser(u, row[j] - epsilon * sums[j])
        for j in range(m):
            prices[j] = lesser(prices[j], row[j] - u)
    for j in range(m):
        prices[j] = -prices[j]


@inline_core
def sort_sources(choices, order, first, n):
    """Fill ``order`` with the sources by their steps, and by their numbers within each."""
    for step in range(LAST_STEP + 2):
        first[step] = 0
    for i in range(n):
        first[choices[i] + 1] += 1
    for step in range(LAST_STEP):
        first[step + 1] += first[step]
    for i in range(n):
        order[first[choices[i]]] = i
        first[choices[i]] += 1


@exact_core
def start(C, a, b, T, bench):
    """Ship each source to the sinks of least C_ij - v_j that have room left.

    Sources count as a trifle heavier than they are, and the last open sink as large enough for all trifles: at a tie
    the sink is full, and the source, empty, goes on to another sink with flow 0. That makes the tree strongly feasible.
    Each step closes a source, whose parent the sink becomes, or a sink, whose parent the source becomes; so children
    are closed, and numbered in the order of the tree, before their parents. Returns the root.
    """
    parent, closed, flow = T.parent, T.order, T.flow
    n, m = C.shape
    room, prices, kernel, scaling, sums, choices, order, first = bench
    soft_prices(C, a, b, prices, kernel, scaling, sums, choices)
    sort_sources(choices, order, first, n)
    for j in range(m):
        room[j] = b[j]
    n_sinks, count, root, kept = m, 0, n, -(1 << bits_of(m))
    for k in range(n):
        i, left, searching = order[k], a[order[k]], True
        while searching:
            j = place_of_least(C[i], prices, kept)
            # The last source closes all sinks but one, whatever rounding has left of it.
            if n_sinks == 1 or (left < room[j] and k < n - 1):
                closed[count] = i
                parent[i], flow[i] = n + j, left
                room[j] -= left
                root = n + j
                searching = False
            else:
                closed[count] = n + j
                parent[n + j], flow[n + j] = i, lesser(left, room[j])
                left = greater(left - room[j], 0.0)
                prices[j] = HUGE
                n_sinks -= 1
            count += 1
    return root
