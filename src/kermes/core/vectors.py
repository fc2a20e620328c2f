"""Sums of |a - b|^p between rows of dense matrices, and between sparse rows."""

from __future__ import annotations

from .jit import tile_core


@tile_core
def power_tile(a, rows, b, cols, triangle, p, out):  # type: ignore[no-untyped-def]
    """Fill out[i, j] = sum_k |a[rows[i], k] - b[cols[j], k]|^p, by differences."""
    m = a.shape[1]
    for i in range(len(rows)):
        ai = a[rows[i]]
        for j in range(i + 1 if triangle else 0, len(cols)):
            bj = b[cols[j]]
            total = 0.0
            if p == 2.0:
                for k in range(m):
                    total += (ai[k] - bj[k]) * (ai[k] - bj[k])
            elif p == 1.0:
                for k in range(m):
                    total += abs(ai[k] - bj[k])
            else:
                for k in range(m):
                    total += abs(ai[k] - bj[k]) ** p
            out[i, j] = total


@tile_core
def sparse_squared_tile(  # type: ignore[no-untyped-def]
    ids_a, w_a, off_a, rows, ids_b, w_b, off_b, cols, triangle, out
):
    """Fill out[i, j] = |a - b|^2 for vectors given by sorted distinct ids and their weights."""
    for i in range(len(rows)):
        for j in range(i + 1 if triangle else 0, len(cols)):
            s = off_a[rows[i]]
            t = off_b[cols[j]]
            end_s = off_a[rows[i] + 1]
            end_t = off_b[cols[j] + 1]
            total = 0.0
            while s < end_s and t < end_t:
                if ids_a[s] == ids_b[t]:
                    diff = w_a[s] - w_b[t]
                    s += 1
                    t += 1
                elif ids_a[s] < ids_b[t]:
                    diff = w_a[s]
                    s += 1
                else:
                    diff = w_b[t]
                    t += 1
                total += diff * diff
            for k in range(s, end_s):
                total += w_a[k] * w_a[k]
            for k in range(t, end_t):
                total += w_b[k] * w_b[k]
            out[i, j] = total
