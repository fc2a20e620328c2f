"""Fewer atoms for each measure: k-means cells, and atoms that are spread."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Measures, divergences, pairwise
from kermes.exceptions import InvalidParameterError
from kermes.measures import _quantize

RANDOM = np.random.default_rng(0)
SIZES = [3, 200, 90, 400]
X = Measures.from_samples(
    [RANDOM.normal(size=(m, 2)) for m in SIZES], [RANDOM.exponential(size=m) + 0.01 for m in SIZES]
)


def to_the_measures(Y):
    """W_2 from each measure to its replacement."""
    return np.array([pairwise(X[[i]], Y[[i]], divergence=divergences.Wasserstein())[0, 0] for i in range(len(X))])


@pytest.mark.parametrize(
    "fewer", [lambda X: X.quantize(20), lambda X: X.subsample(20, how="spread")], ids=["quantize", "spread"]
)
def test_masses_are_kept_and_slicing_commutes(fewer):
    Y = fewer(X)
    assert list(Y.sizes) == [3, 20, 20, 20]
    assert_allclose(Y.masses, X.masses)
    assert_array_equal(Y[0].points, X[0].points)
    for rows in ([3, 1], slice(1, 3)):
        part = fewer(X[rows])
        assert_array_equal(part.points, Y[rows].points)
        assert_array_equal(part.weights, Y[rows].weights)


def test_quantized_measures_are_means_of_cells():
    Y = X.quantize(20)
    assert_allclose(Y.expectation(Y.points), X.expectation(X.points), atol=1e-12)
    variances = X.expectation(X.points**2) - Y.expectation(Y.points**2)
    assert (variances.sum(axis=1) >= to_the_measures(Y) ** 2 - 1e-12).all()
    assert (Y.quantize(20).points == Y.points).all()


def test_both_are_nearer_than_a_random_draw_and_k_means_is_nearest():
    gaps = {
        "quantize": np.mean([to_the_measures(X.quantize(20, seed))[1:] for seed in range(3)]),
        "spread": np.mean([to_the_measures(X.subsample(20, seed, "spread"))[1:] for seed in range(3)]),
        "random": np.mean([to_the_measures(X.subsample(20, seed))[1:] for seed in range(3)]),
    }
    assert gaps["quantize"] < 0.8 * gaps["spread"] < 0.8 * 0.8 * gaps["random"]


def test_integrals_of_spread_atoms_have_the_right_expectation_and_less_variance():
    one = X[[3]]
    draws = {
        how: np.array([Y.expectation(Y.points)[0] for Y in (one.subsample(10, seed, how) for seed in range(500))])
        for how in ("spread", "random")
    }
    error = 4 * draws["spread"].std(axis=0) / np.sqrt(500)
    assert (np.abs(draws["spread"].mean(axis=0) - one.expectation(one.points)[0]) < error).all()
    assert (draws["spread"].var(axis=0) < 0.5 * draws["random"].var(axis=0)).all()


def test_large_clouds_are_sampled(monkeypatch):
    whole = to_the_measures(X.quantize(10))
    monkeypatch.setattr(_quantize, "POINTS_PER_ATOM", 5)
    monkeypatch.setattr(_quantize, "BLOCK", 16)
    assert (to_the_measures(X.quantize(10)) < 1.2 * whole + 1e-12).all()


def test_repeated_points_and_heavy_atoms():
    Y = Measures.from_samples([[1.0, 2.0, 2.0, 1.0, 3.0]], [[1.0, 1.0, 2.0, 1.0, 1e9]])
    Q = Y.quantize(3)
    assert_array_equal(Q.points.ravel(), [1.0, 2.0, 3.0])
    assert_array_equal(Q.weights, [2.0, 3.0, 1e9])
    S = Y.subsample(2, how="spread")
    assert len(S.points) == 2
    assert S.points.max() == 3.0
    assert_allclose(S.masses, Y.masses)
    images = Measures.from_images(RANDOM.uniform(0.1, 1.0, (2, 5, 5)))
    assert images.subsample(4, how="spread").support is images.support
    assert images.quantize(4).support is None


def test_errors_name_the_rule():
    with pytest.raises(InvalidParameterError, match="`n_atoms` must be an integer of at least 1"):
        X.quantize(0)
    with pytest.raises(
        InvalidParameterError, match=r"`how` must be one of 'random', 'spread'; got 'spred'\..*Did you mean"
    ):
        X.subsample(3, how="spred")


@pytest.mark.parametrize("scale", [2.0**520, 2.0**1000, 2.0**-600])
def test_spread_atoms_at_any_scale(scale):
    """Squares overflow and vanish there; cells are those of the same points in another unit."""
    points = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 3.0]
    near, far = (Measures.from_samples([points * unit]).subsample(7, how="spread") for unit in (1.0, scale))
    assert_array_equal(far.points, near.points * scale)
    assert_array_equal(far.weights, near.weights)
