import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kermes.engine._tiling import Block, batches, chunk_side, cut, tile_shape, tile_side


def covered(blocks, shape):
    """How often each entry is covered; a triangle covers both halves of its square once."""
    count = np.zeros(shape, dtype=int)
    for block in blocks:
        count[np.ix_(block.rows, block.cols)] += 1
    return count


@given(n=st.integers(1, 30), m=st.integers(1, 30), height=st.integers(1, 12), width=st.integers(1, 12))
def test_tiles_cover_a_rectangle_once(n, m, height, width):
    tiles = list(cut(Block(np.arange(n), np.arange(m), False), (height, width)))
    assert_array_equal(covered(tiles, (n, m)), 1)
    assert all(len(tile.rows) <= height and len(tile.cols) <= width for tile in tiles)
    assert sum(tile.n_pairs for tile in tiles) == n * m


@given(n=st.integers(1, 30), height=st.integers(1, 12), more=st.integers(0, 20))
def test_tiles_cover_a_triangle_once(n, height, more):
    tiles = list(cut(Block(np.arange(n), np.arange(n), True), (height, height + more)))
    count = covered(tiles, (n, n))
    assert_array_equal(np.triu(count), np.triu(np.ones((n, n), dtype=int)))
    assert sum(tile.n_pairs for tile in tiles) == n * (n - 1) // 2


def test_tile_side_follows_the_work():
    assert tile_side(1.0, 10_000, 10_000) == 512
    assert tile_side(1e6, 10_000, 10_000) == 8  # multiples of eight
    assert tile_side(1e12, 10_000, 10_000) == 1
    assert tile_side(1e4, 200, 10) == 24  # at least eight tiles a side for balance
    assert tile_side(1e4, 3, 3) == 16
    assert tile_side(1e2, 200, 200) == 96  # but not of less than 1e6 operations each


def test_rows_that_cost_something_make_strips():
    assert tile_shape(1e2, 0.0, 1000, 1000) == (120, 120)
    assert tile_shape(2e4, 3e6, 10_000, 10_000) == (5, 1200)  # eight times the work of the row
    assert tile_shape(2e4, 3e6, 1000, 1000) == (6, 1000)  # or all columns
    assert tile_shape(1e3, 1e3, 3, 3) == (1, 3)
    assert tile_shape(1e9, 1e9, 10, 10) == (1, 1)


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (5, 5), (3, 40), (7, 200), (512, 512)])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (9, 9), (130, 130), (130, 57), (20, 300)])
def test_batches_are_unions_of_the_tiles_and_fit_chunks(shape, n, m):
    side = chunk_side(shape, n, m)
    assert side % shape[0] == 0
    for triangle in [False, True][: 1 + (n == m)]:
        block = Block(np.arange(n), np.arange(m), triangle)
        found = list(batches(block, shape, side))
        parts = [batch.block for batch in found]
        assert all(b.rows[0] % side == 0 and len(b.rows) <= side and b.cols[0] % side == 0 for b in parts)
        tiles = [tile for batch in found for tile in cut(*batch)]
        assert {_corners(tile) for tile in tiles} == {_corners(tile) for tile in cut(block, shape)}
        assert len(tiles) == len(list(cut(block, shape)))


def _corners(tile):
    return tile.rows[0], tile.rows[-1], tile.cols[0], tile.cols[-1], tile.triangle


def test_chunks_hold_a_second_or_two_of_work_and_are_not_too_many():
    assert chunk_side((512, 512), 20_000, 20_000) == 1024
    assert chunk_side((32, 32), 20_000, 20_000) == 4 * 32
    assert chunk_side((16, 16), 100, 100) == 16
    assert chunk_side((10, 500), 20_000, 20_000) == 70
