"""Arrangements of rows: each distinct one once, within blocks, p-values that count the observed one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import inference as oracle

from kermes.inference._permutations import Permutations, p_value


def made(codes, blocks, wanted=10**6):
    return Permutations(np.array(codes), np.array(blocks), wanted, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("codes", "blocks"),
    [
        ([0, 0, 1, 1, 2], [0] * 5),
        ([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2]),
        ([2, 0, 1, 1, 0, 1], [5, 1, 5, 1, 5, 1]),
        ([0, 1, 1], [0, 1, 1]),
        ([0, 1, 2, 3], [0, 0, 0, 0]),
    ],
)
def test_every_distinct_arrangement_once(codes, blocks):
    permutations = made(codes, blocks)
    rows = np.concatenate([np.empty((0, len(codes)), int), *permutations.batches(7)])
    wanted = set(oracle.distinct_labelings(tuple(codes), blocks)) - {tuple(codes)}
    assert len(rows) == permutations.number == permutations.distinct - 1 == len(wanted)
    assert {tuple(np.array(codes)[row].tolist()) for row in rows} == wanted
    assert (np.sort(rows, axis=1) == np.arange(len(codes))).all()
    assert (np.array(blocks)[rows] == blocks).all()


def test_random_permutations_stay_in_blocks_and_are_uniform():
    codes, blocks = np.arange(6), np.array([0, 1, 0, 1, 0, 2])
    assert made(codes, blocks, wanted=11).exhaustive
    assert not made(codes, blocks, wanted=10).exhaustive
    rows = np.concatenate(list(Permutations(codes, blocks, 10, np.random.default_rng(0)).batches(4)))
    assert rows.shape == (10, 6)
    assert (blocks[rows] == blocks).all()
    free = np.concatenate(list(made(np.arange(10), [0] * 10, 6000).batches(1000)))
    counts = np.array([np.bincount(column, minlength=10) for column in free.T])
    assert np.abs(counts - 600).max() < 5 * np.sqrt(600 * 0.9)


def test_large_studies_are_counted_without_being_listed():
    assert made(np.arange(300) % 2, np.zeros(300, int)).distinct > 10**80


def test_p_value_counts_the_observed_order_and_ties():
    assert_allclose(p_value(1.0, np.array([0.0, 1.0 - 1e-14, 1.0, 2.0]), 1e-10), 4 / 5)
    assert p_value(3.0, np.zeros(99), 1e-10) == 0.01
