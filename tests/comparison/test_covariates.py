"""Measures beside covariates in one comparison: which of them explains the labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import StandardScaler

import kermes
from kermes import MapPoints, Measures, compare
from kermes.comparison import Candidate
from kermes.comparison._report._code import source_code
from kermes.exceptions import InvalidParameterError, UnsuitableDataError

RNG = np.random.default_rng(0)
AGE = RNG.uniform(20.0, 80.0, 60)
SEX = RNG.choice(["f", "m"], 60)
SHIFT = RNG.normal(size=60)
X = Measures.from_samples([RNG.normal(s, 1.0, (20, 2)) for s in SHIFT])
COVARIATES = pd.DataFrame({"age": AGE, "sex": SEX}, index=np.arange(100, 160))
NOTHING = [Candidate("nothing", learner="dummy")]


def scores(y, task="regression", covariates=COVARIATES, **options):
    result = compare(X, y, task, NOTHING, cv=3, inner_cv=2, covariates=covariates, **options)
    return {row.name: row.mean for row in result.rows}, result


def test_both_explain_what_neither_does_alone():
    found, result = scores(SHIFT + 0.05 * (AGE - 50.0) + (SEX == "f"))
    assert result.rows[0].name == "measures and covariates"
    assert found["measures and covariates"] > 0.9
    assert found["covariates alone"] < 0.5
    assert found["measures alone, linear"] < 0.5


def test_measures_add_nothing_where_age_explains_all():
    found, _ = scores((AGE > 50.0).astype(int), "classification")
    assert found["covariates alone"] > 0.9
    assert found["measures alone, linear"] < 0.7


def test_the_best_model_predicts_for_frames_and_is_saved(tmp_path):
    y = SHIFT + 0.03 * (AGE - 50.0)
    _, result = scores(y, preprocessing=MapPoints(StandardScaler()))
    best = result.best_
    frame = pd.DataFrame({"measures": X.to_series(), "age": AGE, "sex": SEX})
    np.testing.assert_allclose(best.predict(frame), best.predict(Measures(X._packed)))
    assert best.score(frame, y) > 0.85
    kermes.save(best, tmp_path / "model.kermes")
    np.testing.assert_array_equal(kermes.load(tmp_path / "model.kermes").predict(frame[:5]), best.predict(frame[:5]))
    with pytest.raises(UnsuitableDataError, match=r"the column 'measures' .* the columns 'age', 'sex'"):
        best.predict(Measures.from_samples([[[0.0, 1.0]]]))


@pytest.mark.parametrize("preprocessing", [None, MapPoints(StandardScaler())])
def test_the_printed_code_fits_the_same_model(preprocessing):
    """It named a class that is not public, and printed arrays."""
    y = SHIFT + 0.03 * (AGE - 50.0)
    _, result = scores(y, preprocessing=preprocessing)
    table = pd.DataFrame({"measures": X.to_series(), "age": AGE, "sex": SEX})
    names = {"X": X, "y": y, "covariates": COVARIATES, "table_new": table[:5]}
    exec(source_code(result.best_), names)
    np.testing.assert_allclose(names["model"].predict(table), result.best_.predict(table))


def test_classes_have_probabilities_and_views_keep_their_covariates():
    y = SHIFT + 0.03 * (AGE - 50.0) > 0
    rows = np.r_[40:60, 0:40, 3, 3]  # in another order, one measure with several ages
    covariates = pl.DataFrame({"age": np.r_[AGE[rows[:-1]], 99.0], "sex": SEX[rows]})
    result = compare(X[rows], y[rows], candidates=NOTHING, cv=2, inner_cv=2, covariates=covariates)
    model = result._unfitted("measures and covariates").fit(Measures(X[rows]._packed), y[rows])
    frame = pd.DataFrame({"measures": X[rows].to_series(), "age": covariates["age"].to_numpy(), "sex": SEX[rows]})
    np.testing.assert_allclose(model.predict_proba(frame), model.predict_proba(Measures(X[rows]._packed)))


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (AGE, "must be a data frame .* got ndarray"),
        (COVARIATES[:5], r"a row for each of the 60 measures; it has the shape \(5, 2\)"),
        (COVARIATES[[]], "one column or more"),
        (COVARIATES.rename(columns={"age": "measures"}), "none of them 'measures'"),
        (COVARIATES.rename(columns={"age": "sex"}), "of different names"),
        (COVARIATES.assign(age=[*AGE[:-1], np.nan]), "no value in row 59 .*of 'age'"),
        (COVARIATES.assign(age=[*AGE[:-1], -np.inf]), "an infinite number in row 59 .*of 'age'"),
        (COVARIATES.assign(age=AGE * 1e-200), "the values of `age` reach"),
        (COVARIATES.assign(sex=[None, *SEX[1:]]), "no value in row 0 .*of 'sex'"),
        (COVARIATES.assign(sex=pd.array(["f", pd.NA] * 30, dtype="string")), "no value in row 1 .*of 'sex'"),
        (COVARIATES.assign(old=pd.array([True, pd.NA] * 30, dtype="boolean")), "no value in row 1 .*of 'old'"),
        (COVARIATES.assign(age=pd.array([pd.NA, 7] * 30, dtype="Int64")), "no value in row 0 .*of 'age'"),
        (pl.DataFrame({"sex": ["f", None] * 30}), "no value in row 1 .*of 'sex'"),
    ],
)
def test_other_covariates_are_refused(covariates, message):
    with pytest.raises(InvalidParameterError, match=message):
        scores(SHIFT, covariates=covariates)
