"""Nuclear norms of many small matrices, LANES at a time.

One-sided Jacobi: rows are rotated in pairs until they are orthogonal; their norms are then the singular values, each
with high relative accuracy. The sum of the singular values is known before that. For rows of the norms x_i and the
inner products c_ij it is

    sum_i x_i - sum_(i < j) c_ij^2 / (2 x_i x_j (x_i + x_j))

up to terms of third order in the cosines c_ij / (x_i x_j): the second derivatives of tr sqrt(V V').
"""

from __future__ import annotations

import numpy as np

from .jit import shared_core
from .lanes import any_greater, load, root, splat, store, where_greater

#: Squared cosine from which a pair of rows is rotated. The terms of third order are below p^2 c^3 / 16 of the nuclear
#: norm of p rows: 1e-14 for the 64 that are not left to LAPACK.
COSINE = 1e-11
#: Rows of less than this fraction of the squared largest norm do not count.
NEGLIGIBLE = 1e-28
SWEEPS = 40
#: Squared norms between these have products that are normal numbers, and so have all that count beside them.
SMALL, LARGE = 1e-100, 1e140


@shared_core
def dot(V, i, j, q):
    """Return the inner products of rows i and j, of the even number q of columns: two sums wait less than one."""
    even, odd = splat(0.0), splat(0.0)
    for k in range(0, q, 2):
        even = even + load(V, i, k) * load(V, j, k)
        odd = odd + load(V, i, k + 1) * load(V, j, k + 1)
    return even + odd


@shared_core
def rotate(V, i, j, q, cosine, sine):
    """Rotate rows i and j."""
    for k in range(q):
        x, y = load(V, i, k), load(V, j, k)
        store(V, i, k, cosine * x - sine * y)
        store(V, j, k, sine * x + cosine * y)


@shared_core
def measure_rows(V, p, q, rows):
    """Set rows[0] and rows[1] to the squared norms and the norms of the rows; return the largest square."""
    largest = splat(0.0)
    for i in range(p):
        square = dot(V, i, i, q)
        store(rows, 0, i, square)
        store(rows, 1, i, root(square))
        largest = where_greater(square, largest, square, largest)
    return largest


@shared_core
def normalise(V, p, q, largest):
    """Divide by the largest entry where squares underflow or overflow; return what it was divided by, or 1."""
    top = splat(0.0)
    for i in range(p):
        for k in range(q):
            x = load(V, i, k)
            x = where_greater(0.0, x, 0.0 - x, x)
            top = where_greater(x, top, x, top)
    unit = where_greater(SMALL, largest, top, where_greater(largest, LARGE, top, 1.0))
    unit = where_greater(unit, 0.0, unit, 1.0)  # of zeros
    for i in range(p):
        for k in range(q):
            store(V, i, k, load(V, i, k) / unit)
    return unit


@shared_core
def turn(V, i, j, q, c, limit, rows):
    """Rotate rows i and j, of the inner products c, until they are orthogonal, in the lanes where c^2 > limit.

    tan(2 phi) = 2 c / (b - a) for the squared norms a and b. Elsewhere c = 0 and b - a = 1 make the rotation by 0.
    """
    gap = where_greater(c * c, limit, load(rows, 0, j) - load(rows, 0, i), 1.0)
    c = where_greater(c * c, limit, c, 0.0)
    side = root(gap * gap + 4.0 * c * c)
    tangent = 2.0 * c / where_greater(0.0, gap, gap - side, gap + side)
    cosine = root(0.5 + 0.5 * where_greater(0.0, gap, 0.0 - gap, gap) / side)
    rotate(V, i, j, q, cosine, cosine * tangent)
    store(rows, 0, i, load(rows, 0, i) - tangent * c)
    store(rows, 0, j, load(rows, 0, j) + tangent * c)


@shared_core
def sweep(V, p, q, rows, floor, ends):
    """Rotate each pair of rows once where it is needed; rows of a squared norm up to ``floor`` are left alone.

    ends[0, 0] becomes positive in the lanes that needed it. Returns the terms of second order, which are right in the
    others, and whether any lane needed it.
    """
    loss, turned, moved = splat(0.0), splat(0.0), False
    for i in range(p - 1):
        for j in range(i + 1, p):
            a, b = load(rows, 0, i), load(rows, 0, j)
            lesser = where_greater(b, a, a, b)
            if not any_greater(lesser, floor):
                continue
            c, x, y = dot(V, i, j, q), load(rows, 1, i), load(rows, 1, j)
            loss = loss + c * c / where_greater(lesser, floor, 2.0 * x * y * (x + y), np.inf)
            limit = where_greater(lesser, floor, COSINE * a * b, np.inf)
            if any_greater(c * c, limit):
                moved = True
                turned = where_greater(c * c, limit, 1.0, turned)
                turn(V, i, j, q, c, limit, rows)
    store(ends, 0, 0, turned)
    return loss, moved


@shared_core
def nuclear_norms(V, p, columns, rows, ends):
    """Set ends[0, 1] to the nuclear norms of V (p, columns, LANES); ends[0, 0] > 0 where they did not converge.

    V is overwritten, up to an even number of columns; ``rows`` (2, p, LANES) is scratch. Zeros have the norm 0.
    """
    q = columns + columns % 2
    if q > columns:
        for i in range(p):
            store(V, i, columns, splat(0.0))
    unit = splat(1.0)
    largest = measure_rows(V, p, q, rows)
    if any_greater(SMALL, largest) or any_greater(largest, LARGE):
        unit = normalise(V, p, q, largest)
        largest = measure_rows(V, p, q, rows)
    moved, loss = True, splat(0.0)
    for _ in range(SWEEPS):
        loss, moved = sweep(V, p, q, rows, NEGLIGIBLE * largest, ends)
        if not moved:
            break
        largest = measure_rows(V, p, q, rows)  # afresh: the updates cancel where rows were nearly parallel
    total = splat(0.0)
    for i in range(p):
        total = total + load(rows, 1, i)
    store(ends, 0, 1, unit * (total - loss))
