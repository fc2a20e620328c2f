"""Mixtures with one measure: atoms, the regularisation of `skm` 4.2, what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import Measures, divergences, kernels
from kermes.exceptions import InvalidMeasureError, InvalidParameterError

RHO = Measures.from_samples([[[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]]], weights=[[1.0, 1.0, 3.0, 3.0]])


def test_integrals_are_mixed(clouds):
    X = clouds(6, 2)
    Z = X.mixed_with(RHO, 0.3)
    assert_allclose(Z.masses, 1.0)
    assert_allclose(Z.expectation(Z.points**2), 0.3 * X.expectation(X.points**2) + 0.7 * RHO.expectation(RHO.points**2))
    part = X[2:4].mixed_with(RHO[:1], 0.3)
    assert_allclose(part.points, Z[2:4].points)
    assert_allclose(part.weights, Z[2:4].weights)


def test_the_alternative_regularisation_of_skm(clouds):
    """1 / det S(lambda (mu + nu) / 2 + (1 - lambda) rho), also for measures of one atom; normalised, and as printed."""
    X, share = Measures.concatenate([clouds(4, 2), Measures.from_samples([[[3.0, 1.0]]])]), 0.8
    assert X.sizes.min() < 3  # no covariance of its own

    def det(mu, nu):
        points = np.concatenate([mu.points, nu.points, RHO.points])
        halves = [share * m.weights / m.mass / 2 for m in (mu, nu)]
        weights = np.concatenate([*halves, (1 - share) * RHO.weights / RHO.weights.sum()])
        return np.linalg.det(np.cov(points.T, aweights=weights, bias=True))

    dets = np.array([[det(mu, nu) for nu in X] for mu in X])
    laplace = divergences.ExponentialFamily("gaussian")
    Z = X.mixed_with(RHO, share)
    assert_allclose(kernels.Semigroup(laplace, normalized=False)(Z) * (2 * np.pi * np.e) ** 2, 1 / dets, rtol=1e-10)
    own = np.sqrt(np.diagonal(dets))
    assert_allclose(kernels.Semigroup(laplace)(Z), own[:, None] * own / dets, rtol=1e-10)


def test_a_weight_of_one_only_normalises(clouds):
    X = clouds(3, 2)
    Z = X.mixed_with(RHO, 1.0)
    assert_allclose(Z.points, X.points)
    assert_allclose(Z.weights, X.probabilities)


def test_what_is_refused(clouds):
    X = clouds(3, 2)
    for weight in (0.0, 1.1, np.nan):
        with pytest.raises(InvalidParameterError, match="weight"):
            X.mixed_with(RHO, weight)
    with pytest.raises(InvalidMeasureError, match="one measure; got 3"):
        X.mixed_with(X, 0.5)
    with pytest.raises(InvalidMeasureError, match="dimension 1"):
        X.mixed_with(Measures.from_samples([[0.0]]), 0.5)
