"""Random Fourier features against MMD."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import Measures, divergences, ground, pairwise
from kermes.exceptions import InvalidParameterError
from kermes.features import RandomFourierFeatures


def by_loops(X, frequencies):
    """The definition, atom by atom."""
    rows = []
    for measure in X:
        waves = [np.concatenate([np.cos(x @ frequencies), np.sin(x @ frequencies)]) for x in measure.points]
        rows.append(measure.weights @ np.array(waves) / measure.mass / np.sqrt(frequencies.shape[1]))
    return np.array(rows)


def test_features_are_the_definition(clouds):
    X = clouds(9, 3)
    features = RandomFourierFeatures(ground.Gaussian(sigma=0.7), 13, random_state=0).fit(X)
    assert_allclose(features.transform(X), by_loops(X, features.frequencies_), atol=1e-14)


@pytest.mark.parametrize("kernel", [ground.Gaussian(sigma=0.8), ground.Gaussian(gamma=0.3), ground.Laplacian(0.6)])
def test_inner_products_are_those_of_the_point_kernel(kernel, clouds):
    X = clouds(15, 2)
    F = RandomFourierFeatures(kernel, 40_000, random_state=0).fit_transform(X)
    K = np.array([[a.weights @ kernel(a.points, b.points) @ b.weights / a.mass / b.mass for b in X] for a in X])
    assert np.abs(F @ F.T - K).max() < 4 / np.sqrt(40_000)  # four standard errors
    squared = ((F[:, None] - F[None]) ** 2).sum(axis=-1)
    assert_allclose(squared, pairwise(X, divergence=divergences.MMD(kernel), squared=True), atol=0.04)


def test_a_shared_support_and_chunks_change_nothing():
    rng = np.random.default_rng(0)
    H, bins = rng.random((20, 6)) * (rng.random((20, 6)) < 0.7) + 0.01, rng.normal(size=(6, 2))
    X = Measures.from_histograms(H, bins)
    features = RandomFourierFeatures(ground.Laplacian(), 8, random_state=1).fit(X)
    F = features.transform(X)
    assert_allclose(F, by_loops(X, features.frequencies_), atol=1e-14)
    for batch in (100.0, 20.0):  # six points with 16 features each: the support fits, then it does not
        features._batch = batch
        assert_allclose(features.transform(X), F, atol=1e-15)


def test_clouds_beyond_a_batch_are_taken_in_pieces(clouds, monkeypatch):
    X = clouds(9, 3)
    features = RandomFourierFeatures(ground.Gaussian(sigma=0.7), 13, random_state=0).fit(X)
    largest = []
    monkeypatch.setattr(
        features, "_waves", lambda points, waves=features._waves: largest.append(len(points)) or waves(points)
    )
    features._batch = 3 * 26
    assert_allclose(features.transform(X), by_loops(X, features.frequencies_), atol=1e-14)
    assert max(largest) == 3 < X.sizes.max()


def test_default_sigma_is_the_spread_of_the_atoms_in_any_batches(clouds):
    X = clouds(30, 2)
    centre = X.expectation(X.points).mean(axis=0)
    spread = np.sqrt(np.mean([(m.weights / m.mass) @ ((m.points - centre) ** 2).sum(axis=1) for m in X]))
    streamed = RandomFourierFeatures(n_components=5, random_state=0)
    for batch in (X[:1], X[1:20], X[20:]):
        streamed.partial_fit(batch)
    whole = RandomFourierFeatures(n_components=5, random_state=0).fit(X)
    assert whole.ground_.sigma == pytest.approx(spread, rel=1e-12)
    assert streamed.ground_.sigma == pytest.approx(spread, rel=1e-12)
    assert_allclose(streamed.transform(X), whole.transform(X), atol=1e-12)
    assert RandomFourierFeatures().fit(np.ones((3, 2))).ground_.sigma == 1.0


def test_seed_and_single_precision(clouds):
    X = clouds(8, 2)
    F = RandomFourierFeatures(n_components=6, random_state=3).fit_transform(X)
    np.testing.assert_array_equal(RandomFourierFeatures(n_components=6, random_state=3).fit_transform(X), F)
    single = RandomFourierFeatures(n_components=6, random_state=3, dtype="float32").fit_transform(X)
    assert single.dtype == np.float32
    assert_allclose(single, F, rtol=6e-8)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            RandomFourierFeatures(ground.Linear()),
            "`ground` must be a ground.Gaussian, a ground.Laplacian or None; got L",
        ),
        (RandomFourierFeatures(n_components=0), "`n_components` must be an integer of at least 1"),
    ],
)
def test_bad_parameters(features, message, clouds):
    with pytest.raises(InvalidParameterError, match=message):
        features.fit(clouds(3, 2))
