"""MassWeighted: the law, the gradient, and what scikit-learn needs of a kernel."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kermes import Measures, divergences, kernels
from kermes.exceptions import NumericalError


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 6, 12)
    return Measures.from_samples([rng.normal(size=n) for n in sizes], [rng.uniform(0.5, 2.0, n) for n in sizes])


def inner(**kwargs):
    return kernels.Exponential(divergences.Wasserstein(), length_scale=0.7, **kwargs)


def test_entries_are_the_inner_kernel_times_both_masses(X):
    K = kernels.MassWeighted(inner())(X, X[:5])
    plain = inner()(X, X[:5])
    for i in range(len(X)):
        for j in range(5):
            assert K[i, j] == pytest.approx(X[i].mass * X[j].mass * plain[i, j])


def test_diagonal_and_symmetric_forms_agree(X):
    kernel = kernels.MassWeighted(inner())
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)))
    np.testing.assert_allclose(kernel(X), kernel(X, X))


@pytest.mark.parametrize("base", [inner(), ConstantKernel(2.0) * inner() + WhiteKernel(0.1)], ids=["one", "algebra"])
def test_gradient_against_finite_differences(X, base):
    kernel = kernels.MassWeighted(base)
    K, gradient = kernel(X, eval_gradient=True)
    assert gradient.shape == (*K.shape, len(kernel.theta))
    step = 1e-6
    for k in range(len(kernel.theta)):
        shift = step * np.eye(len(kernel.theta))[k]
        above, below = kernel.clone_with_theta(kernel.theta + shift), kernel.clone_with_theta(kernel.theta - shift)
        np.testing.assert_allclose(gradient[:, :, k], (above(X) - below(X)) / (2 * step), atol=1e-7)


def test_fixed_length_scale_has_no_gradient(X):
    _, gradient = kernels.MassWeighted(inner(length_scale_bounds="fixed"))(X, eval_gradient=True)
    assert gradient.shape == (12, 12, 0)


def test_parameters_are_visible_and_clonable():
    kernel = kernels.MassWeighted(inner())
    assert [h.name for h in kernel.hyperparameters] == ["kernel__length_scale"]
    assert kernel.bounds.shape == (1, 2)
    copy = clone(kernel)
    assert copy == kernel
    copy.set_params(kernel__length_scale=3.0)
    assert copy != kernel
    assert kernel.kernel.length_scale == 0.7
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert "MassWeighted(Exponential(" in repr(kernel)


def test_claims_follow_the_inner_kernel():
    assert kernels.MassWeighted(inner()).is_positive_definite(1) is True
    assert kernels.MassWeighted(WhiteKernel()).is_positive_definite(1) is None


def test_works_in_scikit_learn(X):
    y = X.masses * np.array([np.sin(2 * x.points.mean()) for x in X])
    model = GaussianProcessRegressor(kernels.MassWeighted(inner()), alpha=1e-6).fit(X, y)
    assert model.kernel_.theta[0] != np.log(0.7)  # tuned
    assert model.score(X, y) > 0.99
    labels = (y > np.median(y)).astype(int)
    svc = SVC(kernel=kernels.MassWeighted(inner()))
    search = GridSearchCV(svc, {"kernel__kernel__length_scale": [0.1, 1.0]}, cv=2).fit(X, labels)
    assert search.best_params_["kernel__kernel__length_scale"] in (0.1, 1.0)


def test_gradient_needs_one_collection(X):
    with pytest.raises(ValueError, match="Gradient can only be evaluated when Y is None"):
        kernels.MassWeighted(inner())(X, X, eval_gradient=True)


@pytest.mark.parametrize("mass", [1e200, 1e-200])
def test_products_of_masses_that_are_no_numbers_are_refused(mass):
    X, kernel = Measures.from_samples([[0.0], [1.0]], [[mass], [mass]]), kernels.MassWeighted(inner())
    for call in (kernel, kernel.diag, lambda Z: kernel(Z, eval_gradient=True)):
        with pytest.raises(NumericalError, match="MassWeighted multiplies masses"):
            call(X)
