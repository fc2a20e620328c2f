"""Pictures: they hold the right data, in the right place, without warnings and without a display."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Measures, datasets, ground, inspection, plot
from kermes.exceptions import InvalidParameterError, MissingDependencyError, UnsuitableDataError
from kermes.measures import mean_measure

pytest.importorskip("matplotlib")
KERNEL = ground.Gaussian(sigma=0.15)


@pytest.fixture(scope="module")
def digits():
    X = datasets.load_digits()[:30].measures(spacing="unit")
    return [X[1], X[0], mean_measure(X[1], X[0])]


def drawn(figure):
    """Return the panels that are not colour bars, and render everything."""
    figure.canvas.draw()
    return [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]


def test_eigenfunctions_are_those_of_the_spectrum(digits):
    figure = plot.eigenfunctions(digits, KERNEL, 2, titles=["one", "zero", "mean"])
    panels = drawn(figure)
    assert len(panels) == 6
    grid = digits[0].support.points
    limits = set()
    for j, measure in enumerate(digits):
        spectrum = inspection.covariance_spectrum(measure, KERNEL, 2)
        for i in range(2):
            image = panels[3 * i + j].images[0]
            assert_allclose(image.get_array(), spectrum.evaluate(grid)[i].reshape(8, 8), rtol=1e-12)
            assert f"{spectrum.eigenvalues[i]:.3g}" in panels[3 * i + j].get_title()
            limits.add(image.get_clim())
    assert len(limits) == 1  # one scale
    assert panels[0].get_title().startswith("one")
    assert panels[0].get_ylim()[0] > panels[0].get_ylim()[1]  # rows downwards


def test_eigenfunctions_of_clouds_point_up():
    """The value under each pixel is the eigenfunction there; the second measure has no second eigenfunction."""
    X = Measures.from_samples([[[0.0, 0.0], [4.0, 1.0], [1.0, 0.5]], [[1.0, 0.0], [1.0, 1.0]]])
    panels = drawn(plot.eigenfunctions(X, ground.Gaussian(sigma=1.0), 2, resolution=40))
    assert not panels[3].images
    assert not panels[3].axison
    image = panels[0].images[0]
    left, right, bottom, top = image.get_extent()
    assert top > bottom
    values = np.asarray(image.get_array())
    h, w = values.shape
    assert w == 40
    spectrum = inspection.covariance_spectrum(X[0], ground.Gaussian(sigma=1.0))
    for row, col in [(0, 0), (h - 1, 3), (5, w - 1)]:
        point = [left + (col + 0.5) * (right - left) / w, top - (row + 0.5) * (top - bottom) / h]
        assert_allclose(values[row, col], spectrum.evaluate([point])[0, 0], atol=1e-12)


def test_weighted_pca_shows_atoms_mean_and_axes(digits):
    panels = drawn(plot.weighted_pca(digits, ["one", "zero", "mean"]))
    for panel, measure in zip(panels, digits, strict=True):
        pca = inspection.weighted_pca(measure)
        dots = panel.collections[0]
        assert_allclose(dots.get_offsets(), measure.points[:, ::-1])  # column to the right, row downwards
        assert_allclose(dots.get_sizes() / dots.get_sizes().max(), measure.weights / measure.weights.max())
        first, second, mean = (np.transpose(line.get_data())[..., ::-1] for line in panel.lines)
        assert_allclose(mean[0], pca.mean)
        for line, variance in ((first, pca.variances[0]), (second, pca.variances[1])):
            assert_allclose(line.mean(axis=0), pca.mean)
            assert_allclose(np.linalg.norm(line[1] - line[0]), 2 * np.sqrt(variance))
        assert f"{pca.variances[0]:.3g}" in panel.get_xlabel()
        assert panel.get_ylim()[0] > panel.get_ylim()[1]


def test_gram_sorts_by_class_and_separates():
    rng = np.random.default_rng(0)
    K = rng.random((7, 7))
    labels = np.array(["b", "a", "b", "c", "a", "b", "b"])
    axes = plot.gram(K, labels)
    axes.figure.canvas.draw()
    order = [1, 4, 0, 2, 5, 6, 3]
    assert_array_equal(axes.images[0].get_array(), K[np.ix_(order, order)])
    assert axes.images[0].get_clim() == (0.0, 1.0)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b", "c"]
    assert_allclose(axes.get_xticks(), [0.5, 3.5, 6.0])
    assert_allclose(sorted({line.get_xdata()[0] for line in axes.lines[1::2]}), [1.5, 5.5])
    plain = plot.gram(3 * K - 1)
    assert_array_equal(plain.images[0].get_array(), 3 * K - 1)
    assert plain.images[0].get_clim() == ((3 * K - 1).min(), (3 * K - 1).max())


def test_given_axes_are_used(digits):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2)
    assert plot.gram(np.eye(3), ax=axes[0, 0]) is axes[0, 0]
    assert plot.weighted_pca(digits[0], axes=axes[0, 1]) is figure
    assert plot.eigenfunctions(digits[:2], KERNEL, 1, axes=axes[1]) is figure
    assert all(axis.images for axis in axes[1])
    with pytest.raises(InvalidParameterError, match="`axes` must hold 4 x 3 axes"):
        plot.eigenfunctions(digits, KERNEL, axes=axes)


def test_degenerate_measures():
    dirac = Measures.from_samples([[[1.0, 2.0]]])
    drawn(plot.weighted_pca(dirac))
    drawn(plot.eigenfunctions(dirac, KERNEL, 2))


def test_what_is_refused(digits):
    with pytest.raises(InvalidParameterError, match="`measures` must be a measure"):
        plot.weighted_pca(np.zeros((3, 2)))
    with pytest.raises(InvalidParameterError, match="one measure or more"):
        plot.weighted_pca([])
    with pytest.raises(UnsuitableDataError, match="dimension 3"):
        plot.weighted_pca(Measures.from_samples([np.zeros((2, 3))]))
    with pytest.raises(InvalidParameterError, match="`titles` must hold 3 names"):
        plot.weighted_pca(digits, ["one"])
    with pytest.raises(InvalidParameterError, match="`K` must be a square matrix"):
        plot.gram(np.zeros((2, 3)))
    with pytest.raises(InvalidParameterError, match="finite"):
        plot.gram([[np.nan]])
    with pytest.raises(InvalidParameterError, match="`labels` must hold 2 classes"):
        plot.gram(np.eye(2), [1])


def test_matplotlib_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[plot\]"):
        plot.gram(np.eye(2))
