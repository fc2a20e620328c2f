"""Cholesky factors of many small matrices, one at a time, without a call to LAPACK per pair.

A lower triangle is factorised in place, four columns at a time. Each entry is a dot product of two rows, and blocks of
two rows and four columns share their loads. Rows go in groups that stay in the first cache, and within a group column
by column: a block need not wait for the one before it. 12 us for 80 x 80 (LAPACK through Numba: 18 us).
Sides are multiples of four, ``points.padded(size)``; rows of the identity that pad them change no determinant.
"""

from __future__ import annotations

import numpy as np

from .jit import inline_core, tile_core

#: Rows of a group: 16 of 160 entries are 20 KiB. Eight take 6 % longer, 24 take 5 %.
GROUP = 16
#: Columns that are solved for at a time: 64 of 32 rows are 16 KiB.
STRIP = 64


@tile_core
def factor(A, inverse, start, stop):
    """Factorise rows ``start`` to ``stop`` of A = L L', whose rows before ``start`` hold L already.

    Only the lower triangle is read. ``inverse`` gets 1 / L[i, i], the diagonal of A keeps no meaning, and the other
    entries of the inverse of each 4 x 4 block on the diagonal are put above it, transposed.
    Returns the logarithm of the determinant of the Schur complement, nan if it is not positive definite.
    """
    total = 0.0
    for first in range(start, stop, GROUP):
        end = min(stop, first + GROUP)
        for j in range(0, first, 4):
            for i in range(first, end, 2):
                two_rows(A, inverse, i, j)
        for j in range(first, end, 4):
            total += diagonal_block(A, inverse, j)
            for i in range(j + 4, end, 2):
                two_rows(A, inverse, i, j)
    return total


@inline_core
def two_rows(A, inverse, i, j):
    """Rows i and i + 1 of columns j to j + 3 < i: what the columns before leave, times the inverse of a block."""
    a0, a1 = A[i], A[i + 1]
    b0, b1, b2, b3 = A[j], A[j + 1], A[j + 2], A[j + 3]
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
    for k in range(j):
        y0, y1, y2, y3 = b0[k], b1[k], b2[k], b3[k]
        x = a0[k]
        s00 += x * y0
        s01 += x * y1
        s02 += x * y2
        s03 += x * y3
        x = a1[k]
        s10 += x * y0
        s11 += x * y1
        s12 += x * y2
        s13 += x * y3
    # By the inverse four entries are independent of each other; a triangular solve takes 30 % longer in all.
    m00, m11, m22, m33 = inverse[j], inverse[j + 1], inverse[j + 2], inverse[j + 3]
    m10, m20, m30, m21, m31, m32 = b0[j + 1], b0[j + 2], b0[j + 3], b1[j + 2], b1[j + 3], b2[j + 3]
    x0, x1, x2, x3 = a0[j] - s00, a0[j + 1] - s01, a0[j + 2] - s02, a0[j + 3] - s03
    a0[j], a0[j + 1] = x0 * m00, x0 * m10 + x1 * m11
    a0[j + 2], a0[j + 3] = x0 * m20 + x1 * m21 + x2 * m22, (x0 * m30 + x1 * m31) + (x2 * m32 + x3 * m33)
    x0, x1, x2, x3 = a1[j] - s10, a1[j + 1] - s11, a1[j + 2] - s12, a1[j + 3] - s13
    a1[j], a1[j + 1] = x0 * m00, x0 * m10 + x1 * m11
    a1[j + 2], a1[j + 3] = x0 * m20 + x1 * m21 + x2 * m22, (x0 * m30 + x1 * m31) + (x2 * m32 + x3 * m33)


@tile_core
def diagonal_block(A, inverse, i):
    """Rows and columns i to i + 3; returns the logarithm of the product of their pivots."""
    a0, a1, a2, a3 = A[i, :i], A[i + 1, :i], A[i + 2, :i], A[i + 3, :i]
    s00 = s10 = s11 = s20 = s21 = s22 = s30 = s31 = s32 = s33 = 0.0
    for k in range(i):
        x0, x1, x2, x3 = a0[k], a1[k], a2[k], a3[k]
        s00 += x0 * x0
        s10 += x1 * x0
        s11 += x1 * x1
        s20 += x2 * x0
        s21 += x2 * x1
        s22 += x2 * x2
        s30 += x3 * x0
        s31 += x3 * x1
        s32 += x3 * x2
        s33 += x3 * x3
    d0 = A[i, i] - s00
    r0 = 1.0 / np.sqrt(d0)
    l10 = (A[i + 1, i] - s10) * r0
    l20 = (A[i + 2, i] - s20) * r0
    l30 = (A[i + 3, i] - s30) * r0
    d1 = A[i + 1, i + 1] - s11 - l10 * l10
    r1 = 1.0 / np.sqrt(d1)
    l21 = (A[i + 2, i + 1] - s21 - l20 * l10) * r1
    l31 = (A[i + 3, i + 1] - s31 - l30 * l10) * r1
    d2 = A[i + 2, i + 2] - s22 - l20 * l20 - l21 * l21
    r2 = 1.0 / np.sqrt(d2)
    l32 = (A[i + 3, i + 2] - s32 - l30 * l20 - l31 * l21) * r2
    d3 = A[i + 3, i + 3] - s33 - l30 * l30 - l31 * l31 - l32 * l32
    r3 = 1.0 / np.sqrt(d3)
    A[i + 1, i], A[i + 2, i], A[i + 2, i + 1] = l10, l20, l21
    A[i + 3, i], A[i + 3, i + 1], A[i + 3, i + 2] = l30, l31, l32
    m10, m21 = -l10 * r0 * r1, -l21 * r1 * r2
    m20 = -(l20 * r0 + l21 * m10) * r2
    A[i, i + 1], A[i, i + 2], A[i, i + 3] = m10, m20, -(l30 * r0 + l31 * m10 + l32 * m20) * r3
    A[i + 1, i + 2], A[i + 1, i + 3], A[i + 2, i + 3] = m21, -(l31 * r1 + l32 * m21) * r3, -l32 * r2 * r3
    inverse[i], inverse[i + 1], inverse[i + 2], inverse[i + 3] = r0, r1, r2, r3
    return np.log(d0) + np.log(d1) + np.log(d2) + np.log(d3)


@tile_core
def forward(A, inverse, start, stop, z):
    """Solve L z = z in place for the entries ``start`` to ``stop``, those before being solved; return their squares."""
    total = 0.0
    for i in range(start, stop):
        row = A[i, :i]
        known = 0.0
        for k in range(i):
            known += row[k] * z[k]
        z[i] = (z[i] - known) * inverse[i]
        total += z[i] * z[i]
    return total


@tile_core
def pad(A, size, stop):
    """Write rows of the identity from ``size`` to ``stop``."""
    for i in range(size, stop):
        for k in range(i):
            A[i, k] = 0.0
        A[i, i] = 1.0


@tile_core
def solve_lower(L, B):
    """Overwrite B (r, n) by L^-1 B, of a lower triangular L; that of SciPy would keep the interpreter lock."""
    r, n = B.shape
    for start in range(0, n, STRIP):
        stop = min(start + STRIP, n)
        for i in range(r):
            row = B[i, start:stop]
            for k in range(i % 2, i, 2):
                first, second, a, b = B[k, start:stop], B[k + 1, start:stop], L[i, k], L[i, k + 1]
                for t in range(stop - start):
                    row[t] -= a * first[t] + b * second[t]
            if i % 2:
                first, a = B[0, start:stop], L[i, 0]
                for t in range(stop - start):
                    row[t] -= a * first[t]
            for t in range(stop - start):
                row[t] /= L[i, i]
