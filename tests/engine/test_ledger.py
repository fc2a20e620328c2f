import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kermes.engine._tiling import cover, missing

slots = st.lists(st.integers(0, 9), min_size=1, max_size=12).map(np.array)


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
