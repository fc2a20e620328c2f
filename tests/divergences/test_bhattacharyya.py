"""Bhattacharyya distances: integrals, both routes, hostile measures."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm
from tests.oracles import gaussians

from kermes import Engine, Measures, divergences, ground, kernels, pairwise
from kermes.exceptions import InvalidParameterError, NumericalError

ENGINE = Engine("serial", memo=False)


def squared(X, eta, kernel, Y=None):
    return pairwise(X, Y, divergence=divergences.Bhattacharyya(kernel, eta), engine=ENGINE, squared=True)


@pytest.mark.parametrize("eta", [0.01, 1.0])
def test_is_the_integral_of_the_root_of_the_densities(eta):
    rng = np.random.default_rng(0)
    X = Measures.from_samples([rng.normal(size=4), 1.0 + 0.3 * rng.normal(size=3), [0.5]])
    K = kernels.Bhattacharyya(ground.Linear(), eta)(X)
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        p, q = (norm(m.points.mean(), np.sqrt(m.points.var() + eta)) for m in (X[i], X[j]))
        affinity = quad(lambda t, p=p, q=q: np.sqrt(p.pdf(t) * q.pdf(t)), -12, 12, points=[p.mean(), q.mean()])[0]
        assert_allclose(K[i, j], affinity, rtol=1e-7)


def test_both_routes_agree(clouds):
    """(<x, y> + 0)^1 is the linear kernel, by atoms instead of moments."""
    X = clouds(8, 3)
    by_atoms = squared(X, 0.2, ground.Polynomial(degree=1, coef0=0.0))
    assert_allclose(by_atoms, squared(X, 0.2, ground.Linear()), rtol=1e-11, atol=1e-13)


def test_linear_ground_does_not_see_translations(clouds):
    X = clouds(6, 2)
    far = Measures.from_samples([m.points + 1e6 for m in X], [m.weights for m in X])
    assert_allclose(squared(far, 0.2, ground.Linear()), squared(X, 0.2, ground.Linear()), rtol=1e-8, atol=1e-9)


def test_two_points_and_their_mean_violate_the_triangle_inequality():
    """The closed form of the docstring, and with it the claim."""
    for kernel in (ground.Gaussian(sigma=0.5), ground.Linear(), ground.Laplacian(1.0)):
        for eta in (0.01, 0.3, 5.0):
            X = Measures.from_samples([[0.0], [1.0], [0.0, 1.0]])
            K = kernel([[0.0], [1.0]])
            s = (K[0, 0] + K[1, 1] - 2 * K[0, 1]) / (8 * eta)
            D = squared(X, eta, kernel)
            to_mean = s / (4 * (1 + s)) + np.log1p(s) / 2 - np.log1p(2 * s) / 4
            assert_allclose(D[0], [0.0, s, to_mean], rtol=1e-9)
            assert D[0, 1] > 4 * D[0, 2]
        assert divergences.Bhattacharyya(kernel, 1.0).claims(2).metric is False


HOSTILE = {
    "one atom each": [[[0.0, 0.0]], [[0.1, 0.0]]],
    "repeated atoms": [[[0.0, 0.0]] * 5, [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]],
    "ragged": [[[0.3, 0.1]], np.random.default_rng(0).normal(size=(40, 2))],
    "far apart": [np.random.default_rng(1).normal(size=(5, 2)), 1e3 + np.random.default_rng(2).normal(size=(4, 2))],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_hostile_measures(name, spread):
    weights = [spread ** np.linspace(0, 1, len(points)) for points in HOSTILE[name]]
    X = Measures.from_samples(HOSTILE[name], weights)
    for eta in (1e-3, 1.0, 1e3):
        value = squared(X, eta, ground.Gaussian(sigma=0.7))[0, 1]
        expected = gaussians.bhattacharyya(*X, lambda x, y: np.exp(-((x - y) @ (x - y)) / 0.98), eta) ** 2
        assert_allclose(value, expected, rtol=1e-9, atol=1e-11)


def test_lost_precision_is_an_error_not_a_number():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(2, 30, 2)))
    with pytest.raises(NumericalError, match="no finite value"):
        squared(X, 1e-25, ground.Polynomial(degree=2))


def test_parameters():
    with pytest.raises(InvalidParameterError, match="`eta` must be"):
        divergences.Bhattacharyya(ground.Linear(), 0.0)
    with pytest.raises(InvalidParameterError, match="`ground` must be"):
        divergences.Bhattacharyya("gaussian", 1.0)
    kernel = kernels.Bhattacharyya(ground.Linear(), 0.5)
    assert repr(kernel) == "Bhattacharyya(Linear(), eta=0.5)"
    with pytest.raises(InvalidParameterError, match="`eta` must be"):
        kernel.set_params(eta=-1.0)(np.zeros((2, 1)))
