"""Transport between projections: the merge of quantile functions, slice by slice."""

from __future__ import annotations

from typing import NamedTuple

from .._typing import FloatArray, IndexArray
from .jit import strict_core, tile_core
from .transport.quantiles import step


class Ranked(NamedTuple):
    """Measures of equally heavy atoms: the r-th smallest projection on each of the L lines in row r, (N, L)."""

    projections: FloatArray
    offsets: IndexArray


@tile_core
def uniform_tile(A, rows, B, cols, triangle, p, out):
    """Fill out[i, j] = mean over slices of W_p^p between measures of equally heavy atoms, both :class:`Ranked`.

    With n and m equal atoms all slices jump at the same levels k / n and l / m: the merge is done once, in
    integers, and the inner loop over slices vectorises.
    """
    x, off_x = A.projections, A.offsets
    y, off_y = B.projections, B.offsets
    n_slices = x.shape[1]
    for i in range(len(rows)):
        start_i = off_x[rows[i]]
        n = off_x[rows[i] + 1] - start_i
        for j in range(i + 1 if triangle else 0, len(cols)):
            start_j = off_y[cols[j]]
            m = off_y[cols[j] + 1] - start_j
            a = 0
            b = 0
            level = 0  # in units of 1 / (n m)
            total = 0.0
            while level < n * m:
                upper_a = (a + 1) * m
                upper_b = (b + 1) * n
                upper = min(upper_a, upper_b)
                xa = x[start_i + a]
                yb = y[start_j + b]
                gap = 0.0
                if p == 2.0:
                    for k in range(n_slices):
                        gap += (xa[k] - yb[k]) * (xa[k] - yb[k])
                elif p == 1.0:
                    for k in range(n_slices):
                        gap += abs(xa[k] - yb[k])
                else:
                    for k in range(n_slices):
                        gap += abs(xa[k] - yb[k]) ** p
                total += (upper - level) * gap
                level = upper
                a += 1 if upper_a == upper else 0
                b += 1 if upper_b == upper else 0
            out[i, j] = total / (n * m) / n_slices


@strict_core
def weighted_tile(A, rows, B, cols, triangle, p, out):
    """Fill out[i, j] = mean over slices of W_p^p between sorted projections, :class:`.quantiles.Sorted`.

    Two slices advance in one loop, for the reason given in ``quantiles.tile``.
    """
    x, f, off_x = A.points, A.cumulative, A.offsets
    y, g, off_y = B.points, B.cumulative, B.offsets
    n_slices = x.shape[0]
    for i in range(len(rows)):
        start = off_x[rows[i]]
        last_i = off_x[rows[i] + 1] - 1
        for j in range(i + 1 if triangle else 0, len(cols)):
            begin = off_y[cols[j]]
            last_j = off_y[cols[j] + 1] - 1
            total = 0.0
            for k in range(0, n_slices, 2):
                other = min(k + 1, n_slices - 1)
                i0 = start
                i1 = start
                j0 = begin
                j1 = begin
                t0 = 0.0
                t1 = 0.0
                sum0 = 0.0
                sum1 = 0.0
                for _ in range(last_i - start + last_j - begin + 1):
                    i0, j0, t0, term = step(x[k], f[k], i0, last_i, y[k], g[k], j0, last_j, t0, p)
                    sum0 += term
                    i1, j1, t1, term = step(x[other], f[other], i1, last_i, y[other], g[other], j1, last_j, t1, p)
                    sum1 += term
                total += sum0 + (sum1 if other > k else 0.0)
            out[i, j] = total / n_slices
