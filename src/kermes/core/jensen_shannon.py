"""Jensen-Shannon divergences of non-negative vectors, J = sum [p ln(2p / (p+q)) + q ln(2q / (p+q))] / 2.

Vectors come in two layouts, :class:`Blocks` and :class:`Sparse`. Either way J is first the difference of sums of
u ln u, one logarithm a term. What cancels in it is summed again term by term, as (p+q)/4 g(x) with x = (p-q)/(p+q) and

    g(x) = (1+x) ln(1+x) + (1-x) ln(1-x) = x^2 + x^4/6 + x^6/15 + ... + x^(2n) / (n (2n-1)) + ...

so that nearly equal vectors have a J of full relative accuracy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .jit import inline_core, tile_core
from .log import log

LN2 = 0.6931471805599453
#: Below this a difference of sums has lost digits: its rounding is near 1e-15, and 1e-13 for a million terms.
CANCELLED = 1e-2
#: x^2 up to which the series of g is summed; at 1/16 its twelve terms leave 1e-17.
NEAR = 0.0625
#: Added to p + q where both are 0.
TINY = 1e-300


class Blocks(NamedTuple):
    """Vectors as numbered dense blocks: vector i owns the blocks offsets[i]:offsets[i + 1]; one that it lacks is 0.

    ``values`` (T, width), ``ids`` (T,) ascending for each vector, ``own`` (T, 2, 2): see :func:`own_sums`.
    """

    values: FloatArray
    ids: IndexArray
    offsets: IndexArray
    own: FloatArray


class Sparse(NamedTuple):
    """Vectors by their positive entries offsets[i]:offsets[i + 1]: ascending numbers, weights p, and p ln p."""

    ids: IndexArray
    weights: FloatArray
    offsets: IndexArray
    p_ln_p: FloatArray


@inline_core
def divided(p, q):
    """Return the term (p+q)/4 g((p-q)/(p+q)) of J."""
    s = p + q
    x = (p - q) / (s + TINY)
    y = x * x
    g = 1.0 / 276.0
    g = g * y + 1.0 / 231.0
    g = g * y + 1.0 / 190.0
    g = g * y + 1.0 / 153.0
    g = g * y + 1.0 / 120.0
    g = g * y + 1.0 / 91.0
    g = g * y + 1.0 / 66.0
    g = g * y + 1.0 / 45.0
    g = g * y + 1.0 / 28.0
    g = g * y + 1.0 / 15.0
    g = g * y + 1.0 / 6.0
    g = g * y + 1.0
    far = (1.0 + x) * log(1.0 + x) + (1.0 - x) * log(1.0 - x)
    return 0.25 * s * (g * y if y < NEAR else far)


@tile_core
def joint_sum(a, i, b, j, start, stop):
    """Return sum_k u ln u of u = a[i] + b[j]. (Rows by number: views of them are counted, which takes time.)"""
    total = 0.0
    for k in range(start, stop):
        u = a[i, k] + b[j, k]
        total += u * log(u)
    return total


@tile_core
def divided_sum(a, i, b, j, start, stop):
    """Return J over start:stop, term by term."""
    total = 0.0
    for k in range(start, stop):
        total += divided(a[i, k], b[j, k])
    return total


@tile_core
def own_sums(values, out):
    """Fill out[t] with the sums of p and of p ln(2p) over both halves of block t: (T, 2, 2)."""
    width = values.shape[1]
    half = width // 2
    for t in range(values.shape[0]):
        p = values[t]
        for part in range(2):
            mass = 0.0
            own = 0.0
            for k in range(half * part, width if part else half):
                mass += p[k]
                own += p[k] * log(2.0 * p[k])
            out[t, part, 0] = mass
            out[t, part, 1] = own


@tile_core
def block_pair(A, i, B, j, divide):
    """Return J of one pair of vectors, over both halves of their blocks, and the sum of squared differences of these.

    The last is over blocks. ``divide`` sums term by term.
    """
    width = A.values.shape[1]
    half = width // 2
    s, end_s = A.offsets[i], A.offsets[i + 1]
    t, end_t = B.offsets[j], B.offsets[j + 1]
    first = 0.0
    second = 0.0
    squares = 0.0
    while s < end_s or t < end_t:
        if t == end_t or (s < end_s and A.ids[s] < B.ids[t]):  # p ln(2p / p) / 2
            f, g = 0.5 * LN2 * A.own[s, 0, 0], 0.5 * LN2 * A.own[s, 1, 0]
            s += 1
        elif s == end_s or B.ids[t] < A.ids[s]:
            f, g = 0.5 * LN2 * B.own[t, 0, 0], 0.5 * LN2 * B.own[t, 1, 0]
            t += 1
        else:
            if divide:
                f = divided_sum(A.values, s, B.values, t, 0, half)
                g = divided_sum(A.values, s, B.values, t, half, width)
            else:
                f = 0.5 * (A.own[s, 0, 1] + B.own[t, 0, 1] - joint_sum(A.values, s, B.values, t, 0, half))
                g = 0.5 * (A.own[s, 1, 1] + B.own[t, 1, 1] - joint_sum(A.values, s, B.values, t, half, width))
            s += 1
            t += 1
        first += f
        second += g
        squares += (f - g) * (f - g)
    return first, second, squares


@tile_core
def block_tile(A, rows, B, cols, triangle, independent, out, gap):
    """Fill out[i, j] = J, and gap[i, j] = |J over the first halves - J over the second halves|.

    If halves and blocks are ``independent``, it is the root of the sum of squares over blocks: the standard error of J.
    """
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            first, second, squares = block_pair(A, rows[i], B, cols[j], False)
            if first + second < CANCELLED:
                first, second, squares = block_pair(A, rows[i], B, cols[j], True)
            out[i, j] = first + second
            gap[i, j] = np.sqrt(squares) if independent else abs(first - second)


@tile_core
def fill_p_ln_p(p, out):
    """Fill out = p ln p."""
    for k in range(len(p)):
        out[k] = p[k] * log(p[k])


@tile_core
def sparse_tile(A, rows, B, cols, size, triangle, out):
    """Fill out[i, j] = J of probability vectors of ``size`` entries.

    Only entries of both count: J = ln 2 - 1/2 sum [(p+q) ln(p+q) - p ln p - q ln q]. Row i is written out in full, so
    that the entries of each column find their partners without a search.
    """
    p = np.zeros(size)
    p_ln_p = np.zeros(size)
    for i in range(len(rows)):
        own = range(A.offsets[rows[i]], A.offsets[rows[i] + 1])
        for s in own:
            p[A.ids[s]] = A.weights[s]
            p_ln_p[A.ids[s]] = A.p_ln_p[s]
        for j in range(i + 1 if triangle else 0, len(cols)):
            shared = 0.0
            for t in range(B.offsets[cols[j]], B.offsets[cols[j] + 1]):
                k = B.ids[t]
                u = p[k] + B.weights[t]
                term = u * log(u) - p_ln_p[k] - B.p_ln_p[t]
                shared += term if p[k] > 0.0 else 0.0
            value = LN2 - 0.5 * shared
            out[i, j] = sparse_divided(A, rows[i], B, cols[j]) if value < CANCELLED else value
        for s in own:
            p[A.ids[s]] = 0.0
            p_ln_p[A.ids[s]] = 0.0


@tile_core
def sparse_divided(A, i, B, j):
    """Return J of one pair of sparse vectors, term by term."""
    s, end_s = A.offsets[i], A.offsets[i + 1]
    t, end_t = B.offsets[j], B.offsets[j + 1]
    total = 0.0
    while s < end_s or t < end_t:
        if t == end_t or (s < end_s and A.ids[s] < B.ids[t]):
            total += 0.5 * LN2 * A.weights[s]
            s += 1
        elif s == end_s or B.ids[t] < A.ids[s]:
            total += 0.5 * LN2 * B.weights[t]
            t += 1
        else:
            total += divided(A.weights[s], B.weights[t])
            s += 1
            t += 1
    return total
