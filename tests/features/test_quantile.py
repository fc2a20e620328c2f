"""Quantile and sliced features against transport itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import transport

from kermes import Measures, divergences, pairwise
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.features import QuantileFeatures, SlicedFeatures


def distances(F):
    return np.linalg.norm(F[:, None] - F[None], axis=-1)


def numbers(sizes, seed=0, dim=1):
    rng = np.random.default_rng(seed)
    return Measures.from_samples([rng.normal(size=(size, dim)) for size in sizes])


def mean_quantiles(measure, n, steps):
    """Mean quantiles over n cells by the definition, at many midpoints; ``steps`` per cell."""
    order = np.argsort(measure.points[:, 0])
    cumulative = np.cumsum(measure.weights[order]) / measure.mass
    levels = (np.arange(n * steps) + 0.5) / (n * steps)
    return measure.points[order, 0][np.searchsorted(cumulative, levels)].reshape(n, steps).mean(axis=1)


def test_means_over_cells_are_the_definition():
    X = Measures.from_samples([[3.0, 0.0, 1.0], [2.0, 5.0], [4.0]], weights=[[1, 2, 2], [3, 1], [7]])
    F = QuantileFeatures(n_quantiles=3).fit_transform(X)
    for row, measure in zip(F, X, strict=True):
        assert_allclose(row, mean_quantiles(measure, 3, 20) / np.sqrt(3), atol=1e-14)  # jumps at k / 5 and k / 4


def test_exact_for_the_levels_of_the_training_measures(clouds):
    X = clouds(12, 1)
    F = QuantileFeatures(n_quantiles=None).fit_transform(X)
    expected = [[transport.wasserstein(mu, nu, 2) for nu in X] for mu in X]
    assert_allclose(distances(F), expected, atol=1e-7)


def test_exact_for_equally_heavy_atoms():
    X = numbers([4, 8, 2, 1, 8])
    for n in (8, 24):
        features = QuantileFeatures(n_quantiles=n)
        F = features.fit_transform(X)
        assert_allclose(distances(F), pairwise(X, divergence=divergences.Wasserstein()), atol=1e-12)
        assert_allclose(features.error_bounds(X), 0.0, atol=1e-7)


def test_sliced_features_are_exact_with_the_slices_of_the_divergence():
    X = numbers([3, 6, 2], dim=3)
    SW = divergences.SlicedWasserstein(n_slices=11, seed=5)
    F = SlicedFeatures(n_slices=11, n_quantiles=None, seed=5).fit_transform(X)
    assert F.shape == (3, 11 * 6)
    assert_allclose(distances(F), pairwise(X, divergence=SW), atol=1e-12)


@pytest.mark.parametrize(
    ("features", "divergence", "dim"),
    [
        (QuantileFeatures(7), divergences.Wasserstein(), 1),
        (SlicedFeatures(9, 5, seed=2), divergences.SlicedWasserstein(n_slices=9, seed=2), 2),
        (SlicedFeatures(9, 1), divergences.SlicedWasserstein(n_slices=9), 4),
    ],
)
def test_error_bounds_hold(features, divergence, dim, clouds):
    X = clouds(30, dim)
    gaps = pairwise(X, divergence=divergence, squared=True) - distances(features.fit_transform(X)) ** 2
    e = features.error_bounds(X)
    assert gaps.min() > -1e-12
    assert (gaps <= e[:, None] ** 2 + e[None] ** 2 + 1e-12).all()
    assert gaps.max() > 0.05  # there was something to bound
    # The rest has its norm by definition: features of a constant lose nothing, so that the gap to it is e itself.
    if divergence == divergences.Wasserstein():
        zero = pairwise(X, Measures.from_samples([[0.0]]), divergence=divergence, squared=True)[:, 0]
        assert_allclose(e**2, zero - (features.transform(X) ** 2).sum(axis=1), atol=1e-12)
        reach = np.ptp(X.points)
        assert e.max() <= reach / (2 * np.sqrt(7))


def test_in_the_plane_quantiles_are_those_of_the_marginals(clouds):
    X = clouds(10, 2)
    F = QuantileFeatures(n_quantiles=None).fit_transform(X)
    marginals = [Measures.from_samples([m.points[:, k] for m in X], [m.weights for m in X]) for k in range(2)]
    expected = sum(pairwise(Z, divergence=divergences.Wasserstein(), squared=True) for Z in marginals)
    assert_allclose(distances(F) ** 2, expected, atol=1e-10)
    assert (distances(F) <= pairwise(X, divergence=divergences.Wasserstein()) + 1e-10).all()


def test_streams_give_the_levels_of_the_whole():
    X = numbers([2, 3, 5, 4, 1])
    whole = QuantileFeatures(None).fit(X)
    streamed = QuantileFeatures(None)
    for batch in (X[:2], X[2:3], X[3:]):
        streamed.partial_fit(batch)
    assert_allclose(streamed.levels_, whole.levels_)
    assert_allclose(streamed.fit(X[:1]).levels_, [0.5, 1.0])  # fit forgets


def test_chunks_do_not_change_the_features(clouds):
    X = clouds(40, 2)
    features = SlicedFeatures(6, 4).fit(X)
    F, e = features.transform(X), features.error_bounds(X)
    features._batch = 100.0
    np.testing.assert_array_equal(features.transform(X), F)
    np.testing.assert_array_equal(features.error_bounds(X), e)


@pytest.mark.parametrize("features", [QuantileFeatures(9), SlicedFeatures(5, 9)])
def test_single_precision_rounds_once(features, clouds):
    X = clouds(20, 1)
    F = features.fit_transform(X)
    single = features.set_params(dtype="float32").fit_transform(X)
    assert single.dtype == np.float32
    assert_allclose(single, F, rtol=6e-8)


def test_masses_scale_and_order_of_atoms_do_not_matter():
    a = Measures.from_samples([[1.0, 2.0, 4.0]], [[1.0, 2.0, 1.0]])
    b = Measures.from_samples([[4.0, 2.0, 1.0, 2.0]], [[3.0, 3.0, 3.0, 3.0]])
    features = QuantileFeatures(5).fit(a)
    assert_allclose(features.transform(a), features.transform(b), atol=1e-15)


def test_far_away_measures_keep_their_differences():
    X = numbers([5, 7, 3])
    far = Measures.from_samples([m.points + 1e9 for m in X])
    e = QuantileFeatures(4).fit(X)
    assert_allclose(e.error_bounds(far), e.error_bounds(X), atol=1e-6)


def test_too_many_levels_are_refused():
    rng = np.random.default_rng(0)
    X = Measures.from_samples(rng.normal(size=(50, 100)), rng.random((50, 100)))
    with pytest.raises(UnsuitableDataError, match="jump at 4951 levels, more than 4096"):
        QuantileFeatures(n_quantiles=None).fit(X)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (QuantileFeatures(0), "`n_quantiles` must be an integer of at least 1; got 0. Or None."),
        (QuantileFeatures(dtype="int"), "`dtype` must be one of 'float64', 'float32'"),
        (SlicedFeatures(0), "`n_slices` must be an integer of at least 1"),
        (SlicedFeatures(seed=-1), "`seed` must be an integer of at least 0"),
    ],
)
def test_bad_parameters(features, message):
    with pytest.raises(InvalidParameterError, match=message):
        features.fit(numbers([2, 3]))


def test_other_dimension_is_refused(clouds):
    with pytest.raises(
        UnsuitableDataError, match="`X` has points of dimension 3, the training measures of dimension 2"
    ):
        SlicedFeatures(3, 3).fit(clouds(5, 2)).transform(clouds(5, 3))


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e290])
def test_features_and_error_bounds_at_any_scale(scale):
    """Each measure in units of its own; squares of what is left out vanished, and with them the bounds."""
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(n, 2)) for n in (5, 8)]
    near, far = (Measures.from_samples([by * points[0], points[1]]) for by in (1.0, scale))
    for features in (SlicedFeatures(4, n_quantiles=3), QuantileFeatures(3)):
        features.fit(near)
        assert_allclose(features.transform(far)[0], scale * features.transform(near)[0], rtol=1e-12)
        assert_allclose(features.transform(far)[1], features.transform(near)[1])
        assert_allclose(features.error_bounds(far), features.error_bounds(near) * [scale, 1.0])
