"""What a measure is, and what each constructor says about input that is not one."""

from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Measures, divergences, pairwise
from kermes.exceptions import InvalidMeasureError, InvalidParameterError
from kermes.measures import as_measures

nan, inf = np.nan, np.inf


def test_images_in_pixels():
    image = np.zeros((2, 3))
    image[0, 2], image[1, 0] = 5, 7
    X = Measures.from_images([image])
    assert_array_equal(X.points, [[0, 2], [1, 0]])
    assert_array_equal(X.weights, [5, 7])
    assert_array_equal(X.atoms, [2, 3])
    assert X.support.shape == (2, 3)


def test_images_binary_above_a_threshold_in_unit_coordinates():
    image = np.array([[0, 190, 191], [255, 0, 10]], dtype=np.uint8)
    X = Measures.from_images(image[None], threshold=190, binary=True, spacing="unit")
    assert_array_equal(X.points, [[0, 1.0], [0.5, 0]])
    assert_array_equal(X.weights, [1, 1])
    assert_array_equal(Measures.from_images(image[None], threshold=190).weights, [191, 255])
    assert Measures.from_images(image[None], spacing=0.25).points.max() == 0.5


def test_histograms():
    X = Measures.from_histograms([[1, 0, 3], [0, 2, 0]], [10.0, 20.0, 30.0])
    assert_array_equal(X.points[:, 0], [10, 30, 20])
    assert_array_equal(X.offsets, [0, 2, 3])
    plane = Measures.from_histograms([[1, 1]], [[0.0, 1.0], [2.0, 3.0]])
    assert plane.dim == 2


def test_zero_weights_are_dropped():
    X = Measures.from_samples([[1, 2, 3], [4, 5]], [[0, 1, 0], [2, 0]])
    assert_array_equal(X.points[:, 0], [2, 4])
    assert_array_equal(X.offsets, [0, 1, 2])


TABLE = {"patient": ["b", "a", "b", "c"], "x": [1.0, 2.0, 3.0, 4.0], "y": [1, 2, 3, 4], "w": [1.0, 0.5, 2.0, 1.0]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames(make):
    X = Measures.from_frame(make(TABLE), by="patient", columns=["x", "y"], weights="w")
    assert list(X.keys) == ["b", "a", "c"]
    assert_array_equal(X.points, [[1, 1], [3, 3], [2, 2], [4, 4]])
    assert_array_equal(X.masses, [3.0, 0.5, 1.0])
    assert list(X[[2, 0]].keys) == ["c", "b"]
    assert X[1].key == "a"
    line = Measures.from_frame(make(TABLE), by="y", columns="x")
    assert_array_equal(line.keys, [1, 2, 3, 4])


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_times_keep_their_time_zone(convert):
    times = pd.to_datetime(["2024-01-01", "2024-07-01", "2024-01-01"]).tz_localize("Europe/Berlin")
    X = Measures.from_frame(convert(pd.DataFrame({"day": times, "x": [1.0, 2.0, 3.0]})), by="day", columns="x")
    assert list(X.keys) == ["2024-01-01 00:00:00+01:00", "2024-07-01 00:00:00+02:00"]
    assert_array_equal(X.sizes, [2, 1])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_frames_group_as_pandas_does(labels):
    frame = pd.DataFrame({"g": labels, "x": np.arange(len(labels), dtype=float)})
    X = Measures.from_frame(frame, by="g", columns="x")
    expected = {key: group.to_numpy() for key, group in frame.groupby("g", sort=False)["x"]}
    assert list(X.keys) == list(expected)
    for measure in X:
        assert_array_equal(measure.points[:, 0], expected[measure.key])


@pytest.mark.parametrize(
    ("samples", "weights", "message"),
    [
        ([[1, 2], [3, nan]], None, "measure 1 has a point with NaN or infinite coordinates"),
        ([[1], [inf]], None, "measure 1 has a point with NaN or infinite"),
        ([[1], [2]], [[1], [nan]], "measure 1 has a weight that is NaN or infinite"),
        ([[1], [2]], [[1], [inf]], "measure 1 has a weight that is NaN or infinite"),
        ([[1], [2, 3]], [[1], [1, -2]], "measure 1 has the negative weight -2"),
        ([[1], [2, 3]], [[1], [0, 0]], r"measure 1 has no mass \(1 such in all\)"),
        ([[1], []], None, "measure 1 has no points"),
        ([[[1, 2]], [[1, 2, 3]]], None, "measure 1 has points of dimension 3, measure 0 of dimension 2"),
        ([[1], [[[2]]]], None, r"measure 1 has shape \(1, 1, 1\)"),
        ([[1], ["a"]], None, r"`samples\[1\]` must be an array of real numbers; got list with dtype"),
        ([np.ma.masked_array([1.0, 2.0], [0, 1])], None, r"`samples\[0\]` has masked entries"),
        (pd.DataFrame({"a": [1]}), None, "from_frame for a long table"),
        ([[1], [1, [2, 3]]], None, r"`samples\[1\]` is ragged"),
        ([[1], [2]], [[1]], r"one array per measure \(2\); got 1"),
        ([[1], [2, 3]], [[1], [1]], "measure 1 has 2 points but weights of shape"),
        ([], None, "at least one measure"),
        (5, None, "must be a list with one array per measure; got int"),
        ({"a": [1]}, None, "got dict. Use list.d.values"),
        ([[1e308]] * 2, [[1e308], [1.7e308]], None),
        ([[1, 2]], [[1.7e308, 1.7e308]], "measure 0 has an infinite mass"),
    ],
)
def test_bad_samples(samples, weights, message):
    if message is None:
        assert len(Measures.from_samples(samples, weights)) == len(samples)
        return
    with pytest.raises(InvalidMeasureError, match=message):
        Measures.from_samples(samples, weights)


@pytest.mark.parametrize(
    ("images", "options", "error", "message"),
    [
        (np.ones((3, 3)), {}, InvalidMeasureError, r"\(n, height, width\); got \(3, 3\)"),
        (np.ones((2, 3, 3, 3)), {}, InvalidMeasureError, "for channels"),
        (np.stack([np.ones((2, 2)), np.zeros((2, 2))]), {}, InvalidMeasureError, "image 1 has no mass"),
        (np.stack([np.ones((2, 2)), -np.ones((2, 2))]), {}, InvalidMeasureError, "image 1 has the negative weight"),
        (np.stack([np.ones((2, 2)), -np.ones((2, 2))]), {"threshold": 0}, InvalidMeasureError, "image 1 has the neg"),
        (np.full((1, 2, 2), nan), {"binary": True}, InvalidMeasureError, "image 0 has a weight that is NaN"),
        (np.ones((1, 2, 2)), {"threshold": 1}, InvalidMeasureError, "no pixel brighter than the threshold 1"),
        (np.ones((1, 2, 2)), {"spacing": "units"}, InvalidParameterError, "'pixel', 'unit' or a positive number"),
        (np.ones((1, 2, 2)), {"spacing": 0}, InvalidParameterError, "`spacing` must be a finite number greater"),
        (np.array([[["a"]]]), {}, InvalidMeasureError, "array of real numbers"),
    ],
)
def test_bad_images(images, options, error, message):
    with pytest.raises(error, match=message):
        Measures.from_images(images, **options)


@pytest.mark.parametrize(
    ("histograms", "support", "message"),
    [
        ([1, 2], [0, 1], r"shape \(n, m\) with n >= 1; got \(2,\)"),
        ([[1, 2]], [0, 1, 2], "one point for each of the 2 bins"),
        ([[1, 2]], [0, 1, 2], "Of bin edges take the midpoints"),
        ([[1, 2]], [0, nan], "point 1 of `support` is not finite"),
        ([[1, 2, 3]], [0, 5, 0], "points 0 and 2 of `support` coincide"),
        ([[1, 1], [1, -1]], [0, 1], "histogram 1 has the negative weight -1"),
        ([[1, 1], [0, 0]], [0, 1], "histogram 1 has no mass"),
        ([[1, 1], [nan, 0]], [0, 1], "histogram 1 has a weight that is NaN"),
    ],
)
def test_bad_histograms(histograms, support, message):
    with pytest.raises(InvalidMeasureError, match=message):
        Measures.from_histograms(histograms, support)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"by": "pateint", "columns": "x"}, "no column 'pateint'.*Did you mean 'patient'"),
        ({}, {"by": "patient", "columns": ["x", "z"]}, "no column 'z'; the table has patient, x, y, w"),
        ({}, {"by": "patient", "columns": []}, "at least one coordinate column"),
        ({}, {"by": "x", "columns": "patient"}, "the column 'patient' has type String"),
        ({"x": [1.0, nan, 2.0, 3.0]}, {"by": "patient", "columns": "x"}, r"measure 1 \(a\) has a point with NaN"),
        ({"x": [1.0, None, 2.0, 3.0]}, {"by": "patient", "columns": "x"}, r"measure 1 \(a\) has a point with NaN"),
        ({"w": [1, -1, 1, 1]}, {"by": "patient", "columns": "x", "weights": "w"}, r"measure 1 \(a\) has the negative"),
        ({}, {"by": ["patient"], "columns": "x"}, "`by` must be the name of one column"),
        ({}, {"by": "Patients", "columns": "x"}, "Did you mean 'patient'"),
        (
            {"patient": ["a", None, "b", "c"]},
            {"by": "patient", "columns": "x"},
            r"row 1 \(counting from 0\) has no value in the column",
        ),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_bad_frames(make, change, options, message):
    with pytest.raises(InvalidMeasureError, match=message):
        Measures.from_frame(make(TABLE | change, **({"strict": False} if make is pl.DataFrame else {})), **options)


def test_frames_without_rows_or_of_another_kind():
    with pytest.raises(InvalidMeasureError, match="no rows"):
        Measures.from_frame(pd.DataFrame({"a": [], "x": []}), by="a", columns="x")
    with pytest.raises(InvalidMeasureError, match="Arrow batches; got dict"):
        Measures.from_frame(TABLE, by="patient", columns="x")
    with pytest.raises(InvalidMeasureError, match=r"Call \.collect\(\) first"):
        Measures.from_frame(pl.LazyFrame(TABLE), by="patient", columns="x")
    with pytest.raises(InvalidMeasureError, match="two columns of the same name"):
        Measures.from_frame(pd.DataFrame([[1, 2, 3]], columns=["a", "x", "x"]), by="a", columns="x")


def test_names_of_measures_keep_their_type():
    values = pd.Series([1, "1", "b"], dtype=object)
    with pytest.raises(InvalidMeasureError, match="mixes int, str"):
        Measures.from_frame(pd.DataFrame({"g": values, "x": 1.0}), by="g", columns="x")
    numbers = pd.DataFrame({"g": pd.Series([3, 1, 3], dtype=object), "x": 1.0})
    assert Measures.from_frame(numbers, by="g", columns="x").keys.tolist() == [3, 1]


@pytest.mark.parametrize("values", [[{"a": 1}, {"a": 2}], [[1], [2]]], ids=["struct", "list"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_name_is_one_value(make, values):
    with pytest.raises(InvalidMeasureError, match=r"the column 'g' holds .*; what names .* must be one value"):
        Measures.from_frame(make({"g": values, "x": [1.0, 2.0]}), by="g", columns="x")


def library(table, name):
    """Return a table of Arrow as one of another library."""
    if name == "arrow":
        return table
    return pl.from_arrow(table) if name == "polars" else table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("name", ["arrow", "polars", "pandas"])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pa.array([b"a", b"b", b"a"]), r"the column 'g' holds Binary; what names .* must be one value"),
        (pa.array([1, 2, 3], pa.time64("ns")), r"the column 'g' holds Time; what names .* must be one value"),
        (pa.array(["a", "a\0", "b"]), r"the column 'g' has the string 'a\\x00', which ends in a zero"),
    ],
    ids=["bytes", "times", "zeros"],
)
def test_names_that_would_become_others_are_refused(name, values, message):
    """Times within a microsecond were merged by polars and pandas, strings that end in a zero by NumPy."""
    with pytest.raises(InvalidMeasureError, match=message):
        Measures.from_frame(library(pa.table({"g": values, "x": [1.0, 2.0, 3.0]}), name), by="g", columns="x")


@pytest.mark.parametrize("name", ["arrow", "pandas"])
def test_names_that_are_numbers_stored_once(name):
    table = pa.table({"g": pa.array([3, 1, 3]).dictionary_encode(), "x": [1.0, 2.0, 3.0]})
    X = Measures.from_frame(library(table, name), by="g", columns="x")
    assert X.keys.tolist() == [3, 1]
    assert X[0].points.ravel().tolist() == [1.0, 3.0]


@pytest.mark.parametrize("name", ["arrow", "polars", "pandas"])
def test_whole_numbers_of_64_bits_without_a_sign(name):
    table = pa.table({"g": ["a", "b"], "x": pa.array([2**63, None], pa.uint64())})
    with pytest.raises(InvalidMeasureError, match=r"measure 1 \(b\) has a point with NaN"):
        Measures.from_frame(library(table, name), by="g", columns="x")
    whole = Measures.from_frame(library(table.slice(0, 1), name), by="g", columns="x")
    assert whole.points.ravel().tolist() == [2.0**63]


def test_decimals_that_end_before_the_point_are_read_or_refused():
    """Newer versions of narwhals do not know such types."""
    table = pa.table({"g": ["a"], "x": pa.array([Decimal(100)], pa.decimal128(5, -2))})
    found = None
    with suppress(InvalidMeasureError):
        found = Measures.from_frame(table, by="g", columns="x").points.tolist()
    assert found in (None, [[100.0]])


def test_as_measures_reads_what_is_unambiguous():
    X = Measures.from_samples([[1.0], [2.0]])
    assert as_measures(X) is X
    diracs = as_measures([[1, 2], [3, 4]])
    assert_array_equal(diracs.points, [[1, 2], [3, 4]])
    assert_array_equal(diracs.sizes, 1)
    assert as_measures([np.ones((3, 2)), np.ones((1, 2))]).sizes.tolist() == [3, 1]
    assert as_measures(pd.DataFrame({"a": [1.0, 2.0], "b": [0, 1]})).dim == 2
    mixed = as_measures(np.array([X[0], Measures.from_samples([[7.0, 8.0]])[0]], dtype=object))
    assert_allclose(mixed.points[:, 0], [1, 7, 8])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"got an array of shape \(3,\). Reshape your data"),
        (np.ones((2, 3, 3)), "from_images for images"),
        (np.array([[1.0, nan]]), r"row 0 \(counting from 0\) of `X` contains NaN or infinity"),
        (np.array([[1.0], [inf]]), r"row 1 \(counting from 0\) of `X` contains NaN or infinity"),
        (np.array([1, None], dtype=object), "object array that does not hold measures .entry 0 is a int"),
        ([np.ones(2), np.ones(2)], "could be points or measures on the line"),
        ([[1, 2], [3]], "ragged list"),
        (Measures.from_samples([[1.0]])[0], "single measure"),
        (np.array([["a"]]), "must hold numbers or measures"),
        (pd.DataFrame({"a": ["x"]}), r"Measures\.from_frame"),
        (np.ones((0, 2)), r"shape \(0, 2\)"),
    ],
)
def test_as_measures_refuses_the_rest(X, message):
    with pytest.raises(InvalidMeasureError, match=message):
        as_measures(X)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"g": ["a", "", "b"], "x": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"g": [1.0, np.nan, 2.0], "x": [1.0, 2.0, 3.0]}),
        pl.DataFrame({"g": ["a", "  ", "b"], "x": [1.0, 2.0, 3.0]}),
        pl.DataFrame({"g": [1.0, float("nan"), 2.0], "x": [1.0, 2.0, 3.0]}),
    ],
)
def test_a_row_of_a_frame_without_a_name_is_refused(frame):
    with pytest.raises(InvalidMeasureError, match=r"row 1 \(counting from 0\) has no value in the column 'g'"):
        Measures.from_frame(frame, by="g", columns=["x"])


def test_frames_name_their_coordinates():
    frame = pd.DataFrame({"cd4": [1.0, 2.0], "cd8": [10.0, 20.0]})
    assert Measures.from_samples([frame, frame]).dim == 2
    for other in (frame[["cd8", "cd4"]], frame.rename(columns={"cd8": "cd19"})):
        with pytest.raises(InvalidMeasureError, match=r"measure 1 has the columns .* measure 0 has cd4, cd8;"):
            Measures.from_samples([frame, other])
        assert Measures.from_samples([frame, other.to_numpy()]).dim == 2
    with pytest.raises(InvalidParameterError, match="`X` and `Y` must have the same columns, in the same order"):
        pairwise(frame, frame[["cd8", "cd4"]], divergence=divergences.Wasserstein())
