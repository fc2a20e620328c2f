"""Kept distances are those of `pairwise`, to the bit; a pair that was computed once is not computed again."""

import numpy as np
import pytest

from kermes import Engine, datasets, divergences, kernels, pairwise
from kermes.papers.wek import data, distances
from kermes.papers.wek.distances import Distances, LookUp, by_number, remove_distances

SIZES = {"train": 9, "validation": 5, "test": 4}
W = divergences.Sinkhorn(0.4, cost="euclidean", value="transport")


@pytest.fixture(autouse=True)
def few_digits(monkeypatch):
    digits = datasets.load_digits()
    monkeypatch.setitem(data._POOLS, "few", lambda: (digits[:20], digits[20:30]))
    monkeypatch.setattr(distances, "STEP", 4)  # the last chunk of the training images is not full


@pytest.fixture
def counted(monkeypatch):
    pairs = []

    def counting(X, Y, **how):
        D, info = pairwise(X, Y, return_info=True, **how)
        pairs.append(info.n_evaluated)
        return D

    monkeypatch.setattr(distances, "pairwise", counting)
    return pairs


def of(folder, split, divergence=W):
    return Distances(folder, "few", divergence, split.pool_size, Engine("serial", memo=False)).of(split)


def direct(split, divergence=W, **how):
    parts = (split.train, split.validation, split.test)
    return np.concatenate([pairwise(p.measures, split.train.measures, divergence=divergence, **how) for p in parts])


def test_repetitions_share_pairs_and_no_bit_changes(tmp_path, counted):
    for repetition in range(3):
        split = data.draw("few", SIZES, repetition)
        np.testing.assert_array_equal(of(tmp_path, split), direct(split))
        all_pairs = 9 * 8 // 2 + 9 * 9
        assert sum(counted) == all_pairs if repetition == 0 else 0 < sum(counted) < all_pairs
        counted.clear()
        of(tmp_path, split)
        assert sum(counted) == 0


def test_an_interrupted_matrix_goes_on(tmp_path, counted, monkeypatch):
    split = data.draw("few", SIZES, 0)
    counting, calls = distances.pairwise, []

    def interrupted(X, Y, **how):
        calls.append(0)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return counting(X, Y, **how)

    monkeypatch.setattr(distances, "pairwise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        of(tmp_path, split)
    np.testing.assert_array_equal(of(tmp_path, split), direct(split))
    assert sum(counted) == 9 * 8 // 2 + 9 * 9


def test_signed_values_and_other_divergences_have_tables_of_their_own(tmp_path):
    split = data.draw("few", SIZES, 0)
    printed = divergences.Sinkhorn(40.0, cost="sqeuclidean", value="regularized")
    of(tmp_path, split)
    values = of(tmp_path, split, printed)
    np.testing.assert_allclose(values, direct(split, printed, squared=True), rtol=1e-6)
    assert values.min() < 0
    assert len(list(tmp_path.iterdir())) == 8
    remove_distances(tmp_path, "few")
    assert list(tmp_path.iterdir()) == []


def test_numbers_stand_for_images(tmp_path):
    split = data.draw("few", SIZES, 0)
    numbered, looked_up = by_number(split), LookUp(of(tmp_path, split), W)
    of_images, of_numbers = (kernels.MassWeighted(kernels.Exponential(d, 2.0)) for d in (W, looked_up))
    for part in ("train", "validation", "test"):
        images, numbers = getattr(split, part).measures, getattr(numbered, part).measures
        np.testing.assert_array_equal(
            of_numbers(numbers, numbered.train.measures), of_images(images, split.train.measures)
        )
    assert looked_up.claims(1).negative_type is None
    assert not looked_up.signed
