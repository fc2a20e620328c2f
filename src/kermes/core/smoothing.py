"""Measures smoothed for the Jensen-Shannon divergence.

Mixtures of equal Gaussians, exp(-rate |x - a|^2) summed over weighted atoms a, at nodes x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .exp import exp
from .jit import tile_core

#: Nodes done together, so that they stay in the cache.
CHUNK = 1024


class Lattice(NamedTuple):
    """Cubic blocks of nodes: node l of the block with corner c stands at origin + step (c + l), 0 <= l < shape.

    ``shape`` has three entries, the first of them 1 in fewer dimensions; the n-th node of a block is written to
    places[n]. A Gaussian exp(-rate |x|^2) ends at ``reach``.
    """

    origin: FloatArray
    step: float
    rate: float
    reach: float
    shape: IndexArray
    places: IndexArray


class Nodes(NamedTuple):
    """Free nodes (d, N); the least squared distance of each to an atom, by which exponents are shifted; the rate."""

    coordinates: FloatArray
    shift: FloatArray
    rate: float


@tile_core
def fill_blocks(lattice, atoms, owners, corners, out):
    """Fill out[t] with the mixture of measure owners[t] at the nodes of the block with corner corners[t].

    An atom counts in the blocks that it reaches in every coordinate; there at all nodes, so that a small move of an
    atom hardly ever changes where it ends.
    """
    shape = lattice.shape
    dim = atoms.coordinates.shape[0]
    lead = 3 - dim
    width = out.shape[1]
    profile = np.ones((3, np.max(shape)))
    total = np.empty(width)
    for t in range(out.shape[0]):
        total[:] = 0.0
        for a in range(atoms.offsets[owners[t]], atoms.offsets[owners[t] + 1]):
            near = True
            for d in range(dim):
                inside = False
                for k in range(shape[lead + d]):
                    gap = lattice.origin[d] + lattice.step * (corners[t, d] + k) - atoms.coordinates[d, a]
                    inside = inside or abs(gap) <= lattice.reach
                    profile[lead + d, k] = exp(-lattice.rate * gap * gap)
                near = near and inside
                if not near:
                    break
            if not near:
                continue
            n = 0
            for k0 in range(shape[0]):
                for k1 in range(shape[1]):
                    scale = atoms.weights[a] * profile[0, k0] * profile[1, k1]
                    if scale > 0.0:
                        for k2 in range(shape[2]):
                            total[n + k2] += scale * profile[2, k2]
                    n += shape[2]
        for n in range(width):
            out[t, lattice.places[n]] = total[n]


@tile_core
def nearest(nodes, points, out):
    """Fill out[k] = min over all atoms of |x_k - a|^2, for coordinates laid out as (d, n)."""
    squared = np.empty(CHUNK)
    for start in range(0, nodes.shape[1], CHUNK):
        size = min(CHUNK, nodes.shape[1] - start)
        for k in range(size):
            out[start + k] = np.inf
        for a in range(points.shape[1]):
            squared_distances(nodes, start, size, points, a, squared)
            for k in range(size):
                out[start + k] = min(out[start + k], squared[k])


@tile_core
def mixtures(nodes, atoms, rows, out):
    """Fill out[i, k] = sum_a w_a exp(-rate (|x_k - a|^2 - shift[k])) over the atoms of measure i, for i in rows."""
    x, y = nodes.coordinates, atoms.coordinates
    squared = np.empty(CHUNK)
    for i in rows:
        for start in range(0, x.shape[1], CHUNK):
            size = min(CHUNK, x.shape[1] - start)
            row = out[i, start : start + size]
            low = nodes.shift[start : start + size]
            row[:] = 0.0
            for a in range(atoms.offsets[i], atoms.offsets[i + 1]):
                squared_distances(x, start, size, y, a, squared)
                for k in range(size):
                    row[k] += atoms.weights[a] * exp(-nodes.rate * (squared[k] - low[k]))


@tile_core
def squared_distances(nodes, start, size, points, a, out):
    """Fill out[k] = |x_(start + k) - a|^2."""
    out[:size] = 0.0
    for d in range(nodes.shape[0]):
        row = nodes[d, start : start + size]
        centre = points[d, a]
        for k in range(size):
            out[k] += (row[k] - centre) * (row[k] - centre)
