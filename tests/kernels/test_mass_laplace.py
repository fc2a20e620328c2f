"""The Laplace kernel of measures with masses of their own: the formula, equal masses, what is refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.oracles import exponential_families as oracle

from kermes import Measures, divergences, kernels
from kermes.exceptions import InvalidParameterError, NumericalError, UnsuitableDataError
from kermes.kernels import MassLaplace

rng = np.random.default_rng(0)
SIZES = (5, 9, 20, 7)
CLOUDS = Measures.from_samples([rng.normal(size=(n, 2)) + n for n in SIZES], [rng.uniform(0.1, 2.0, n) for n in SIZES])
BINS = Measures.from_histograms(rng.integers(0, 4, size=(5, 6)) + np.eye(5, 6), np.arange(6.0))
CASES = {
    "gaussian": (CLOUDS, oracle.gaussian, 5),
    "gaussian-diagonal": (CLOUDS, oracle.diagonal_gaussian, 4),
    "multinomial": (BINS, oracle.shannon, 5),
}
each = pytest.mark.parametrize("family", CASES)


@each
def test_agrees_with_the_oracle(family):
    X, entropy, n_parameters = CASES[family]
    K = MassLaplace(family)(X)
    assert_allclose(K, [[oracle.mass_laplace(mu, nu, entropy, n_parameters) for nu in X] for mu in X], rtol=1e-11)
    assert np.ptp(X.masses) > 1
    assert_array_equal(K, K.T)
    assert_array_equal(K[1:3], MassLaplace(family)(X[1:3], X))
    assert_allclose(MassLaplace(family).diag(X), np.diagonal(K), rtol=1e-12)


@each
def test_with_equal_masses_it_is_equation_2(family):
    X = CASES[family][0]
    equal = X.mixed_with(X[:1], 1.0)  # masses of 1
    if family == "multinomial":
        H = np.zeros((5, 6))
        H[np.repeat(np.arange(5), X.sizes), X.atoms] = X.probabilities
        equal = Measures.from_histograms(H, np.arange(6.0))
    expected = kernels.Semigroup(divergences.ExponentialFamily(family, beta=3.0))(X)
    assert_allclose(MassLaplace(family, beta=3.0)(equal), expected, rtol=1e-11)


def test_less_mass_makes_measures_more_alike_until_it_is_forgotten():
    """A light measure is hardly known, so it is near everything; but its share of the sum vanishes with it."""
    points = np.array([-1.0, 1.0])

    def k(a, b):
        return MassLaplace()(Measures.from_samples([points, points + 3.0], [np.full(2, a), np.full(2, b)]))[0, 1]

    assert k(5.0, 5.0) < k(0.5, 0.5) < k(0.05, 0.05)
    assert k(5.0, 0.0005) < 0.02  # the second factor: 2 sqrt(10 / 1000) / 10


def test_is_a_kernel_of_scikit_learn_and_claims_nothing():
    kernel = MassLaplace("gaussian", 0.5)
    assert clone(kernel) == kernel == pickle.loads(pickle.dumps(kernel))
    assert repr(kernel) == "MassLaplace('gaussian', beta=0.5)"
    assert kernel.is_positive_definite(2) is None
    _, gradient = kernel(CLOUDS, eval_gradient=True)
    assert gradient.shape == (4, 4, 0)


def test_what_is_refused():
    with pytest.raises(InvalidParameterError, match="Did you mean 'gaussian'"):
        MassLaplace("gausian")(CLOUDS)
    with pytest.raises(InvalidParameterError, match="beta"):
        MassLaplace(beta=0.0)(CLOUDS)
    with pytest.raises(UnsuitableDataError, match="singular covariance"):
        MassLaplace()(Measures.from_samples([[0.0, 0.0], [1.0, 2.0]]))
    with pytest.raises(UnsuitableDataError):
        MassLaplace("multinomial")(CLOUDS)
    with pytest.raises(UnsuitableDataError, match="same support"):
        MassLaplace("multinomial")(BINS, Measures.from_histograms(np.eye(6), np.arange(6.0) + 0.5))


@pytest.mark.parametrize("family", ["gaussian", "gaussian-diagonal", "multinomial"])
@pytest.mark.parametrize(("mass", "same"), [(1e-100, 1e-170), (1e-100, 1e-300), (1e100, 1e160), (1e100, 1e290)])
def test_masses_whose_products_are_no_numbers(family, mass, same):
    """Their roots are multiplied: the diagonal was 0 below 1e-162 and infinite above 1e154."""
    H = np.array([[1.0, 1.0, 1.0], [0.5, 0.5, 1.0]])
    K, other = (MassLaplace(family)(Measures.from_histograms(H * m, [0.0, 1.0, 5.0])) for m in (mass, same))
    assert_allclose(other, K, rtol=1e-12)
    assert_allclose(np.diagonal(other), 1.0)


@pytest.mark.parametrize(("mass", "beta"), [(8e307, 1.0), (1.0, 1e308), (1e200, 1e200)])
def test_masses_that_are_too_large_are_refused(mass, beta):
    X = Measures.from_samples([[0.0, 1.0], [2.0, 5.0]], [[mass, mass], [mass, mass]])
    with pytest.raises(NumericalError, match=r"too much for a number\. Choose a smaller beta"):
        MassLaplace("gaussian", beta)(X)
