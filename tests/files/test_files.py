import gzip
import struct
import zlib
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

from kermes import Measures, files
from kermes.exceptions import (
    InvalidFileError,
    InvalidMeasureError,
    InvalidParameterError,
    KermesWarning,
    MissingDependencyError,
)
from kermes.files import _text

CELLS = "patient,cd4,cd8,mass,sick\nb,1,2,1,yes\na,0.5,3,2,no\nb,4,5,1,yes\na,2,2,1,no\nc,7,8,1,no\n"


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text(CELLS)
    return path


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [_text._by_pyarrow, _text._by_pandas, _text._by_polars])
def test_a_table_gives_measures_labels_and_keys(cells, load, monkeypatch):
    for other in ("_by_pyarrow", "_by_pandas", "_by_polars"):
        monkeypatch.setattr(_text, other, absent)
    monkeypatch.setattr(_text, "_by_pandas", load)
    data = files.read(cells, by="patient", columns=["cd4", "cd8"], weights="mass", label="sick")
    assert data.keys.tolist() == ["b", "a", "c"]  # in order of their first rows
    assert data.labels.tolist() == ["yes", "no", "no"]
    assert_array_equal(data.measures.points, [[1, 2], [4, 5], [0.5, 3], [2, 2], [7, 8]])
    assert data.measures.masses.tolist() == [2, 3, 1]


def absent(wanted):
    raise ImportError


def test_the_extra_is_named_where_no_library_is_installed(cells, monkeypatch):
    for name in ("_by_pyarrow", "_by_pandas", "_by_polars"):
        monkeypatch.setattr(_text, name, absent)
    with pytest.raises(MissingDependencyError, match=r"kermes\[io\]"):
        files.read(cells, by="patient")


@pytest.mark.parametrize("ending", ["csv.gz", "tsv", "csv", "parquet"])
def test_every_kind_of_table(tmp_path, ending):
    path = tmp_path / f"cells.{ending}"
    if ending == "parquet":
        parquet.write_table(pa.table({"patient": [1, 1, 2], "cd4": [1.0, 2.0, 3.0]}), path)
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(b"patient,cd4\n1,1\n1,2\n2,3\n"))
    else:
        separator = "\t" if ending == "tsv" else ";"
        path.write_text("\ufeffpatient,cd4\n1,1\n1,2\n2,3\n".replace(",", separator), encoding="utf-8")
    data = files.read(path, by="patient")
    assert data.columns == ("cd4",)
    assert data.keys.tolist() == [1, 2]
    assert_array_equal(data.measures.points[:, 0], [1, 2, 3])


def test_coordinates_default_to_the_other_columns_of_numbers(cells):
    data = files.read(cells, by="patient", label="sick", weights="mass")
    assert data.columns == ("cd4", "cd8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"`by` \(--by\) must name the column .*, one of patient, cd4"),
        ({"by": "patient", "threshold": 3.0}, r"`threshold` \(--threshold\) has no meaning here: .* is a table"),
        ({"by": "pateint"}, r"no column 'pateint'.*Did you mean 'patient'\?"),
        ({"by": "patient", "columns": ["cd5"]}, r"no column 'cd5'.*Did you mean 'cd"),
        ({"by": "patient", "label": "sik"}, r"Did you mean 'sick'\?"),
        ({"by": "patient", "label": "cd4"}, "measure b has two values in the column 'cd4', 1.0 and 4.0"),
        ({"by": "patient", "columns": ["sick"]}, "column 'sick' has type"),
    ],
)
def test_mistakes_in_columns_are_explained(cells, options, message):
    with pytest.raises((InvalidMeasureError, InvalidParameterError), match=message):
        files.read(cells, **options)


def test_a_column_without_a_name_is_shown(tmp_path):
    (tmp_path / "t.csv").write_text(",g,x\n0,a,1\n1,b,2\n")
    with pytest.raises(InvalidMeasureError, match="the table has '', g, x"):
        files.read(tmp_path / "t.csv", by="name")


def test_rows_with_gaps_are_refused_or_dropped(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,x,y\na,1,2\na,,3\nb,4,nan\nb,5,6\n")
    with pytest.raises(
        InvalidMeasureError,
        match=r"measure a has no finite number in the column 'x', row 1 \(counting from 0\).*--drop-missing",
    ):
        files.read(path, by="g")
    data = files.read(path, by="g", drop_missing=True)
    assert_array_equal(data.measures.points, [[1, 2], [5, 6]])
    path.write_text("g,x\na,1\nb,\nc,\n")
    with pytest.warns(KermesWarning, match="2 measures have no complete row .*: b, c"):
        assert files.read(path, by="g", drop_missing=True).keys.tolist() == ["a"]
    path.write_text("g,x\na,\nb,\n")
    with pytest.raises(InvalidMeasureError, match=r"every row lacks a number|no column of numbers"):
        files.read(path, by="g", drop_missing=True)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_are_labels(tmp_path, unit):
    """Nanoseconds were unequal to themselves."""
    times = np.array(["2020-01-01", "2020-01-01", "2020-01-02", "2020-01-02"], dtype=f"datetime64[{unit}]")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"k": list("aabb"), "x": np.arange(4.0), "t": times}).to_parquet(path)
    assert (files.read(path, by="k", columns=["x"], label="t").labels == times[[0, 2]]).all()
    pd.DataFrame({"k": list("aabb"), "x": np.arange(4.0), "t": times[[0, 2, 2, 2]]}).to_parquet(path)
    with pytest.raises(InvalidMeasureError, match="measure a has two values in the column 't'"):
        files.read(path, by="k", columns=["x"], label="t")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_missing_date_is_missing(tmp_path, ending):
    """NaT among dates: as a label it is refused, as metadata it stays a date."""
    days = pd.to_datetime(["2020-01-01", "NaT", "2020-01-03"])
    cells, samples = tmp_path / f"cells.{ending}", tmp_path / f"samples.{ending}"
    tables = {cells: pd.DataFrame({"k": list("abc"), "x": np.arange(3.0), "day": days}), samples: None}
    tables[samples] = tables[cells][["k", "day"]]
    for path, table in tables.items():
        table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    for given in ({}, {"samples": samples}):
        with pytest.raises(ValueError, match="measure b has no label in the column 'day'"):
            files.read(cells, by="k", columns=["x"], label="day", **given)
        read = files.read(cells, by="k", columns=["x"], metadata=["day"], **given).metadata["day"]
        assert read.dtype.kind == "M"
        assert_array_equal(np.isnat(read), [False, True, False])


@pytest.mark.parametrize("by_pandas", [True, False])
def test_declared_categories_are_no_coordinates(tmp_path, by_pandas):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"k": list("aabb"), "x": np.arange(4.0), "batch": pd.Categorical([1, 2, 1, 2])})
    if by_pandas:
        frame.to_parquet(path)
    else:
        batch = pa.array([1, 2, 1, 2]).dictionary_encode()
        parquet.write_table(pa.table({"k": list("aabb"), "x": np.arange(4.0), "batch": batch}), path)
    assert files.read(path, by="k").columns == ("x",)
    assert files.read(path, by="k", columns=["x", "batch"]).columns == ("x", "batch")  # where they are named
    folder = tmp_path / "parts"
    folder.mkdir()
    path.rename(folder / "t.parquet")
    assert files.read(folder, by="k").columns == ("x",)


def test_numbers_that_are_declared_categories_stay_labels(tmp_path):
    path = tmp_path / "t.parquet"
    batch, age = pd.Categorical([10, 10, 9, 9]), [41, 41, 52, 52]
    pd.DataFrame({"k": list("aabb"), "x": np.arange(4.0), "batch": batch, "age": age}).to_parquet(path)
    found = files.read(path, by="k", columns=["x"], metadata=["batch", "age"]).metadata
    assert found["batch"].tolist() == ["10", "9"]
    assert found["age"].tolist() == [41, 52]
    samples = tmp_path / "samples.parquet"
    pd.DataFrame({"k": list("ab"), "batch": pd.Categorical([10, 9]), "age": [41, 52]}).to_parquet(samples)
    joined = files.read(path, by="k", columns=["x"], metadata=["batch", "age"], samples=samples).metadata
    assert [values.tolist() for values in joined.values()] == [["10", "9"], [41, 52]]


def test_samples_are_written_as_the_measures(tmp_path):
    cells, samples = tmp_path / "cells.csv", tmp_path / "samples.csv"
    cells.write_text("k|x\nä|1,5\nb|2,5\nc|3,5\n", encoding="latin-1")
    given = {"by": "k", "separator": "|", "decimal": ",", "encoding": "latin-1"}
    for text, encoding in [("k|age\nä|40,5\nb|41\nc|39,0\n", "latin-1"), ("k;age\nä;40,5\nb;41\nc;39,0\n", "utf-8")]:
        samples.write_text(text, encoding=encoding)
        found = files.read(cells, samples=samples, metadata=["age"], **given)
        assert found.keys.tolist() == ["ä", "b", "c"]
        assert found.metadata["age"].tolist() == [40.5, 41.0, 39.0]
    images = tmp_path / "images.npy"
    np.save(images, np.ones((2, 3, 3)))
    samples.write_text("i;age\n0;1,5\n1;2\n")
    assert files.read(images, samples=samples, decimal=",", metadata=["age"]).metadata["age"].tolist() == [1.5, 2.0]


def test_samples_in_another_encoding_are_refused(tmp_path):
    cells, samples = tmp_path / "cells.csv", tmp_path / "samples.csv"
    cells.write_text("k,x\na,1\nb,2\n")
    for text in ("k,s\na,à\nb,y\n", "k,s\nà,y\nb,y\n"):
        samples.write_text(text, encoding="latin-1")
        with pytest.raises(InvalidFileError, match=r"samples.csv': the column '[sk]' holds bytes, not UTF-8 text"):
            files.read(cells, by="k", columns=["x"], samples=samples, metadata=["s"])


@pytest.mark.parametrize(("decimal", "mark"), [(None, ","), (",", ".")])
def test_numbers_with_the_other_decimal_mark_are_no_labels_silently(tmp_path, decimal, mark):
    cells, samples = tmp_path / "cells.csv", tmp_path / "samples.csv"
    cells.write_text(f"k;x;age\na;1;40{mark}5\nb;2;41\n")
    samples.write_text(f"k;age\na;40{mark}5\nb;41\n")
    for given in ({}, {"samples": samples}):
        with pytest.warns(KermesWarning, match=f"the column 'age', such as '40{mark}5', are taken as labels"):
            files.read(cells, by="k", columns=["x"], decimal=decimal, metadata=["age"], **given)


def test_long_identifiers_beside_a_gap_stay_apart(tmp_path):
    cells, samples = tmp_path / "cells.parquet", tmp_path / "samples.parquet"
    donor = pd.array([2**53, 2**53 + 1, None], "Int64")
    pd.DataFrame({"k": list("abz"), "donor": donor}).to_parquet(samples)
    pd.DataFrame({"k": list("ab"), "x": [1.0, 2.0]}).to_parquet(cells)
    given = {"by": "k", "columns": ["x"], "metadata": ["donor"]}
    assert files.read(cells, samples=samples, **given).metadata["donor"].tolist() == [2**53, 2**53 + 1]
    table = pd.DataFrame({"k": list("abz"), "x": [1.0, 2.0, 3.0], "donor": donor})
    table.to_parquet(cells)
    for read in (files.read(cells, **given), files.read(cells, samples=samples, **given)):
        assert read.metadata["donor"].tolist() == [str(2**53), str(2**53 + 1), ""]
    table.assign(donor=pd.array([7, 8, None], "Int64")).to_parquet(cells)
    np.testing.assert_array_equal(files.read(cells, **given).metadata["donor"], [7.0, 8.0, np.nan])
    path = tmp_path / "t.csv"  # one number alone would be rounded, too
    path.write_text("k,x,donor\na,1,9007199254740993\nb,2,5.5\n")
    assert files.read(path, **given).metadata["donor"].tolist() == ["9007199254740993", "5.5"]


def test_a_label_may_not_be_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,x,y\na,1,2\na,2,\nb,4,5\n")
    with pytest.raises(InvalidMeasureError, match=r"measure a has no label in the column 'y', row 1 \(counting"):
        files.read(path, by="g", columns=["x"], label="y")


@pytest.mark.parametrize("load", [_text._by_pyarrow, _text._by_pandas, _text._by_polars])
@pytest.mark.parametrize("label", ["", " ", "NA", "NaN", "null"])
def test_text_that_stands_for_no_label_is_no_class(tmp_path, monkeypatch, load, label):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    path = tmp_path / "t.csv"
    path.write_text(f"g,x,y\na,1,sick\nb,4,{label}\nc,5,well\n")
    with pytest.raises(InvalidMeasureError, match=r"measure b has no label .* leave it out or label it"):
        files.read(path, by="g", columns=["x"], label="y")


def test_labels_beside_the_measures_may_not_be_missing_either(tmp_path):
    np.savez(tmp_path / "t.npz", images=IMAGES[:3], labels=["a", "", "b"])
    with pytest.raises(InvalidFileError, match="measure 1 has no label; leave it out or label it"):
        files.read(tmp_path / "t.npz")
    (tmp_path / "labels.txt").write_text("a\nb\n\na\n")
    np.save(tmp_path / "t.npy", IMAGES[:4])
    with pytest.raises(InvalidFileError, match="measure 2 has no label"):
        files.read(tmp_path / "t.npy", labels=tmp_path / "labels.txt")


@pytest.mark.parametrize("load", [_text._by_pyarrow, _text._by_pandas, _text._by_polars])
def test_every_row_belongs_to_a_measure(tmp_path, monkeypatch, load):
    monkeypatch.setattr(_text, "_by_pyarrow", load)
    path = tmp_path / "t.csv"
    path.write_text("g,x\na,1\n,4\n,5\n")
    with pytest.raises(InvalidMeasureError, match=r"row 1 \(counting from 0\) has no value in the column 'g'"):
        files.read(path, by="g")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"g,x\n", "no rows|no column of numbers"),
        (b"g,x\na,1\nb,2,3\n", "is not a table, or it is damaged"),
        (b"g,x,x\na,1,2\n", "two columns of the same name|no column"),
        (b"\xff\xfe\x00g", "UTF-8"),
    ],
    ids=["empty", "blank", "header", "ragged", "twice", "binary"],
)
def test_hostile_tables(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises((InvalidFileError, InvalidMeasureError), match=message):
        files.read(path, by="g", columns=["x"])


# -- arrays, IDX, folders -------------------------------------------------------------------------

IMAGES = np.random.default_rng(0).integers(1, 200, size=(6, 4, 5)).astype(np.uint8)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def idx(array):
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    )


@pytest.mark.parametrize("kind", ["npz", "other-names", "npy", "idx", "idx-gz", "saved"])
def test_images_and_labels(tmp_path, kind):
    X = Measures.from_images(IMAGES)
    path, options = tmp_path / "images.npz", {}
    if kind == "npz":
        np.savez(path, images=IMAGES, labels=LABELS)
    elif kind == "other-names":
        np.savez(path, pictures=IMAGES, digit=LABELS)
        options = {"label": "digit"}
    elif kind == "saved":
        files.write(files.Data(X, LABELS), path)
    else:
        path = tmp_path / {"npy": "i.npy", "idx": "i-idx3-ubyte", "idx-gz": "i-idx3-ubyte.gz"}[kind]
        content = idx(IMAGES)
        path.write_bytes(gzip.compress(content) if kind == "idx-gz" else content)
        if kind == "npy":
            np.save(path, IMAGES)
        (tmp_path / "l-idx1-ubyte").write_bytes(idx(LABELS))
        options = {"labels": tmp_path / "l-idx1-ubyte"}
    data = files.read(path, **options)
    assert data.measures.fingerprint == X.fingerprint
    assert data.measures.support.shape == (4, 5)
    assert_array_equal(data.labels, LABELS)


def test_options_of_images(tmp_path):
    np.save(tmp_path / "i.npy", IMAGES)
    data = files.read(tmp_path / "i.npy", threshold=100, binary=True, spacing="unit")
    assert data.measures.fingerprint == Measures.from_images(IMAGES, 100, True, "unit").fingerprint


def test_inverted_images_keep_what_is_white(tmp_path):
    np.save(tmp_path / "i.npy", IMAGES)
    first = files.read(tmp_path / "i.npy", invert=True)
    assert first.white == IMAGES.max()
    assert first.measures.fingerprint == Measures.from_images(IMAGES.max() - IMAGES).fingerprint
    np.save(tmp_path / "dark.npy", IMAGES // 2)
    dark = files.read(tmp_path / "dark.npy", invert=first.white)
    assert dark.measures.fingerprint == Measures.from_images(IMAGES.max() - IMAGES // 2).fingerprint
    with pytest.warns(KermesWarning, match=r"i\.npy: \d+ of \d+ pixels are brighter than white, which is 100, up to"):
        clipped = files.read(tmp_path / "i.npy", invert=100)
    assert clipped.measures.fingerprint == Measures.from_images(100 - np.minimum(IMAGES, 100)).fingerprint
    with pytest.raises(InvalidParameterError, match="`invert` must be a finite number; got nan"):
        files.read(tmp_path / "i.npy", invert=float("nan"))


@pytest.mark.parametrize(
    ("images", "mass"),
    [
        (np.eye(2, dtype=bool), [[0.0, 1.0], [1.0, 0.0]]),
        (np.array([[-20000, 20000], [0, 5]], dtype=np.int16), [[40000.0, 0.0], [20000.0, 19995.0]]),
    ],
)
def test_images_are_inverted_as_numbers(tmp_path, images, mass):
    np.save(tmp_path / "i.npy", images[None])
    data = files.read(tmp_path / "i.npy", invert=True)
    assert data.measures.fingerprint == Measures.from_images([mass]).fingerprint


def test_a_gap_in_inverted_images_is_that_of_its_image(tmp_path):
    images = np.ones((3, 2, 2))
    images[1, 0, 0], images[:, 1, 1] = np.nan, 0.5
    np.save(tmp_path / "i.npy", images)
    with pytest.raises(InvalidMeasureError, match="image 1"):
        files.read(tmp_path / "i.npy", invert=True)


@pytest.mark.parametrize(
    ("text", "expected"), [("1\n2\n", [1, 2]), ("1.5\n2\n\n", [1.5, 2.0]), ("cat\ndog", ["cat", "dog"])]
)
def test_labels_in_lines(tmp_path, text, expected):
    np.save(tmp_path / "i.npy", IMAGES[:2])
    (tmp_path / "labels.txt").write_text(text)
    assert files.read(tmp_path / "i.npy", labels=tmp_path / "labels.txt").labels.tolist() == expected


def picture(path, image):
    Image = pytest.importorskip("PIL.Image")
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)


def test_a_folder_of_classes(tmp_path):
    for i, image in enumerate(IMAGES):
        picture(tmp_path / "set" / f"class{LABELS[i]}" / f"{i}.png", image)
    data = files.read(tmp_path / "set")
    order = np.argsort(LABELS, kind="stable")
    assert data.measures.fingerprint == Measures.from_images(IMAGES[order]).fingerprint
    assert data.labels.tolist() == [f"class{k}" for k in LABELS[order]]
    assert data.keys[0] == "class0/0.png"
    flat = files.read(tmp_path / "set" / "class1")
    assert flat.labels is None
    assert len(flat.measures) == 2


def test_images_of_16_bits_keep_their_values(tmp_path):
    deep = IMAGES[0].astype(np.uint16) * 300
    picture(tmp_path / "set" / "a.png", deep)
    assert files.read(tmp_path / "set").measures.weights.max() == deep.max()


def test_images_of_different_depth_or_transparent_are_not_mixed_silently(tmp_path):
    picture(tmp_path / "set" / "a.png", IMAGES[0])
    picture(tmp_path / "set" / "b.png", IMAGES[0].astype(np.uint16) * 300)
    with pytest.raises(
        InvalidFileError, match=r"b\.png.*type uint16.*a\.png.*type uint8: white is not the same number"
    ):
        files.read(tmp_path / "set")
    clear = np.full((*IMAGES[0].shape, 4), 255, dtype=np.uint8)
    picture(tmp_path / "clear" / "a.png", clear)
    files.read(tmp_path / "clear")
    clear[0, 0, 3] = 0
    picture(tmp_path / "clear" / "a.png", clear)
    with pytest.warns(KermesWarning, match=r"a\.png has transparent pixels"):
        files.read(tmp_path / "clear")


@pytest.mark.parametrize(
    ("name", "options"), [("a.png", {}), ("a.jpg", {"quality": 100}), ("a.tif", {"compression": "tiff_lzw"})]
)
def test_pictures_are_read_upright(tmp_path, name, options):
    """Cameras store the turn of a picture beside it, and viewers obey: 6 is a quarter to the right."""
    Image = pytest.importorskip("PIL.Image")
    values = np.kron(np.array([[60, 90, 180], [30, 120, 240]], dtype=np.uint8), np.ones((8, 8), dtype=np.uint8))
    turn = Image.Exif()
    turn[0x0112] = 6
    (tmp_path / "set").mkdir()
    Image.fromarray(values).save(tmp_path / "set" / name, exif=turn, **options)
    read, expected = files.read(tmp_path / "set").measures, Measures.from_images([np.rot90(values, -1)])
    assert read.support.shape == (24, 16)
    assert_allclose(read.weights, expected.weights, atol=3)
    if name == "a.tif":
        Image.fromarray(values).save(tmp_path / "set" / name, exif=turn)
        with pytest.raises(InvalidFileError, match=r"turned by a quarter and not compressed, .* save it upright"):
            files.read(tmp_path / "set")


def tiff(values, **tags):
    """Return a TIFF file, not compressed, of grey values and other numbers of tags."""
    height, width = values.shape
    known = {256: width, 257: height, 258: 8 * values.itemsize, 259: 1, 262: 1, 273: 8, 277: 1, 278: height}
    known |= {279: values.nbytes} | {int(name[1:]): value for name, value in tags.items()}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(known.items()))
    start = struct.pack("<2sHI", b"II", 42, 8 + values.nbytes)
    return start + values.tobytes() + struct.pack("<H", len(known)) + entries + bytes(4)


SMALL = np.arange(1, 7, dtype=np.uint8).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tif", tiff(SMALL.astype(np.uint16), t262=0), r"stores white as 0 \(and has 16 bits\)"),
        ("a.tif", tiff(SMALL, t339=2), "has signed values of 8 bits"),
        ("a.pgm", b"P5 3 2 100\n" + SMALL.tobytes(), "has a largest value of 100, from which Pillow rounds"),
        ("a.pgm", b"P5 3 2 4095\n" + SMALL.astype(">u2").tobytes(), "has a largest value of 4095"),
    ],
)
def test_pictures_whose_numbers_would_be_changed_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidFileError, match=message):
        files.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "weights"),
    [
        ("a.tif", tiff(SMALL), SMALL),
        ("a.tif", tiff(SMALL, t262=0), 255 - SMALL),
        ("a.tif", tiff(SMALL.astype(np.uint16) * 300), SMALL * 300.0),
        ("a.pgm", b"P5 3 2 15\n" + SMALL.tobytes(), SMALL * 17),
        ("a.pgm", b"P5 3 2 65535\n" + SMALL.astype(">u2").tobytes(), SMALL),
    ],
)
def test_grey_values_are_those_of_the_file(tmp_path, name, content, weights):
    (tmp_path / name).write_bytes(content)
    assert_array_equal(files.read(tmp_path).measures.weights, weights.ravel())


@pytest.mark.parametrize(("transparent", "warned"), [(1, True), (77, False)])
def test_a_transparent_colour_is_warned_of_where_it_is_used(tmp_path, transparent, warned):
    Image = pytest.importorskip("PIL.Image")
    Image.fromarray(SMALL).save(tmp_path / "a.png", transparency=transparent)
    with pytest.warns(KermesWarning, match=r"a\.png has transparent pixels") if warned else nullcontext():
        assert_array_equal(files.read(tmp_path).measures.weights, SMALL.ravel())


def png16(kind, values):
    """Return a PNG file of 16 bits and of a kind of colours, which Pillow does not write."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = values.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">2I5B", width, height, 16, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff16(values, planes):
    """Return a TIFF file of 16 bits for each of three colours, pixel by pixel or plane by plane."""
    height, width = values.shape[:2]
    data = (np.moveaxis(values, 2, 0) if planes else values).astype("<u2").tobytes()
    size, start = len(data) // 3 if planes else len(data), 8 + 2 + 12 * 10 + 4
    count = 3 if planes else 1
    bits, offsets, sizes = start, start + 6, start + 6 + 4 * count
    first = sizes + 4 * count
    strips = [first + i * size for i in range(count)]
    tags = [
        *((256, 4, 1, width), (257, 4, 1, height), (258, 3, 3, bits), (259, 3, 1, 1), (262, 3, 1, 2)),
        *((273, 4, count, offsets if planes else first), (277, 3, 1, 3), (278, 4, 1, height)),
        *((279, 4, count, sizes if planes else size), (284, 3, 1, 2 if planes else 1)),
    ]
    listed = struct.pack("<H", len(tags)) + b"".join(struct.pack("<2H2I", *tag) for tag in tags) + bytes(4)
    beside = struct.pack("<3H", 16, 16, 16) + struct.pack(f"<{2 * count}I", *strips, *[size] * count)
    return b"II*\0" + struct.pack("<I", 8) + listed + beside + data


DARK = np.full((4, 5, 3), 200, dtype=np.uint16)
OPAQUE = np.full((4, 5, 1), 65535, dtype=np.uint16)


COLOURS_OF_16_BITS = {
    "rgb.png": png16(2, DARK),
    "grey-alpha.png": png16(4, np.dstack([DARK[..., :1], OPAQUE])),
    "rgba.png": png16(6, np.dstack([DARK, OPAQUE])),
    "rgb.tif": tiff16(DARK, planes=False),
    "planes.tif": tiff16(DARK, planes=True),
    "rgb.pgm": b"P6 5 4 65535\n" + DARK.astype(">u2").tobytes(),
}


@pytest.mark.parametrize("name", COLOURS_OF_16_BITS)
def test_colours_of_16_bits_are_refused(tmp_path, name):
    """They would be cut to 8 bits, which leaves nothing of dark ones."""
    pytest.importorskip("PIL.Image")
    (tmp_path / name).write_bytes(COLOURS_OF_16_BITS[name])
    with pytest.raises(InvalidFileError, match=rf"{name}' has values of 16 bits in colour.* save it as grey"):
        files.read(tmp_path)


def test_grey_of_16_bits_by_hand(tmp_path):
    pytest.importorskip("PIL.Image")
    (tmp_path / "a.png").write_bytes(png16(0, DARK[..., 0]))
    assert files.read(tmp_path).measures.weights.tolist() == [200] * 20


@pytest.mark.parametrize("name", ["a.tif", "a.png"])
def test_several_pictures_in_one_file_are_refused(tmp_path, name):
    Image = pytest.importorskip("PIL.Image")
    first, second = (Image.fromarray(image) for image in IMAGES[:2])
    first.save(tmp_path / name, save_all=True, append_images=[second])
    with pytest.raises(InvalidFileError, match=rf"{name}' holds several pictures .*; save each as a file of its own"):
        files.read(tmp_path)


def test_a_preview_is_no_picture_of_its_own(tmp_path):
    """Cameras write such: JPEG files with a smaller picture behind the picture."""
    Image = pytest.importorskip("PIL.Image")
    first = Image.fromarray(IMAGES[0])
    first.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[Image.fromarray(IMAGES[1][:2])])
    assert len(files.read(tmp_path).measures) == 1


def test_hidden_files_and_folders_are_left_out(tmp_path):
    for name in ("b/0.png", "a/0.png", ".ipynb_checkpoints/0-checkpoint.png"):
        picture(tmp_path / "set" / name, IMAGES[0])
    for name in ("a/._0.png", "._0.png"):  # what macOS writes beside files
        (tmp_path / "set" / name).write_bytes(b"no picture")
    data = files.read(tmp_path / "set")
    assert data.labels.tolist() == ["a", "b"]
    assert data.keys.tolist() == ["a/0.png", "b/0.png"]


def test_hostile_folders(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidFileError, match="has no files of data"):
        files.read(tmp_path / "empty")
    picture(tmp_path / "sizes" / "a.png", IMAGES[0])
    picture(tmp_path / "sizes" / "b.png", IMAGES[0][:2])
    with pytest.raises(InvalidFileError, match=r"b\.png.*has 2 x 5 pixels.*all images must have one size"):
        files.read(tmp_path / "sizes")
    (tmp_path / "sizes" / "b.png").write_text("text")
    with pytest.raises(InvalidFileError, match="is not an image"):
        files.read(tmp_path / "sizes")
    picture(tmp_path / "sizes" / "c" / "a.png", IMAGES[0])
    with pytest.raises(InvalidFileError, match="beside folders of images"):
        files.read(tmp_path / "sizes")


def test_hostile_arrays(tmp_path):
    def refused(name, message, error=InvalidFileError, **options):
        with pytest.raises(error, match=message):
            files.read(tmp_path / name, **options)

    refused("nothing.npz", "there is no file", FileNotFoundError)
    np.savez(tmp_path / "two.npz", a=IMAGES, b=IMAGES)
    refused("two.npz", r"2 stacks of images.*Name one of them 'images'")
    refused("tow.npz", r"Did you mean .*two\.npz", FileNotFoundError)
    refused("two.npz", "no array 'c'", label="c")
    refused("two.npz", r"`by` \(--by\) has no meaning here", InvalidParameterError, by="x")
    np.savez(tmp_path / "few.npz", images=IMAGES, labels=LABELS[:2])
    refused("few.npz", r"labels of shape \(2,\) for 6 measures")
    np.savez(tmp_path / "objects.npz", images=np.array([{}]))
    refused("objects.npz", "not an archive of plain arrays")
    (tmp_path / "bad.npy").write_text("x")
    refused("bad.npy", "is not a plain array")
    (tmp_path / "bad-ubyte").write_bytes(idx(IMAGES)[:40])
    refused("bad-ubyte", "is not an IDX file")
    (tmp_path / "x.xyz").write_text("x")
    refused("x.xyz", "has an extension that kermes does not know")
    (tmp_path / "x.xlsx").write_text("x")
    refused("x.xlsx", "is a spreadsheet.*save its table as .csv first")
    np.save(tmp_path / "i.npy", IMAGES)
    (tmp_path / "labels.txt").write_text("1\n2\n")
    refused("i.npy", "holds 2 labels for 6 measures", labels=tmp_path / "labels.txt")


# -- writing --------------------------------------------------------------------------------------


def free(X):
    """Return the measures as clouds, without their support."""
    return Measures.from_samples([m.points for m in X], [m.weights for m in X])


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
@pytest.mark.parametrize("kind", ["clouds", "images"])
def test_what_is_written_is_read_back(tmp_path, ending, kind):
    rng = np.random.default_rng(1)
    X = Measures.from_images(IMAGES)
    if kind == "clouds":
        frame = pl.DataFrame({"g": ["b", "a", "b"], "u": rng.normal(size=3), "v": rng.normal(size=3)})
        X = Measures.from_frame(frame, "g", ["u", "v"])
    labels = np.array(["x", "y", "z", "x", "y", "z"])[: len(X)]
    path = tmp_path / f"out.{ending}"
    files.write(files.Data(X, labels), path)
    options = {} if ending == "npz" else {"by": "measure", "weights": "weight", "label": "label"}
    back = files.read(path, **options)
    expected = X if ending == "npz" else free(X)  # a table has no support
    assert back.measures.fingerprint == expected.fingerprint
    assert_array_equal(back.labels, labels)
    assert_array_equal(back.keys, files.Data(X).keys)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_writing_refuses_what_it_cannot_do(tmp_path):
    X = Measures.from_samples([[1.0]])
    for name in ("x.mat", "x.csv.gz", "X.CSV.BZ2", "x.parquet.zst"):
        with pytest.raises(InvalidParameterError, match=r"written to \.npz, \.csv, \.parquet"):
            files.write(files.Data(X), tmp_path / name)
    with pytest.raises(InvalidParameterError, match="two columns would have one name"):
        files.write(files.Data(X, columns=("weight",)), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_pandas_labels_of_every_type(tmp_path):
    for values, kind in ([[True, False], "b"], [[1, 2], "i"], [[1.5, 2.0], "f"], [["é", "b"], "U"]):
        pd.DataFrame({"g": ["p", "q"], "x": [1.0, 2.0], "y": values}).to_parquet(tmp_path / "t.parquet")
        data = files.read(tmp_path / "t.parquet", by="g", columns=["x"], label="y")
        assert data.labels.dtype.kind == kind
        assert data.labels.tolist() == values


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_measures_of_one_name_are_kept_or_refused(ending, tmp_path):
    """Wells of equal names on two plates were written, and read as half as many."""
    path = tmp_path / f"plates.{ending}"
    plate = Measures.from_frame(pd.DataFrame({"well": list("aab"), "x": [1.0, 2.0, 3.0]}), by="well", columns="x")
    both = Measures.concatenate([plate, plate.map_points(np.exp)])
    if ending == "npz":
        files.write(files.Data(both), path)
        assert files.read(path).measures.keys.tolist() == list("abab")
        return
    with pytest.raises(
        InvalidParameterError, match=r"measures 0 and 2 have one name, a, .*\(repeated names: 2 in all\)"
    ):
        files.write(files.Data(both), path)
    assert not path.exists()
    named = both.with_keys(["1a", "1b", "2a", "2b"])
    files.write(files.Data(named, pd.Series([0, 1, 0, 1], index=named.keys)), path)
    back = files.read(path, by="measure", columns=["x0"], weights="weight", label="label")
    assert back.measures.fingerprint == both.fingerprint
    assert back.labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (np.array([b"a", b"b"]), "bytes; decode them"),
        (np.array([1j, 2.0]), "complex numbers; take a part"),
        (np.array([1, 2], dtype="timedelta64[ns]"), "durations; make numbers of them"),
        (np.array([1, 2], dtype=np.longdouble), r"numbers of type \w+; make doubles of them"),
        (np.array(["a", "\ud800"]), r"the string '\\ud800', which is no text in UTF-8"),
    ],
)
def test_labels_that_nothing_can_hold_are_refused(tmp_path, labels, what):
    """They ended in errors of whatever met them first."""
    np.savez(tmp_path / "t.npz", images=np.ones((2, 3, 3)), labels=labels)
    np.save(tmp_path / "labels.npy", labels)
    np.savez(tmp_path / "u.npz", images=np.ones((2, 3, 3)))
    if labels.dtype == np.longdouble and labels.dtype.itemsize == 8:
        pytest.skip("long doubles are doubles here")
    for path, given in [("t.npz", {}), ("u.npz", {"labels": tmp_path / "labels.npy"})]:
        with pytest.raises(InvalidFileError, match=rf"npz: labels must be numbers, strings or dates, not {what}"):
            files.read(tmp_path / path, **given)
