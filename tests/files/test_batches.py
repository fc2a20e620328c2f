"""One file, some measures at a time: the same as all at once."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kermes import files
from kermes.exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, MissingDependencyError
from kermes.files import _delimited

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


# -- what read refuses is refused -------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1000, 1500])
@pytest.mark.parametrize("columns", [None, ["x", "y"]])
@pytest.mark.parametrize("word", ["n/d", "2,5"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_string_among_numbers_is_refused_wherever_it_is(tmp_path, rows, columns, word, ending):
    """The coordinate was gone in all batches."""
    frame = pd.DataFrame({"p": [f"d{i // 1000}" for i in range(10_000)], "x": range(10_000)})
    frame["y"] = [word if i // 1000 == 4 else str(2 * i) for i in range(10_000)]
    path = tmp_path / f"t.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    with pytest.raises(InvalidFileError) as whole:
        files.read(path, by="p", columns=columns)
    with pytest.raises((InvalidFileError, InvalidMeasureError)) as parts:
        list(files.batches(path, by="p", columns=columns, rows=rows))
    if ending == "csv" or columns is None:  # a column of strings is no coordinate, whatever these are
        assert str(parts.value) == str(whole.value)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_coordinates_are_those_of_the_whole(tmp_path, ending):
    """Constant columns are coordinates; what is true or false, a label, words and declared categories are not."""
    frame = pd.DataFrame({"p": np.repeat(list("abc"), 2), "x": np.arange(6.0), "same": 7, "yes": [True, False] * 3})
    frame = frame.assign(arm=np.repeat([1, 2, 1], 2), word=["u", "v"] * 3, site=pd.Categorical([3, 4] * 3))
    frame["batch"] = pd.Categorical(np.repeat([5, 6, 5], 2))
    path = tmp_path / f"t.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    given = {"by": "p", "label": "arm", "metadata": ["batch"]}
    whole, parts = files.read(path, **given), list(files.batches(path, rows=2, **given))
    assert whole.columns == (("x", "same", "site") if ending == "csv" else ("x", "same"))
    assert {part.columns for part in parts} == {whole.columns}
    assert_array_equal(np.concatenate([part.metadata["batch"] for part in parts]), whole.metadata["batch"])


def test_later_rows_may_have_decimals_but_no_words(tmp_path, monkeypatch):
    """What the first rows were decided for the others: 0.5 after whole numbers was refused, 0x10 was 16."""
    monkeypatch.setattr(_delimited, "PIECE", 64)
    path = tmp_path / "t.csv"
    rows = [f"d{i // 10},{i},1\n" for i in range(40)]
    for word, message in [
        ("x", "'t.csv': the column 'x' has the string 'x' among its numbers; correct"),
        ("0x10", "'t.csv': the column 'x' has the string '0x10' among its numbers; correct"),
        (str(2**53 + 1), "the column 'x' has whole numbers of more than 53 bits"),
    ]:
        path.write_text("p,x,l\n" + "".join([*rows, f"e,{word},1\n"]))
        with pytest.raises(InvalidFileError, match=message.replace("'t.csv'", r"t\.csv'")):
            list(files.batches(path, by="p", columns=["x"], rows=10))
    path.write_text("p,x,l\n" + "".join([*rows, "e,0.5,1\n"]))
    parts = list(files.batches(path, by="p", columns=["x"], label="l", rows=10))
    assert parts[-1].measures.points.tolist() == [[0.5]]
    for word, message in [("a", "the column 'l' has 'a', where the first rows have"), ("0x1", "hexadecimal numbers")]:
        path.write_text("p,x,l\n" + "".join([*rows, f"e,1,{word}\n"]))
        with pytest.raises(InvalidFileError, match=message):
            list(files.batches(path, by="p", columns=["x"], label="l", rows=10))


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_quote_that_is_not_closed_is_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(_delimited, "PIECE", 64)
    path = tmp_path / f"t.{ending}"
    rows = [f'd{i // 10},{i},"a\nb"\n' for i in range(40)]
    compress = gzip.compress if ending.endswith("gz") else bytes
    path.write_bytes(compress("".join(["p,x,note\n", *rows]).encode()))
    given = {"by": "p", "columns": ["x"], "rows": 10}
    assert sum(part.measures.sizes.sum() for part in files.batches(path, **given)) == 40
    for place in (3, 39):
        broken = [*rows[:place], f'd{place // 10},1,"half\n', *[row.replace('"', "") for row in rows[place + 1 :]]]
        text = "".join(["p,x,note\n", *broken]).replace("a\nb\n", "ab\n")
        path.write_bytes(compress(text.encode()))
        with pytest.raises(InvalidFileError, match=r"the quote that opens '\"half' is not closed"):
            list(files.batches(path, **given))
