"""Measures as a column beside ordinary columns, in scikit-learn's own machinery."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from kermes import KernelFeatures, KernelMatrix, LSSVMClassifier, Measures, divergences, kernels, pairwise
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


@pytest.mark.parametrize("form", ["(n, 1) object array", "pandas frame"])
@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingClassifier(LSSVMClassifier(KERNEL), n_estimators=3, random_state=0),
        BaggingClassifier(
            make_pipeline(KernelMatrix(KERNEL), SVC(kernel="precomputed")), n_estimators=3, random_state=0
        ),
        AdaBoostClassifier(SVC(kernel=KERNEL), n_estimators=3, random_state=0),
    ],
    ids=["bagging", "bagging of a pipeline", "AdaBoost"],
)
def test_ensembles_take_a_column_of_measures(ensemble, form):
    assert ensemble.fit(FORMS[form], Y).score(FORMS[form], Y) > 0.85


def test_self_training_takes_a_column_of_measures():
    """Of a data frame only: scikit-learn makes numbers of an object array."""
    known = np.where(np.arange(40) < 24, Y, -1)
    model = SelfTrainingClassifier(make_pipeline(KernelFeatures(KERNEL), LogisticRegression()), threshold=0.6)
    assert model.fit(FRAME[["cells"]], known).score(FRAME[["cells"]], Y) > 0.85
