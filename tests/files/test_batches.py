"""One file, some measures at a time: the same as all at once."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kermes import files
from kermes.exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, MissingDependencyError

SIZES = (3, 1, 9, 2, 5)


def table():
    rng = np.random.default_rng(0)
    donors = np.repeat([f"d{i}" for i in range(len(SIZES))], SIZES)
    return pd.DataFrame(
        {
            "donor": donors,
            "x": rng.normal(size=20).round(3),
            "y": rng.normal(size=20).round(3),
            "w": 1.0 + np.arange(20),
            "arm": [name in ("d1", "d2") for name in donors],
        }
    )


@pytest.fixture(params=["csv", "csv.gz", "parquet"])
def path(request, tmp_path):
    file = tmp_path / f"cells.{request.param}"
    table().to_parquet(file) if request.param == "parquet" else table().to_csv(file, index=False)
    return file


@pytest.mark.parametrize("rows", [1, 4, 7, 100])
@pytest.mark.parametrize("columns", [["x", "y"], None])
def test_batches_are_the_whole_in_order(path, rows, columns):
    given = {"by": "donor", "columns": columns, "weights": "w", "label": "arm"}
    parts, whole = list(files.batches(path, rows=rows, **given)), files.read(path, **given)
    assert [name for part in parts for name in part.measures.keys] == [f"d{i}" for i in range(5)]
    assert_array_equal(np.concatenate([part.measures.points for part in parts]), whole.measures.points)
    assert_array_equal(np.concatenate([part.measures.weights for part in parts]), whole.measures.weights)
    assert_array_equal(np.concatenate([part.labels for part in parts]), whole.labels)
    for part in parts:  # a measure that takes long to end, and what comes with its end
        assert len(part.measures.points) - part.measures.sizes.max() < 2 * rows


def test_scattered_rows_and_bad_input(tmp_path, monkeypatch):
    file = tmp_path / "scattered.csv"
    pd.concat([table(), table()[:2]]).to_csv(file, index=False)
    with pytest.raises(InvalidFileError, match="'d0' stand in several places"):
        list(files.batches(file, by="donor", columns=["x"], rows=5))
    with pytest.raises(InvalidMeasureError, match="no column 'doner'"):
        list(files.batches(file, by="doner"))
    with pytest.raises(InvalidParameterError, match="`path` must be one file"):
        files.batches(tmp_path, by="donor")
    with pytest.raises(InvalidParameterError, match="`rows`"):
        files.batches(file, by="donor", rows=0)
    empty = tmp_path / "empty.parquet"
    table()[:0].to_parquet(empty)
    with pytest.raises(InvalidFileError, match="has no rows"):
        list(files.batches(empty, by="donor"))
    with pytest.raises(InvalidMeasureError, match="no column 'doner'"):
        list(files.batches(empty, by="doner"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pyarrow"):
        next(iter(files.batches(file, by="donor")))
