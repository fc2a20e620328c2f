"""Maximum mean discrepancies from inner products of mean embeddings, <mu, nu>_k = sum_ij a_i b_j k(x_i, y_j)."""

from __future__ import annotations

import numpy as np

from .exp import LOG2_E, exp, exp2_lanes
from .jit import inline_core, strict_core, tile_core
from .lanes import LANES, load, splat, store
from .points import kernel_row, longest, values_row

#: Atoms of the second measure taken at once: 256 in 10-D are 20 KiB, which stay in the first cache.
CHUNK = 256
#: The largest number.
LARGEST = float(np.finfo(np.float64).max)


@inline_core
def pack(y, b, start, stop, packed):
    """Put the atoms ``start`` to ``stop`` into lanes, their weights behind their coordinates; return how many blocks.

    The last block is filled up with atoms of no weight.
    """
    d, blocks = y.shape[0], (stop - start + LANES - 1) // LANES
    for q in range(blocks):
        for t in range(LANES):
            column = min(start + q * LANES + t, stop - 1)
            for k in range(d):
                packed[q, k, t] = y[k, column]
            packed[q, d, t] = b[column] if start + q * LANES + t < stop else 0.0
    return blocks


@inline_core
def gaussian_inner(rate, x, a, first, last, y, b, begin, end, same, packed):
    """Return sum_st a_s b_t 2^(rate |x_s - y_t|^2), s from ``first`` to ``last`` and t from ``begin`` to ``end``.

    Lanes are atoms t. Four atoms s at a time keep the adders busy: 1.9 ns for a value in 10-D, with two 2.4, by rows
    that are stored 2.7. Of one measure (``same``) a block counts twice for the atoms behind it and once for its own.
    """
    d, total = np.uint64(x.shape[0]), splat(0.0)
    for start in range(begin, end, CHUNK):
        blocks = pack(y, b, start, min(start + CHUNK, end), packed)
        for s in range(start if same else first, last, 4):
            own = (s - start) // LANES if same else blocks
            s0, s1 = np.uint64(s), np.uint64(min(s + 1, last - 1))
            s2, s3 = np.uint64(min(s + 2, last - 1)), np.uint64(min(s + 3, last - 1))
            row0, row1, row2, row3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
            for q in range(np.uint64(min(own + 1, blocks))):
                c0, c1, c2, c3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
                for k in range(d):
                    yk = load(packed, q, k)
                    g0, g1, g2, g3 = yk - x[k, s0], yk - x[k, s1], yk - x[k, s2], yk - x[k, s3]
                    c0, c1, c2, c3 = c0 + g0 * g0, c1 + g1 * g1, c2 + g2 * g2, c3 + g3 * g3
                weights = load(packed, q, d) * (2.0 if same and q < own else 1.0)
                row0 = row0 + weights * exp2_lanes(rate * c0)
                row1 = row1 + weights * exp2_lanes(rate * c1)
                row2 = row2 + weights * exp2_lanes(rate * c2)
                row3 = row3 + weights * exp2_lanes(rate * c3)
            total = total + a[s0] * row0
            if s1 > s0:
                total = total + a[s1] * row1
            if s2 > s1:
                total = total + a[s2] * row2
            if s3 > s2:
                total = total + a[s3] * row3
    store(packed, 0, 0, total)
    found = 0.0
    for t in range(LANES):
        found += packed[0, 0, t]
    return found


@strict_core
def gaussian_inners(gamma, A, rows, B, cols, same, out):
    """Fill out[p] as :func:`inners` does, for exp(-gamma |x - y|^2)."""
    (x, a, x_offsets, _), (y, b, y_offsets, _) = A, B
    rate = -min(gamma * LOG2_E, LARGEST)
    blocks = (min(longest(y_offsets, cols), CHUNK) + LANES - 1) // LANES
    packed = np.empty((blocks, y.shape[0] + 1, LANES))
    for p in range(len(out)):
        i, j = rows[p], cols[p]
        first, last, begin, end = x_offsets[i], x_offsets[i + 1], y_offsets[j], y_offsets[j + 1]
        out[p] = gaussian_inner(rate, x, a, first, last, y, b, begin, end, same, packed)


@tile_core
def inners(ground, A, rows, B, cols, same, out):
    """Fill out[p] = <mu, nu>_k for measure rows[p] of A and cols[p] of B; ``same`` says that these are one measure.

    Of one measure each pair of atoms is computed once.
    """
    (x, a, x_offsets, x_ids), (y, b, y_offsets, y_ids) = A, B
    buffer = np.empty(min(longest(y_offsets, cols), CHUNK))
    for p in range(len(out)):
        first, last, end, total = x_offsets[rows[p]], x_offsets[rows[p] + 1], y_offsets[cols[p] + 1], 0.0
        for start in range(y_offsets[cols[p]], end, CHUNK):
            stop = min(start + CHUNK, end)
            for s in range(start if same else first, last):
                values_row(ground, x, x_ids, s, y, y_ids, start, min(s + 1, stop) if same else stop, buffer)
                row = 0.0
                for t in range((min(s, stop) if same else stop) - start):
                    row += b[start + t] * buffer[t]
                if same:  # twice what is before the atom, and once the atom itself
                    row *= 2.0
                    if s < stop:
                        row += b[s] * buffer[s - start]
                total += a[s] * row
        out[p] = total


@tile_core
def against(code, params, A, rows, pivots, out):
    """Fill out[i, p] = sum_j a_j k(pivot_p, x_j) for i in rows; pivots (d, r)."""
    buffer = np.empty(longest(A.offsets, rows))
    for i in rows:
        start, stop = A.offsets[i], A.offsets[i + 1]
        weights = A.weights[start:stop]
        for p in range(pivots.shape[1]):
            kernel_row(code, params, pivots, p, A.coordinates, start, stop, buffer)
            total = 0.0
            for j in range(stop - start):
                total += weights[j] * buffer[j]
            out[i, p] = total


@tile_core
def gaussian_sums(gamma, products, x_squares, a, y_squares, b, offsets, out):
    """Fill out[j] = sum_st a_s b_t exp(-gamma |x_s - y_t|^2), t in offsets[j]:offsets[j + 1], from <x_s, y_t>."""
    for j in range(len(out)):
        start, stop = offsets[j], offsets[j + 1]
        squares, weights = y_squares[start:stop], b[start:stop]
        total = 0.0
        for s in range(len(a)):
            inner, own, row = products[s, start:stop], x_squares[s], 0.0
            for t in range(stop - start):
                row += weights[t] * exp(-gamma * max(own + squares[t] - 2.0 * inner[t], 0.0))
            total += a[s] * row
        out[j] = total
