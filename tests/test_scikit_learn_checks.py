"""scikit-learn's own checks of every estimator: a 2-D array is read as n Dirac masses."""

import importlib
import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kermes
from kermes import (
    ConformalClassifier,
    ConformalRegressor,
    DistanceMatrix,
    DistanceToKernel,
    EquivalentWassersteinGP,
    KernelFeatures,
    KernelMatrix,
    LSSVMClassifier,
    LSSVMClassifierCV,
    LSSVMRegressor,
    MapPoints,
    MeasureGPRegressor,
    MixtureFeatures,
    NearestMeasures,
    StreamingLSSVMClassifier,
    StreamingLSSVMRegressor,
    divergences,
    ground,
)
from kermes.clustering import HierarchicalClustering, KMeans, KMedoids
from kermes.definiteness import SpectrumRepair
from kermes.estimators._expected_failures import EXPECTED_FAILURES, expected_failed_checks
from kermes.features import (
    ClusterShares,
    Codebook,
    LinearTransportFeatures,
    MomentFeatures,
    QuantileFeatures,
    RandomFourierFeatures,
    SlicedFeatures,
)

ESTIMATORS = [
    DistanceMatrix(),
    DistanceMatrix(divergences.Wasserstein(cost="binary"), squared=True),
    DistanceToKernel(),
    DistanceToKernel("rational", length_scale=2.0, power=1.0),
    KernelMatrix(),
    KernelMatrix("precomputed", check="ignore"),
    SpectrumRepair(),
    SpectrumRepair("flip"),
    SpectrumRepair("shift"),
    KernelFeatures(),
    KernelFeatures("precomputed"),
    MixtureFeatures(random_state=0),
    LSSVMClassifier(),
    LSSVMClassifier(solver="primal"),
    LSSVMClassifier(multiclass="ovr"),
    LSSVMClassifier(kernel="precomputed"),
    LSSVMRegressor(),
    LSSVMRegressor(solver="primal"),
    LSSVMRegressor(kernel="precomputed"),
    LSSVMClassifierCV(gammas=[0.1, 10.0]),
    LSSVMClassifierCV(solver="primal", cv=2, length_scales=[1.0, 3.0], gammas=[0.1, 10.0]),
    EquivalentWassersteinGP(n_restarts=0),
    EquivalentWassersteinGP(n_restarts=0, noise=False),
    MeasureGPRegressor(),
    NearestMeasures(),
    StreamingLSSVMClassifier(chunk_size=7),
    StreamingLSSVMClassifier(multiclass="ovr"),
    StreamingLSSVMRegressor(),
    MapPoints(StandardScaler()),
    QuantileFeatures(n_quantiles=5),
    QuantileFeatures(n_quantiles=None),
    SlicedFeatures(n_slices=7, n_quantiles=3),
    RandomFourierFeatures(random_state=0),
    RandomFourierFeatures(ground.Laplacian(0.5), random_state=0),
    LinearTransportFeatures(n_reference=3, random_state=0),
    Codebook(n_atoms=3, random_state=0),
    MomentFeatures(n_moments=2),
    ClusterShares(n_clusters=3, random_state=0),
    ConformalClassifier(LSSVMClassifier()),
    ConformalRegressor(LSSVMRegressor()),
    HierarchicalClustering(),
    HierarchicalClustering(linkage="ward", optimal_ordering=True),
    KMeans(n_clusters=3, random_state=0),
    KMedoids(),
    KMedoids(init="random"),
    KMedoids(init="k-medoids++"),
]


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:The optimal value found")  # hyperparameters of targets that are noise
@pytest.mark.filterwarnings("ignore:all targets are equal:kermes.exceptions.DegenerateDataWarning")
@pytest.mark.filterwarnings("ignore:.* of the spectrum of the Gram matrix:kermes.exceptions.IndefiniteKernelWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_estimator_is_checked():
    public = {
        thing
        for name in ("estimators", "features", "clustering", "definiteness")
        for thing in vars(importlib.import_module(f"kermes.{name}")).values()
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
    }
    assert public == {type(estimator) for estimator in ESTIMATORS}
    top = {getattr(kermes, name) for name in kermes.__all__ if inspect.isclass(getattr(kermes, name))}
    assert {thing for thing in top if issubclass(thing, BaseEstimator)} <= public


def test_every_expected_failure_is_looked_for():
    for failures in EXPECTED_FAILURES.values():
        assert any(expected_failed_checks(estimator) == failures for estimator in ESTIMATORS)
        assert all(failures.values())
