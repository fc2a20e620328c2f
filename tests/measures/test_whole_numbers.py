"""Whole numbers of more than 53 bits are refused, not rounded to equal ones; decimals are the nearest doubles."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from kermes import Measures, files
from kermes.exceptions import InvalidMeasureError
from kermes.measures import as_measures

CODES = 10**17 + np.arange(1, 5)


@pytest.mark.parametrize("codes", [CODES, CODES.astype(np.uint64), -CODES, np.array([2**64 - 1], dtype=np.uint64)])
def test_codes_that_would_become_equal_are_refused(codes):
    with pytest.raises(InvalidMeasureError, match=r"samples\[0\].*more than the 53 bits of a double"):
        Measures.from_samples([codes])
    with pytest.raises(InvalidMeasureError, match="`support` has the whole number"):
        Measures.from_histograms(np.ones((2, len(codes))), codes)
    with pytest.raises(InvalidMeasureError, match="`X` has the whole number"):
        as_measures(codes[:, None])


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow", None])
def test_columns_of_codes_are_refused(backend):
    frame = pd.DataFrame({"p": list("aabb"), "x": CODES})
    frame = frame if backend is None else frame.convert_dtypes(dtype_backend=backend)
    with pytest.raises(InvalidMeasureError, match=r"the column 'x' has the whole number 1000\d+, which takes more"):
        Measures.from_frame(frame, by="p", columns=["x"])


def test_whole_numbers_that_doubles_hold_are_read():
    values = np.array([2**60, 2**53, -(2**53), 3 * 2**55])
    assert np.array_equal(Measures.from_samples([values]).points.ravel(), values.astype(float))
    X = Measures.from_frame(pd.DataFrame({"p": list("aabb"), "x": values}), by="p", columns=["x"])
    assert np.array_equal(np.sort(X.points.ravel()), np.sort(values.astype(float)))


@pytest.mark.parametrize(
    "lists",
    [
        pa.array([[2**53 + 1], [2**53]]),
        pa.array([[[2**53 + 1, 0]], [[2**53, 0]]]),
        pa.array([[2**53 + 1], [2**53]], pa.list_(pa.uint64(), 1)),
        pl.Series([[2**53 + 1], [2**53]]),
        pd.Series([[2**53 + 1], [2**53]]),
        pd.Series([np.array([2**53 + 1]), np.array([2**53])]),
    ],
    ids=["Arrow", "nested", "fixed", "polars", "pandas", "arrays"],
)
def test_lists_of_codes_are_refused_too(lists, tmp_path):
    make = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}.get(type(lists), pa.table)
    with pytest.raises(InvalidMeasureError, match="the column 'x' has the whole number 9007199254740993"):
        Measures.from_frame(make({"g": ["a", "b"], "x": lists}), by="g", columns="x")
    if make is pa.table:
        parquet.write_table(pa.table({"g": ["a", "b"], "x": lists}), tmp_path / "t.parquet")
        with pytest.raises(InvalidMeasureError, match="the column 'x' has the whole number 9007199254740993"):
            files.read(tmp_path / "t.parquet", by="g", columns=["x"])


@pytest.mark.parametrize(
    "make", [lambda table: table, pl.from_arrow, lambda t: t.to_pandas(types_mapper=pd.ArrowDtype)]
)
@pytest.mark.parametrize(("precision", "scale"), [(9, 2), (38, 18)])
def test_decimals_are_the_nearest_doubles(make, precision, scale):
    """Casts of Arrow are a unit in the last place off, and the same table as text was another one."""
    values = [Decimal(k) / 100 for k in range(1, 1000)]
    table = pa.table({"g": ["a"] * 999, "x": pa.array(values, pa.decimal128(precision, scale))})
    assert Measures.from_frame(make(table), by="g", columns="x").points.ravel().tolist() == list(map(float, values))


def test_decimals_are_labels_as_numbers_unless_doubles_merge_them(tmp_path):
    kind, path = pa.decimal128(38, 18), tmp_path / "t.parquet"
    near = [Decimal(1) + Decimal(k).scaleb(-18) for k in range(3)]
    table = {"g": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}
    for given, expected in (
        ([Decimal("1.5"), Decimal(2), Decimal("0.1")], [1.5, 2.0, 0.1]),
        (near, list(map(str, near))),
    ):
        parquet.write_table(pa.table(table | {"label": pa.array(given, kind)}), path)
        assert files.read(path, by="g", columns=["x"], label="label").labels.tolist() == expected
