"""Distances of Gaussians in feature space from kernel values between the atoms (the dual form), and symmetrised KL.

A measure with atoms x and weights w has the mean m = Phi w and the covariance F F' with the factor
F = Phi (I - w 1') diag(sqrt w). Inner products of two such factors are centred, scaled kernel values.
"""

from __future__ import annotations

import numpy as np

from .bures import nuclear_norm
from .jit import tile_core
from .points import kernel_row
from .status import OK, UNCONVERGED


@tile_core
def centred_block(code, params, x, x_w, start, stop, y, y_w, first, last, V, u, v):
    """V = F'G, (stop - start, last - first), and returns <m, m'>; u = F'm' and v = G'm are the means on the factors."""
    p, q = stop - start, last - first
    for b in range(q):
        v[b] = 0.0
    inner = 0.0
    for a in range(p):
        row = V[a]
        kernel_row(code, params, x, start + a, y, first, last, row[:q])
        mean = 0.0
        for b in range(q):
            mean += y_w[first + b] * row[b]
        u[a] = mean
        inner += x_w[start + a] * mean
        for b in range(q):
            v[b] += x_w[start + a] * row[b]
            row[b] -= mean
    for b in range(q):
        v[b] -= inner
    for a in range(p):
        row = V[a]
        scale = np.sqrt(x_w[start + a])
        for b in range(q):
            row[b] = scale * np.sqrt(y_w[first + b]) * (row[b] - v[b])
        u[a] = scale * (u[a] - inner)
    for b in range(q):
        v[b] *= np.sqrt(y_w[first + b])
    return inner


@tile_core
def longest(offsets, rows):
    """Return the largest number of atoms among ``rows``."""
    size = 1
    for i in rows:
        size = max(size, offsets[i + 1] - offsets[i])
    return size


@tile_core
def wasserstein_tile(
    code, params,
    x, x_w, x_offsets, norms, traces, rows,
    y, y_w, y_offsets, other_norms, other_traces, cols,
    triangle, out, status,
):  # fmt: skip
    """out[i, j] = |m - m'|^2 + tr S + tr S' - 2 |F'G|_*."""
    side = max(longest(x_offsets, rows), longest(y_offsets, cols)) + 3
    V, squares, u, v = np.zeros((side, side)), np.empty(side), np.empty(side), np.empty(side)
    for i in range(len(rows)):
        start, stop = x_offsets[rows[i]], x_offsets[rows[i] + 1]
        for j in range(i + 1 if triangle else 0, len(cols)):
            first, last = y_offsets[cols[j]], y_offsets[cols[j] + 1]
            # The smaller side are the rows to rotate; their length is padded with zeros to a multiple of four.
            if stop - start <= last - first:
                inner = centred_block(code, params, x, x_w, start, stop, y, y_w, first, last, V, u, v)
                p, q = stop - start, last - first
            else:
                inner = centred_block(code, params, y, y_w, first, last, x, x_w, start, stop, V, u, v)
                p, q = last - first, stop - start
            padded = (q + 3) // 4 * 4
            for a in range(p):
                for b in range(q, padded):
                    V[a, b] = 0.0
            norm, converged = nuclear_norm(V, squares, p, padded)
            gap = norms[rows[i]] + other_norms[cols[j]] - 2.0 * inner
            out[i, j] = gap + traces[rows[i]] + other_traces[cols[j]] - 2.0 * norm
            status[i, j] = OK if converged else UNCONVERGED


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
def kl_tile(
    code, params, reg,
    x, x_w, x_offsets, norms, traces, ranks, own, inverses, places, rows,
    y, y_w, y_offsets, other_norms, other_traces, other_ranks, other_own, other_inverses, other_places, cols,
    triangle, out,
):  # fmt: skip
    """out[i, j] = (KL + KL') / 2 of two Gaussians with covariances S + reg I.

    ``inverses`` holds L^-1 of reg I + F'F = L L' of each measure, ``own`` the vector F'm, ``ranks`` the trace of
    F (reg I + F'F)^-1 F'. With them H^-1 = (I - F (reg I + F'F)^-1 F') / reg.
    """
    p_side, q_side = longest(x_offsets, rows), longest(y_offsets, cols)
    V, u, v = np.empty((p_side, q_side)), np.empty(p_side), np.empty(q_side)
    for i in range(len(rows)):
        start, stop = x_offsets[rows[i]], x_offsets[rows[i] + 1]
        p = stop - start
        L = inverses[places[rows[i]] : places[rows[i]] + p * p]
        for j in range(i + 1 if triangle else 0, len(cols)):
            first, last = y_offsets[cols[j]], y_offsets[cols[j] + 1]
            q = last - first
            G = other_inverses[other_places[cols[j]] : other_places[cols[j]] + q * q]
            inner = centred_block(code, params, x, x_w, start, stop, y, y_w, first, last, V, u, v)
            gap = norms[rows[i]] + other_norms[cols[j]] - 2.0 * inner
            for a in range(p):  # F'(m' - m)
                u[a] -= own[start + a]
            for b in range(q):
                v[b] -= other_own[first + b]
            total = 2.0 * gap - solved_norm(L, p, u, p) - solved_norm(G, q, v, q)
            total += traces[rows[i]] - solved_square(G, q, V, p, q, False)
            total += other_traces[cols[j]] - solved_square(L, p, V, p, q, True)
            out[i, j] = 0.25 * (total / reg - ranks[rows[i]] - other_ranks[cols[j]])


@tile_core
def kl_moments_tile(means, H, P, rows, other_means, other_H, other_P, cols, triangle, out):
    """out[i, j] = ((H - H') . (P' - P) + (m - m')' (P + P') (m - m')) / 4, with P = H^-1.

    Matrices are packed: the lower triangle row by row, entries off the diagonal times sqrt 2.
    """
    r = means.shape[1]
    outer, delta = np.empty(H.shape[1]), np.empty(r)
    root = np.sqrt(2.0)
    for i in range(len(rows)):
        h, p, m = H[rows[i]], P[rows[i]], means[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            k, q, other = other_H[cols[j]], other_P[cols[j]], other_means[cols[j]]
            place = 0
            for a in range(r):
                delta[a] = m[a] - other[a]
                for b in range(a):
                    outer[place + b] = root * delta[a] * delta[b]
                outer[place + a] = delta[a] * delta[a]
                place += a + 1
            total = 0.0
            for e in range(len(outer)):
                total += (h[e] - k[e]) * (q[e] - p[e]) + (p[e] + q[e]) * outer[e]
            out[i, j] = 0.25 * total
