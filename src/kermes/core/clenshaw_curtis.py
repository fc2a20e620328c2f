"""Clenshaw-Curtis quadrature on boxes, with the rule of half as many intervals on the same points."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def rule(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the n + 1 points cos(k pi / n) of [-1, 1] and their weights; n is even."""
    k = np.arange(n + 1)
    j = np.arange(1, n // 2 + 1)
    factor = np.where(j == n // 2, 1.0, 2.0) / (4.0 * j**2 - 1.0)
    # The integral of the interpolating cosine series; the first and last point count half.
    weights = (2.0 - 2.0 * np.cos(2.0 * np.pi * np.outer(k, j) / n) @ factor) / n
    weights[[0, -1]] /= 2.0
    return np.cos(np.pi * k / n), weights


def box(low: FloatArray, high: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the tensor grid of (n + 1)^d points of a box (G, d) and two columns of weights (G, 2).

    The second column is the rule of n / 2 intervals per axis, 0 on the points that it leaves out; n is divisible by 4.
    """
    nodes, fine = rule(n)
    coarse = np.zeros(n + 1)
    coarse[::2] = rule(n // 2)[1]
    d = len(low)
    half = (high - low) / 2.0
    points = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d) * half + (low + high) / 2.0
    weights = [_product(column, d) * np.prod(half) for column in (fine, coarse)]
    return points, np.stack(weights, axis=1)


def _product(weights: FloatArray, d: int) -> FloatArray:
    out = np.ones(1)
    for _ in range(d):
        out = np.outer(out, weights).ravel()
    return out
