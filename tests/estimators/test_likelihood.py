"""The lean likelihood is scikit-learn's, value and gradient."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from kermes import MeasureGPRegressor, Measures, divergences, kernels

W = divergences.Wasserstein(p=2)
E = kernels.Exponential(W, 0.7)
KERNELS = {
    "usual": ConstantKernel(1.3) * E + WhiteKernel(0.1),
    "bare": E + WhiteKernel(0.1),
    "other power": ConstantKernel(2.0) * kernels.Exponential(W, 0.7, power=1.0) + WhiteKernel(0.2),
    "fixed constant": ConstantKernel(1.3, "fixed") * E + WhiteKernel(0.1),
    "fixed length": ConstantKernel(1.3) * kernels.Exponential(W, 0.7, length_scale_bounds="fixed") + WhiteKernel(0.1),
    "fixed noise": ConstantKernel(1.3) * E + WhiteKernel(0.1, "fixed"),
    "reversed": WhiteKernel(0.1) + E * ConstantKernel(1.3),
    "sum of two": ConstantKernel(1.3) * E + 0.5 * kernels.Exponential(divergences.SlicedWasserstein(), 2.0)
    + WhiteKernel(0.1),
    "noise inside": ConstantKernel(1.3) * (E + WhiteKernel(0.1)),
    "product": kernels.Exponential(W, 0.5) * kernels.Exponential(W, 0.9) + WhiteKernel(0.1),
    "semigroup": ConstantKernel(1.3) * kernels.IGV(0.5) + WhiteKernel(0.1),
}  # fmt: skip


def data(n=25, outputs=None):
    rng = np.random.default_rng(0)
    X = Measures.from_samples([rng.normal(rng.normal(), 1.0, size=6) for _ in range(n)])
    return X, rng.normal(size=n if outputs is None else (n, outputs))


def fitted(regressor, kernel, y, X, alpha=1e-8):
    return regressor(kernel, alpha=alpha, optimizer=None).fit(X, y)


@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_it_is_scikit_learns(name, outputs):
    X, y = data(outputs=outputs)
    mine, theirs = (fitted(r, KERNELS[name], y, X) for r in (MeasureGPRegressor, GaussianProcessRegressor))
    rng = np.random.default_rng(1)
    for _ in range(3):
        theta = mine.kernel_.theta + rng.uniform(-0.5, 0.5, size=mine.kernel_.n_dims)
        value, found = mine.log_marginal_likelihood(theta, eval_gradient=True)
        expected, gradient = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        assert value == pytest.approx(expected, rel=1e-12)
        assert_allclose(found, gradient, rtol=1e-12, atol=1e-12 * np.abs(gradient).max())
        assert mine.log_marginal_likelihood(theta) == value


def test_on_vectors_with_alpha_for_each_sample():
    X = np.random.default_rng(2).normal(size=(20, 3))
    y = np.sin(X[:, 0])
    kernel = ConstantKernel(1.3) * RBF([1.0, 2.0, 0.7]) + WhiteKernel(0.1)
    alpha = np.linspace(0.01, 0.1, 20)
    mine, theirs = (fitted(r, kernel, y, X, alpha) for r in (MeasureGPRegressor, GaussianProcessRegressor))
    value, found = mine.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    expected, gradient = theirs.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-12)
    assert_allclose(found, gradient, rtol=1e-11)


def test_the_fitted_kernel_stays_as_it_is():
    X, y = data()
    model = MeasureGPRegressor(KERNELS["usual"]).fit(X, y)
    before = model.kernel_.theta.copy()
    model.log_marginal_likelihood(before + 0.3, eval_gradient=True)
    assert_array_equal(model.kernel_.theta, before)
    assert model._held is None
    again = pickle.loads(pickle.dumps(model))
    assert again.log_marginal_likelihood(before) == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-12)


def test_another_fit_forgets_the_first():
    X, y = data()
    model = MeasureGPRegressor(KERNELS["usual"], n_restarts_optimizer=1, random_state=0).fit(X[:10], y[:10])
    fresh = clone(model).fit(X, y)
    assert_array_equal(model.fit(X, y).kernel_.theta, fresh.kernel_.theta)


def test_a_kernel_without_gradients_needs_none():
    class Plain(RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            assert not eval_gradient
            return super().__call__(X, Y)

    X = np.random.default_rng(2).normal(size=(9, 2))
    kernel = ConstantKernel(2.0) * Plain() + WhiteKernel(0.1)
    mine, theirs = (fitted(r, kernel, X[:, 0], X) for r in (MeasureGPRegressor, GaussianProcessRegressor))
    assert mine.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-12)
