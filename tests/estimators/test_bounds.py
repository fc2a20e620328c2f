"""Lower bounds of transport: below every exact distance, and not idle."""

import numpy as np
import pytest
from tests.oracles import transport

from kermes import Engine, Measures, datasets, divergences, ground, pairwise
from kermes.estimators._neighbors import _frames, bounds_of

FRESH = Engine(memo=False)


def far_and_wide(n, dim, seed=0):
    """Clouds of different places, shapes and sizes."""
    rng = np.random.default_rng(seed)
    return Measures.from_samples(
        [
            3 * rng.normal(size=dim) + rng.normal(size=(rng.integers(1, 12), dim)) * rng.uniform(0.1, 3, dim)
            for _ in range(n)
        ],
        None,
    )


@pytest.mark.parametrize("dim", [2, 3, 5])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_bounds_are_below_exact_transport(dim, p, clouds):
    W = divergences.Wasserstein(p)
    for X, Y in [(clouds(12, dim), clouds(8, dim, seed=1)), (far_and_wide(12, dim), far_and_wide(8, dim, 1))]:
        D, B = pairwise(Y, X, divergence=W, engine=FRESH), bounds_of(W, X)(Y)
        assert (B <= D).all()
        assert np.median(B / D) > 0.5
    assert D[0, 0] == pytest.approx(transport.wasserstein(Y[0], X[0], p))


@pytest.mark.parametrize("dim", [2, 4])
def test_bounds_of_translates_are_tight(dim):
    X, distances = datasets.make_translates(n=8, dim=dim)
    np.testing.assert_allclose(bounds_of(divergences.Wasserstein(2), X)(X), distances, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_bounds_are_below_entropic_transport(cost, tol, clouds):
    for dim in (1, 2):
        X, Y = clouds(15, dim), clouds(10, dim, seed=3)
        for epsilon in (0.3, 3.0):
            D = divergences.Sinkhorn(epsilon, cost=cost, tol=tol)
            assert (bounds_of(D, X)(Y) <= pairwise(Y, X, divergence=D, engine=FRESH)).all()


def test_bounds_far_from_the_origin(clouds):
    """Coordinates of 1e8 leave eight digits of the distances; bounds may not claim more."""
    X = clouds(15, 2)
    far = Measures.from_samples([m.points + 1e8 for m in X], [m.weights for m in X])
    W = divergences.Wasserstein(2)
    D = pairwise(far, divergence=W, engine=FRESH)
    assert (bounds_of(W, far)(far) <= D).all()
    assert bounds_of(W, far)(far).max() > 0.5 * D.max()


def test_only_transport_beyond_the_line_has_bounds(clouds):
    X = clouds(3, 2)
    for divergence in (
        divergences.SlicedWasserstein(),
        divergences.Wasserstein(cost=ground.Torus(1.0)),
        divergences.Wasserstein(cost="binary"),
        divergences.Sinkhorn(1.0, value="debiased"),
        divergences.Sinkhorn(1.0, value="regularized"),
        divergences.Sinkhorn(1.0, cost="torus"),
        divergences.MMD(ground.Gaussian(sigma=1.0)),
    ):
        assert bounds_of(divergence, X) is None
    assert bounds_of(divergences.Wasserstein(), clouds(3, 1)) is None


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_frames_are_orthonormal(dim):
    for frame in _frames(dim, 5):
        np.testing.assert_allclose(frame @ frame.T, np.eye(dim), atol=1e-12)
