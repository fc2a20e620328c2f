"""Streaming machines against the batch ones: the same solution, whatever the batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.frozen import FrozenEstimator
from tests.estimators.cases import clouds, euclidean

from kermes import (
    KernelFeatures,
    LSSVMClassifier,
    LSSVMRegressor,
    StreamingLSSVMClassifier,
    StreamingLSSVMRegressor,
)
from kermes.estimators._streaming import Moments
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.features import SlicedFeatures
from kermes.measures import chunks


def core(X, n_core=15):
    return FrozenEstimator(KernelFeatures(euclidean(), n_core=n_core, random_state=0).fit(X))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("size", [1, 13, 100])
def test_the_solution_is_that_of_the_batch(n_classes, multiclass, size):
    X, y = clouds(90, n_classes)
    batch = LSSVMClassifier(euclidean(), 7.0, "primal", n_core=15, multiclass=multiclass, random_state=0).fit(X, y)
    stream = StreamingLSSVMClassifier(core(X), gamma=7.0, multiclass=multiclass)
    for part, labels in chunks(X, y, size=size):
        stream.partial_fit(part, labels, classes=np.arange(n_classes))
    assert_allclose(stream.coef_, batch.coef_, atol=1e-10)
    assert_allclose(stream.intercept_, batch.intercept_, atol=1e-10)
    assert_allclose(stream.decision_function(X), batch.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(stream.predict(X), batch.predict(X))
    whole = StreamingLSSVMClassifier(core(X), 7.0, multiclass, chunk_size=size).fit(X, y)
    assert_allclose(whole.coef_, batch.coef_, atol=1e-10)


@pytest.mark.parametrize("size", [1, 13, 100])
def test_regression_is_that_of_the_batch(size):
    X, _ = clouds(60)
    y = 1e3 + X.expectation(X.points)[:, 0]
    batch = LSSVMRegressor(euclidean(), 5.0, "primal", n_core=15, random_state=0).fit(X, y)
    stream = StreamingLSSVMRegressor(core(X), gamma=5.0)
    for part, values in chunks(X, y, size=size):
        stream.partial_fit(part, values)
    assert_allclose(stream.coef_, batch.coef_, atol=1e-10)
    assert_allclose(stream.predict(X), batch.predict(X), rtol=1e-12)


def test_more_features_than_samples():
    """The batch then solves the dual system; the solution is the same."""
    X, y = clouds(20, 2)
    features = FrozenEstimator(KernelFeatures(euclidean(), tol=1e-9).fit(clouds(60, seed=5)[0]))
    F = features.transform(X)
    assert F.shape[1] > len(F)
    stream = StreamingLSSVMClassifier(features, gamma=3.0).fit(X, y)
    A = np.block([[F @ F.T + np.eye(20) / 3.0, np.ones((20, 1))], [np.ones((1, 20)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.append(2.0 * y - 1.0, 0.0))
    assert_allclose(stream.coef_[:, 0], F.T @ solution[:-1], atol=1e-10)
    assert_allclose(stream.intercept_, solution[-1:], atol=1e-10)


def test_solved_again_after_more_samples():
    X, y = clouds(60)
    model = StreamingLSSVMClassifier(core(X)).partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    before = model.coef_
    assert model.coef_ is before
    assert np.abs(model.partial_fit(X[30:], y[30:]).coef_ - before).max() > 1e-6
    assert_allclose(model.coef_, StreamingLSSVMClassifier(core(X)).fit(X, y).coef_, atol=1e-10)


def test_moments_keep_their_digits():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    moments, near = Moments(3), Moments(3)
    for part in np.array_split(rows, 7):
        moments.add(part + 1e8)
        near.add(part)
    near.add(rows[:0])
    assert_allclose(near.mean, rows.mean(axis=0), atol=1e-15)
    assert_allclose(near.scatter, 200 * np.cov(rows.T, bias=True), rtol=1e-12)
    assert_allclose(moments.scatter, near.scatter, atol=1e-4)


def test_fitted_features_are_kept_and_others_are_fitted_on_the_first_batch():
    X, y = clouds(60)
    fitted = KernelFeatures(euclidean(), n_core=10, random_state=1).fit(X[:30])
    kept = StreamingLSSVMClassifier(FrozenEstimator(fitted)).fit(X, y)
    assert kept.features_.estimator is fitted
    fresh = StreamingLSSVMClassifier(KernelFeatures(euclidean(), n_core=10, random_state=1))
    fresh.partial_fit(X[:30], y[:30], classes=[0, 1, 2]).partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(fresh.features_.components_, fitted.components_)


def test_single_precision_features_are_added_up_in_double():
    X, y = clouds(60)
    double = StreamingLSSVMClassifier(SlicedFeatures(5, 4)).fit(X, y)
    single = StreamingLSSVMClassifier(SlicedFeatures(5, 4, dtype="float32")).fit(X, y)
    assert single.coef_.dtype == np.float64
    assert_allclose(single.decision_function(X), double.decision_function(X), atol=1e-5)


X, Y = clouds(12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.partial_fit(X, Y), InvalidParameterError, "`classes` must be passed to the first call"),
        (lambda m: m.fit(X, np.zeros(12)), UnsuitableDataError, "at least two classes; `y` holds one class only, 0.0"),
        (lambda m: m.partial_fit(X, Y, [0, 1]), InvalidParameterError, "`y` holds the label .*2.*, which is not among"),
        (
            lambda m: m.partial_fit(X, Y, [0, 1, 2]).partial_fit(X, Y, [0, 1]),
            InvalidParameterError,
            "`classes` must be those of the first call",
        ),
        (
            lambda m: m.partial_fit(X[Y < 2], Y[Y < 2], [0, 1, 2]).predict(X),
            UnsuitableDataError,
            "there has been no sample of class 2 yet",
        ),
        (lambda m: m.set_params(gamma=0.0).fit(X, Y), InvalidParameterError, "`gamma` must be a finite number greater"),
        (lambda m: m.set_params(chunk_size=0).fit(X, Y), InvalidParameterError, "`chunk_size` must be an integer"),
        (lambda m: m.set_params(multiclass="x").fit(X, Y), InvalidParameterError, "`multiclass` must be one of"),
        (lambda m: m.fit(X, None), ValueError, "requires y to be passed"),
    ],
)
def test_what_is_refused(call, error, message):
    model = StreamingLSSVMClassifier(SlicedFeatures(3, 3))
    with pytest.raises(error, match=message):
        call(model)
