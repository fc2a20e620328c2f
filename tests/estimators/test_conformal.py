"""Intervals and sets hold what they promise, for any learner; the definition, entry by entry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import LinearSVC

import kermes
from kermes import LSSVMClassifier, LSSVMRegressor, Measures
from kermes.estimators import ConformalClassifier, ConformalRegressor
from kermes.exceptions import InvalidParameterError, UnsuitableDataError

rng = np.random.default_rng(0)
SHIFTS = rng.normal(size=60)
X = Measures.from_samples([rng.normal(s, 0.5, size=10) for s in SHIFTS])


def test_intervals_by_their_definition():
    model = ConformalRegressor(LSSVMRegressor(gamma=10.0), cv=4).fit(X[:40], SHIFTS[:40])
    without = np.stack([model.folds_[k].predict(X[:40]) for k in model.fold_])
    assert_allclose(model.residuals_, np.abs(SHIFTS[:40] - np.diagonal(without)))
    low, high = model.predict_interval(X[40:], coverage=0.8).T
    for i, x in enumerate(range(40, 60)):
        centres = np.array([model.folds_[k].predict(X[[x]])[0] for k in model.fold_])
        assert low[i] == pytest.approx(np.sort(centres - model.residuals_)[8 - 1])  # floor(0.2 * 41)
        assert high[i] == pytest.approx(np.sort(centres + model.residuals_)[33 - 1])  # ceil(0.8 * 41)
    assert_array_equal(model.predict(X), model.estimator_.predict(X))
    assert np.isinf(model.predict_interval(X[:1], coverage=0.99)).all()


def test_coverage_of_intervals():
    """Over 60 studies of 40 samples each: the guarantee is 0.8 less a little at 0.9, the usual value is 0.9."""
    found = []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        points = draw.normal(size=(80, 3))
        values = points.sum(axis=1) + draw.standard_t(3, size=80)
        model = ConformalRegressor(LinearRegression(), random_state=seed).fit(points[:40], values[:40])
        low, high = model.predict_interval(points[40:], 0.9).T
        found.append(np.mean((low <= values[40:]) & (values[40:] <= high)))
    assert 0.88 < np.mean(found) < 0.94


@pytest.mark.parametrize("learner", [LogisticRegression(), KNeighborsClassifier(7)], ids=["decisions", "probabilities"])
def test_coverage_of_sets_and_calibration(learner):
    held, sizes, losses, plain = [], [], [], []
    for seed in range(40):
        draw = np.random.default_rng(seed)
        y = draw.integers(3, size=160)
        points = draw.normal(size=(160, 2)) + 1.2 * np.eye(3)[y][:, :2]
        model = ConformalClassifier(learner, random_state=seed).fit(points[:80], y[:80])
        sets = model.predict_set(points[80:], 0.9)
        held.append(sets[np.arange(80), y[80:]].mean())
        sizes.append(sets.sum(axis=1).mean())
        losses.append(log_loss(y[80:], model.predict_proba(points[80:])))
        plain.append(log_loss(y[80:], model.estimator_.predict_proba(points[80:])))
    assert 0.87 < np.mean(held) < 0.96
    assert np.mean(sizes) < 2.6
    assert np.mean(losses) < 1.05 * np.mean(plain)


@pytest.mark.parametrize("percent", [28, 56, 80])
def test_sets_by_whole_numbers(percent):
    """0.28 times 25 samples is a little above 7: held against counts, it is 7."""
    points = np.linspace(-1.0, 1.0, 24)[:, None]
    model = ConformalClassifier(LinearSVC(), cv=2).fit(points, np.arange(24) > 11)
    new, exceeded = np.linspace(-2.0, 2.0, 500)[:, None], 0
    for i, score in enumerate(model.scores_):
        values = model.folds_[model.fold_[i]].decision_function(new)
        exceeded = exceeded + (np.column_stack([2 * values, -2 * values]) > score)
    assert len(np.unique(exceeded)) > 15
    assert_array_equal(model.predict_set(new, percent / 100), 100 * exceeded < percent * 25)


def test_classifiers_on_measures_are_saved(tmp_path):
    y = np.where(SHIFTS > 0, "high", "low")
    model = ConformalClassifier(LSSVMClassifier()).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.8
    kermes.save(model, tmp_path / "model.kermes")
    again = kermes.load(tmp_path / "model.kermes")
    assert_array_equal(again.predict_set(X, 0.8), model.predict_set(X, 0.8))
    sure = model.predict_set(X, 0.5).sum(axis=1)
    assert (sure <= model.predict_set(X, 0.95).sum(axis=1)).all()


def test_what_does_not_fit_is_refused():
    points = rng.normal(size=(20, 2))
    with pytest.raises(UnsuitableDataError, match="at least two samples of each class; got 1"):
        ConformalClassifier(Perceptron()).fit(points, [0] * 19 + [1])
    with pytest.raises(UnsuitableDataError, match="neither decision_function nor predict_proba"):
        ConformalClassifier(_Silent()).fit(points, np.arange(20) % 2)
    with pytest.raises(InvalidParameterError, match="`coverage`"):
        ConformalRegressor(LinearRegression()).fit(points, points[:, 0]).predict_interval(points, 1.5)


class _Silent(NearestCentroid):
    """A classifier with labels alone."""

    decision_function = property()
    predict_proba = property()
