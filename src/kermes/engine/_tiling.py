"""In which pieces pairs are computed. Pure functions on index arrays.

A *tile* is one call of a divergence. A *batch* is a union of tiles, computed by one worker and then kept. A *chunk* is
one file of a store; a batch is a chunk, or where tiles are strips, a row of chunks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

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
