"""Slices of equal moments: mean and variance tell nothing, the shape does; the piece runs at toy size."""

from copy import deepcopy

import numpy as np
from numpy.testing import assert_allclose

from kermes.papers.kwd.methods import MEANS, of_equal_moments
from kermes.papers.kwd.run import PAPER

SIZES = {"n_scans": 4, "n_slices": 40, "n_noisy": 10}


def test_moments_are_drawn_alike_and_shapes_differ():
    textures = of_equal_moments(SIZES | {"n_slices": 2000, "n_noisy": 1000}, 0)
    assert textures.noisy.sum() == 1000
    means, spreads = textures.features.mean(axis=1), textures.features.std(axis=1)
    for values in (means, spreads):
        gap = values[textures.noisy].mean() - values[~textures.noisy].mean()
        assert abs(gap) < 4 * values.std() * np.sqrt(2 / 1000)
    assert_allclose(means.mean(), MEANS[0], atol=0.01)
    fourth = (((textures.features - means[:, None]) / spreads[:, None]) ** 4).mean(axis=1)
    assert np.median(fourth[textures.noisy]) < 1.5 < 2.5 < np.median(fourth[~textures.noisy])


def test_the_piece_runs_and_is_kept(tmp_path, monkeypatch):
    settings = deepcopy(PAPER.settings) | {"narrow_gammas": [1.0, 30.0], "rhos": [0.1], "linkages": ["average", "ward"]}
    settings |= {"shown": ["ward"], "quick": {"slices": SIZES, "equal_moments": [0, 1]}}
    monkeypatch.setattr(PAPER, "settings", settings)
    said = []
    summary = PAPER.reproduce("quick", tmp_path, ("equal_moments",), said.append)
    assert len(said) == 2
    tables = PAPER.tables("quick", summary)
    assert [len(table.rows) for table in tables] == [4, 4, 2, 2]
    assert all(list(found) == ["0", "1"] for found in summary["equal_moments"].values())  # every seed is searched
    assert all(row[-1].count(" / ") == 1 for table in tables[1:3] for row in table.rows)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    assert PAPER.reproduce("quick", tmp_path, ("equal_moments",), said.append) == summary
    assert len(said) == 2
