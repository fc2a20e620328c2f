"""Laws that every kernel obeys, over every case and dimension."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from tests.cases import KERNELS, each_dim

cases = pytest.mark.parametrize(("case", "dim"), **each_dim(KERNELS))


def assert_slice(kernel, expected, found):
    """Same bits, from the memo; values of single measures, in kernels that are not normalised, are computed anew."""
    if getattr(kernel, "normalized", True):
        assert_array_equal(found, expected)
    else:
        assert_allclose(found, expected, rtol=1e-13)


@cases
def test_auto_equals_cross_and_diag(case, dim, clouds):
    X = clouds(7, dim)
    K = case.kernel(X)
    assert_array_equal(K, case.kernel(X, X))
    assert_slice(case.kernel, K[:3, 3:], case.kernel(X[:3], X[3:]))
    assert_allclose(np.diagonal(K), case.kernel.diag(X), rtol=1e-12)
    assert_array_equal(K, K.T)


@cases
def test_object_arrays_and_views_give_the_same(case, dim, clouds):
    X = clouds(5, dim)
    K = case.kernel(X)
    assert_array_equal(K, case.kernel(np.asarray(X)))
    assert_slice(case.kernel, K[::2], case.kernel(list(X)[::2], X))


@cases
def test_gradient_matches_finite_differences(case, dim, clouds):
    X = clouds(6, dim)
    kernel = case.kernel
    K, gradient = kernel(X, eval_gradient=True)
    assert_array_equal(K, kernel(X))
    assert gradient.shape == (6, 6, len(kernel.theta))
    step = 1e-6
    for i in range(len(kernel.theta)):
        shift = np.eye(len(kernel.theta))[i] * step
        up = kernel.clone_with_theta(kernel.theta + shift)(X)
        down = kernel.clone_with_theta(kernel.theta - shift)(X)
        assert_allclose(gradient[..., i], (up - down) / (2 * step), atol=1e-7)


@cases
def test_positive_semidefinite_if_proved(case, dim, clouds):
    X = clouds(25, dim, seed=5)
    assert case.kernel.is_positive_definite(dim), "every kernel listed here is proved positive definite"
    for factor in (0.1, 1.0, 10.0) if case.scale else (1.0,):
        kernel = clone(case.kernel)
        if case.scale:
            kernel.set_params(**{case.scale: factor * getattr(kernel, case.scale)})
        K = kernel(X)
        assert np.linalg.eigvalsh(K).min() > -1e-9 * K.max()


@cases
def test_gram_matrices_are_fresh(case, dim, clouds):
    X = clouds(4, dim)
    K = case.kernel(X)
    expected = K.copy()
    K += 1.0  # what GaussianProcessRegressor does with alpha
    assert_array_equal(case.kernel(X), expected)


@cases
def test_clone_equality_pickle_and_algebra(case, dim, clouds):
    kernel = case.kernel
    assert clone(kernel) == kernel
    copied = clone(kernel).get_params()
    for name, value in kernel.get_params().items():
        if hasattr(value, "__sklearn_clone__"):  # frozen values are kept, and with them what the engine remembers
            assert copied[name] is value
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    X = clouds(4, dim)
    combined = ConstantKernel(2.0) * kernel + WhiteKernel(0.5)
    assert_allclose(combined(X), 2.0 * kernel(X) + 0.5 * np.eye(4))
    assert not kernel.is_stationary()
    assert not combined.requires_vector_input
