"""Surrogates: the regression's own predictions, gradients against differences, and degenerate evaluations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from kermes import Measures, ground
from kermes.optimization import EuclideanSurrogate, WassersteinSurrogate
from kermes.papers.gpm.regret import EquivalentSurrogate

Z = np.array([[0.0], [1.0], [3.0]])
SURROGATES = {
    "uniform": WassersteinSurrogate(),
    "scaled": WassersteinSurrogate(ground.Binary.from_cost(4.0)),
    "line": WassersteinSurrogate("euclidean"),
    "table": WassersteinSurrogate([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]]),
    "equivalent": EquivalentSurrogate(isotropic=False),
    "equivalent, one": EquivalentSurrogate(isotropic=True),
    "euclidean": EuclideanSurrogate(),
}


def evaluations(n=12, seed=0):
    A = np.random.default_rng(seed).dirichlet(np.ones(3), size=n)
    return A, np.sin(5 * A[:, 0]) + A[:, 1] ** 2


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("name", SURROGATES)
def test_predictions_are_those_of_the_regression(name, noise):
    A, y = evaluations()
    posterior = SURROGATES[name].fit(A, y, Z, noise, 0)
    new, _ = evaluations(7, 1)
    model, vectors = posterior.model, name in ("euclidean", "equivalent")
    inputs = new if vectors else Measures.from_histograms(new, Z)
    mean, std = model.predict(inputs, return_std=True)
    level = model.kernel_.k2.noise_level * model._y_train_std**2 if noise else 0.0
    got = posterior.predict(new)
    assert_allclose(got[0], mean, rtol=1e-7, atol=1e-9)
    assert_allclose(got[1] ** 2 + level, std**2, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", SURROGATES)
def test_gradients_against_differences(name):
    A, y = evaluations()
    posterior = SURROGATES[name].fit(A, y, Z, True, 0)
    new, _ = evaluations(6, 2)
    at, h = posterior.predict_with_gradients(new), 1e-6
    for along in ([1.0, -1.0, 0.0], [0.3, 0.7, -1.0]):
        (up, up_std), (down, down_std) = (posterior.predict(new + s * h * np.array(along)) for s in (1, -1))
        assert_allclose(at.mean_gradient @ along, (up - down) / (2 * h), rtol=1e-4, atol=1e-5)
        assert_allclose(at.std_gradient @ along, (up_std - down_std) / (2 * h), rtol=1e-4, atol=1e-5)


def test_the_euclidean_surrogate_is_scikit_learns_process():
    A, y = evaluations()
    posterior = EuclideanSurrogate().fit(A, y, None, False, 0)
    kernel = ConstantKernel(posterior.variance) * RBF(posterior.model.kernel_.k2.length_scale)
    theirs = GaussianProcessRegressor(kernel, alpha=1e-10 + posterior.model.jitter_, optimizer=None, normalize_y=True)
    new, _ = evaluations(7, 1)
    assert_allclose(posterior.predict(new)[0], theirs.fit(A, y).predict(new), rtol=1e-6)


def test_theorem_4_is_the_euclidean_process_under_another_name():
    A, y = evaluations()
    new, _ = evaluations(7, 1)
    one, other = (
        s.fit(A, y, Z, True, 0).predict(new) for s in (EquivalentSurrogate(isotropic=True), EuclideanSurrogate())
    )
    assert_allclose(one[0], other[0], atol=1e-3)
    assert_allclose(one[1], other[1], atol=1e-3)


@pytest.mark.parametrize("name", SURROGATES)
def test_constant_values_and_close_points_are_no_trouble(name):
    A, _ = evaluations(6)
    posterior = SURROGATES[name].fit(A, np.full(6, 3.0), Z, False, 0)
    mean, std = posterior.predict(np.eye(3))
    assert_allclose(mean, 3.0)
    assert (std > 0).all()
    close = np.concatenate([A, A + 1e-9 * np.array([1.0, -1.0, 0.0])])
    posterior = SURROGATES[name].fit(close, np.tile(np.arange(6.0), 2), Z, False, 0)
    at = posterior.predict_with_gradients(close)
    assert all(np.isfinite(part).all() for part in at)
    assert (at.std > 0).all()


def test_gradients_in_the_unit_of_the_posterior():
    A = np.random.default_rng(0).dirichlet(np.ones(3), size=6)
    squares = WassersteinSurrogate().fit(A, A[:, 0], None, False, 0).squares
    values, gradients = squares.with_gradients(A[:2], A)
    assert_allclose(squares(A[:2], A), values)
    unit = squares.factor
    assert_allclose(squares.squares.with_gradients(A[:2], A)[1] * unit, gradients)
