"""A divergence may take several routes to the same number; they agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences import euclidean as euclidean_module
from kermes.exceptions import InvalidParameterError, UnsuitableDataError

ENGINE = Engine("serial", memo=False)


def test_equal_uniform_measures_are_vectors_of_quantiles():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(6, 7))
    fast = Measures.from_samples(samples)
    merged = Measures.from_samples(samples, [np.full(7, 0.3)] * 5 + [np.r_[np.full(6, 0.3), 0.3 + 1e-15]])
    for p in (1, 2, 2.5):
        W = divergences.Wasserstein(p=p)
        assert W.context(fast, fast)
        assert not W.context(merged, merged)
        assert_allclose(
            pairwise(fast, divergence=W, engine=ENGINE), pairwise(merged, divergence=W, engine=ENGINE), rtol=1e-12
        )


def test_mmd_on_a_grid_equals_mmd_on_points():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 3, size=(6, 5, 4))
    X = Measures.from_images(images)
    free = Measures.from_samples([m.points for m in X], [m.weights for m in X])
    for kernel in (ground.Gaussian(sigma=2.0), ground.Laplacian(0.3)):
        D = divergences.MMD(kernel)
        assert D.context(X, X) is not None
        assert D.context(free, free) is None
        assert_allclose(
            pairwise(X, divergence=D, engine=ENGINE), pairwise(free, divergence=D, engine=ENGINE), atol=1e-8
        )


def test_euclidean_dense_equals_sparse(monkeypatch):
    rng = np.random.default_rng(0)
    X = Measures.from_histograms(rng.integers(0, 2, size=(6, 30)) + np.eye(6, 30), np.arange(30))
    D = divergences.Euclidean()
    dense = pairwise(X, divergence=D, engine=ENGINE)
    assert D.context(X, X).dense
    monkeypatch.setattr(euclidean_module, "DENSE_FACTOR", 0.0)
    assert not D.context(X, X).dense
    assert_allclose(pairwise(X, divergence=D, engine=ENGINE), dense, rtol=1e-14)


def test_euclidean_is_the_distance_of_normalised_pixels():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 4, size=(5, 6, 6)) + 1
    flat = images.reshape(5, -1) / images.sum(axis=(1, 2))[:, None]
    expected = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    X = Measures.from_images(images)
    assert_allclose(pairwise(X, divergence=divergences.Euclidean(), engine=ENGINE), expected, atol=1e-15)


def test_precomputed_looks_up():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=-1)
    rows = np.array([[4], [0], [5]])
    divergence = divergences.Precomputed(D)
    assert_allclose(pairwise(rows, divergence=divergence), D[np.ix_([4, 0, 5], [4, 0, 5])])
    assert divergence == divergences.Precomputed(D.copy())
    assert hash(divergence) == hash(divergences.Precomputed(D.copy()))
    assert divergence != divergences.Precomputed(D + 1 - np.eye(6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: divergences.Wasserstein(p=0.5), "`p` must be a finite number of at least 1"),
        (lambda: divergences.Wasserstein(p=np.nan), "`p` must be a finite number"),
        (lambda: divergences.Wasserstein(cost="euclidian"), "Did you mean 'euclidean'"),
        (lambda: divergences.MMD("gaussian"), "`ground` must be a point kernel"),
        (lambda: divergences.Precomputed(np.ones((2, 3))), "square"),
        (lambda: divergences.Precomputed([[0, np.nan], [np.nan, 0]]), r"entry \(0, 1\) is nan"),
        (lambda: divergences.Precomputed([[0, 1], [2, 0]]), "symmetric with a zero diagonal"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


@pytest.mark.parametrize(
    ("X", "divergence", "message"),
    [
        (np.array([[0.5]]), divergences.Precomputed(np.zeros((2, 2))), "row numbers"),
        (np.array([[0], [2]]), divergences.Precomputed(np.zeros((2, 2))), "measure 1 is row 2"),
    ],
)
def test_unsuitable_data(X, divergence, message):
    with pytest.raises(UnsuitableDataError, match=message):
        pairwise(X, divergence=divergence, engine=ENGINE)


def test_dimensions_must_agree():
    with pytest.raises(UnsuitableDataError, match="`X` has points of dimension 2, `Y` of dimension 3"):
        pairwise(np.eye(2), np.eye(3), divergence=divergences.Euclidean())
