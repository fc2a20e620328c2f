r"""Steps to the spatial medians of groups, given inner products: for many groups of one size at a time.

A centre c of k members is known by its weights and by its inner products with the members, both linear in c.
Weiszfeld's step T(c) has the weights :math:`1 / |x_j - c|`; displacements f = T(c) - c are mixed (Anderson 1965, depth
1),

.. math:: c_{m+1} = T(c_m) - \theta (T(c_m) - T(c_{m-1})),\qquad
          \theta = \frac{\langle f_m, f_m - f_{m-1} \rangle}{|f_m - f_{m-1}|^2},

which is a secant step and needs no inner products but those of T. Where it hardly lowers the sum of distances (with
:math:`\theta` = 1 it stays where it is), the step is Weiszfeld's, so that no search ends but by one of these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from .jit import tile_core

#: Bounds of theta: no more than a rate of convergence of 20 / 21 asks for, no further back than the step before.
LEAST, MOST = -20.0, 1.0
#: Part of the mean squared distance to the centroid that is added to squared distances in weights.
SPREAD, TINY = 1e-6, np.finfo(np.float64).tiny
#: Part of a sum of distances that may be rounding.
ROUNDING = 1e-12


class Search(NamedTuple):
    """What is known of the medians of B groups of k rows; a centre is two rows, its weights and inner products."""

    diagonal: FloatArray  # (n,): squared norms of all rows
    floor: float  # squared distances below it are rounding, and 0
    members: IndexArray  # (B, k): the rows of each group
    centers: FloatArray  # (B, 2, k): where the search is
    weights: FloatArray  # (B, k): of Weiszfeld's step from there
    steps: FloatArray  # (B, 2, k): the step before
    moves: FloatArray  # (B, 2, k): its displacement
    squared: FloatArray  # (B, k): squared distances to the centres
    least: FloatArray  # (B,): what is added to them in weights, so that the search stays at no member


def search(diagonal: FloatArray, members: IndexArray) -> Search:
    """Return a search of medians that has not begun."""
    B, k = members.shape
    centers, steps, moves = np.zeros((3, B, 2, k))
    weights, squared = np.empty((2, B, k))
    floor = 1e-14 * float(np.abs(diagonal).max())
    return Search(np.ascontiguousarray(diagonal), floor, members, centers, weights, steps, moves, squared, np.empty(B))


@tile_core
def measure(diagonal: FloatArray, members: IndexArray, center: FloatArray, floor: float, squared: FloatArray) -> float:
    """Fill in the squared distances of members to a centre, and return the sum of distances."""
    norm, total = 0.0, 0.0
    for i in range(len(members)):
        norm += center[0, i] * center[1, i]
    for i in range(len(members)):
        value = diagonal[members[i]] - 2.0 * center[1, i] + norm
        squared[i] = value if value >= floor else 0.0
        total += np.sqrt(squared[i])
    return total


@tile_core
def begin(s: Search, products: FloatArray) -> None:
    """Go to the centroids; ``products`` (B, n) are the inner products of all rows with the sums of members."""
    B, k = s.members.shape
    for b in range(B):
        for i in range(k):
            s.centers[b, 0, i] = 1.0 / k
            s.centers[b, 1, i] = products[b, s.members[b, i]] / k
        measure(s.diagonal, s.members[b], s.centers[b], s.floor, s.squared[b])
        total = 0.0
        for i in range(k):
            total += s.squared[b, i]
        s.least[b] = SPREAD * total / k + TINY


@tile_core
def weigh(s: Search, left: IndexArray, whole: FloatArray) -> None:
    """Find the weights of Weiszfeld's step for the groups ``left``, and put them among zeros, (left, n)."""
    k = s.members.shape[1]
    for p in range(len(left)):
        b, total = left[p], 0.0
        for i in range(k):
            s.weights[b, i] = 1.0 / np.sqrt(s.squared[b, i] + s.least[b])
            total += s.weights[b, i]
        for i in range(k):
            s.weights[b, i] /= total
            whole[p, s.members[b, i]] = s.weights[b, i]


@tile_core
def advance(s: Search, left: IndexArray, products: FloatArray, tolerance: float, first: bool, near: AnyArray) -> None:
    """Move the centres of the groups ``left`` on, and note where the sum of distances fell by no more than a part.

    ``products`` (left, n) are the inner products of all rows with Weiszfeld's steps.
    """
    k = s.members.shape[1]
    inner = np.empty(k)
    for p in range(len(left)):
        b = left[p]
        along, size, before = 0.0, 0.0, 0.0
        for i in range(k):
            inner[i] = products[p, s.members[b, i]]
            f, g = s.weights[b, i] - s.centers[b, 0, i], inner[i] - s.centers[b, 1, i]
            along += f * (g - s.moves[b, 1, i])
            size += (f - s.moves[b, 0, i]) * (g - s.moves[b, 1, i])
            before += np.sqrt(s.squared[b, i])
            s.moves[b, 0, i], s.moves[b, 1, i] = f, g
        theta = 0.0 if first or size <= 0.0 else min(max(along / size, LEAST), MOST)
        for _ in range(2):  # the second is Weiszfeld's own
            for i in range(k):
                s.centers[b, 0, i] = s.weights[b, i] - theta * (s.weights[b, i] - s.steps[b, 0, i])
                s.centers[b, 1, i] = inner[i] - theta * (inner[i] - s.steps[b, 1, i])
            after = measure(s.diagonal, s.members[b], s.centers[b], s.floor, s.squared[b])
            if theta == 0.0 or before - after > tolerance * before:
                break
            theta = 0.0
        near[p] = before - after <= tolerance * before
        for i in range(k):
            s.steps[b, 0, i], s.steps[b, 1, i] = s.weights[b, i], inner[i]


@tile_core
def stop_at_members(s: Search, G: FloatArray) -> None:
    """Move each centre to the member next to it if the sum of distances is lower there, by more than rounding.

    A median that is a member, as where most of them coincide, is then exact: the search only comes near to it.
    """
    B, k = s.members.shape
    center, squared = np.zeros((2, k)), np.empty(k)
    for b in range(B):
        total, nearest = 0.0, 0
        for i in range(k):
            total += np.sqrt(s.squared[b, i])
            if s.squared[b, i] < s.squared[b, nearest]:
                nearest = i
        center[0, nearest] = 1.0
        for i in range(k):
            center[1, i] = G[s.members[b, i], s.members[b, nearest]]
        if measure(s.diagonal, s.members[b], center, s.floor, squared) < (1.0 - ROUNDING) * total:
            s.centers[b], s.squared[b] = center, squared
        center[0, nearest] = 0.0
