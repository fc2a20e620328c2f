"""The Matern kernel: scikit-learn's on points, the formula on distances, what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gamma, kv
from sklearn.gaussian_process import kernels as theirs
from sklearn.svm import SVC

from kermes import Measures, divergences, ground, kernels, pairwise
from kermes.exceptions import InvalidParameterError, NumericalError

NUS = (0.5, 1.5, 2.5)


@pytest.mark.parametrize("nu", NUS)
def test_on_diracs_it_is_that_of_scikit_learn(nu):
    points = np.random.default_rng(0).normal(size=(9, 3))
    ours = kernels.Matern(divergences.MMD(ground.Linear()), 0.7, nu)
    K, gradient = ours(points, eval_gradient=True)
    expected, derivative = theirs.Matern(0.7, nu=nu)(points, eval_gradient=True)
    # Distances of near points are differences of inner products.
    assert_allclose(K, expected, rtol=1e-7)
    assert_allclose(gradient, derivative, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("nu", NUS)
def test_formula_with_the_bessel_function(clouds, nu):
    X = clouds(6, 1)
    D = pairwise(X, divergence=divergences.Wasserstein())
    s = np.sqrt(2 * nu) * D[np.triu_indices(6, 1)] / 0.4
    expected = 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s)
    K = kernels.Matern(divergences.Wasserstein(), 0.4, nu)(X)
    assert_allclose(K[np.triu_indices(6, 1)], expected, rtol=1e-12)
    assert_array_equal(np.diagonal(K), 1.0)


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("length_scale", [1e-320, 1e-200, 1e200])
def test_extreme_length_scales_have_their_limits(nu, length_scale):
    X = Measures.from_samples([[0.0], [1.0], [1e150]])
    K, gradient = kernels.Matern(divergences.Wasserstein(), length_scale, nu)(X, eval_gradient=True)
    assert_allclose(K, np.eye(3) if length_scale < 1 else np.ones((3, 3)))
    assert_allclose(gradient, 0.0, atol=1e-40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length_scale": 0.0}, "`length_scale` must be a finite number greater than 0; got 0.0"),
        ({"nu": 1.0}, "`nu` must be 0.5, 1.5 or 2.5; got 1.0. Exponential has"),
        ({"nu": "rough"}, "`nu` must be 0.5, 1.5 or 2.5; got 'rough'"),
    ],
)
def test_bad_parameters(options, message, clouds):
    with pytest.raises(InvalidParameterError, match=message):
        kernels.Matern(divergences.Euclidean(), **options)(clouds(3, 2))


def test_what_else_is_refused(clouds):
    with pytest.raises(InvalidParameterError, match="not the class"):
        SVC(kernel=kernels.Matern).fit(clouds(4, 1), [0, 0, 1, 1])
    negative = divergences.Sinkhorn(2.0, cost="euclidean", value="regularized")
    with pytest.raises(NumericalError, match=r"Sinkhorn\(.* is negative, .*, and has no Matern kernel"):
        kernels.Matern(negative)(Measures.from_samples([[0.0, 1.0], [0.3, 1.9], [5.0, 6.0]]))


def test_definiteness_is_unknown_where_nothing_is_proved():
    assert kernels.Matern(divergences.Wasserstein(), nu=2.5).is_positive_definite(1) is True
    assert kernels.Matern(divergences.Wasserstein(p=1), nu=0.5).is_positive_definite(1) is True
    assert kernels.Matern(divergences.Wasserstein(p=1), nu=1.5).is_positive_definite(1) is None
    assert kernels.Matern(divergences.Precomputed(np.zeros((2, 2)))).is_positive_definite(1) is None
    assert repr(kernels.Matern(divergences.Euclidean(), 0.12345)) == "Matern(Euclidean(), length_scale=0.123, nu=1.5)"
