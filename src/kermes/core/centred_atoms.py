"""Inner products of the centred images of atoms in the feature space of a point kernel.

A measure with atoms x and weights w has the mean m = Phi w and the covariance F F' with the factor
F = Phi (I - w 1') diag(sqrt w). Inner products of two such factors are centred, scaled kernel values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .jit import tile_core
from .points import values_row


class CentredAtoms(NamedTuple):
    """The fields of :class:`~.points.Atoms`, and per measure |m|^2 and tr Sigma."""

    coordinates: FloatArray
    weights: FloatArray
    offsets: IndexArray
    ids: IndexArray
    norms: FloatArray
    traces: FloatArray


@tile_core
def centred_block(ground, A, i, B, j, V, u, v):
    """V = F'G of measure i of A and j of B, and returns <m, m'>; u = F'm' and v = G'm are the means on the factors."""
    x, x_weights, x_offsets, x_ids, _, _ = A
    y, y_weights, y_offsets, y_ids, _, _ = B
    start, first, last = x_offsets[i], y_offsets[j], y_offsets[j + 1]
    p, q = x_offsets[i + 1] - start, last - first
    for b in range(q):
        v[b] = 0.0
    inner = 0.0
    for a in range(p):
        row, weight = V[a], x_weights[start + a]
        values_row(ground, x, x_ids, start + a, y, y_ids, first, last, row[:q])
        mean = 0.0
        for b in range(q):
            mean += y_weights[first + b] * row[b]
        u[a] = mean
        inner += weight * mean
        for b in range(q):
            v[b] += weight * row[b]
            row[b] -= mean
    for b in range(q):
        v[b] -= inner
    for a in range(p):
        row = V[a]
        scale = np.sqrt(x_weights[start + a])
        for b in range(q):
            row[b] = scale * np.sqrt(y_weights[first + b]) * (row[b] - v[b])
        u[a] = scale * (u[a] - inner)
    for b in range(q):
        v[b] *= np.sqrt(y_weights[first + b])
    return inner
