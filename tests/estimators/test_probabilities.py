"""Probabilities, class weights and several outputs of the least-squares machines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.multioutput import MultiOutputClassifier

import kermes
from kermes import LSSVMClassifier, LSSVMRegressor, Measures, divergences, kernels
from kermes.estimators._multiclass import fit_sigmoids, probabilities
from kermes.exceptions import InvalidParameterError, UnsuitableDataError

KERNEL = kernels.Exponential(divergences.SlicedWasserstein(n_slices=5), 2.0)


def clouds(n, n_classes=3, seed=0, gap=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return Measures.from_samples([rng.normal([gap * c, 0.0], 1.0, (3, 2)) for c in y]), y


X, Y = clouds(90)
NEW, TRUTH = clouds(90, seed=1)


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_probabilities_are_calibrated(solver, multiclass):
    model = LSSVMClassifier(KERNEL, solver=solver, multiclass=multiclass, probability=True).fit(X, Y)
    P = model.predict_proba(NEW)
    assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= 0
    calibrated = CalibratedClassifierCV(LSSVMClassifier(KERNEL, solver=solver, multiclass=multiclass), cv=5).fit(X, Y)
    assert log_loss(TRUTH, P) < 1.05 * log_loss(TRUTH, calibrated.predict_proba(NEW))
    assert log_loss(TRUTH, P) < 0.85 * np.log(3)


def test_two_classes_and_saved_models(tmp_path):
    few = np.flatnonzero(Y < 2)
    model = LSSVMClassifier(KERNEL, probability=True).fit(X[few], Y[few])
    P = model.predict_proba(NEW)
    assert_array_equal(P[:, 1].argsort(kind="stable"), model.decision_function(NEW).argsort(kind="stable"))
    kermes.save(model, tmp_path / "model.kermes")
    assert_array_equal(kermes.load(tmp_path / "model.kermes").predict_proba(NEW), P)


def test_coupling_recovers_consistent_probabilities():
    """If all r_ij = p_i / (p_i + p_j), the p are the only minimum."""
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=10)
    first, second = np.triu_indices(4, 1)
    ahead = p[:, second] / (p[:, first] + p[:, second])
    codes = LSSVMClassifier().fit(np.arange(4.0)[:, None], [0, 1, 2, 3]).codes_
    sigmoids = np.column_stack([np.ones(6), np.zeros(6)])
    assert_allclose(probabilities(np.log(ahead / (1 - ahead)), sigmoids, codes), p, rtol=1e-6)


def test_sigmoids_recover_the_truth_and_never_turn_round():
    rng = np.random.default_rng(0)
    f = rng.normal(size=20_000) * 1e-3
    positive = rng.uniform(size=20_000) < 1 / (1 + np.exp(-2000.0 * f - 0.5))
    targets = np.where(positive, 1.0, -1.0)[:, None]
    assert_allclose(fit_sigmoids(f[:, None], targets, np.ones(20_000)), [[2000.0, 0.5]], rtol=0.1)
    assert fit_sigmoids(-f[:, None], targets, np.ones(20_000))[0, 0] == 0.0
    separated = fit_sigmoids(np.array([[-1.0], [1.0]]), np.array([[-1.0], [1.0]]), np.ones(2))
    assert np.isfinite(separated).all()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_primal_leave_one_out_is_that_of_machines_trained_without(multiclass):
    """Of linear kernels the feature map is exact whatever the samples."""
    points = np.random.default_rng(0).normal(size=(12, 2)) + 0.3 * (np.arange(12) % 3)[:, None]
    y, weights = np.arange(12) % 3, np.random.default_rng(1).uniform(0.5, 2.0, 12)
    K = points @ points.T
    options = {"kernel": "precomputed", "multiclass": multiclass, "probability": True}
    primal = LSSVMClassifier(solver="primal", tol=1e-10, **options).fit(K, y, sample_weight=weights)
    dual = LSSVMClassifier(**options).fit(K, y, sample_weight=weights)
    assert_allclose(primal.sigmoids_, dual.sigmoids_, rtol=1e-3)


def test_probabilities_need_to_be_asked_for_and_two_of_each_class():
    assert not hasattr(LSSVMClassifier(), "predict_proba")
    with pytest.raises(UnsuitableDataError, match="two samples of each class"):
        LSSVMClassifier(KERNEL, probability=True).fit(X[:4], [0, 0, 0, 1])


def test_class_weights_multiply_those_of_samples():
    few = np.r_[np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:5]]
    weights = {0: 0.5, 1: 3.5}
    given = LSSVMClassifier(KERNEL, class_weight=weights).fit(X[few], Y[few])
    same = LSSVMClassifier(KERNEL).fit(X[few], Y[few], sample_weight=np.array([0.5, 3.5])[Y[few]])
    assert_array_equal(given.decision_function(NEW), same.decision_function(NEW))
    balanced = LSSVMClassifier(KERNEL, class_weight="balanced").fit(X[few], Y[few])
    assert_allclose(
        balanced.decision_function(NEW),
        LSSVMClassifier(KERNEL, class_weight={0: 35 / 60, 1: 3.5}).fit(X[few], Y[few]).decision_function(NEW),
    )
    plain = LSSVMClassifier(KERNEL).fit(X[few], Y[few])
    assert (balanced.predict(NEW) == 1).sum() > (plain.predict(NEW) == 1).sum()


def test_balanced_classes_count_samples_by_their_weights():
    """A weight of 0 leaves a sample out, and one of 2 is that of a sample given twice, in a balanced machine too."""
    few, labels, weights = X[:20], Y[:20], np.r_[np.zeros(7), 2.0, np.ones(12)]
    weighted = LSSVMClassifier(KERNEL, class_weight="balanced").fit(few, labels, sample_weight=weights)
    rows = np.r_[7, 7:20]
    repeated = LSSVMClassifier(KERNEL, class_weight="balanced").fit(few[rows], labels[rows])
    assert_allclose(weighted.binary_decisions(NEW), repeated.binary_decisions(NEW), atol=1e-10)


def test_weights_of_classes_are_checked_and_0_leaves_one_out():
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(InvalidParameterError, match="class_weight"):
            LSSVMClassifier(KERNEL, class_weight={1: bad}).fit(X, Y)
    without = LSSVMClassifier(KERNEL, class_weight={1: 0.0}).fit(X, Y)
    assert_array_equal(without.classes_, [0, 2])
    expected = LSSVMClassifier(KERNEL).fit(X[Y != 1], Y[Y != 1]).decision_function(NEW)
    assert_allclose(without.decision_function(NEW), expected, atol=1e-10)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_several_outputs_are_fitted_as_one_by_one(solver):
    targets = np.random.default_rng(0).normal(size=(90, 3)) + Y[:, None]
    model = LSSVMRegressor(KERNEL, solver=solver).fit(X, targets)
    assert model.predict(NEW).shape == (90, 3)
    for k in range(3):
        one = LSSVMRegressor(KERNEL, solver=solver).fit(X, targets[:, k])
        assert_allclose(model.predict(NEW)[:, k], one.predict(NEW), rtol=1e-10)
    if solver == "dual":
        assert model.loo_predict().shape == (90, 3)
        scores = [LSSVMRegressor(KERNEL).fit(X, t).loo_score() for t in targets.T]
        assert model.loo_score() == pytest.approx(np.mean(scores))
    assert LSSVMRegressor(KERNEL).fit(X, targets[:, [0]]).predict(NEW).shape == (90, 1)


def test_several_labels_by_scikit_learns_wrapper():
    labels = np.column_stack([Y == 1, Y == 2])
    model = MultiOutputClassifier(LSSVMClassifier(KERNEL)).fit(X, labels)
    assert model.predict(NEW).shape == (90, 2)
