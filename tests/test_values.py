"""What comes with measures: missing values, masked entries, categories and dates are what they are, everywhere."""

import datetime as dt
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.gaussian_process.kernels import RBF

from kermes import (
    DistanceToKernel,
    LSSVMClassifier,
    LSSVMRegressor,
    MeasureGPRegressor,
    Measures,
    StreamingLSSVMClassifier,
    StreamingLSSVMRegressor,
    clustering,
    compare,
    definiteness,
    divergences,
    ground,
    inference,
    inspection,
    kernels,
    pairwise,
)
from kermes._values import as_values, class_array, holds_numbers, is_category, missing_rows, plain
from kermes.comparison import Candidate
from kermes.estimators import ConformalClassifier, ConformalRegressor, LSSVMClassifierCV
from kermes.exceptions import InvalidParameterError
from kermes.features import SlicedFeatures

N = 24
RNG = np.random.default_rng(3)
X = Measures.from_samples([RNG.normal(i / 5, 1, size=6) for i in range(N)])
D = pairwise(X, divergence=divergences.SlicedWasserstein(n_slices=10))
Y = np.arange(N) % 2
AGE = RNG.normal(50, 10, size=N)
DAYS = pd.Series(pd.date_range("2020-01-01", periods=N, freq="D"))
DUMMY = [Candidate("nothing", learner="dummy")]
FEW = {"n_permutations": 9, "random_state": 0}


def permanova(groups=Y, **options):
    return inference.permanova(D, groups, "precomputed", **FEW, **options)


def compared(y=Y, **options):
    return compare(X, y, candidates=DUMMY, cv=2, progress=False, **options)


LABELS = {
    "groups": permanova,
    "table": lambda y: permanova({"arm": y}),
    "blocks": lambda y: permanova(blocks=y),
    "units": lambda y: permanova(units=y),
    "covariates": lambda y: permanova(covariates={"site": y}),
    "k_sample": lambda y: inference.k_sample(D, y, "precomputed", **FEW),
    "dispersion": lambda y: inference.dispersion(D, y, "precomputed", **FEW),
    "pairwise_tests": lambda y: inference.pairwise_tests(D, y, "precomputed", **FEW),
    "difference": lambda y: inspection.difference(X, y, n_permutations=9),
    "cluster_report": lambda y: clustering.cluster_report(Y, y),
    "compare": compared,
    "folds": lambda y: compared(groups=y),
    "LSSVMClassifier": lambda y: LSSVMClassifier().fit(X, y),
    "rows": lambda y: LSSVMClassifier().fit(AGE[:, None], y),
    "gram": lambda y: LSSVMClassifier("precomputed").fit(np.exp(-D), y),
    "LSSVMClassifierCV": lambda y: LSSVMClassifierCV().fit(X, y),
    "y_val": lambda y: LSSVMClassifierCV().fit(X, Y, X_val=X, y_val=y),
    "StreamingLSSVMClassifier": lambda y: StreamingLSSVMClassifier(SlicedFeatures()).fit(X, y),
    "ConformalClassifier": lambda y: ConformalClassifier(LSSVMClassifier()).fit(X, y),
}
NUMBERS = {
    "LSSVMRegressor": lambda y: LSSVMRegressor().fit(X, y),
    "rows": lambda y: LSSVMRegressor().fit(AGE[:, None], y),
    "gram": lambda y: LSSVMRegressor("precomputed").fit(np.exp(-D), y),
    "StreamingLSSVMRegressor": lambda y: StreamingLSSVMRegressor(SlicedFeatures()).fit(X, y),
    "ConformalRegressor": lambda y: ConformalRegressor(LSSVMRegressor()).fit(X, y),
    "MeasureGPRegressor": lambda y: MeasureGPRegressor().fit(X, y),
    "compare": lambda y: compared(y, task="regression"),
    "Columns": lambda y: kernels.Columns({"day": RBF()})({"day": y}),
}
TIMES = np.array(["2020-01-01", "2020-02-01"] * 12, dtype="datetime64[D]")


def with_gap(values, gap, row=5):
    values = np.array(values)
    values[row] = gap
    return values


@pytest.mark.parametrize(
    "labels",
    [
        with_gap(TIMES, "NaT"),
        with_gap(TIMES - TIMES[0], "NaT"),
        with_gap(np.array(["a", "b"] * 12, dtype=object), None),
        with_gap(np.array(["a", "b"] * 12, dtype=object), pd.NA),
    ],
    ids=["date", "duration", "None", "NA"],
)
@pytest.mark.parametrize("use", LABELS.values(), ids=LABELS)
def test_a_missing_label_is_named(use, labels):
    with pytest.raises(InvalidParameterError, match=r"`\w+` must (hold a label|have a value) for .* of measure 5 is "):
        use(labels)


@pytest.mark.parametrize(
    ("values", "gap"),
    [
        (DAYS.where(DAYS.index != 5), "NaT"),
        ((DAYS - DAYS[0]).where(DAYS.index != 5), "NaT"),
        (pl.Series([None if i == 5 else dt.date(2020, 1, 1 + i) for i in range(N)]), "NaT"),
        (pa.array([None if i == 5 else dt.date(2020, 1, 1 + i) for i in range(N)]), "NaT"),
        (np.array([pd.NA if i == 5 else i for i in range(N)], dtype=object), "<NA>"),
        (pd.array([None if i == 5 else i for i in range(N)], dtype="Int64"), "(<NA>|nan)"),
        ([None if i == 5 else i for i in range(N)], "None"),
        (with_gap(AGE, np.nan), "nan"),
    ],
    ids=["pandas", "duration", "polars", "arrow", "NA", "Int64", "None", "nan"],
)
def test_a_trend_has_no_missing_dates_or_numbers(values, gap):
    with pytest.raises(InvalidParameterError, match=f"`values` must hold finite numbers; that of measure 5 is {gap}"):
        inference.trend(D, values, "precomputed", **FEW)


def test_a_trend_over_dates_is_one_over_days():
    by_days = inference.trend(D, np.arange(N), "precomputed", **FEW)
    for dates in (DAYS, DAYS.to_numpy().astype("datetime64[D]"), DAYS - DAYS[0], pl.Series(DAYS.dt.date.tolist())):
        assert inference.trend(D, dates, "precomputed", **FEW).statistic == pytest.approx(by_days.statistic)


@pytest.mark.parametrize(
    ("times", "what"),
    [
        (DAYS, "dates"),
        (DAYS - DAYS[0], "durations"),
        (DAYS.dt.date.tolist(), "dates"),
        ((DAYS - DAYS[0]).astype(object), "durations"),
        (DAYS.dt.tz_localize("UTC"), "dates"),
    ],
    ids=["dates", "durations", "date objects", "duration objects", "time zones"],
)
@pytest.mark.parametrize("use", NUMBERS.values(), ids=NUMBERS)
def test_dates_are_no_targets(use, times, what):
    with pytest.raises(ValueError, match=rf"` must hold numbers; got {what} .* for example to days"):
        use(times)


@pytest.mark.parametrize("times", [DAYS, DAYS - DAYS[0], DAYS.dt.date], ids=["dates", "durations", "objects"])
def test_dates_beside_measures_are_numbers_or_labels_by_choice(times):
    """One may be the day of a course, the other the name of a batch."""
    table = pd.DataFrame({"day": times})
    for use in (
        lambda: inference.permanova(D, Y, "precomputed", covariates=table, **FEW),
        lambda: inference.trend(D, AGE, "precomputed", covariates=table, **FEW),
        lambda: compare(X, Y, candidates=[Candidate("nothing", learner="dummy")], covariates=table),
    ):
        with pytest.raises(InvalidParameterError, match=r"'day' holds d.* may be meant as numbers or as labels"):
            use()


def test_a_missing_target_is_named():
    for use in (NUMBERS["LSSVMRegressor"], NUMBERS["MeasureGPRegressor"], NUMBERS["ConformalRegressor"]):
        with pytest.raises(InvalidParameterError, match="`y` must hold finite numbers; that of measure 5 is <NA>"):
            use(np.array([pd.NA if i == 5 else i for i in range(N)], dtype=object))


def masked(values):
    hidden = np.zeros(np.shape(values), dtype=bool)
    hidden[3] = True
    if hidden.ndim == 2 and hidden.shape[0] == hidden.shape[1]:
        hidden[:, 3] = True
    return np.ma.array(values, mask=hidden)


@pytest.mark.parametrize(
    ("use", "values"),
    [
        *((use, Y) for use in LABELS.values()),
        *((use, AGE) for use in NUMBERS.values()),
        (lambda v: inference.trend(D, v, "precomputed", **FEW), AGE),
        (lambda v: permanova(covariates=v), AGE),
        (lambda v: LSSVMRegressor().fit(X, AGE, sample_weight=v), AGE),
        (lambda v: inference.barycenter(X, v, divergences.Wasserstein()), AGE),
        (lambda v: inference.permanova(v, Y, "precomputed", **FEW), D),
        (lambda v: clustering.KMedoids("precomputed", 2).fit(v), D),
        (lambda v: definiteness.psd_length_scale(v), D),
        (lambda v: definiteness.repair(v), np.exp(-D)),
        (lambda v: definiteness.SpectrumRepair().fit(v), np.exp(-D)),
        (lambda v: inspection.data_map(v, "precomputed"), D),
        (lambda v: DistanceToKernel().fit(v), D),
        (lambda v: LSSVMRegressor("precomputed").fit(v, AGE), np.exp(-D)),
        (lambda v: LSSVMRegressor("precomputed").fit(np.exp(-D), AGE).predict(v), np.exp(-D)),
        (divergences.Precomputed, D),
        (ground.Matrix, D),
        (ground.Matrix.from_costs, D),
        (ground.Table, np.eye(N)),
        (lambda v: inspection.LeaveOneOut(v, AGE, np.ones(N)), AGE),
        (inference.holm, np.linspace(0, 1, N)),
        (X.expectation, X.points),
        (lambda v: pairwise(v, divergence=divergences.Wasserstein()), AGE[:, None]),
        (lambda v: LSSVMClassifier().fit(v, Y), AGE[:, None]),
        (lambda v: MeasureGPRegressor(RBF()).fit(v, AGE), AGE[:, None]),
        (lambda v: kernels.Bumps(v, 1.0), AGE[:, None]),
    ],
)
def test_masked_entries_have_no_value(use, values):
    with pytest.raises(ValueError, match=re.escape("` has masked entries, which have no value. Drop them, or ")):
        use(masked(values))


def test_masks_without_masked_entries_are_arrays():
    bare = np.ma.array(AGE, mask=False)
    expected = inference.trend(D, AGE, "precomputed", **FEW)
    assert inference.trend(D, bare, "precomputed", **FEW).statistic == expected.statistic
    assert len(X[np.ma.array(Y == 1)]) == 12
    with pytest.raises(IndexError, match="`index` has masked entries, which have no value"):
        X[masked(Y == 1)]


BATCH = np.arange(N) % 3


@pytest.mark.parametrize(
    "batch",
    [
        pd.Series(BATCH).astype("category"),
        pd.Categorical(BATCH),
        pa.array(BATCH).dictionary_encode(),
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array(BATCH).dictionary_encode())),
        pl.Series(BATCH.astype(str), dtype=pl.Categorical),
        pl.Series(BATCH.astype(str), dtype=pl.Enum(["0", "1", "2"])),
    ],
    ids=["pandas", "Categorical", "dictionary", "arrow in pandas", "polars", "Enum"],
)
def test_declared_categories_are_labels(batch):
    strings = permanova(covariates={"batch": BATCH.astype(str)})
    assert strings.df == (1, 20)
    found = permanova(covariates={"batch": batch})
    assert (found.df, found.statistic) == (strings.df, strings.statistic)


@pytest.mark.parametrize("kind", [int, Decimal, float])
def test_numbers_of_type_object_are_numbers(kind):
    ages = np.array([kind(int(age)) for age in AGE], dtype=object)
    expected = permanova(covariates=AGE.astype(int))
    found = permanova(covariates=pd.DataFrame({"age": ages}))
    assert (found.df, found.statistic) == (expected.df, expected.statistic)
    with pytest.raises(InvalidParameterError, match="`age` must hold finite numbers; that of measure 5 is None"):
        permanova(covariates={"age": with_gap(ages, None)})


def test_comparisons_take_categories_for_labels_and_objects_for_numbers():
    y = (BATCH == 1).astype(int)  # nothing linear in the number

    def scores(batch):
        found = compared(y, covariates=pd.DataFrame({"batch": batch}))
        return {row.name: row.mean for row in found.rows}, found

    strings, _ = scores(BATCH.astype(str))
    categories, found = scores(pd.Categorical(BATCH))
    assert strings == categories
    assert categories["covariates alone"] == 1.0
    assert scores(BATCH.astype(object))[0] == scores(BATCH)[0] != strings
    seen = pd.DataFrame({"measures": X.to_series(), "batch": pd.Categorical(BATCH)})
    np.testing.assert_array_equal(found.best_.predict(seen), y)


def test_what_is_true_or_false_predicts_as_it_was_learned():
    sick = pd.DataFrame({"sick": Y == 1})
    for frame in (sick, sick.astype(object)):
        best = compared(covariates=frame).best_
        np.testing.assert_array_equal(best.predict(frame.assign(measures=X.to_series())), Y)


def test_every_pair_has_its_own_rows_of_covariates():
    arms = pd.Series(np.array(list("abc"))[BATCH], name="arm")
    sex, blocks = np.array(list("mf"))[RNG.integers(0, 2, N)], np.arange(N) // 12
    tables = {
        "array": AGE,
        "list": AGE.tolist(),
        "mapping": {"age": AGE, "sex": sex.tolist()},
        "pandas": pd.DataFrame({"age": AGE, "site": pd.Categorical(np.arange(N) // 6 % 3)}),
        "polars": pl.DataFrame({"age": AGE, "sex": sex}),
    }
    for name, table in tables.items():
        found = inference.pairwise_tests(D, arms, "precomputed", blocks, covariates=table, **FEW)
        assert found.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
        for pair, test in zip(found.pairs, found.tests, strict=True):
            rows = np.flatnonzero(arms.isin(pair))
            part = {"array": lambda t, r: t[r], "list": lambda t, r: [t[i] for i in r]}.get(name)
            if part is None:
                columns = {key: table[key] for key in (table if isinstance(table, dict) else table.columns)}
                own = {key: pd.Series(values)[rows] for key, values in columns.items()}
            else:
                own = part(table, rows)
            expected = inference.permanova(
                D[np.ix_(rows, rows)], arms[rows], "precomputed", blocks[rows], covariates=own, **FEW
            )
            assert (test.df, test.statistic) == (expected.df, pytest.approx(expected.statistic))


def test_covariates_that_are_constant_in_a_pair_are_left_out_there():
    arms = np.array(list("abc"))[BATCH]
    dose = np.where(arms == "c", np.arange(N), 1)
    found = inference.pairwise_tests(D, arms, "precomputed", covariates={"dose": dose, "age": AGE}, **FEW)
    rows = np.flatnonzero(arms != "c")
    alone = inference.permanova(D[np.ix_(rows, rows)], arms[rows], "precomputed", covariates={"age": AGE[rows]}, **FEW)
    assert found.tests[0].statistic == pytest.approx(alone.statistic)
    assert found.tests[1].df[1] == alone.df[1] - 1
    with pytest.raises(InvalidParameterError, match="`covariates` has no meaning for test='dispersion'"):
        inference.pairwise_tests(D, arms, "precomputed", covariates=AGE, test="dispersion")


def test_labels_of_a_list_stay_apart():
    with pytest.raises(InvalidParameterError, match="`groups` must hold labels of one kind"):
        permanova([1, "1"] * 12)
    with pytest.raises(InvalidParameterError, match="`y` must hold labels of one kind"):
        LSSVMClassifier().fit(X, [1, "1"] * 12)
    with pytest.raises(InvalidParameterError, match="`y` must hold labels of one kind"):
        compared([1, "1"] * 12)
    with pytest.raises(InvalidParameterError, match=r"`groups` must hold a label .* measure 1 is nan"):
        permanova(["a", np.nan] * 12)
    large = [2**63 + 1, -1, 2**63 + 2] * 8
    assert permanova(large).df == (2, 21)
    assert inference.pairwise_tests(D, large, "precomputed", **FEW).pairs[2] == (2**63 + 1, 2**63 + 2)
    for use in (LABELS["LSSVMClassifier"], compared):
        with pytest.raises(InvalidParameterError, match=r"`y` must hold strings, or numbers of at most 64 bits"):
            use(large)


def test_classes_may_be_numbers_of_type_object():
    expected = compared([3, 5] * 12)
    found = compared(np.array([3, 5] * 12, dtype=object))
    assert [row.mean for row in found.rows] == [row.mean for row in expected.rows]
    assert LSSVMClassifier().fit(X, np.array([3, 5] * 12, dtype=object)).classes_.tolist() == [3, 5]


def test_columns_say_what_they_hold():
    assert missing_rows(np.array([[1.0, 2.0], [np.nan, 3.0]])).tolist() == [1]
    assert missing_rows(np.array(["a", ""])).tolist() == []
    assert missing_rows(np.array([], dtype=object)).tolist() == []
    assert holds_numbers([1, None, 2.5])
    assert not holds_numbers([True, False])
    assert not holds_numbers([None, None])
    assert not holds_numbers(np.array([1, True], dtype=object))
    assert not is_category(np.arange(3))
    assert as_values([1, 2.5], "y").dtype == float
    assert as_values(["a", "b"], "y").dtype.kind == "U"
    assert plain(np.array([True, False], dtype=object)).dtype == bool
    assert plain(np.array([1, None], dtype=object)).dtype == object
    assert class_array(np.array(["a", "b"], dtype=object), "y").tolist() == ["a", "b"]
    with pytest.raises(InvalidParameterError, match=r"that of measure 0 is datetime\.date\(2020, 1, 1\). Make strings"):
        class_array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "y")
