"""Semigroup mixtures: the formula, the feature map, what is refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from tests.oracles import mixtures

from kermes import KernelFeatures, Measures, MixtureFeatures, kernels
from kermes.exceptions import InvalidParameterError, NumericalError, UnsuitableDataError
from kermes.kernels import Bumps, SemigroupMixture


def first(x):
    return x[:, 0] ** 2


def norm(x):
    return np.abs(x).sum(axis=1)


def ones(x):
    return np.ones(len(x))


FUNCTIONS, WEIGHTS = [first, norm, ones], [0.5, 2.0, 0.3]


def test_agrees_with_the_oracle(clouds):
    X = clouds(6, 2)
    K = SemigroupMixture(FUNCTIONS, WEIGHTS)(X)
    assert_allclose(K, [[mixtures.phi([mu, nu], FUNCTIONS, WEIGHTS) for nu in X] for mu in X], rtol=1e-12)


def test_functions_may_have_any_sign(clouds):
    """Corollary 12: exp(-mu[f]) is a semicharacter whatever the sign of f, if only it is finite."""
    functions = [lambda x: x[:, 0], lambda x: -norm(x), lambda x: np.sin(3 * x[:, 1])]
    X = clouds(20, 2)
    assert (functions[0](X.points) < 0).any()
    K = SemigroupMixture(functions, WEIGHTS)(X)
    assert_allclose(K, [[mixtures.phi([mu, nu], functions, WEIGHTS) for nu in X] for mu in X], rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * K.max()


def test_features_are_exact_and_separable(clouds):
    X, Y = clouds(6, 2), clouds(4, 2, seed=1)
    kernel = SemigroupMixture(FUNCTIONS, WEIGHTS)
    assert kernel.features(X).shape == (6, 3)
    assert_allclose(kernel.features(X) @ kernel.features(Y).T, kernel(X, Y), rtol=1e-13)
    assert_array_equal(kernel.features(X)[2:4], kernel.features(X[2:4]))


def test_one_call_for_all_functions_is_the_list_of_them(clouds):
    X = clouds(5, 2)
    together = SemigroupMixture(lambda x: np.stack([f(x) for f in FUNCTIONS], axis=1), WEIGHTS)
    assert_array_equal(together(X), SemigroupMixture(FUNCTIONS, WEIGHTS)(X))


def test_masses_are_kept():
    X = Measures.from_samples([[[1.0]], [[1.0]]], [[1.0], [3.0]])
    K = SemigroupMixture([ones])(X)
    assert_allclose(K, np.exp(-np.add.outer([1.0, 3.0], [1.0, 3.0])))


def test_the_sum_of_measures_is_the_semigroup_operation(clouds):
    """phi(mu + nu) depends on the sum only: k(mu + nu, rho) = k(mu, nu + rho)."""
    mu, nu, rho = clouds(3, 2)

    def plus(x, y):
        return Measures.from_samples([np.vstack([x.points, y.points])], [np.r_[x.weights, y.weights]])

    kernel = SemigroupMixture(FUNCTIONS, WEIGHTS)
    assert_allclose(kernel(plus(mu, nu), [rho]), kernel([mu], plus(nu, rho)), rtol=1e-13)


def test_hostile_measures():
    X = Measures.from_samples(
        [[[0.0, 0.0]], [[1e6, 1e6]], [[1.0, 2.0]] * 3, [[1.0, 2.0]]],
        [[1e-300], [1e6], [1e-9, 1.0, 1.0 - 1e-9], [2.0]],
    )
    kernel = SemigroupMixture(FUNCTIONS, WEIGHTS)
    K = kernel(X)
    assert np.isfinite(K).all()
    assert_allclose(K[0, 0], sum(WEIGHTS))  # next to no mass: every exponential is 1
    assert K[1].max() == 0.0  # everything far away
    assert_allclose(kernel.features(X)[2], kernel.features(X)[3], rtol=1e-14)


@pytest.mark.parametrize(
    ("functions", "weights", "error", "message"),
    [
        (FUNCTIONS, [1.0, -0.5, 1.0], InvalidParameterError, r"weights\[1\] is -0.5"),
        (FUNCTIONS, [1.0, np.nan, 1.0], InvalidParameterError, r"weights\[1\] is nan"),
        (FUNCTIONS, [1.0, 1.0], InvalidParameterError, r"each of the 3 functions; got shape \(2,\)"),
        ([], None, InvalidParameterError, "one function or more"),
        ([first, 3], None, InvalidParameterError, r"`functions\[1\]` must be a function"),
        ([ones, lambda x: x], None, InvalidParameterError, r"`functions\[1\]` must return .* \(n,\)"),
        ([lambda x: 1.0], None, InvalidParameterError, r"`functions\[0\]` must return"),
        (ones, None, InvalidParameterError, r"`functions` must return .* \(n, s\)"),
        (
            [ones, lambda x: 200 * x[:, 1]],
            None,
            NumericalError,
            r"`functions\[1\]` over measure 1 is -400, .*-300 or more",
        ),
        ([lambda x: -1e308 * x[:, 0]], None, NumericalError, r"`functions\[0\]` over measure 1 is -1e\+308"),
        ([lambda x: np.where(x[:, 1] > 3, np.nan, 1.0)], None, UnsuitableDataError, "it is nan at .* of measure 2"),
    ],
)
def test_what_is_refused(functions, weights, error, message):
    X = Measures.from_samples([[[0.0, 0.0]], [[0.0, 0.0], [1.0, -2.0]], [[1.0, 4.0]]])
    with pytest.raises(error, match=message):
        SemigroupMixture(functions, weights)(X)


def test_equality_clone_pickle_and_repr():
    kernel = SemigroupMixture(FUNCTIONS, np.array(WEIGHTS))
    assert clone(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert kernel == SemigroupMixture(tuple(FUNCTIONS), WEIGHTS)
    assert kernel != SemigroupMixture(FUNCTIONS[:2], WEIGHTS[:2])
    assert kernel != SemigroupMixture(FUNCTIONS)
    assert kernel != "SemigroupMixture"
    assert repr(kernel) == "SemigroupMixture(3 functions)"
    bumps = SemigroupMixture(Bumps([[0.0], [1.0]], 0.5))
    assert clone(bumps) == bumps
    assert bumps != SemigroupMixture(Bumps([[0.0], [1.0]], 0.6))
    assert repr(bumps) == "SemigroupMixture(Bumps(<2 centres>, width=0.5, height=1))"


def test_bumps(clouds):
    X = clouds(40, 2)
    bumps = Bumps.random(X, 30, seed=3)
    assert bumps == Bumps.random(X, 30, seed=3)
    assert hash(bumps) == hash(Bumps.random(X, 30, seed=3))
    assert bumps != Bumps.random(X, 30, seed=4)
    assert {tuple(c) for c in bumps.centres} <= {tuple(x) for x in X.points}
    integrals = [[w @ bumps(m.points)[:, i] for i in range(30)] for m, w in ((m, m.weights) for m in X)]
    assert_allclose(np.mean(integrals), 1.0, rtol=1e-12)
    peaks = np.diagonal(bumps(bumps.centres))
    assert_allclose(peaks, bumps.height)
    assert Bumps.random(np.zeros((3, 2)), 4).width == 1.0
    with pytest.raises(InvalidParameterError, match="`centres` must be"):
        Bumps([1.0, 2.0], 1.0)
    with pytest.raises(InvalidParameterError, match="`width` must be"):
        Bumps([[1.0]], 0.0)


def test_centres_are_drawn_by_weight():
    X = Measures.from_samples([[0.0, 1.0], [2.0]], [[1.0, 3.0], [1e-6]])
    centres = Bumps.random(X, 4000, seed=0).centres[:, 0]
    assert_allclose([np.mean(centres == x) for x in (0.0, 1.0, 2.0)], [0.125, 0.375, 0.5], atol=0.03)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return Measures.from_samples([(1 + 0.8 * label) * rng.normal(size=(40, 2)) for label in y]), y


def test_transformer_in_a_pipeline_and_a_search(problem):
    X, y = problem
    model = Pipeline([("features", MixtureFeatures(random_state=0)), ("linear", LogisticRegression(C=100))])
    search = GridSearchCV(model, {"features__n_components": [5, 50]}, cv=3).fit(X[:40], y[:40])
    assert search.score(X[40:], y[40:]) > 0.9
    names = search.best_estimator_[0].get_feature_names_out()
    assert names[0] == "mixturefeatures0"
    assert len(names) == search.best_params_["features__n_components"]


def test_transformer_with_a_kernel_of_ones_own_is_its_feature_map(problem):
    X, y = problem
    kernel = SemigroupMixture(FUNCTIONS, WEIGHTS)
    features = MixtureFeatures(kernel).fit(X[:40])
    assert_array_equal(features.transform(X[40:]), kernel.features(X[40:]))
    bumps = SemigroupMixture(Bumps.random(X, 5, width=1.0))
    assert SVC(kernel=bumps, C=100).fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.8
    assert KernelFeatures(bumps, tol=0.0).fit(X).n_components_ == 5  # the rank of the mixture


def test_transformer_refuses_other_kernels(problem):
    X, _ = problem
    with pytest.raises(InvalidParameterError, match="KernelFeatures"):
        MixtureFeatures(kernels.IGV(1.0)).fit(X)


@pytest.mark.parametrize("scale", [1e-170, 1e-140, 1e140, 1e170])
def test_widths_follow_the_scale_of_the_points(scale):
    points = np.random.default_rng(0).normal(size=(4, 6, 2))
    near = Bumps.random(Measures.from_samples(points), n=5)
    if 1e-150 < scale < 1e150:
        far = Bumps.random(Measures.from_samples(scale * points), n=5)
        assert_allclose(far.width, scale * near.width)
        assert_allclose(far.height, near.height)
    else:
        with pytest.raises(InvalidParameterError, match="scale the points"):
            Bumps.random(Measures.from_samples(scale * points), n=5)
