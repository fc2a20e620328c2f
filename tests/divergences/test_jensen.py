"""Functionals of one's own."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import concentration

from kermes import Engine, Measures, divergences, kernels, pairwise
from kermes.exceptions import InvalidParameterError, NumericalError


@dataclass(frozen=True)
class LogDet(divergences.Functional):
    """The generalised variance, once more."""

    eta: float = 0.1

    def value(self, points, weights):
        return concentration.covariance_log_det(points, weights, self.eta)


@dataclass(frozen=True)
class Convex(divergences.Functional):
    """Grows with concentration: not what a Jensen difference is made for."""

    def value(self, points, weights):
        return -float(weights @ (points**2).sum(axis=1)) + float(((weights @ points) ** 2).sum())


def test_a_functional_of_ones_own_is_the_built_in_one(clouds):
    X, Y = clouds(6, 2), clouds(4, 2, seed=1)
    mine, theirs = divergences.JensenDifference(LogDet()), divergences.GeneralizedVariance(0.1)
    assert_allclose(pairwise(X, Y, divergence=mine), pairwise(X, Y, divergence=theirs), atol=1e-7)
    assert_allclose(pairwise(X, divergence=mine), pairwise(X, divergence=theirs), atol=1e-7)
    assert_allclose(mine.concentration(X), theirs.concentration(X), atol=1e-12)
    assert_allclose(
        kernels.Semigroup(mine, 2.0, normalized=False)(X), kernels.IGV(0.1, normalized=False)(X), rtol=1e-10
    )


def test_the_mean_may_have_a_formula_of_its_own():
    class Counting(LogDet):
        def of_mean(self, points, weights, other_points, other_weights):
            return 7.0

    X = Measures.from_samples([[0.0], [1.0]])  # single atoms: h = 0
    J = pairwise(X, divergence=divergences.JensenDifference(Counting()), squared=True)
    assert_allclose(J, [[0.0, 7.0], [7.0, 0.0]])


def test_a_convex_functional_is_refused_as_a_distance(clouds):
    D = divergences.JensenDifference(Convex())
    with pytest.raises(NumericalError, match="negative"):
        pairwise(clouds(5, 2), divergence=D, engine=Engine(memo=False))
    assert (pairwise(clouds(5, 2), divergence=D, squared=True) <= 0).all()


def test_what_is_not_a_functional_is_named():
    with pytest.raises(InvalidParameterError, match="with the methods value and of_mean"):
        divergences.JensenDifference(np.linalg.det)
