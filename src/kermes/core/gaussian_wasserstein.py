"""Wasserstein distances of Gaussians; their coupling term is the nuclear norm of many small matrices.

Pairs of one row go through together, LANES at a time. Which ones does not matter to their bits; columns of about the
same size leave the fewest zeros in the lanes of the smaller ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .centred_atoms import centred_block
from .jit import shared_core
from .lanes import LANES, load, splat, store
from .moments import gap_of_means
from .nuclear_norms import nuclear_norms
from .points import longest
from .status import OK, UNCONVERGED


class CovarianceFactors(NamedTuple):
    """Means + tails (n, r), traces, and factors of the covariances, S = F'F: rows offsets[i] to offsets[i + 1] of F."""

    means: FloatArray
    tails: FloatArray
    traces: FloatArray
    factors: FloatArray
    offsets: IndexArray


@shared_core
def lane_scratch(A, rows, B, cols):
    """Return V for LANES matrices with the smaller side as rows, and what `nuclear_norms` needs beside it."""
    n, m = longest(A.offsets, rows), longest(B.offsets, cols)
    side = min(n, m)
    return np.empty((side, max(n, m) + 1, LANES)), np.empty((2, side, LANES)), np.empty((1, 2, LANES))


@shared_core
def pick(order, at, after, sizes, p, picked):
    """Fill ``picked`` with the next columns > ``after`` of order[at:]; return how many, their largest size, the next.

    All of them are smaller than p, or none is. ``order`` sorts them by their sizes.
    """
    count, largest = 0, 0
    while at < len(order) and count < LANES:
        j = order[at]
        if j > after:
            if count > 0 and (sizes[j] < p) != (largest < p):
                break
            picked[count], largest = j, sizes[j]
            count += 1
        at += 1
    return count, largest, at


@shared_core
def clear(V, p, q):
    """Set V[a, b] = 0 for a < p, b < q in all lanes."""
    for a in range(p):
        for b in range(q):
            store(V, a, b, splat(0.0))


@shared_core
def gather(B, cols, picked, count, G, q):
    """G[b, k, lane] = row b of the factor of the picked columns, 0 up to q rows and in the lanes that are left."""
    clear(G, q, B.factors.shape[1])
    for lane in range(count):
        col = cols[picked[lane]]
        first = B.offsets[col]
        for b in range(B.offsets[col + 1] - first):
            for k in range(B.factors.shape[1]):
                G[b, k, lane] = B.factors[first + b, k]


@shared_core
def inner_products(A, i, G, q, turned, V):
    """V[a, b] = <F_a, G_b> for the factor of measure i of A and the lanes G; transposed if ``turned``."""
    start, rank = A.offsets[i], A.factors.shape[1]
    for a in range(A.offsets[i + 1] - start):
        for b in range(q):
            total = splat(0.0)
            for k in range(rank):
                total = total + A.factors[start + a, k] * load(G, b, k)
            if turned:
                store(V, b, a, total)
            else:
                store(V, a, b, total)


@shared_core
def features_tile(A, rows, B, cols, sizes, order, triangle, out, status):
    """out[i, j] = |m - m'|^2 + tr S + tr S' - 2 |F G'|_* from explicit ``CovarianceFactors``.

    ``sizes`` are those of the columns, ``order`` sorts them.
    """
    V, scratch, ends = lane_scratch(A, rows, B, cols)
    rank, picked = A.means.shape[1], np.empty(LANES, dtype=np.int64)
    G, delta = np.empty((longest(B.offsets, cols), rank, LANES)), np.empty(rank)
    for i in range(len(rows)):
        row, at = rows[i], 0
        p = A.offsets[row + 1] - A.offsets[row]
        while at < len(cols):
            count, q, at = pick(order, at, i if triangle else -1, sizes, p, picked)
            gather(B, cols, picked, count, G, q)
            inner_products(A, row, G, q, q < p, V)
            nuclear_norms(V, min(p, q), max(p, q), scratch, ends)
            for lane in range(count):
                j = picked[lane]
                col = cols[j]
                gap_of_means(A.means[row], A.tails[row], B.means[col], B.tails[col], 1.0, delta)
                gap = 0.0
                for k in range(rank):
                    gap += delta[k] * delta[k]
                out[i, j] = gap + A.traces[row] + B.traces[col] - 2.0 * ends[0, 1, lane]
                status[i, j] = UNCONVERGED if ends[0, 0, lane] > 0.0 else OK


@shared_core
def put(block, p, q, V, lane):
    """V[a, b, lane] = block[a, b] for a < p, b < q."""
    for a in range(p):
        for b in range(q):
            V[a, b, lane] = block[a, b]


@shared_core
def atoms_tile(ground, A, rows, B, cols, sizes, order, triangle, out, status):
    """out[i, j] = |m - m'|^2 + tr S + tr S' - 2 |F'G|_* from ``CentredAtoms``; ``sizes`` and ``order`` as there."""
    V, scratch, ends = lane_scratch(A, rows, B, cols)
    longer, picked, inner = V.shape[1], np.empty(LANES, dtype=np.int64), np.empty(LANES)
    block, u, v = np.empty((len(V), longer)), np.empty(longer), np.empty(longer)
    for i in range(len(rows)):
        row, at = rows[i], 0
        p = A.offsets[row + 1] - A.offsets[row]
        while at < len(cols):
            count, largest, at = pick(order, at, i if triangle else -1, sizes, 0, picked)
            clear(V, min(p, largest), max(p, largest))
            for lane in range(count):
                col, q = cols[picked[lane]], sizes[picked[lane]]
                # The smaller side are the rows to rotate.
                x, m, y, n = (A, row, B, col) if p <= q else (B, col, A, row)
                inner[lane] = centred_block(ground, x, m, y, n, block, u, v)
                put(block, min(p, q), max(p, q), V, lane)
            nuclear_norms(V, min(p, largest), max(p, largest), scratch, ends)
            for lane in range(count):
                j = picked[lane]
                col = cols[j]
                gap = A.norms[row] + B.norms[col] - 2.0 * inner[lane]
                out[i, j] = gap + A.traces[row] + B.traces[col] - 2.0 * ends[0, 1, lane]
                status[i, j] = UNCONVERGED if ends[0, 0, lane] > 0.0 else OK
