"""Which pairs are missing, and in which pieces they are computed. Pure functions on index arrays.

A *tile* is one call of a divergence. A *batch* is a union of tiles, computed by one worker and then kept. A *chunk* is
one file of a store; a batch is a chunk, or where tiles are strips, a row of chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import IndexArray

#: Elementary operations a tile should take: about 0.1 s, so that an interrupt is heard soon.
TILE_WORK = 1.5e8
LARGEST_SIDE = 512
#: The pairs of a strip take at least this many times the work that its rows share.
ROW_SHARE = 8
#: Tiles along the longer side, so that two or more workers stay busy to the end.
TILES_PER_SIDE = 8
SMALLEST_SIDE = 16
#: Elementary operations that a tile takes at least, if there are so many: it costs some 1e5 whatever is in it.
SMALLEST_WORK = 1e6
#: Pairs that some cores advance together; sides are multiples of it.
LANES = 8
#: Chunks along the longer side of a store or a cluster's work, if they need not be larger or smaller ...
CHUNKS_PER_SIDE = 16
#: ... a chunk takes a second or two: what a killed run loses per worker ...
TILES_PER_CHUNK_SIDE = 4
#: ... and has at most 8 MB, and where tiles are strips, at least so many rows.
LARGEST_CHUNK = 1024
SMALLEST_BAND = 64

#: From slots of both sides to the mask of their missing pairs; None if all are missing.
Pending = Callable[[IndexArray, IndexArray], NDArray[np.bool_] | None]


class Block(NamedTuple):
    """All pairs of ``rows`` and ``cols``; with ``triangle`` the columns start with the rows, and pairs count once."""

    rows: IndexArray
    cols: IndexArray
    triangle: bool

    @property
    def n_pairs(self) -> int:
        """Number of pairs to evaluate; the diagonal of a triangle costs nothing."""
        n, m = len(self.rows), len(self.cols)
        return n * (n - 1) // 2 + n * (m - n) if self.triangle else n * m

    @property
    def corner(self) -> tuple[int, int]:
        """The first row and column."""
        return int(self.rows[0]), int(self.cols[0])

    @property
    def place(self) -> tuple[slice, slice]:
        """Consecutive rows and columns as slices."""
        (top, left), bottom, right = self.corner, int(self.rows[-1]) + 1, int(self.cols[-1]) + 1
        return slice(top, bottom), slice(left, right)


class Batch(NamedTuple):
    """A block of pairs that one worker computes, in tiles of (at most) this shape."""

    block: Block
    tile: tuple[int, int]

    @property
    def n_pairs(self) -> int:
        """Number of pairs to evaluate."""
        return self.block.n_pairs


def tile_shape(work: float, row_work: float, n: int, m: int) -> tuple[int, int]:
    """Return rows and columns of the tiles for n x m pairs of ``work`` operations, and ``row_work`` more per row.

    Depends on the data only, never on the workers or the clock: every executor computes the same tiles.
    """
    if row_work == 0.0:
        side = tile_side(work, n, m)
        return side, side
    # Strips: so many columns that the work of a row is hardly felt, and as many rows as the time allows.
    by_overhead = math.ceil(ROW_SHARE * row_work / max(work, 1.0))
    by_work = max(1, int((TILE_WORK - row_work) / max(work, 1.0)))
    cols = max(1, min(m, by_overhead, by_work))
    cols = m if m < 2 * cols else cols  # no narrow rest
    rows = int(TILE_WORK / (row_work + cols * work))
    return max(1, min(rows, cols, -(-n // TILES_PER_SIDE))), cols


def tile_side(work: float, n: int, m: int) -> int:
    """Return the side of square tiles for n x m pairs of ``work`` operations each."""
    by_work = math.isqrt(max(1, int(TILE_WORK / max(work, 1.0))))
    worthwhile = math.isqrt(int(SMALLEST_WORK / max(work, 1.0)))
    by_balance = max(SMALLEST_SIDE, -(-max(n, m) // TILES_PER_SIDE), worthwhile)
    side = min(by_work, by_balance, LARGEST_SIDE)
    return side - side % LANES if side >= LANES else max(1, side)


def cut(block: Block, shape: tuple[int, int]) -> Iterator[Block]:
    """Yield the tiles of a block, row by row; of a triangle only what lies on and above the diagonal."""
    height, width = shape
    for top in range(0, len(block.rows), height):
        rows = block.rows[top : top + height]
        start = top if block.triangle else 0
        for left in range(start, len(block.cols), width):
            yield Block(rows, block.cols[left : left + width], block.triangle and left == top)


def chunk_side(shape: tuple[int, int], n: int, m: int) -> int:
    """Return the side of the square chunks in which n x m pairs are stored: a multiple of the height of the tiles."""
    height, width = shape
    if width > height:
        return height * -(-SMALLEST_BAND // height)
    wanted = -(-max(n, m) // (CHUNKS_PER_SIDE * height))
    return height * max(1, min(wanted, TILES_PER_CHUNK_SIDE, LARGEST_CHUNK // height))


def batches(block: Block, tile: tuple[int, int], side: int) -> Iterator[Batch]:
    """Yield what one worker computes before it is kept: one chunk, or where tiles are strips, a row of chunks.

    Cut into tiles, the batches give the very tiles of the block itself: values do not depend on who computes them.
    """
    height, width = tile
    if width == height:
        yield from (Batch(part, tile) for part in cut(block, (side, side)))
        return
    for top in range(0, len(block.rows), side):
        start = top if block.triangle else 0
        yield Batch(Block(block.rows[top : top + side], block.cols[start:], block.triangle), tile)


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
        for block in _blocks(pending(rows, cols), len(rows), len(cols), triangle)
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


def _blocks(mask: NDArray[np.bool_] | None, n: int, m: int, symmetric: bool) -> list[Block]:
    return [Block(np.arange(n), np.arange(m), symmetric)] if mask is None else cover(mask, symmetric)


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
