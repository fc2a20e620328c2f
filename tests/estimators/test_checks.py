"""scikit-learn's own checks: a 2-D array is read as n Dirac masses."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kermes import (
    EquivalentWassersteinGP,
    KernelFeatures,
    LSSVMClassifier,
    LSSVMClassifierCV,
    LSSVMRegressor,
    MeasureGPRegressor,
    MixtureFeatures,
    NearestMeasures,
    StreamingLSSVMClassifier,
    StreamingLSSVMRegressor,
)

ESTIMATORS = [
    KernelFeatures(),
    MixtureFeatures(random_state=0),
    LSSVMClassifier(),
    LSSVMClassifier(solver="primal"),
    LSSVMClassifier(multiclass="ovr"),
    LSSVMClassifier(kernel="precomputed"),
    LSSVMRegressor(),
    LSSVMRegressor(solver="primal"),
    LSSVMClassifierCV(),
    LSSVMClassifierCV(solver="primal", cv=2, length_scales=[1.0, 3.0], gammas=[0.1, 10.0]),
    EquivalentWassersteinGP(n_restarts=0),
    EquivalentWassersteinGP(n_restarts=0, noise=False),
    MeasureGPRegressor(),
    NearestMeasures(),
    StreamingLSSVMClassifier(chunk_size=7),
    StreamingLSSVMClassifier(multiclass="ovr"),
    StreamingLSSVMRegressor(),
]


def expected_failures(estimator):
    if getattr(estimator, "kernel", None) == "precomputed":
        return {"check_classifiers_one_label_sample_weights": "passes a Gram matrix that is not symmetric"}
    return {}


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:The optimal value found")  # hyperparameters of targets that are noise
@pytest.mark.filterwarnings("ignore:all targets are equal:kermes.exceptions.DegenerateDataWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
