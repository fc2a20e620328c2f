"""A likelihood as it must not be computed: general inverse, determinant with a sign, nugget when they fail.

What many scripts do, rebuilt to show what comes of it (paper `gpm`): the matrix may be indefinite or not even
symmetric, and the value is defined as long as the determinant is positive. Kernel as in
:mod:`kermes.papers.gpm.small_gp`.
"""

from __future__ import annotations

import numpy as np

from ...core.jit import strict_core
from .small_gp import LOG_TWO_PI, gram

EPSILON = float(np.finfo(np.float64).eps)
#: Pivots whose ratio is above this leave no doubt that the matrix is regular.
SAFE = 1e-8
GOLDEN = 0.5 * (3.0 - float(np.sqrt(5.0)))


@strict_core
def lu(A, order):
    """Replace A by its factors with partial pivoting; return the sign and the logarithm of its determinant."""
    n = len(A)
    sign, total = 1.0, 0.0
    for i in range(n):
        order[i] = i
    for j in range(n):
        p = j
        for i in range(j + 1, n):
            if abs(A[i, j]) > abs(A[p, j]):
                p = i
        if A[p, j] == 0.0:
            return 0.0, -np.inf
        if p != j:
            sign = -sign
            order[p], order[j] = order[j], order[p]
            for k in range(n):
                A[p, k], A[j, k] = A[j, k], A[p, k]
        pivot = A[j, j]
        if pivot < 0.0:
            sign = -sign
        total += np.log(abs(pivot))
        for i in range(j + 1, n):
            A[i, j] /= pivot
            factor = A[i, j]
            for k in range(j + 1, n):
                A[i, k] -= factor * A[j, k]
    return sign, total


@strict_core
def solve_lu(A, order, b, x):
    """Write x = A^-1 b."""
    n = len(b)
    for i in range(n):
        known = 0.0
        for k in range(i):
            known += A[i, k] * x[k]
        x[i] = b[order[i]] - known
    for i in range(n - 1, -1, -1):
        known = 0.0
        for k in range(i + 1, n):
            known += A[i, k] * x[k]
        x[i] = (x[i] - known) / A[i, i]


@strict_core
def singular(A, order, norm):
    """Whether 1 / (|A| |A^-1|) is below the machine precision, in the norm of column sums; ``norm`` is that of A."""
    n = len(A)
    least, largest = np.inf, 0.0
    for i in range(n):
        least = min(least, abs(A[i, i]))
        largest = max(largest, abs(A[i, i]))
    if least > SAFE * largest:  # factors L with entries up to 1 lose a few digits more at worst: no inverse needed
        return False
    if abs(A[n - 1, n - 1]) * n < EPSILON * norm:  # |A^-1| is at least the inverse of the last pivot, up to n
        return True
    unit, column = np.zeros(n), np.empty(n)
    inverse_norm = 0.0
    for j in range(n):
        unit[j] = 1.0
        solve_lu(A, order, unit, column)
        unit[j] = 0.0
        inverse_norm = max(inverse_norm, np.abs(column).sum())
    return EPSILON * norm * inverse_norm > 1.0


@strict_core
def value(K, y, nugget):
    """Return -log p(y) of K + nugget I; nan if it is singular to working precision or its determinant not positive."""
    n = len(y)
    A = K.copy()
    norm = 0.0
    for j in range(n):
        A[j, j] += nugget
        norm = max(norm, np.abs(A[:, j]).sum())
    order = np.empty(n, np.int64)
    sign, log_det = lu(A, order)
    if sign <= 0.0 or singular(A, order, norm):
        return np.nan
    alpha = np.empty(n)
    solve_lu(A, order, y, alpha)
    return 0.5 * ((y * alpha).sum() + log_det + n * LOG_TWO_PI)


@strict_core
def shifted(eigenvalues, z, nugget):
    """:func:`value` of a matrix plus nugget I; z are the components of y along its eigenvectors."""
    sign, total = 1.0, len(z) * LOG_TWO_PI
    for i in range(len(z)):
        pivot = eigenvalues[i] + nugget
        if pivot < 0.0:
            sign = -sign
        total += z[i] * z[i] / pivot + np.log(abs(pivot))
    return 0.5 * total if sign > 0.0 else np.nan


@strict_core
def best_nugget(eigenvalues, z, low, high, tolerance):
    """Return the best nugget and its value, by Brent's golden section with parabolas; nan once a value is undefined."""
    a, b = low, high
    eps = np.sqrt(EPSILON)
    v = w = x = a + GOLDEN * (b - a)
    d = e = 0.0
    fx = shifted(eigenvalues, z, x)
    if np.isnan(fx):
        return np.nan, np.nan
    fv = fw = fx
    third = tolerance / 3.0
    while True:
        middle = 0.5 * (a + b)
        least = eps * abs(x) + third
        if abs(x - middle) <= 2.0 * least - 0.5 * (b - a):
            return x, fx
        p = q = r = 0.0
        if abs(e) > least:  # a parabola through the three best points
            r = (x - w) * (fx - fv)
            q = (x - v) * (fx - fw)
            p = (x - v) * q - (x - w) * r
            q = 2.0 * (q - r)
            p, q = (-p, q) if q > 0.0 else (p, -q)
            r, e = e, d
        if abs(p) >= abs(0.5 * q * r) or p <= q * (a - x) or p >= q * (b - x):
            e = b - x if x < middle else a - x
            d = GOLDEN * e
        else:
            d = p / q
            u = x + d
            if u - a < 2.0 * least or b - u < 2.0 * least:
                d = least if x < middle else -least
        step = max(abs(d), least)
        u = x + step if d > 0.0 else x - step
        fu = shifted(eigenvalues, z, u)
        if np.isnan(fu):
            return np.nan, np.nan
        if fu <= fx:
            a, b = (a, x) if u < x else (x, b)
            v, w, x = w, x, u
            fv, fw, fx = fw, fx, fu
        else:
            a, b = (u, b) if u < x else (a, u)
            if fu <= fw or w == x:
                v, w = w, u
                fv, fw = fw, fu
            elif fu <= fv or v in (x, w):
                v, fv = u, fu


@strict_core
def guarded(F, y, parameters, highest, tolerance, symmetric, nugget):
    """Return :func:`value` at (scales, variance), with a nugget up to ``highest`` if it is undefined without.

    ``nugget[0]`` keeps the last one found. nan if a nugget leads nowhere; for an asymmetric F none is looked for.
    """
    n, _, q = F.shape
    K = np.empty((n, n))
    gram(F, parameters[:q], parameters[q], K)
    plain = value(K, y, 0.0)
    if not symmetric or not np.isnan(plain):
        return plain
    eigenvalues, vectors = np.linalg.eigh(K)  # every nugget of the search costs O(n)
    found, best = best_nugget(eigenvalues, vectors.T @ y, EPSILON, highest, tolerance)
    if not np.isnan(found):
        nugget[0] = found
    return best


@strict_core
def differences(F, y, parameters, lower, upper, step, tolerance, symmetric, nugget, gradient):
    """Return :func:`guarded` and write its central differences, cut off at the bounds; nan as soon as one is."""
    highest = upper[-1]
    f = guarded(F, y, parameters, highest, tolerance, symmetric, nugget)
    if np.isnan(f):
        return f
    moved = parameters.copy()
    for k in range(len(parameters)):
        right, left = min(parameters[k] + step, upper[k]), max(parameters[k] - step, lower[k])
        moved[k] = right
        after = guarded(F, y, moved, highest, tolerance, symmetric, nugget)
        moved[k] = left
        before = guarded(F, y, moved, highest, tolerance, symmetric, nugget)
        moved[k] = parameters[k]
        gradient[k] = (after - before) / (right - left)
        if np.isnan(gradient[k]):
            return np.nan
    return f
