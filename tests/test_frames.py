"""Measures as a column beside ordinary columns, in scikit-learn's own machinery."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from kermes import (
    KernelFeatures,
    KernelMatrix,
    LSSVMClassifier,
    LSSVMRegressor,
    Measures,
    divergences,
    kernels,
    pairwise,
)
from kermes.exceptions import InvalidMeasureError
from kermes.measures import as_measures

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = Measures.from_samples([RNG.normal(label, 1.0, (8, 2)) for label in Y])
AGE = RNG.normal(50.0, 10.0, 40)
FRAME = pd.DataFrame({"cells": X.to_series(), "age": AGE})
KERNEL = kernels.Exponential(divergences.SlicedWasserstein(n_slices=10))
PIPELINE = make_pipeline(KernelMatrix(KERNEL), SVC(kernel="precomputed"))

FORMS = {
    "object array": np.asarray(X),
    "(n, 1) object array": np.asarray(X).reshape(-1, 1),
    "list": list(X),
    "pandas Series": X.to_series(),
    "pandas Series of objects": X.to_series().astype(object),
    "pandas frame": FRAME[["cells"]],
    "polars Series": pl.Series("cells", list(X), dtype=pl.Object),
    "polars frame": pl.DataFrame({"cells": pl.Series("cells", list(X), dtype=pl.Object)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_measures_is_read_as_a_view(form):
    measures = as_measures(FORMS[form])
    assert measures.fingerprint == X.fingerprint
    assert measures.rows.tolist() == list(range(40))


@pytest.mark.parametrize("form", FORMS)
def test_estimators_kernels_and_pairwise_take_a_column_of_measures(form):
    given = FORMS[form]
    expected = LSSVMClassifier(KERNEL).fit(X, Y)
    model = LSSVMClassifier(KERNEL).fit(given, Y)
    np.testing.assert_array_equal(model.decision_function(given), expected.decision_function(X))
    np.testing.assert_array_equal(KERNEL(given), KERNEL(X))
    np.testing.assert_array_equal(
        pairwise(given, divergence=KERNEL.divergence), pairwise(X, divergence=KERNEL.divergence)
    )
    assert SVC(kernel=KERNEL).fit(given, Y).score(given, Y) > 0.85


def test_tables_with_other_columns_are_refused_with_the_remedy():
    with pytest.raises(InvalidMeasureError, match="columns that are not numbers"):
        as_measures(FRAME)


def test_a_column_transformer_joins_features_of_measures_and_numbers():
    columns = ColumnTransformer([("cells", KernelFeatures(KERNEL), ["cells"]), ("age", StandardScaler(), ["age"])])
    features = columns.fit_transform(FRAME)
    expected = np.hstack([KernelFeatures(KERNEL).fit_transform(X), StandardScaler().fit_transform(FRAME[["age"]])])
    np.testing.assert_allclose(features, expected, rtol=1e-12)
    assert cross_val_score(make_pipeline(columns, LogisticRegression()), FRAME, Y, cv=3).mean() > 0.8


def test_a_search_over_a_frame_reaches_the_kernel_of_its_measures():
    columns = ColumnTransformer([("cells", KernelFeatures(KERNEL), "cells")], remainder=StandardScaler())
    search = GridSearchCV(
        make_pipeline(columns, LogisticRegression()),
        {"columntransformer__cells__kernel__length_scale": [0.5, 2.0]},
        cv=3,
    ).fit(FRAME, Y)
    assert search.best_score_ > 0.8


def test_splits_keep_the_column_and_its_collection():
    train, test = train_test_split(FRAME, test_size=10, random_state=0)
    assert train["cells"].dtype == "measure"
    assert as_measures(test["cells"]).rows.tolist() == test.index.tolist()
    assert as_measures(train[["cells"]]).fingerprint == X.fingerprint


#: What scikit-learn says where its own check of the data comes first, before any code of kermes: a container of one
#: dimension is refused, and the entries of an object array are made numbers.
ONE_DIMENSIONAL = dict.fromkeys(
    ["Measures", "object array", "pandas Series", "pandas Series of objects"],
    "Expected (2D array|a 2-dimensional container)",
)
TO_NUMBERS = dict.fromkeys(
    ["object array", "(n, 1) object array", "pandas Series of objects"],
    r"not a number.*X\.to_series\(\)\.to_frame\(\)",
)
FEATURES = make_pipeline(KernelFeatures(KERNEL), LogisticRegression())
CHECKING = {  # scikit-learn's meta-estimators that check the data themselves, and the forms that they refuse
    "bagging": (BaggingClassifier(LSSVMClassifier(KERNEL), n_estimators=3, random_state=0), ONE_DIMENSIONAL),
    "bagging of a pipeline": (BaggingClassifier(PIPELINE, n_estimators=3, random_state=0), ONE_DIMENSIONAL),
    "bagging of regressors": (
        BaggingRegressor(LSSVMRegressor(KERNEL), n_estimators=3, random_state=0),
        ONE_DIMENSIONAL,
    ),
    "AdaBoost": (AdaBoostClassifier(SVC(kernel=KERNEL), n_estimators=3, random_state=0), ONE_DIMENSIONAL),
    "AdaBoost of regressors": (
        AdaBoostRegressor(LSSVMRegressor(KERNEL), n_estimators=3, random_state=0),
        ONE_DIMENSIONAL,
    ),
    "self-training": (SelfTrainingClassifier(FEATURES, threshold=0.6), ONE_DIMENSIONAL | TO_NUMBERS),
    "one-vs-one": (OneVsOneClassifier(LSSVMClassifier(KERNEL)), ONE_DIMENSIONAL | TO_NUMBERS),
}
GIVEN = {"Measures": X, **{name: FORMS[name] for name in FORMS if "polars" not in name and name != "list"}}


@pytest.mark.parametrize("form", GIVEN)
@pytest.mark.parametrize("name", CHECKING)
def test_what_ensembles_take_and_what_scikit_learn_refuses(name, form):
    """A data frame of one column goes everywhere."""
    ensemble, refused = CHECKING[name]
    y = np.where(np.arange(40) < 24, Y, -1) if name == "self-training" else Y
    model = clone(ensemble)
    if form in refused:
        with pytest.raises(ValueError, match=refused[form]):
            model.fit(GIVEN[form], y)
        return
    assert model.fit(GIVEN[form], y).score(GIVEN[form], Y) > 0.8


def test_a_measure_is_no_number():
    with pytest.raises(InvalidMeasureError, match="a measure is not a number"):
        np.asarray(np.asarray(X), dtype=float)
    with pytest.raises(InvalidMeasureError, match="a measure is not a number"):
        float(X[0])
