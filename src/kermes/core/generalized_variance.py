"""Log-determinants of regularised covariances of measures and of means of two measures, from kernel values.

With w the weights of a measure and T = diag(s) K diag(s), s = sqrt(w / ridge), K the *uncentred* kernel matrix of its
atoms, the centred determinant is

    det(I + Sigma / ridge) = det(I + T) * ridge * s' (I + T)^-1 s

(the matrix determinant lemma for the centring). In the mean of two measures the weights are halved and not mixed, so
that the block of the first one does not depend on the second: its Cholesky factor is computed once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .cholesky import factor, forward, pad
from .jit import inline_core, tile_core
from .points import longest, padded, values_row

#: The factor of s = sqrt(w / ridge) in the mean of two measures, whose weights are halved.
HALF = math.sqrt(0.5)
#: Inverse root of the smallest pivot, 1/2, that is still taken for 1 and rounding.
SMALLEST_ROOT = math.sqrt(2.0)


class Factors(NamedTuple):
    """Atoms, their scales s = sqrt(w / ridge), and factors of I + T / 2 with T = diag(s) K diag(s).

    ``places[i]`` is where the vectors of length p_i (a multiple of 4) and the matrices p_i x p_i of measure i start, if
    factors, and the lower triangles I + T / 2 that they are of (``blocks``), are ``kept``; they are computed again for
    each row of a tile, or for each pair, otherwise. ``halves`` holds log det(I + T / 2)
    and |z|^2 for z = L^-1 s / sqrt 2, ``values`` log det(I + Sigma / ridge) / 2 with the centred covariance Sigma.
    """

    ridge: float
    coordinates: FloatArray
    ids: IndexArray
    scales: FloatArray
    offsets: IndexArray
    kept: bool
    places: IndexArray
    blocks: FloatArray
    factors: FloatArray
    inverses: FloatArray
    solved: FloatArray
    halves: FloatArray
    values: FloatArray


class Work(NamedTuple):
    """The pooled atoms of a pair, their factor L with the inverses of its diagonal, and z = L^-1 s."""

    coordinates: FloatArray
    ids: IndexArray
    scales: FloatArray
    L: FloatArray
    inverse: FloatArray
    z: FloatArray


class Conditioned(NamedTuple):
    """The kernel P (lower triangle) and the constant u = 1 on a support, conditioned on one measure; its ``halves``."""

    P: FloatArray
    u: FloatArray
    log_det: float
    square: float


@inline_core
def workspace(dim, side):
    """Return the buffers for pairs of up to ``side`` atoms."""
    return Work(
        np.empty((dim, side)), np.empty(side, dtype=np.int64), np.empty(side),
        np.empty((side, side)), np.empty(side), np.empty(side),
    )  # fmt: skip


@tile_core
def place_atoms(A, row, scale, corner, work):
    """Copy the atoms of a measure to the places from ``corner`` on, s times ``scale``; returns where they end.

    Places up to a multiple of 4 are filled with atoms of weight 0, which make rows of the identity.
    """
    first = A.offsets[row]
    size = A.offsets[row + 1] - first
    stop = corner + padded(size)
    for k in range(A.coordinates.shape[0]):
        for a in range(size):
            work.coordinates[k, corner + a] = A.coordinates[k, first + a]
        for a in range(corner + size, stop):
            work.coordinates[k, a] = 0.0
    for a in range(size):
        work.ids[corner + a] = A.ids[first + a]
        work.scales[corner + a] = A.scales[first + a] * scale
    for a in range(corner + size, stop):
        work.ids[a] = 0
        work.scales[a] = 0.0
    return stop


@tile_core
def fill_rows(ground, start, stop, end, work):
    """Fill the lower triangle of I + T in the rows ``start`` to ``stop`` and the columns before ``end``."""
    x, ids, scales, L, _, _ = work
    for a in range(start, stop):
        size = min(a + 1, end)
        row = L[a, :size]
        values_row(ground, x, ids, a, x, ids, 0, size, row)
        for b in range(size):
            row[b] *= scales[a] * scales[b]
        if size == a + 1:
            row[a] += 1.0


@inline_core
def extend(start, stop, work):
    """Factorise the rows ``start`` to ``stop`` of I + T; returns what they add to log det."""
    return checked(factor(work.L, work.inverse, start, stop), work.inverse, start, stop)


@inline_core
def checked(log_det, inverse, start, stop):
    """Return log_det, or nan if rounding has won: T is positive semidefinite, so that all pivots are at least 1."""
    for a in range(start, stop):
        if not inverse[a] < SMALLEST_ROOT:
            return np.nan
    return log_det


@inline_core
def extend_both(start, stop, work):
    """Extend the factor and z = L^-1 s; returns what the rows add to log det and to |z|^2."""
    log_det = extend(start, stop, work)
    for a in range(start, stop):
        work.z[a] = work.scales[a]
    return log_det, forward(work.L, work.inverse, start, stop, work.z)


@tile_core
def prepare(ground, A, rows):
    """Fill ``values`` and ``halves`` of the measures ``rows``, and their factors if they are kept."""
    work = workspace(A.coordinates.shape[0], padded(longest(A.offsets, rows)))
    for i in rows:
        for half in range(2):  # each part is compiled once for both
            end = place_atoms(A, i, HALF if half else 1.0, 0, work)
            fill_rows(ground, 0, end, end, work)
            if half and A.kept:
                save_block(work, end, A, i)
            log_det, square = extend_both(0, end, work)
            if not half:
                A.values[i] = 0.5 * (log_det + np.log(A.ridge * square))
            else:
                A.halves[i, 0], A.halves[i, 1] = log_det, square
                if A.kept:
                    save(work, end, A, i)


@inline_core
def save_block(work, side, A, row):
    """Store I + T / 2 of a measure."""
    corner = A.places[row, 1]
    for a in range(side):
        for b in range(a + 1):
            A.blocks[corner + a * side + b] = work.L[a, b]


@inline_core
def save(work, side, A, row):
    """Store the factor and z of a measure; beside the lower triangle, the blocks on the diagonal."""
    first, corner = A.places[row, 0], A.places[row, 1]
    for a in range(side):
        A.inverses[first + a] = work.inverse[a]
        A.solved[first + a] = work.z[a]
        for b in range(padded(a + 1)):
            A.factors[corner + a * side + b] = work.L[a, b]
        A.factors[corner + a * side + a] = 1.0 / work.inverse[a]


@inline_core
def restore(work, side, A, row):
    """Read what ``save`` stored into the leading block of the factor."""
    first, corner = A.places[row, 0], A.places[row, 1]
    for a in range(side):
        work.inverse[a] = A.inverses[first + a]
        work.z[a] = A.solved[first + a]
        for b in range(padded(a + 1)):
            work.L[a, b] = A.factors[corner + a * side + b]


@inline_core
def start_row(ground, A, row, work):
    """Put the atoms, the factor and z of the first measure of a pair in place; returns where the second one starts."""
    corner = place_atoms(A, row, HALF, 0, work)
    if A.kept:
        restore(work, corner, A, row)
    else:
        fill_rows(ground, 0, corner, corner, work)
        extend_both(0, corner, work)
    return corner


@inline_core
def place_second(ground, B, col, corner, work):
    """Put the atoms of the second measure of a pair in place, and their rows of I + T; returns where they end."""
    end = place_atoms(B, col, HALF, corner, work)
    fill_rows(ground, corner, end, corner if B.kept else end, work)
    if B.kept:
        side, first = end - corner, B.places[col, 1]
        for a in range(side):
            source, target = B.blocks[first + a * side : first + (a + 1) * side], work.L[corner + a]
            for b in range(a + 1):
                target[corner + b] = source[b]
    return end


@tile_core
def atoms_tile(ground, A, rows, B, cols, triangle, out):
    """out[i, j] = log det(I + Sigma / ridge) / 2 of the mean of two measures, from all kernel values of both."""
    work = workspace(A.coordinates.shape[0], padded(longest(A.offsets, rows)) + padded(longest(B.offsets, cols)))
    for i in range(len(rows)):
        row = rows[i]
        corner = start_row(ground, A, row, work)
        for j in range(i + 1 if triangle else 0, len(cols)):
            end = place_second(ground, B, cols[j], corner, work)
            log_det, square = extend_both(corner, end, work)
            out[i, j] = 0.5 * (A.halves[row, 0] + log_det + np.log(A.ridge * (A.halves[row, 1] + square)))


@tile_core
def support_row(given, B, cols, first, out):
    """out[j] = log det(I + Sigma / ridge) / 2 of the mean of one measure and each of ``cols``, from ``first`` on.

    The Schur complement of the block of the one measure in the pooled matrix is I + diag(s) P diag(s) / 2 over the
    atoms of the other.
    """
    work = workspace(0, padded(longest(B.offsets, cols)))
    L, inverse, z = work.L, work.inverse, work.z
    for j in range(first, len(cols)):
        start, stop = B.offsets[cols[j]], B.offsets[cols[j] + 1]
        size = stop - start
        side = padded(size)
        ids, s = B.ids[start:stop], B.scales[start:stop]
        for a in range(size):
            row = given.P[ids[a]]
            target = L[a]
            scale = 0.5 * s[a]
            for b in range(a + 1):
                target[b] = scale * s[b] * row[ids[b]]
            target[a] += 1.0
            z[a] = HALF * s[a] * given.u[ids[a]]
        pad(L, size, side)
        for a in range(size, side):
            z[a] = 0.0
        rest = checked(factor(L, inverse, 0, side), inverse, 0, side)
        square = given.square + forward(L, inverse, 0, side, z)
        out[j] = 0.5 * (given.log_det + rest + np.log(B.ridge * square))
