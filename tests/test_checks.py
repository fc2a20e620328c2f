"""Guesses at what was meant, and what is given beside measures in another order."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kermes import (
    DistanceMatrix,
    KernelFeatures,
    KernelMatrix,
    LSSVMClassifier,
    LSSVMClassifierCV,
    LSSVMRegressor,
    MeasureGPRegressor,
    Measures,
    NearestMeasures,
    StreamingLSSVMClassifier,
    StreamingLSSVMRegressor,
    clustering,
    compare,
    divergences,
    files,
    inference,
    inspection,
    kernels,
    pairwise,
)
from kermes._checks import as_distances, guess, nearest, require_order
from kermes.comparison import Candidate, CandidateModel
from kermes.estimators import ConformalClassifier, ConformalRegressor, MapPoints
from kermes.exceptions import InvalidParameterError
from kermes.features import Codebook, SlicedFeatures
from kermes.ground import Polynomial
from kermes.measures import chunks

RNG = np.random.default_rng(0)
KEYS = np.array([f"p{i}" for i in range(12)])
X = Measures.from_frame(
    pd.DataFrame({"who": np.repeat(KEYS, 4), "x": RNG.normal(np.repeat(np.arange(12) % 2, 4))}), by="who", columns=["x"]
)
Y = pd.Series(np.arange(12) % 2, index=KEYS)
OTHER = Y.sort_index()  # p0, p1, p10, ...
SLICED = divergences.SlicedWasserstein()
KERNEL = kernels.Exponential(SLICED)
BESIDE = kernels.Columns({"cells": KERNEL, "age": RBF(10.0)})
SQUARE = pd.DataFrame(np.eye(12), index=KEYS, columns=KEYS)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("fti", "fit"),
        ("mdm", "mmd"),
        ("SLICED", "sliced"),
        ("wass", "wasserstein"),
        ("sinkhron", "sinkhorn"),
        ("gausian_waserstein", "gaussian-wasserstein"),
        ("energy", None),
        ("arm", None),
        ("x", None),
        (3, None),
        ("", None),
    ],
)
def test_guesses_are_near(word, meant):
    names = ["fit", "mmd", "sliced", "wasserstein", "sinkhorn", "gaussian-wasserstein", "gaussian-kl", "entropy", "age"]
    assert nearest(word, names) == meant
    assert guess(word, iter(names)) == ("" if meant is None else f" Did you mean {meant!r}?")


def test_a_part_of_several_names_is_near_to_all_of_them():
    names = ["wasserstein", "gaussian-wasserstein", "gaussian-kl", "kernel-kl"]
    assert nearest("gaussian", names) is nearest("kl", names) is None
    assert guess("gaussian", names) == " Did you mean 'gaussian-wasserstein' or 'gaussian-kl'?"
    assert guess("KL", names) == " Did you mean 'gaussian-kl' or 'kernel-kl'?"


@pytest.mark.parametrize(
    "use",
    [
        lambda y: LSSVMClassifier().fit(X, y),
        lambda y: ConformalClassifier(LSSVMClassifier(), cv=2).fit(X, y),
        lambda y: MapPoints(StandardScaler()).fit(X, y),
        lambda y: compare(X, y, candidates=[]),
        lambda y: compare(X, Y.to_numpy(), candidates=[], groups=y),
        lambda y: compare(X, Y.to_numpy(), candidates=[], covariates=pd.DataFrame({"age": y})),
        lambda y: inference.permanova(X, y),
        lambda y: inference.permanova(X, {"arm": y}),
        lambda y: inference.permanova(X, Y, covariates={"age": y}),
        lambda y: inference.dispersion(X, y),
        lambda y: inference.k_sample(X, Y, blocks=y),
        lambda y: inference.trend(X, y),
        lambda y: inference.pairwise_tests(X, Y, units=y),
        lambda y: inference.barycenter(X, y, divergences.Wasserstein()),
        lambda y: inspection.difference(X, y),
        lambda y: LSSVMClassifier().fit(X, Y, sample_weight=1 + y),
        lambda y: LSSVMRegressor().fit(X, Y, sample_weight=1 + y),
        lambda y: LSSVMClassifier().fit(list(X), y),
        lambda y: LSSVMClassifier(BESIDE).fit({"cells": X, "age": np.arange(12.0)}, y),
        lambda y: MeasureGPRegressor().fit(X, y),
        lambda y: MeasureGPRegressor(alpha=1.0 + y).fit(X, Y),
        lambda y: StreamingLSSVMClassifier(SlicedFeatures()).partial_fit(X, y, classes=[0, 1]),
        lambda y: DistanceMatrix(SLICED).fit(X, y),
        lambda y: DistanceMatrix(SLICED).fit_transform(X, y),
        lambda y: KernelMatrix().fit(X, y),
        lambda y: make_pipeline(KernelMatrix(), SVC(kernel="precomputed")).fit(X, y),
        lambda y: KernelFeatures().fit(X, y),
        lambda y: make_pipeline(SlicedFeatures(), StandardScaler()).fit(X, y),
        lambda y: Codebook(3).fit(X, y),
        lambda y: NearestMeasures(SLICED).fit(X, y),
        lambda y: files.to_anndata(X, labels=y),
    ],
)
def test_labels_that_name_the_measures_in_another_order_are_refused(use):
    with pytest.raises(InvalidParameterError, match=r"position 2: p2, p10\). Pass \w+\.loc\[X\.keys\], or .*to_numpy"):
        use(OTHER)


@pytest.mark.parametrize(
    ("use", "names"),
    [
        (lambda y: LSSVMClassifierCV(KERNEL).fit(X, Y, X, y_val=y), "y_val.loc[X_val.keys]"),
        (lambda y: BESIDE({"cells": X, "age": y}), "X['age'].loc[X['cells'].keys]"),
        (lambda y: BESIDE({"age": y, "cells": X.to_series()}), "X['cells'].loc[X['age'].index]"),
        (lambda y: LSSVMClassifier().fit(X.to_series(), y), "y.loc[X.index]"),
        (lambda y: LSSVMClassifier().fit(X.to_series().to_frame(), y), "y.loc[X.index]"),
        (lambda y: LSSVMRegressor().fit(SQUARE, y), "y.loc[X.index]"),
        (lambda y: LSSVMClassifier("precomputed").fit(SQUARE, y), "y.loc[X.index]"),
        (lambda y: LSSVMRegressor("precomputed").fit(SQUARE, Y, sample_weight=1 + y), "sample_weight.loc[X.index]"),
        (lambda y: MeasureGPRegressor().fit(SQUARE, y), "y.loc[X.index]"),
        (lambda y: KernelMatrix("precomputed").fit(SQUARE, y), "y.loc[X.index]"),
        (lambda y: list(chunks(X, y)), "y.loc[source.keys]"),
        (lambda y: files.Data(X, y), "labels.loc[measures.keys]"),
        (lambda y: files.Data(X, metadata={"age": y}), "metadata.loc[measures.keys]"),
        (lambda y: clustering.cluster_report(Y, y), "y.loc[labels.index]"),
        (lambda y: clustering.cluster_report(Y.to_numpy(), y, 1 - SQUARE), "y.loc[distances.index]"),
    ],
)
def test_labels_in_another_order_are_refused_by_the_names_that_are_given(use, names):
    with pytest.raises(InvalidParameterError, match=rf"name\w* them in another order .*Pass {re.escape(names)}, or "):
        use(OTHER)


@pytest.mark.parametrize(
    "model",
    [
        LSSVMClassifier(),
        LSSVMRegressor(),
        MeasureGPRegressor(random_state=0),
        ConformalRegressor(LSSVMRegressor(), cv=2),
        StreamingLSSVMRegressor(SlicedFeatures()),
        CandidateModel(Candidate("k", SLICED, learner="knn"), cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_in_another_order_are_not_scored(model):
    model.fit(X, Y.to_numpy())
    with pytest.raises(InvalidParameterError, match=r"Pass y\.loc\[X\.keys\]"):
        model.score(X, OTHER)
    assert model.score(X, Y) == model.score(X, OTHER.loc[X.keys].to_numpy())


def test_indices_that_say_nothing_or_the_same_are_taken():
    numbers = pd.DataFrame(np.zeros((12, 12)), index=KEYS, columns=KEYS)
    for y in (Y, OTHER.loc[X.keys], OTHER.to_numpy(), OTHER.reset_index(drop=True), OTHER.set_axis(range(5, 17))):
        require_order(X, y=y, nothing=None, several={"a": y})
        require_order(numbers, y=y)
        require_order(np.zeros((12, 12)), y=y)
    require_order(X, y=Y[:5])  # too short, which others say
    with pytest.raises(InvalidParameterError, match="`y` must be in the order"):
        require_order(numbers, y=OTHER)
    with pytest.raises(InvalidParameterError, match="position 11: p11, other"):
        require_order(X, y=Y.rename({"p11": "other"}))
    shuffled = Measures.from_frame(pd.DataFrame({"who": [2, 0, 1], "x": 0.0}), by="who", columns=["x"])
    with pytest.raises(InvalidParameterError, match="position 0: 2, 0"):
        require_order(shuffled, y=pd.DataFrame({"who": [0, 1, 2], "y": 1}).set_index("who")["y"])
    require_order(shuffled, y=pd.Series([0, 1, 2], index=[10, 1, 2]))


@pytest.mark.parametrize(
    ("use", "remedy"),
    [
        (lambda: inference.barycenter(X, SLICED), "Write barycenter(X, divergence=...)"),
        (lambda: clustering.KMeans(2).fit(X), "The divergence comes first: KMeans(divergence, 2)"),
        (lambda: clustering.KMedoids(2).fit(X), "KMedoids(divergence, 2)"),
        (lambda: pairwise(SLICED, X), "Write pairwise(X, divergence=...)"),
        (lambda: pairwise(X, divergence=kernels.Exponential(SLICED)), "kernel(X)"),
        (lambda: inference.permanova(X, SLICED, Y), "The order of the arguments is measures, groups, divergence"),
        (lambda: inference.k_sample(Y.to_numpy(), X), "got Measures"),
        (lambda: inference.trend(X, SLICED), "a number for each measure; got SlicedWasserstein"),
        (lambda: inference.two_sample(X[0], SLICED), "Write two_sample(mu, nu, divergence)"),
        (lambda: LSSVMClassifier(2).fit(X, Y), "The kernel comes first; name what 2 is for"),
        (lambda: LSSVMClassifier(SLICED).fit(X, Y), "Write kernels.Exponential(SlicedWasserstein("),
        (lambda: compare(X, Y, candidates=SLICED), "Write Candidate('name', divergence)"),
    ],
)
def test_arguments_in_another_order_are_explained(use, remedy):
    with pytest.raises(InvalidParameterError, match=re.escape(remedy)):
        use()


def test_distances_that_differ_by_rounding_from_their_transpose():
    D = np.array([[0.0, 1.1, 2.0], [np.nextafter(1.1, 2.0), 0.0, 3.0], [2.0, 3.0, 0.0]])
    found = as_distances(D, "D")
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, D, rtol=1e-15)
    D[0, 2] *= 1 + 1e-12
    with pytest.raises(InvalidParameterError, match=r"symmetric; entry \(0, 2\)"):
        as_distances(D, "D")


def test_whole_numbers_that_are_no_machine_numbers():
    for make in (lambda n: divergences.GeneralizedVariance(n), lambda n: divergences.MMD(Polynomial(2, n))):
        with pytest.raises(InvalidParameterError, match=r"whole number of over 63 bits, 10{30}; write it"):
            make(10**30)
        make(1e30)
