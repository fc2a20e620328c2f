"""Tables as people write them: dialects, compression, standard input, metadata, folders of Parquet, and mistakes."""

import bz2
import gzip
import io
import lzma
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import parquet

from kermes import Measures, _foreign, files
from kermes.exceptions import (
    InvalidFileError,
    InvalidMeasureError,
    InvalidParameterError,
    KermesWarning,
    UnsuitableDataError,
)
from kermes.files import _delimited, _parquet, _text

PLAIN = "patient,x,y\nb,1.5,2\na,0.5,3\nb,4,5\n"
EXPECTED = [[1.5, 2], [4, 5], [0.5, 3]]
LOADERS = [_text._by_pyarrow, _text._by_pandas, _text._by_polars]


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("text", "options"),
    [
        (PLAIN, {}),
        (PLAIN.replace(",", "|"), {"separator": "|"}),
        (PLAIN.replace(",", ";").replace(".", ","), {"decimal": ","}),
        (PLAIN.replace(",", "\t").replace(".", ","), {"decimal": ",", "separator": "\t"}),
        (PLAIN.replace("b,", "ä,"), {"encoding": "latin-1"}),
        (PLAIN.replace("b,", "ä,"), {"encoding": "utf-16"}),
    ],
)
@pytest.mark.parametrize("columns", [None, ["x", "y"]])
def test_dialects(tmp_path, monkeypatch, load, text, options, columns):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(options.get("encoding", "utf-8")))
    data = files.read(path, by="patient", columns=columns, **options)
    assert_array_equal(data.measures.points, EXPECTED)
    assert data.keys.tolist() == ["ä" if "encoding" in options else "b", "a"]


def zstandard(content):
    return pa.compress(content, "zstd", asbytes=True)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard)],
)
def test_compressed_text(tmp_path, monkeypatch, ending, compress):
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(compress(PLAIN.encode()))
    assert_array_equal(files.read(path, by="patient").measures.points, EXPECTED)
    path.write_bytes(PLAIN.encode())
    with pytest.raises(InvalidFileError, match=rf"t\.csv\{ending}' is not (gzip|bzip2|xz|Zstandard), or it is damaged"):
        files.read(path, by="patient")
    monkeypatch.setattr(_foreign, "FREE", 1 << 16)
    path.write_bytes(compress(b"patient,x\n" + b"a,1\n" * (1 << 20)))
    with pytest.raises(InvalidFileError, match="would expand to"):
        files.read(path, by="patient")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(PLAIN.encode())))
    assert_array_equal(files.read("-", by="patient").measures.points, EXPECTED)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(PLAIN.encode())))
    monkeypatch.setattr(_foreign, "_memory", lambda: 10.0)
    with pytest.raises(UnsuitableDataError, match="standard input would take"):
        files.read("-", by="patient")


def test_decimal_commas_in_quotes_between_commas(tmp_path):
    (tmp_path / "t.csv").write_text('g,x\na,"1,5"\nb,"2,5"\n')
    assert_array_equal(files.read(tmp_path / "t.csv", by="g", decimal=",").measures.points, [[1.5], [2.5]])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "g;x\na;1,5\nb;2,5\n",
            {},
            r"the number '1,5' with a decimal comma in row 0 \(counting from 0\); read the file with --decimal ,",
        ),
        ("g;x\na;1\nb;2,5\n", {"columns": ["x"]}, r"the number '2,5' with a decimal comma in row 1 \(counting"),
        (
            'g,x\na,"1,5"\nb,2.5\n',
            {},
            r"the number '1,5' with a decimal comma in row 0 \(counting from 0\); others have a decimal point",
        ),
        (
            'g,x\na,"1,5"\nb,2.5\n',
            {"decimal": ","},
            r"the number '2.5' with a decimal point in row 1 \(counting from 0\); others have a decimal comma",
        ),
        (
            "g;x\na;1.5\nb;2.5\n",
            {"decimal": ","},
            r"'1.5' with a decimal point in row 0 .* read the file with --decimal \.",
        ),
        ("g;x\na;1,5\nb;ND\n", {"decimal": ","}, r"the column 'x' has the string 'ND' among its numbers in row 1"),
        ("g,x,y\na,1,2\nb,ND,3\n", {}, r"t\.csv': the column 'x' has the string 'ND' among its numbers in row 1"),
        ("g,x\na,low\nb,high\n", {"columns": ["x"]}, r"t\.csv: the column 'x' has type String, such as 'low' in row 0"),
        ("g,x\n", {}, r"t\.csv' has the names of 2 columns and no rows"),
        ("g,x,y\n", {"columns": ["x"]}, r"t\.csv' has the names of 3 columns and no rows"),
        ("g,x,y\na,1,2\n", {"by": None, "columns": ["x"]}, r"`by` \(--by\) must name .*, one of g, x, y\."),
        ("g,x\na,1\n", {"separator": "||"}, "`separator`.* must be one character"),
        ("g,x\na,1\n", {"decimal": "'"}, r"`decimal`.* must be '\.' or ','"),
        ("g,x\na,1\n", {"decimal": ",", "separator": ","}, "they must differ"),
        ("g,x\na,1\n", {"encoding": "latin-99"}, "`encoding`.* must be one that Python knows"),
        ("g,x\na,1\n", {"encoding": "utf-16"}, "is not text in utf-16|UTF-16|damaged"),
        ("g,x,g\na,1,b\n", {}, "two columns of the same name"),
    ],
)
def test_mistakes_name_the_file_the_row_and_the_value(tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises((InvalidFileError, InvalidMeasureError, InvalidParameterError), match=message):
        files.read(tmp_path / "t.csv", **{"by": "g", **options})


def test_metadata_of_measures(tmp_path, monkeypatch):
    from kermes.measures import _frame

    monkeypatch.setattr(_frame, "PIECE", 2)
    path = tmp_path / "t.csv"
    path.write_text("g,x,age,site,batch\nb,1,30,,1\na,2,,s1,2\nb,3,30,,1\na,4,,s1,2\nc,5,40,s2,1\n")
    data = files.read(path, by="g", columns=["x"], metadata=["age", "site"], label="batch")
    assert_array_equal(data.metadata["age"], [30, np.nan, 40])
    assert data.metadata["site"].tolist() == ["", "s1", "s2"]
    assert data.labels.tolist() == [1, 2, 1]
    files.write(data, tmp_path / "back.csv")
    back = files.read(tmp_path / "back.csv", by="g", columns=["x"], metadata=["age", "site"], label="label")
    assert back.metadata["site"].tolist() == ["", "s1", "s2"]
    path.write_text("g,x,age\nb,1,30\nb,2,\n")
    with pytest.raises(
        InvalidMeasureError, match=r"two values in the column 'age', 30.* and nothing in row 1 \(counting"
    ):
        files.read(path, by="g", columns=["x"], metadata=["age"])


# -- folders of Parquet -----------------------------------------------------------------------------


def test_a_folder_of_parquet_files_is_one_table(tmp_path, monkeypatch):
    monkeypatch.setattr(_parquet, "BATCH", 3)
    rng = np.random.default_rng(0)
    table = pa.table({"g": rng.choice(["a", "b"], 20), "x": rng.normal(size=20), "note": ["n"] * 20})
    folder = tmp_path / "set"
    folder.mkdir()
    parquet.write_table(table[:12], folder / "part-0.parquet")
    parquet.write_table(table[12:], folder / "part-1.parquet")
    (folder / "_common.parquet").write_bytes(b"a summary that some programs write")
    X = files.read(folder, by="g").measures
    assert X.fingerprint == Measures.from_frame(table, by="g", columns=["x"]).fingerprint
    parquet.write_table(table.drop_columns("x"), folder / "part-2.parquet")
    with pytest.raises(InvalidFileError, match=r"the column 'x' is in only one of .*part-0.*part-2"):
        files.read(folder, by="g")


def test_names_of_folders_are_a_column(tmp_path):
    for donor in ("d 1", "d2"):
        folder = tmp_path / "set" / f"donor={donor.replace(' ', '%20')}"
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"x": [1.0, 2.0]}), folder / "0.parquet")
    data = files.read(tmp_path / "set", by="donor", columns=["x"])
    assert data.keys.tolist() == ["d 1", "d2"]
    assert data.measures.sizes.tolist() == [2, 2]


def test_parquet_with_lists(tmp_path):
    parquet.write_table(pa.table({"g": ["a", "b"], "x": [[1.0, 2.0], [3.0]]}), tmp_path / "t.parquet")
    data = files.read(tmp_path / "t.parquet", by="g", columns=["x"])
    assert_array_equal(data.measures.points[:, 0], [1, 2, 3])


@pytest.mark.parametrize("absent", [["pyarrow"], ["pyarrow", "polars"]])
def test_parquet_without_pyarrow(tmp_path, monkeypatch, absent):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"g": ["a", "b"], "x": [1.0, 2.0]}), path)
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    if len(absent) == 1:
        assert files.read(path, by="g").keys.tolist() == ["a", "b"]
    else:
        with pytest.raises(Exception, match="pyarrow"):
            files.read(path, by="g")
    with pytest.raises(ImportError, match=r"kermes\[io\]"):
        files.read(tmp_path, by="g")


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["01", "1", "001"], ["01", "1", "001"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["1e3", "1000"], ["1e3", "1000"]),
        (["123456789012345678901234567890", "123456789012345678901234567891"], None),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["2", "-7", "0"], [2, -7, 0]),
        (["0.5", "2.0"], [0.5, 2.0]),
    ],
)
def test_names_that_are_written_differently_are_two_measures(tmp_path, monkeypatch, load, names, keys):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    path = tmp_path / "t.csv"
    path.write_text("id,x\n" + "".join(f"{name},{i}\n" for i, name in enumerate(names)))
    data = files.read(path, by="id", columns=["x"])
    assert data.keys.tolist() == (keys or names)
    assert_array_equal(data.measures.points.ravel(), np.arange(len(names)))


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["01", "1", "02"], ["01", "1", "02"]),  # 01 is a name
        (["10", "2", "0"], [10, 2, 0]),
        (["1.50", "2", "1e1"], [1.5, 2.0, 10.0]),
        (["a", '"b ""c"""', "a"], ["a", 'b "c"', "a"]),
        (["20261117000000000000", "20261117000000000001", "1"], ["20261117000000000000", "20261117000000000001", "1"]),
        (["9223372036854775807", "-9223372036854775808", "1"], [2**63 - 1, -(2**63), 1]),
        (["9223372036854775808", "9223372036854775809", "1"], ["9223372036854775808", "9223372036854775809", "1"]),
        (["9007199254740992", "9007199254740993", "1"], [2**53, 2**53 + 1, 1]),
        (["9007199254740992", "9007199254740993", "1.5"], ["9007199254740992", "9007199254740993", "1.5"]),
        (["9007199254740992", "9007199254740994", "1.5"], [2.0**53, 2.0**53 + 2, 1.5]),
    ],
)
def test_labels_and_what_else_is_known_are_numbers_unless_they_are_names(tmp_path, monkeypatch, load, written, labels):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    rows = "".join(f"{key},{word},{word},{i}\n" for i, (key, word) in enumerate(zip("pqr", written, strict=True)))
    (tmp_path / "t.csv").write_text("id,arm,site,x\n" + 2 * rows)
    data = files.read(tmp_path / "t.csv", by="id", columns=["x"], label="arm", metadata=["site"])
    assert data.labels.tolist() == data.metadata["site"].tolist() == labels
    (tmp_path / "points.csv").write_text("id,x\np,1\nq,2\nr,3\n")
    (tmp_path / "s.csv").write_text("id,arm,site,x\n" + rows)
    data = files.read(tmp_path / "points.csv", by="id", samples=tmp_path / "s.csv", label="arm")
    assert data.labels.tolist() == labels


@pytest.mark.parametrize("load", LOADERS)
def test_a_gap_does_not_make_one_number_of_two_names(tmp_path, monkeypatch, load):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    (tmp_path / "t.csv").write_text("id,donor,x\np,9007199254740992,1\nq,9007199254740993,2\nr,,3\n")
    donors = files.read(tmp_path / "t.csv", by="id", columns=["x"], metadata=["donor"]).metadata["donor"]
    assert donors.tolist() == ["9007199254740992", "9007199254740993", ""]


def test_lines_of_labels_are_numbers_unless_they_are_names(tmp_path):
    (tmp_path / "points.csv").write_text("id,x\np,1\nq,2\nr,3\n")
    long = ["20261117000000000000", "20261117000000000001", "1" * 5000]
    for text, labels in [
        ("01\n1\n2\n", ["01", "1", "2"]),
        ("0\n1\n2\n", [0, 1, 2]),
        ("0.5\n1\n2\n", [0.5, 1, 2]),
        ("\n".join(long), long),
    ]:
        (tmp_path / "labels.txt").write_text(text)
        assert files.read(tmp_path / "points.csv", by="id", labels=tmp_path / "labels.txt").labels.tolist() == labels


@pytest.mark.parametrize(
    ("samples", "warning"),
    [
        ("02,b\n10,c\n01,a\n", None),
        ("2,b\n10,c\n1,a\n", r"1 for 01, 2 for 02 \(2 in all\)"),  # a spreadsheet took the zeros away
        ("2.0,b\n10.0,c\n1.0,a\n", r"1.0 for 01, 2.0 for 02, 10.0 for 10 \(3 in all\)"),
        ("02,b\n10,c\n1,wrong\n01,a\n", None),  # here 1 is somebody else
    ],
)
def test_samples_are_found_by_their_names_as_written(tmp_path, samples, warning):
    (tmp_path / "t.csv").write_text("id,x\n01,1\n02,2\n10,3\n")
    (tmp_path / "s.csv").write_text("name,arm\n" + samples)
    message = f"s.csv writes names of measures in another way, {warning}: taken for the same"
    with nullcontext() if warning is None else pytest.warns(KermesWarning, match=message):
        data = files.read(tmp_path / "t.csv", by="id", columns=["x"], samples=tmp_path / "s.csv", label="arm")
    assert data.keys.tolist() == ["01", "02", "10"]
    assert data.labels.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_row_numbers_of_pandas_are_no_coordinate(tmp_path, name):
    (tmp_path / "t.csv").write_text(f"{name},id,x\n0,a,1.5\n1,b,2.5\n")
    assert files.read(tmp_path / "t.csv", by="id").columns == ("x",)
    parquet.write_table(pa.table({"id": ["a"], "x": [1.5], "__index_level_0__": [7]}), tmp_path / "t.parquet")
    assert files.read(tmp_path / "t.parquet", by="id").columns == ("x",)


def test_whole_numbers_that_doubles_would_round_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text(f"id,x\na,{2**53 + 1}\na,{2**62}\n")
    with pytest.raises(InvalidMeasureError, match=r"t\.csv: the column 'x' has the whole number 9007199254740993"):
        files.read(tmp_path / "t.csv", by="id")


def test_separators_in_quoted_names_do_not_count(tmp_path):
    (tmp_path / "t.csv").write_text('"id";"x, in mm";"y, in mm"\na;1;2\n')
    assert files.read(tmp_path / "t.csv", by="id").columns == ("x, in mm", "y, in mm")
    (tmp_path / "t.csv").write_text("id, x\na, 1\n")
    with pytest.raises(InvalidMeasureError, match="no column 'x'; the table has id,  x"):
        files.read(tmp_path / "t.csv", by="id", columns=["x"])


def test_an_empty_list_is_a_measure_without_points(tmp_path):
    parquet.write_table(pa.table({"id": ["a", "b"], "x": [[1.0], []]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidMeasureError, match="a row without a list, or an empty one"):
        files.read(tmp_path / "t.parquet", by="id", columns=["x"])


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1")])
def test_files_of_a_folder_must_agree_on_what_names_are(tmp_path, order):
    folder = tmp_path / "t.parquet"
    folder.mkdir()
    parquet.write_table(pa.table({"id": [1, 2], "x": [1.0, 2.0]}), folder / f"{order[0]}.parquet")
    parquet.write_table(pa.table({"id": ["1", "2"], "x": [3.0, 4.0]}), folder / f"{order[1]}.parquet")
    with pytest.raises(InvalidMeasureError, match="the column 'id' mixes int64, str; give all names one type"):
        files.read(folder, by="id", columns=["x"])  # were four measures: 1, 2, 1 and 2


# -- quotes -----------------------------------------------------------------------------------------

HALF = 'p,x,note\na,1,ok\nb,2,"half\nc,3,ok\nd,4,ok\n'
GIVEN = {"by": "p", "columns": ["x"]}


@pytest.mark.parametrize(
    "text", [HALF, HALF[:24], HALF.replace("half", 'half ""a"" '), HALF.replace('2,"half', '"2,half')]
)
@pytest.mark.parametrize("place", ["t.csv", "t.tsv", "t.csv.gz", "-"])
def test_a_quote_that_is_not_closed_is_refused(tmp_path, monkeypatch, text, place):
    """The rest of the table was one cell, of a column of no interest."""
    content = text.replace(",", "\t" if place.endswith("tsv") else ",").encode()
    path = "-" if place == "-" else tmp_path / place
    if place == "-":
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    else:
        path.write_bytes(gzip.compress(content) if place.endswith("gz") else content)
    with pytest.raises(InvalidFileError, match=r"the quote that opens '\"(2.+)?half?.*' is not closed.*Close it"):
        files.read(path, **GIVEN)


def test_a_quote_that_is_not_closed_is_refused_in_samples(tmp_path):
    (tmp_path / "t.csv").write_text("p,x\na,1\nb,2\n")
    (tmp_path / "s.csv").write_text(HALF)
    with pytest.raises(InvalidFileError, match=r"s\.csv': the quote that opens '\"half' is not closed"):
        files.read(tmp_path / "t.csv", **GIVEN, samples=tmp_path / "s.csv", label="x")


@pytest.mark.parametrize("load", LOADERS)
def test_no_library_drops_what_follows_a_quote(tmp_path, monkeypatch, load):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    (tmp_path / "t.csv").write_text(HALF)
    with pytest.raises(InvalidFileError, match=r"is not closed|damaged"):
        files.read(tmp_path / "t.csv", **GIVEN)


def test_quotes_within_pieces_and_across_them(tmp_path, monkeypatch):
    """Lines of cells where the text is cut, doubled quotes, and quotes that are characters; and one that stays open."""
    monkeypatch.setattr(_delimited, "PIECE", 64)
    notes = ['"two\nlines"', '"a ""b"" c"', '5" tall', '""', "plain", '"ends, ""\r\nwith\n"', '"x"']
    for first in range(len(notes)):
        rows = [f"p{i},{i},{notes[(first + i) % len(notes)]}" for i in range(40)]
        (tmp_path / "t.csv").write_text("p,x,note\n" + "\n".join(rows) + "\n", newline="")
        assert_array_equal(files.read(tmp_path / "t.csv", **GIVEN).measures.points.ravel(), np.arange(40))
        rows[first] = f'p{first},{first},"half'
        (tmp_path / "t.csv").write_text("p,x,note\n" + "\n".join([*rows[: first + 1], *["q,1,a"] * 40]) + "\n")
        with pytest.raises(InvalidFileError, match=r"the quote that opens '\"half' is not closed"):
            files.read(tmp_path / "t.csv", **GIVEN)


# -- names and numbers as they are written ----------------------------------------------------------


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    "names", [("01", "1"), ("1.0", "1"), ("1" * 25, "1" * 24 + "2"), (str(2**53), str(2**53 + 1), "0.5")]
)
@pytest.mark.parametrize("given", [{"columns": ["x"], "weights": "day"}, {"columns": ["x", "day"]}])
def test_names_that_are_numbers_too_are_not_joined(tmp_path, monkeypatch, load, names, given):
    """01 and 1 became one measure where the column of names was a coordinate or the masses, too."""
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    path = tmp_path / "t.csv"
    path.write_text("day,x\n" + "".join(f"{name},{i}\n" for i, name in enumerate(names)))
    with pytest.raises(InvalidFileError, match=r"t\.csv': the column 'day' names the measures, .* Copy it to another"):
        files.read(path, by="day", **given)
    assert files.read(path, by="day", columns=["x"], label="day").labels.tolist() == list(names)


@pytest.mark.parametrize("load", LOADERS)
def test_names_may_be_numbers_too(tmp_path, monkeypatch, load):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    (tmp_path / "t.csv").write_text("day,x\n2.5,0\n10,1\n2.5,3\n")
    data = files.read(tmp_path / "t.csv", by="day", columns=["x", "day"])
    assert data.keys.tolist() == [2.5, 10]
    assert_array_equal(data.measures.points, [[0, 2.5], [3, 2.5], [1, 10]])


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("words", [("0x10", "3"), ("0X10", "0xA"), ("3", "1_000")])
def test_only_decimal_numbers_are_coordinates(tmp_path, monkeypatch, load, words):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    (tmp_path / "t.csv").write_text("p,x,y\n" + "".join(f"{p},{x},1\n" for p, x in zip("ab", words, strict=True)))
    with pytest.raises((InvalidFileError, InvalidMeasureError), match=r"column 'x' has .*'(0x10|0X10|1_000)'"):
        files.read(tmp_path / "t.csv", by="p", columns=["x"])
    (tmp_path / "t.csv").write_text("p,x,y\na,0x10,1\nb,0x3,2\n")
    assert files.read(tmp_path / "t.csv", by="p").columns == ("y",)


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("words", [("0x01", "0x1", "2"), ("0xA", "10", "2"), ("1_0", "10", "2")])
def test_only_decimal_numbers_are_numbers_among_labels(tmp_path, monkeypatch, load, words):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    path, lines = tmp_path / "t.csv", tmp_path / "labels.txt"
    path.write_text("p,x,l\n" + "".join(f"{p},1,{word}\n" for p, word in zip("abc", words, strict=True)))
    assert files.read(path, by="p", columns=["x"], label="l").labels.tolist() == list(words)
    lines.write_text("\n".join(words))
    assert files.read(path, by="p", columns=["x"], labels=lines).labels.tolist() == list(words)
