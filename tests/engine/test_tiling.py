import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kermes.engine._tiling import Block, batches, chunk_side, cover, cut, missing, tile_shape, tile_side

slots = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(np.array)


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


@given(mask=st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=8))
def test_blocks_cover_any_mask_exactly(mask):
    mask = np.array(mask)
    count = np.zeros(mask.shape, dtype=int)
    for block in cover(mask, symmetric=False):
        count[np.ix_(block.rows, block.cols)] += 1
    assert_array_equal(count, mask.astype(int))


@given(groups=st.lists(st.integers(0, 3), min_size=1, max_size=12), known=st.sets(st.integers(0, 15)))
def test_blocks_of_a_symmetric_mask_cover_each_pair_once(groups, known):
    """Masks as the engine leaves them: whole groups known to each other or not."""
    table = np.array([[(4 * min(a, b) + max(a, b)) not in known for b in range(4)] for a in range(4)])
    mask = table[np.ix_(groups, groups)]
    count = np.zeros(mask.shape, dtype=int)
    for block in cover(mask, symmetric=True):
        count[np.ix_(block.rows, block.cols)] += 1
        if not block.triangle:
            count[np.ix_(block.cols, block.rows)] += 1
    assert_array_equal(count, mask.astype(int))


@pytest.mark.parametrize("symmetric", [False, True])
@given(left=slots, right=slots, known=slots)
def test_each_missing_pair_is_in_one_block(symmetric, left, right, known):
    """Some pairs are known; slots may be repeated on either side."""
    table = np.ones((10, 10), dtype=bool)
    table[np.ix_(known, known)] = False
    found = missing(lambda rows, cols: table[np.ix_(rows, cols)], left, right, symmetric)
    count = np.zeros((10, 10), dtype=int)
    for rows, cols, triangle in found.blocks:
        pairs = np.ix_(found.left[rows], found.right[cols])
        count[pairs] += 1
        if symmetric and not triangle:
            count[pairs[::-1]] += 1
    asked = np.zeros((10, 10), dtype=bool)
    asked[np.ix_(left, right)] = True
    if symmetric:
        asked |= asked.T
        np.fill_diagonal(asked, False)
        np.fill_diagonal(count, 0)
        assert found.left is found.right
    assert_array_equal(count, asked & table)
    assert set(found.left) <= set(left) | (set(right) if symmetric else set())
