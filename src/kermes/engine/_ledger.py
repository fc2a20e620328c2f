"""Which pairs are missing: pure functions on index arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import IndexArray
from ._tiling import Block

#: From slots of both sides to the mask of their missing pairs.
Pending = Callable[[IndexArray, IndexArray], NDArray[np.bool_]]


class Missing(NamedTuple):
    """Pairs that are not known yet: ``blocks``, which number the slots ``left`` and ``right`` from 0."""

    left: IndexArray
    right: IndexArray
    blocks: list[Block]

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return sum(block.n_pairs for block in self.blocks)


def missing(pending: Pending, left: IndexArray, right: IndexArray, symmetric: bool) -> Missing:
    """Return the missing ones of the pairs left x right of slots, each pair once.

    ``symmetric`` says that both sides number the same measures; a pair and its mirror image are then one, and ``left``
    and ``right`` of the answer are the same.
    """
    left, right = np.unique(left), np.unique(right)
    pieces = [(left, right, False)]
    if symmetric:
        common = np.intersect1d(left, right, assume_unique=True)
        left_only, right_only = (np.setdiff1d(side, common, assume_unique=True) for side in (left, right))
        pieces = [(common, common, True), (left_only, right, False), (common, right_only, False)]
    found = [
        Block(rows[block.rows], cols[block.cols], block.triangle)
        for rows, cols, triangle in pieces
        if len(rows) and len(cols)
        for block in cover(pending(rows, cols), triangle)
    ]
    left, right = (np.unique(np.concatenate([np.empty(0, np.int64), *sides])) for sides in (
        [block.rows for block in found], [block.cols for block in found],
    ))  # fmt: skip
    if symmetric:
        left = right = np.union1d(left, right)
    numbered = [
        Block(np.searchsorted(left, rows), np.searchsorted(right, cols), triangle) for rows, cols, triangle in found
    ]
    return Missing(left, right, numbered)


def cover(mask: NDArray[np.bool_], symmetric: bool) -> list[Block]:
    """Return rectangles (and triangles) that cover the True entries of a mask exactly once each.

    Rows with the same pattern form a group. Cross-validation and growing data sets leave few groups:
    whatever was computed before is a union of rectangles. In a symmetric mask two groups are either
    entirely missing to each other or not at all, so each pair of groups is one block.
    """
    if not mask.any():
        return []
    groups = _equal_rows(mask)
    if not symmetric:
        return [Block(group, np.flatnonzero(mask[group[0]]), False) for group in groups if mask[group[0]].any()]
    return [
        Block(group, other, k == 0)
        for i, group in enumerate(groups)
        for k, other in enumerate(groups[i:])
        if mask[group[0], other[-1]]
    ]


def _equal_rows(mask: NDArray[Any]) -> list[IndexArray]:
    if mask.all():
        return [np.arange(len(mask))]
    packed = np.packbits(mask, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, inverse = np.unique(keys, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    return np.split(order, np.cumsum(np.bincount(inverse))[:-1])
