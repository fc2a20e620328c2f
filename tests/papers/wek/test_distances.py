"""Kept distances are those of `pairwise`, to the bit; a pair that was computed once is not computed again."""

import numpy as np
import pytest

from kermes import Engine, datasets, divergences, kernels, pairwise
from kermes.papers.wek import data, distances
from kermes.papers.wek.distances import Distances, LookUp, by_number, remove_distances

SIZES = {"train": 9, "validation": 5, "test": 4}
W = divergences.Sinkhorn(0.4, cost="euclidean", value="transport")
ENGINE = Engine("serial", memo=False)


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
    return Distances(folder, "few", divergence, split.pool_size, ENGINE).of(split)


def direct(split, divergence=W, **how):
    """Return all values at once, those of two images of the pool in the order of their numbers."""
    train, validation, test = (part[np.argsort(part.rows)] for part in (split.train, split.validation, split.test))

    def between(X, Y):
        return pairwise(X.measures, Y.measures, divergence=divergence, engine=ENGINE, **how)

    among = np.zeros((len(train.rows),) * 2)  # in one call, views are compared in the order of what they are views of
    for i in range(len(train.rows) - 1):
        among[i, i + 1 :] = between(train[[i]], train[i + 1 :])[0]
    first = validation.rows[:, np.newaxis] < train.rows
    mixed = np.where(first, between(validation, train), between(train, validation).T)
    found = [among + among.T, mixed, between(test, train)]
    columns = np.argsort(np.argsort(split.train.rows))
    parts = (split.train, split.validation, split.test)
    return np.concatenate([D[np.argsort(np.argsort(p.rows))][:, columns] for p, D in zip(parts, found, strict=True)])


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
    kernel = kernels.MassWeighted(kernels.Exponential(looked_up, 2.0))
    parts = ("train", "validation", "test")
    found = [kernel(getattr(numbered, part).measures, numbered.train.measures) for part in parts]
    masses = np.concatenate([getattr(split, part).measures.masses for part in parts])
    expected = masses[:, np.newaxis] * split.train.measures.masses * np.exp(-(direct(split) ** 2) / 8.0)
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-12)
    assert looked_up.claims(1).negative_type is None
    assert not looked_up.signed
