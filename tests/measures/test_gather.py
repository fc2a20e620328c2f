"""Rows in any order, columns of lists, streams of Arrow batches, and back to tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from kermes import Measures
from kermes.exceptions import InvalidMeasureError, InvalidParameterError, MissingDependencyError
from kermes.measures import _frame, _gather

RNG = np.random.default_rng(0)


def long_table(n=1000, groups=7):
    names = np.array([f"p{i}" for i in range(groups)])
    return pd.DataFrame(
        {
            "g": names[RNG.integers(0, groups, n)],
            "x": RNG.normal(size=n),
            "y": RNG.normal(size=n),
            "w": RNG.uniform(size=n),
        }
    )


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_pieces_give_what_grouping_gives(monkeypatch, order, make):
    monkeypatch.setattr(_frame, "PIECE", 64)
    frame = long_table()
    frame = frame if order == "shuffled" else frame.sort_values("g", kind="stable")
    X = Measures.from_frame(make(frame), by="g", columns=["x", "y"], weights="w")
    expected = dict(list(frame.groupby("g", sort=False)))
    assert X.keys.tolist() == list(expected)
    for measure, group in zip(X, expected.values(), strict=True):
        assert_array_equal(measure.points, group[["x", "y"]])
        assert_array_equal(measure.weights, group["w"])


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, 2]),
        np.array([0.5, -1.0, 0.5, 2.0]),
        np.array([True, False, True, True]),
        np.array(["b", "a", "b", "c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        np.array([7, 5, 7, 5], dtype=object),
        np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01"], dtype="datetime64[ns]"),
    ],
    ids=["int", "float", "bool", "str", "object", "objects of int", "date"],
)
def test_groups_are_numbered_as_they_come_whatever_their_type(values):
    numbering = _gather.Numbering("g")
    codes = np.concatenate([numbering.codes(values[:2]), numbering.codes(values[2:])])
    assert_array_equal(numbering.keys()[codes], values)
    assert codes.tolist() == pd.factorize(values)[0].tolist()
    assert len(numbering.keys()) == codes.max() + 1
    assert numbering.keys().dtype.kind in "biufUM"


def test_names_of_other_types_become_strings():
    numbering = _gather.Numbering("g")
    from decimal import Decimal

    numbering.codes(np.array([Decimal("1.5")], dtype=object))
    assert numbering.keys().tolist() == ["1.5"]
    with pytest.raises(InvalidMeasureError, match="mixes Decimal, str"):
        numbering.codes(np.array(["a"], dtype=object))


class Stream:
    """What DuckDB and others give: Arrow batches, and no table."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_a_stream_of_arrow_batches_is_a_table():
    frame = long_table(50)
    X = Measures.from_frame(Stream(pa.Table.from_pandas(frame)), by="g", columns="x")
    assert X.fingerprint == Measures.from_frame(frame, by="g", columns="x").fingerprint


# -- columns of lists -------------------------------------------------------------------------------

LISTS = {"g": ["a", "b", "a"], "x": [[1.0, 2.0], [3.0], [4.0]], "y": [[10, 20], [30], [40]], "w": [[1, 2], [1], [1]]}


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, pd.DataFrame])
def test_columns_of_lists_hold_a_measure_in_a_row(make):
    X = Measures.from_frame(make(LISTS), by="g", columns=["x", "y"], weights="w")
    assert X.keys.tolist() == ["a", "b"]  # rows of one name are one measure
    assert_array_equal(X[0].points, [[1, 10], [2, 20], [4, 40]])
    assert_array_equal(X.weights, [1, 2, 1, 1])


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.list_(pa.float64(), 2)), pa.list_(pa.list_(pa.float32())), pa.large_list(pa.large_list(pa.int32()))],
)
def test_columns_of_points(kind):
    table = pa.table({"g": [1, 2], "p": pa.array([[[1, 2], [3, 4]], [[5, 6]]], type=kind)})
    X = Measures.from_frame(table, by="g", columns="p")
    assert_array_equal(X.points, [[1, 2], [3, 4], [5, 6]])
    assert X.sizes.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"y": [[1], [2], [3]]}, {}, "a row has 2 entries in the list 'x' and 1 in 'y'"),
        ({"y": [1, 2, 3]}, {}, "'x' holds lists and 'y' single values"),
        ({"x": [[1.0, 2.0], None, [4.0]]}, {}, "'x' has a row without a list"),
        ({"x": [["u", "v"], ["w"], ["x"]]}, {}, "lists of .*string; points must be numbers"),
        ({"x": [[[1, 2], [3]], [[4]], [[5]]]}, {"columns": "x"}, "differ in dimension"),
    ],
)
def test_lists_that_do_not_fit(change, options, message):
    with pytest.raises(InvalidMeasureError, match=message):
        Measures.from_frame(pa.table(LISTS | change), **({"by": "g", "columns": ["x", "y"]} | options))


def test_lists_of_other_things_and_no_rows():
    odd = pd.DataFrame({"g": ["a", "b"], "x": pd.Series([[1.0], "two"], dtype=object)})
    with pytest.raises(InvalidMeasureError, match="holds lists and other things"):
        Measures.from_frame(odd, by="g", columns="x")
    empty = pa.table({"g": pa.array([], pa.string()), "x": pa.array([], pa.list_(pa.float64()))})
    with pytest.raises(InvalidMeasureError, match="no rows"):
        Measures.from_frame(empty, by="g", columns="x")


# -- back to tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_of_atoms_gives_the_measures_back(library):
    X = Measures.from_frame(long_table(), by="g", columns=["x", "y"], weights="w")
    frame = X.to_frame(["cd4", "cd8"], by="patient", library=library)
    back = Measures.from_frame(frame, by="patient", columns=["cd4", "cd8"], weights="weight")
    assert back.fingerprint == X.fingerprint
    assert back.keys.tolist() == X.keys.tolist()


def test_names_of_coordinates():
    images = Measures.from_images(RNG.uniform(size=(2, 3, 3)))
    assert images[1:].to_frame().columns.tolist() == ["measure", "row", "column", "weight"]
    cloud = Measures.from_samples([np.zeros((2, 3))])
    assert cloud.to_frame(library="polars").columns == ["measure", "x0", "x1", "x2", "weight"]
    with pytest.raises(InvalidParameterError, match="must name the 3 coordinates; got 1"):
        cloud.to_frame(["x"])
    with pytest.raises(InvalidParameterError, match="two columns would have one name"):
        cloud.to_frame(["x", "y", "weight"])
    with pytest.raises(InvalidParameterError, match="`library` must be one of"):
        cloud.to_frame(library="excel")


def test_a_library_that_is_not_there_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingDependencyError, match="pip install polars"):
        Measures.from_samples([[1.0]]).to_frame(library="polars")


TWINS = Measures.from_frame(pl.DataFrame({"g": list("aab"), "x": [1.0, 2.0, 3.0]}), by="g", columns="x")


@pytest.mark.parametrize(
    ("X", "first"), [(TWINS[[1, 0, 1]], 0), (Measures.concatenate([TWINS, TWINS.map_points(np.exp)[[1]]]), 1)]
)
def test_measures_of_one_name_are_not_merged_in_a_table(X, first):
    """A bootstrap and two plates came back as fewer measures."""
    with pytest.raises(
        InvalidParameterError, match=rf"measures {first} and 2 have one name, b, .*X\.with_keys\(names\)"
    ):
        X.to_frame()
    for named in (X.with_keys(None), X.with_keys([f"{i}{key}" for i, key in enumerate(X.keys)])):
        back = Measures.from_frame(named.to_frame(), by="measure", columns="x0", weights="weight")
        assert back.fingerprint == named.fingerprint
        assert len(back) == len(X)
    assert X.with_keys(None).to_frame()["measure"].unique().tolist() == list(range(len(X)))


def test_other_names():
    X = TWINS.with_keys(["first", "second"])
    assert X.keys.tolist() == ["first", "second"]
    assert TWINS.keys.tolist() == ["a", "b"]
    assert X.fingerprint == TWINS.fingerprint
    assert X[1:].keys.tolist() == ["second"]
    assert TWINS.with_keys(np.array(["u", "v"], dtype=object)).keys.dtype.kind == "U"
    assert TWINS.with_keys([3, 1]).keys.tolist() == [3, 1]
    with pytest.raises(InvalidParameterError, match="`keys` must hold 2 labels, one per measure"):
        TWINS.with_keys(["a"])
    with pytest.raises(InvalidParameterError, match="a label for every measure; that of measure 1 is None"):
        TWINS.with_keys(["a", None])
    with pytest.raises(InvalidParameterError, match=r"`keys` must be in the order.*keys\.loc\[X\.keys\]"):
        TWINS.with_keys(pd.Series(["y", "x"], index=["b", "a"]))
