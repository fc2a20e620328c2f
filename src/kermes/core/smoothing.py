"""Mixtures of equal Gaussians, exp(-rate |x - a|^2) summed over weighted atoms a, at nodes x."""

from __future__ import annotations

import numpy as np

from .exp import exp
from .jit import tile_core

#: Nodes done together, so that they stay in the cache.
CHUNK = 1024


@tile_core
def fill_blocks(points, weights, offsets, owners, corners, origin, step, rate, reach, shape, places, first, out):
    """Fill out[t] with the mixture of measure owners[first + t] at the nodes of its cubic block.

    The node at (l_0, l_1, l_2) of a block stands at origin + step (corner + l) in the last dimensions of ``shape``;
    the n-th node is written to out[t, places[n]]. An atom counts in the blocks that it reaches in every coordinate;
    there at all nodes, so that a small move of an atom hardly ever changes where it ends.
    """
    dim = points.shape[1]
    lead = 3 - dim
    width = out.shape[1]
    profile = np.ones((3, np.max(shape)))
    total = np.empty(width)
    for t in range(out.shape[0]):
        total[:] = 0.0
        owner = owners[first + t]
        for a in range(offsets[owner], offsets[owner + 1]):
            near = True
            for d in range(dim):
                inside = False
                for k in range(shape[lead + d]):
                    gap = origin[d] + step * (corners[first + t, d] + k) - points[a, d]
                    inside = inside or abs(gap) <= reach
                    profile[lead + d, k] = exp(-rate * gap * gap)
                near = near and inside
                if not near:
                    break
            if not near:
                continue
            n = 0
            for k0 in range(shape[0]):
                for k1 in range(shape[1]):
                    scale = weights[a] * profile[0, k0] * profile[1, k1]
                    if scale > 0.0:
                        for k2 in range(shape[2]):
                            total[n + k2] += scale * profile[2, k2]
                    n += shape[2]
        for n in range(width):
            out[t, places[n]] = total[n]


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
def mixtures(nodes, shift, points, weights, offsets, rows, rate, out):
    """Fill out[i, k] = sum_a w_a exp(-rate (|x_k - a|^2 - shift[k])) over the atoms of measure i, for i in rows."""
    squared = np.empty(CHUNK)
    for i in rows:
        for start in range(0, nodes.shape[1], CHUNK):
            size = min(CHUNK, nodes.shape[1] - start)
            row = out[i, start : start + size]
            low = shift[start : start + size]
            row[:] = 0.0
            for a in range(offsets[i], offsets[i + 1]):
                squared_distances(nodes, start, size, points, a, squared)
                for k in range(size):
                    row[k] += weights[a] * exp(-rate * (squared[k] - low[k]))


@tile_core
def squared_distances(nodes, start, size, points, a, out):
    """Fill out[k] = |x_(start + k) - a|^2."""
    out[:size] = 0.0
    for d in range(nodes.shape[0]):
        row = nodes[d, start : start + size]
        centre = points[d, a]
        for k in range(size):
            out[k] += (row[k] - centre) * (row[k] - centre)
