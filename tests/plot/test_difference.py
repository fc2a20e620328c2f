"""Displays of differences: one for each kind of data."""

import numpy as np

from kermes import Measures, plot


def drawn(X):
    display = plot.DifferenceDisplay.from_measures(X, np.repeat(["a", "b"], 6), n_permutations=49, random_state=0)
    assert display.ax_.get_title().startswith("b minus a: p = ")
    return display.ax_


def test_every_kind():
    rng = np.random.default_rng(0)
    images = rng.uniform(size=(12, 4, 5))
    images[6:, 2, 2] += 5
    assert drawn(Measures.from_images(images)).images
    assert len(drawn(Measures.from_histograms(images[:, 0], np.arange(5.0))).patches) == 5
    assert drawn(Measures.from_samples(list(rng.normal(size=(12, 7))))).get_ylabel() == "witness function"
    assert drawn(Measures.from_samples(list(rng.normal(size=(12, 7, 2))))).collections
    assert "chance" in drawn(Measures.from_samples(list(rng.normal(size=(12, 7, 4))))).get_xlabel()
