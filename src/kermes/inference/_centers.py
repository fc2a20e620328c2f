"""Centres of groups in principal coordinates, for many labellings at a time.

``G`` holds the inner products of rows. The labellings of a batch are permutations of one another, so that a group has
as many members in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .._typing import FloatArray, IndexArray

#: A median is found when a step lowers the sum of distances by no more than this part.
TOLERANCE = 1e-5
#: Most steps to a median.
STEPS = 30


def to_centroids(G: FloatArray, codes: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the distances (B, n) of rows to the centroids of their groups, for each labelling of ``codes`` (B, n).

    They are multiplied by sqrt(n_g / (n_g - 1)): the centroid of a small group lies nearer to its members. Also
    returned are the weights (B, n) of rows in the centre of their group.
    """
    return _by_rows(codes, (_centers(G, members, sums, 0) for members, sums in _sums(G, codes)))


def to_medians(G: FloatArray, codes: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the same for spatial medians."""
    return _by_rows(codes, (_centers(G, members, sums, STEPS) for members, sums in _sums(G, codes)))


def _centers(
    G: FloatArray, members: IndexArray, sums: FloatArray, steps: int
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the members (B, n_g) of a group, and their squared distances to its centres and weights in them.

    Centres are those after ``steps`` from the centroids to the medians; labellings leave the search when their median
    is found.
    """
    from ..core import medians

    found = medians.search(np.diagonal(G), members)
    medians.begin(found, sums)
    left = np.arange(len(members))
    for step in range(steps):
        whole, near = np.zeros((len(left), len(G))), np.empty(len(left), dtype=np.bool_)
        medians.weigh(found, left, whole)
        medians.advance(found, left, whole @ G, TOLERANCE, step == 0, near)
        left = left[~near]
        if not len(left):
            break
    return members, found.squared, found.centers[:, 0]


def _sums(G: FloatArray, codes: IndexArray) -> Iterator[tuple[IndexArray, FloatArray]]:
    """Yield the members (B, n_g) of each group, and the inner products (B, n) of all rows with their sum."""
    order = np.argsort(codes.astype(np.int16), axis=1, kind="stable")  # of small integers: in linear time
    *groups, last = np.split(order, np.cumsum(np.bincount(codes[0]))[:-1], axis=1)
    rest = np.tile(G.sum(axis=0), (len(codes), 1))  # those with the sum of the groups to come: saves a product
    for members in groups:
        whole = np.zeros(codes.shape)
        np.put_along_axis(whole, members, 1.0, axis=1)
        sums = whole @ G
        rest -= sums
        yield np.ascontiguousarray(members), sums
    yield np.ascontiguousarray(last), rest


def _by_rows(
    codes: IndexArray, groups: Iterable[tuple[IndexArray, FloatArray, FloatArray]]
) -> tuple[FloatArray, FloatArray]:
    """Return distances and weights (B, n) in the order of rows."""
    z, w = np.empty(codes.shape), np.empty(codes.shape)
    for members, squared, weights in groups:
        size = members.shape[1]
        np.put_along_axis(z, members, np.sqrt(squared * (size / (size - 1))), axis=1)
        np.put_along_axis(w, members, weights, axis=1)
    return z, w
