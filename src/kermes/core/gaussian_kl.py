"""Symmetrised Kullback-Leibler divergences of Gaussians, from explicit features or from kernel values of the atoms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .centred_atoms import CentredAtoms, centred_block
from .jit import tile_core
from .moments import gap_of_means
from .points import longest


class Packed(NamedTuple):
    """Means + tails (n, r), and H = Sigma + ridge I and its inverse: lower triangles, off the diagonal times sqrt 2."""

    means: FloatArray
    tails: FloatArray
    matrices: FloatArray
    inverses: FloatArray


class Dual(NamedTuple):
    """Atoms, and per measure what H^-1 = (I - F M^-1 F') / ridge needs, with M = ridge I + F'F = L L'.

    ``own`` holds F'm, ``ranks`` the trace of F M^-1 F', ``inverses`` from ``places[i]`` on L^-1 row by row.
    """

    ridge: float
    atoms: CentredAtoms
    own: FloatArray
    ranks: FloatArray
    inverses: FloatArray
    places: IndexArray


@tile_core
def solved_square(L, side, V, p, q, transposed):
    """Return |L^-1 V'|_F^2 (or of V if ``transposed``), L^-1 being given row by row, ``side`` entries apart."""
    total = 0.0
    if transposed:  # L^-1 V, by rows of L^-1 and columns of V
        for a in range(p):
            for b in range(q):
                entry = 0.0
                for k in range(a + 1):
                    entry += L[a * side + k] * V[k, b]
                total += entry * entry
        return total
    for b in range(q):
        row = L[b * side : b * side + b + 1]
        for a in range(p):
            entry = 0.0
            for k in range(b + 1):
                entry += row[k] * V[a, k]
            total += entry * entry
    return total


@tile_core
def solved_norm(L, side, vector, size):
    """Return |L^-1 vector|^2."""
    total = 0.0
    for a in range(size):
        entry = 0.0
        for k in range(a + 1):
            entry += L[a * side + k] * vector[k]
        total += entry * entry
    return total


@tile_core
def atoms_tile(ground, A, rows, B, cols, triangle, out):
    """out[i, j] = (KL + KL') / 2 of two Gaussians with covariances S + ridge I, in the ``Dual`` form."""
    x, y = A.atoms, B.atoms
    p_side, q_side = longest(x.offsets, rows), longest(y.offsets, cols)
    V, u, v = np.empty((p_side, q_side)), np.empty(p_side), np.empty(q_side)
    for i in range(len(rows)):
        row = rows[i]
        start, p = x.offsets[row], x.offsets[row + 1] - x.offsets[row]
        L = A.inverses[A.places[row] : A.places[row] + p * p]
        for j in range(i + 1 if triangle else 0, len(cols)):
            col = cols[j]
            first, q = y.offsets[col], y.offsets[col + 1] - y.offsets[col]
            G = B.inverses[B.places[col] : B.places[col] + q * q]
            inner = centred_block(ground, x, row, y, col, V, u, v)
            gap = x.norms[row] + y.norms[col] - 2.0 * inner
            for a in range(p):  # F'(m' - m)
                u[a] -= A.own[start + a]
            for b in range(q):
                v[b] -= B.own[first + b]
            total = 2.0 * gap - solved_norm(L, p, u, p) - solved_norm(G, q, v, q)
            total += x.traces[row] - solved_square(G, q, V, p, q, False)
            total += y.traces[col] - solved_square(L, p, V, p, q, True)
            out[i, j] = 0.25 * (total / A.ridge - A.ranks[row] - B.ranks[col])


@tile_core
def features_tile(A, rows, B, cols, triangle, skipped, out):
    """out[i, j] = ((H - H') . (P' - P) + (m - m')' (P + P') (m - m')) / 4, with P = H^-1, of ``Packed`` matrices."""
    means, tails, matrices, inverses = A
    other_means, other_tails, other_matrices, other_inverses = B
    r = means.shape[1]
    outer, delta = np.empty(matrices.shape[1]), np.empty(r)
    root = np.sqrt(2.0)
    for i in range(len(rows)):
        m, m_tail, h, p = means[rows[i]], tails[rows[i]], matrices[rows[i]], inverses[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            if skipped[i, j]:
                continue
            k, q = other_matrices[cols[j]], other_inverses[cols[j]]
            gap_of_means(m, m_tail, other_means[cols[j]], other_tails[cols[j]], 1.0, delta)
            place = 0
            for a in range(r):
                for b in range(a):
                    outer[place + b] = root * delta[a] * delta[b]
                outer[place + a] = delta[a] * delta[a]
                place += a + 1
            total = 0.0
            for e in range(len(outer)):
                total += (h[e] - k[e]) * (q[e] - p[e]) + (p[e] + q[e]) * outer[e]
            out[i, j] = 0.25 * total
