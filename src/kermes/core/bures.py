"""Nuclear norms of many small matrices: the coupling term of the Wasserstein distance of Gaussians.

One-sided Jacobi: rows are rotated in pairs until they are orthogonal; their norms are then the singular values, each
with high relative accuracy. The sum of the norms of rows whose cosines are below c is off by a fraction c^2 only, so
that two or three sweeps are enough.
"""

from __future__ import annotations

import numpy as np

from .jit import tile_core
from .status import OK, UNCONVERGED

#: Squared cosine from which a pair of rows is rotated: the nuclear norm is then off by less than 1e-12 of itself.
COSINE = 1e-12
#: Rows of less than this fraction of the squared largest norm do not count.
NEGLIGIBLE = 1e-28
SWEEPS = 40


@tile_core
def dot(x, y, n):
    """Return the inner product of two vectors of length n."""
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


@tile_core
def rotate(x, y, n, cosine, sine):
    """Rotate two rows."""
    for k in range(n):
        a, b = x[k], y[k]
        x[k] = cosine * a - sine * b
        y[k] = sine * a + cosine * b


@tile_core
def nuclear_norm(V, squares, p, q):
    """Return the sum of the singular values of V (p, q), which is overwritten, and whether it converged."""
    converged = False
    for _ in range(SWEEPS):
        if converged:
            break
        converged = True
        largest = 0.0
        for i in range(p):  # afresh: the updates below cancel where rows were nearly parallel
            squares[i] = dot(V[i], V[i], q)
            largest = max(largest, squares[i])
        for i in range(p - 1):
            for j in range(i + 1, p):
                a, b = squares[i], squares[j]
                if min(a, b) <= NEGLIGIBLE * largest:
                    continue
                c = dot(V[i], V[j], q)
                if c * c <= COSINE * a * b:
                    continue
                converged = False
                zeta = (b - a) / (2.0 * c)
                t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    t = -t
                cosine = 1.0 / np.sqrt(1.0 + t * t)
                rotate(V[i], V[j], q, cosine, cosine * t)
                squares[i] = a - t * c
                squares[j] = b + t * c
    total = 0.0
    for i in range(p):
        total += np.sqrt(dot(V[i], V[i], q))
    return total, converged


@tile_core
def factors_tile(
    means, traces, F, places, rows, other_means, other_traces, G, other_places, cols, triangle, out, status
):
    """out[i, j] = |m - m'|^2 + tr S + tr S' - 2 |F G'|_*, S = F'F and S' = G'G, the rows of F being factors.

    ``places[i]`` to ``places[i + 1]`` are the rows of F that belong to measure i.
    """
    r = F.shape[1]
    p_largest = 1
    for i in rows:
        p_largest = max(p_largest, places[i + 1] - places[i])
    q_largest = 1
    for j in cols:
        q_largest = max(q_largest, other_places[j + 1] - other_places[j])
    side = max(p_largest, q_largest) + 3
    V, squares = np.zeros((side, side)), np.empty(side)
    for i in range(len(rows)):
        first, p = places[rows[i]], places[rows[i] + 1] - places[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            start, q = other_places[cols[j]], other_places[cols[j] + 1] - other_places[cols[j]]
            gap = 0.0
            for k in range(r):
                gap += (means[rows[i], k] - other_means[cols[j], k]) ** 2
            # The smaller side are the rows to rotate; their length is padded with zeros to a multiple of four.
            if p <= q:
                fill(F, first, p, G, start, q, r, V)
                norm, converged = nuclear_norm(V, squares, p, (q + 3) // 4 * 4)
            else:
                fill(G, start, q, F, first, p, r, V)
                norm, converged = nuclear_norm(V, squares, q, (p + 3) // 4 * 4)
            out[i, j] = gap + traces[rows[i]] + other_traces[cols[j]] - 2.0 * norm
            status[i, j] = OK if converged else UNCONVERGED


@tile_core
def fill(F, first, p, G, start, q, r, V):
    """V[a, b] = <F_(first + a), G_(start + b)>."""
    for a in range(p):
        target, x = V[a], F[first + a]
        for b in range(q):
            target[b] = dot(x, G[start + b], r)
        for b in range(q, (q + 3) // 4 * 4):
            target[b] = 0.0
