"""Jensen-Shannon divergences of non-negative vectors, J = sum [p ln(2p / (p+q)) + q ln(2q / (p+q))] / 2.

Two layouts. *Blocks*: every vector is a list of numbered dense blocks of one width; a block that is not listed is 0.
*Sparse*: sorted distinct ids and weights. Either way J is first the difference of sums of u ln u, one logarithm a
term. What cancels in it is summed again term by term, as (p+q)/4 g(x) with x = (p-q)/(p+q) and

    g(x) = (1+x) ln(1+x) + (1-x) ln(1-x) = x^2 + x^4/6 + x^6/15 + ... + x^(2n) / (n (2n-1)) + ...

so that nearly equal vectors have a J of full relative accuracy.
"""

from __future__ import annotations

import numpy as np

from .jit import inline_core, tile_core
from .log import log

LN2 = 0.6931471805599453
#: Below this a difference of sums has lost digits: its rounding is near 1e-15, and 1e-13 for a million terms.
CANCELLED = 1e-2
#: x^2 up to which the series of g is summed; at 1/16 its twelve terms leave 1e-17.
NEAR = 0.0625
#: Added to p + q where both are 0.
TINY = 1e-300


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
def own_sums(values, half, out):
    """Fill out[t] with the sums of p and of p ln(2p) over both parts, :half and half:, of block t: (T, 2, 2)."""
    for t in range(values.shape[0]):
        p = values[t]
        for part in range(2):
            mass = 0.0
            own = 0.0
            for k in range(half * part, p.shape[0] if part else half):
                mass += p[k]
                own += p[k] * log(2.0 * p[k])
            out[t, part, 0] = mass
            out[t, part, 1] = own


@tile_core
def block_pair(values_a, ids_a, own_a, i0, i1, values_b, ids_b, own_b, j0, j1, half, divide):
    """Return J of one pair of vectors, over both parts of their blocks; ``divide`` sums term by term."""
    width = values_a.shape[1]
    first = 0.0
    second = 0.0
    while i0 < i1 or j0 < j1:
        if j0 == j1 or (i0 < i1 and ids_a[i0] < ids_b[j0]):  # p ln(2p / p) / 2
            first += 0.5 * LN2 * own_a[i0, 0, 0]
            second += 0.5 * LN2 * own_a[i0, 1, 0]
            i0 += 1
        elif i0 == i1 or ids_b[j0] < ids_a[i0]:
            first += 0.5 * LN2 * own_b[j0, 0, 0]
            second += 0.5 * LN2 * own_b[j0, 1, 0]
            j0 += 1
        else:
            if divide:
                first += divided_sum(values_a, i0, values_b, j0, 0, half)
                second += divided_sum(values_a, i0, values_b, j0, half, width)
            else:
                joint = joint_sum(values_a, i0, values_b, j0, 0, half)
                first += 0.5 * (own_a[i0, 0, 1] + own_b[j0, 0, 1] - joint)
                joint = joint_sum(values_a, i0, values_b, j0, half, width)
                second += 0.5 * (own_a[i0, 1, 1] + own_b[j0, 1, 1] - joint)
            i0 += 1
            j0 += 1
    return first, second


@tile_core
def block_tile(values_a, ids_a, own_a, off_a, rows, values_b, ids_b, own_b, off_b, cols, half, triangle, out, gap):
    """Fill out[i, j] = J, and gap[i, j] = |J over the first parts - J over the second parts|.

    Vector i owns the blocks off[i]:off[i + 1] of values (T, width), ids (T,) and own sums (T, 2, 2).
    """
    for i in range(len(rows)):
        i0 = off_a[rows[i]]
        i1 = off_a[rows[i] + 1]
        for j in range(i + 1 if triangle else 0, len(cols)):
            j0 = off_b[cols[j]]
            j1 = off_b[cols[j] + 1]
            first, second = block_pair(values_a, ids_a, own_a, i0, i1, values_b, ids_b, own_b, j0, j1, half, False)
            if first + second < CANCELLED:
                first, second = block_pair(values_a, ids_a, own_a, i0, i1, values_b, ids_b, own_b, j0, j1, half, True)
            out[i, j] = first + second
            gap[i, j] = abs(first - second)


@tile_core
def terms(weights, out):
    """Fill out = p ln p."""
    for k in range(len(weights)):
        out[k] = weights[k] * log(weights[k])


@tile_core
def sparse_tile(ids_a, w_a, term_a, off_a, rows, ids_b, w_b, term_b, off_b, cols, size, triangle, out):
    """Fill out[i, j] = J of probability vectors of ``size`` entries, ``term`` = p ln p.

    Only entries of both count: J = ln 2 - 1/2 sum [(p+q) ln(p+q) - p ln p - q ln q]. Row i is written out in full, so
    that the entries of each column find their partners without a search.
    """
    p = np.zeros(size)
    p_term = np.zeros(size)
    for i in range(len(rows)):
        i0 = off_a[rows[i]]
        i1 = off_a[rows[i] + 1]
        for s in range(i0, i1):
            p[ids_a[s]] = w_a[s]
            p_term[ids_a[s]] = term_a[s]
        for j in range(i + 1 if triangle else 0, len(cols)):
            j0 = off_b[cols[j]]
            j1 = off_b[cols[j] + 1]
            shared = 0.0
            for t in range(j0, j1):
                k = ids_b[t]
                u = p[k] + w_b[t]
                term = u * log(u) - p_term[k] - term_b[t]
                shared += term if p[k] > 0.0 else 0.0
            value = LN2 - 0.5 * shared
            out[i, j] = sparse_divided(ids_a, w_a, i0, i1, ids_b, w_b, j0, j1) if value < CANCELLED else value
        for s in range(i0, i1):
            p[ids_a[s]] = 0.0
            p_term[ids_a[s]] = 0.0


@tile_core
def sparse_divided(ids_a, w_a, i0, i1, ids_b, w_b, j0, j1):
    """Return J of one pair of sparse vectors, term by term."""
    total = 0.0
    while i0 < i1 or j0 < j1:
        if j0 == j1 or (i0 < i1 and ids_a[i0] < ids_b[j0]):
            total += 0.5 * LN2 * w_a[i0]
            i0 += 1
        elif i0 == i1 or ids_b[j0] < ids_a[i0]:
            total += 0.5 * LN2 * w_b[j0]
            j0 += 1
        else:
            total += divided(w_a[i0], w_b[j0])
            i0 += 1
            j0 += 1
    return total
