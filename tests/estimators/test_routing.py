"""Weights of samples, metadata routing and scores, on measures."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.fixes import parse_version
from tests.estimators.cases import clouds, euclidean

from kermes import (
    DistanceMatrix,
    DistanceToKernel,
    EquivalentWassersteinGP,
    KernelMatrix,
    LSSVMClassifier,
    LSSVMClassifierCV,
    LSSVMRegressor,
    MeasureGPRegressor,
)
from kermes.clustering import HierarchicalClustering, KMedoids

X, Y = clouds(24)
Z = X.expectation(X.points)[:, 0]
COUNTS = np.random.default_rng(0).integers(0, 4, size=24)
REPEATED = np.repeat(np.arange(24), COUNTS)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_weight_of_a_regression_is_a_number_of_copies(solver):
    model = LSSVMRegressor(euclidean(), gamma=2.0, solver=solver, tol=1e-12)
    weighted = model.fit(X, Z, sample_weight=COUNTS).predict(X)
    repeated = model.fit(X[REPEATED], Z[REPEATED]).predict(X)
    assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_weight_of_a_class_is_a_number_of_copies(solver, multiclass):
    model = LSSVMClassifier(euclidean(), gamma=2.0, solver=solver, multiclass=multiclass, tol=1e-12)
    weighted = model.fit(X, Y, sample_weight=COUNTS).binary_decisions(X)
    repeated = model.fit(X[REPEATED], Y[REPEATED]).binary_decisions(X)
    assert_allclose(weighted, repeated, atol=1e-7)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weighted(learner):
    return learner.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def accuracy():
    return make_scorer(accuracy_score).set_score_request(sample_weight=True)


def searches(scoring):
    """Return searches and pipelines that pass weights to their learners."""
    machine = weighted(SVC(kernel="precomputed"))
    return {
        "search": GridSearchCV(
            make_pipeline(weighted(LSSVMClassifier(euclidean()))),
            {"lssvmclassifier__gamma": [1.0, 10.0]},
            cv=2,
            scoring=scoring,
        ),
        "distances": make_pipeline(DistanceMatrix(), DistanceToKernel(), machine),
        "kernel": make_pipeline(KernelMatrix(euclidean()), machine),
    }


@pytest.mark.parametrize("own_scores", [True, False])
@pytest.mark.parametrize("name", ["search", "distances", "kernel"])
def test_weights_are_routed_through_pipelines_and_searches(name, own_scores, routing):
    if own_scores and parse_version(sklearn.__version__) < parse_version("1.8"):
        pytest.skip("scikit-learn before 1.8 does not route weights to the scores of pipelines")
    scoring = None if own_scores else accuracy()
    weights = np.where(Y == 0, 1e-9, 1.0)  # a class of hardly any weight is never predicted
    options = {"cv": 3, "error_score": "raise", "return_estimator": True, "scoring": scoring}
    found = cross_validate(searches(scoring)[name], X, Y, params={"sample_weight": weights}, **options)
    assert all(0 not in model.predict(X) for model in found["estimator"])
    plain = cross_validate(searches(scoring)[name], X, Y, params={}, **options)
    assert all(0 in model.predict(X) for model in plain["estimator"])


@pytest.mark.parametrize(
    "estimator", [LSSVMClassifierCV(), MeasureGPRegressor(), EquivalentWassersteinGP(), KMedoids()]
)
def test_where_weights_have_no_meaning_yet_they_are_refused(estimator):
    with pytest.raises(TypeError, match="sample_weight"):
        estimator.fit(X, Z, sample_weight=COUNTS)


def test_scores_are_those_of_predictions():
    for model in (LSSVMClassifier(euclidean()), LSSVMClassifierCV(euclidean(), cv=2)):
        model.fit(X[::2], Y[::2])
        assert model.score(X[1::2], Y[1::2]) == accuracy_score(Y[1::2], model.predict(X[1::2])) > 0.5
    for model in (LSSVMRegressor(euclidean()), MeasureGPRegressor(euclidean(), alpha=0.1)):
        model.fit(X[::2], Z[::2])
        assert model.score(X[1::2], Z[1::2]) == pytest.approx(r2_score(Z[1::2], model.predict(X[1::2])))
    assert np.isfinite(cross_val_score(LSSVMRegressor(), X, Z, cv=3)).all()


def test_clusterings_have_labels_of_measures():
    for model in (KMedoids(n_clusters=3), HierarchicalClustering(n_clusters=3)):
        assert_array_equal(model.fit_predict(X), model.labels_)
