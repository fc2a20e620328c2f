"""Matrices that are filled from the first row to the last, while what is prepared is freed."""

import mmap
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences import _base
from kermes.engine._bands import Bands
from kermes.engine._tiling import Batch, Block, cut

DIVERGENCES = [divergences.SlicedWasserstein(n_slices=20), divergences.MMD(ground.Gaussian(sigma=1.0))]


def tiles(n, side):
    return [Batch(tile, (side, side)) for tile in cut(Block(np.arange(n), np.arange(n), True), (side, side))]


@pytest.mark.parametrize("divergence", DIVERGENCES, ids=repr)
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_freed_rows_change_nothing(monkeypatch, divergence, executor):
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(300, 40, 2)))
    expected = pairwise(X, divergence=divergence, engine=Engine("serial"))  # remembered: nothing is freed
    monkeypatch.setattr(_base, "RELEASABLE", 0)
    freed = []

    class Pages(mmap.mmap):
        def madvise(self, *options):
            freed.extend(options[1:])  # where, and how much
            super().madvise(*options)

    monkeypatch.setattr(mmap, "mmap", Pages)
    D = pairwise(X, divergence=divergence, engine=Engine(executor, workers=2, tile=40, memo=False))
    assert_array_equal(D, pairwise(X, divergence=divergence, engine=Engine("serial", tile=40)))
    np.testing.assert_allclose(D, expected, atol=1e-7)
    assert freed or not hasattr(mmap, "MADV_DONTNEED")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is freed, or not at once")
def test_rows_are_freed(monkeypatch):
    monkeypatch.setattr(_base, "RELEASABLE", 0)
    array = _base.releasable((64, 512))
    array[:] = 1.0
    _base.release_rows(array.reshape(64, -1), 10)
    assert not array[:8].any()
    assert array[10:].all()
    _base.release_rows(np.ones((4, 4)), 2)  # of another array: nothing


def test_bands_are_finished_in_turn():
    batches, finished = tiles(10, 4), []
    bands = Bands(batches, lambda top, bottom: finished.append((top, bottom)))
    for batch in batches[3:] + batches[:3]:
        bands.begin(batch.block)
        bands.done(batch.block)
    assert finished == [(0, 4), (4, 8), (8, 10)]
    with pytest.raises(RuntimeError, match="finished"):
        bands.begin(batches[0].block)
