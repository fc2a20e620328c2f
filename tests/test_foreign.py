"""Files that others made: whatever is in them, the error is of kermes and names the file, and memory is not taken."""

import gzip
import io
import os
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from kermes import Measures, _foreign, datasets, files
from kermes.exceptions import InvalidFileError, UnsuitableDataError

IMAGES = np.random.default_rng(0).integers(0, 9, size=(4, 5, 5)).astype(np.uint8)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


def refused(path, match, **options):
    with pytest.raises(InvalidFileError, match=match) as info:
        files.read(path, **options)
    assert path.name in str(info.value)


@pytest.fixture
def small(monkeypatch):
    """Limits that small files reach."""
    monkeypatch.setattr(_foreign, "FREE", 1 << 16)


# -- expansion ------------------------------------------------------------------------------------


def test_an_archive_that_expands_too_far_is_refused_unread(tmp_path, small, monkeypatch):
    path = tmp_path / "bomb.npz"
    archive(path, {"images.npy": npy(IMAGES), "unused.npy": npy(np.zeros(1 << 20))})
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was expanded"))
    refused(path, r"bomb\.npz' would expand to 8,\d+,\d+ bytes, more than the .* save it uncompressed")


def test_what_is_not_compressed_is_read_at_any_size(tmp_path, small):
    np.savez(tmp_path / "plain.npz", images=np.ones((20, 32, 32)))
    assert len(files.read(tmp_path / "plain.npz").measures) == 20


@pytest.mark.parametrize("name", ["bomb-ubyte.gz", "bomb.csv.gz", "bomb.npy.gz"])
def test_gzip_is_expanded_up_to_the_limit_only(tmp_path, small, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(bytes(1 << 22)))
    refused(path, "would expand to", **({"by": "g"} if "csv" in name else {}))


def test_labels_are_expanded_up_to_the_limit_only(tmp_path, small):
    np.save(tmp_path / "i.npy", IMAGES)
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(b"1\n" * (1 << 21)))
    with pytest.raises(InvalidFileError, match=r"labels\.txt\.gz' would expand"):
        files.read(tmp_path / "i.npy", labels=tmp_path / "labels.txt.gz")


def test_rows_and_strings_of_a_parquet_file_are_counted(tmp_path, small):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"g": np.zeros(1 << 20), "x": np.zeros(1 << 20)}), path)
    refused(path, "would expand to 8,388,608 bytes", by="g")
    long = pa.array(["s" * (1 << 12)] * 4096)
    parquet.write_table(pa.table({"g": long, "x": np.zeros(4096)}), path)
    assert path.stat().st_size < 1 << 16
    refused(path, "would expand to", by="g")


def test_a_picture_is_measured_before_it_is_decoded(tmp_path, small):
    Image = pytest.importorskip("PIL.Image")
    (tmp_path / "set").mkdir()
    Image.fromarray(np.zeros((3000, 3000), np.uint8)).save(tmp_path / "set" / "a.png")
    with pytest.raises(InvalidFileError, match=r"a\.png' would expand to 144,000,000 bytes"):
        files.read(tmp_path / "set")


def test_the_memory_of_the_machine_is_the_last_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(_foreign, "_memory", lambda: 100)
    np.save(tmp_path / "i.npy", IMAGES)
    refused(tmp_path / "i.npy", "more than the 100 ")


def test_many_files_together_are_within_memory(tmp_path, monkeypatch):
    """Each of them may expand so far alone."""
    Image = pytest.importorskip("PIL.Image")
    for name in ("images", "tables"):
        (tmp_path / name).mkdir()
    for k in range(9):
        Image.fromarray(np.zeros((50, 50), np.uint8)).save(tmp_path / "images" / f"{k}.png")
        parquet.write_table(pa.table({"g": [k] * 900, "x": [1.0] * 900}), tmp_path / "tables" / f"{k}.parquet")
    monkeypatch.setattr(_foreign, "_memory", lambda: 40_000)
    with pytest.raises(UnsuitableDataError, match=r"9 images would take 0\.0 GB, .* read fewer"):
        files.read(tmp_path / "images")
    with pytest.raises(UnsuitableDataError, match=r"the table would take .* read fewer files or columns"):
        files.read(tmp_path / "tables", by="g")


def test_a_table_has_a_bounded_number_of_columns(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(map(str, range(100_001))) + "\n")
    refused(path, "more than 100,000 columns", by="0")


# -- damage ---------------------------------------------------------------------------------------


def header(text):
    body = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x07\x00" + bytes(200),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4, 5"),
        header("{'descr': '<f8', 'fortran_order': False}"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 5, 5)}"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 5, 5)}") + bytes(200),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 5, 5)}") + bytes(100),
        header("{'descr': '<U0', 'fortran_order': False, 'shape': (99999999, 5, 5)}"),
        header("{'descr': '<U1', 'fortran_order': False, 'shape': (1, 1, 1)}") + b"\xff" * 4,
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1, 1)}") + bytes(8),
        header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 1, 1)}") + bytes(8),
    ],
    ids=[
        "empty",
        "short",
        "version",
        "token",
        "key",
        "huge",
        "negative",
        "few",
        "nothing",
        "strings",
        "object",
        "fields",
    ],
)
def test_damaged_arrays(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    refused(tmp_path / "a.npy", "is not a plain array, or it is damaged")
    archive(tmp_path / "a.npz", {"images.npy": content})
    refused(tmp_path / "a.npz", "is not an archive of plain arrays, or it is damaged")


def test_arrays_of_every_plain_kind_come_back(tmp_path):
    for values in (
        IMAGES,
        np.asfortranarray(IMAGES * 1.5),
        IMAGES.astype(">f4"),
        np.array(["é", "b"]),
        np.zeros((0, 3)),
    ):
        np.savez_compressed(tmp_path / "a.npz", a=values)
        back = _foreign.read_npz(tmp_path / "a.npz")["a"]
        assert back.dtype == values.dtype
        np.testing.assert_array_equal(back, values)


def damaged_member(path):
    archive(path, {"images.npy": npy(IMAGES)})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF  # inside the compressed bytes: zlib.error or a wrong checksum
    path.write_bytes(content)


def test_damaged_archives(tmp_path):
    damaged_member(tmp_path / "a.npz")
    refused(tmp_path / "a.npz", "archive of plain arrays")
    archive(tmp_path / "a.npz", {"images.npy": npy(IMAGES)}, zipfile.ZIP_LZMA)
    refused(tmp_path / "a.npz", "a method other than deflate")


@pytest.mark.parametrize(
    "content", [b"\x00\x00\x08\x03\x00", b"\x00\x00\x08\x01\xff\xff\xff\xff1", b"\x00\x00\x08\xff"]
)
def test_damaged_idx(tmp_path, content):
    (tmp_path / "a-ubyte").write_bytes(content)
    refused(tmp_path / "a-ubyte", "is not an IDX file")


def test_damaged_gzip(tmp_path):
    whole = gzip.compress(b"g,x\na,1\n" * 99)
    for content in (whole[:-9], whole[:30] + b"\xff" * 9 + whole[39:], b"no gzip"):
        for name in ("a.csv.gz", "a-ubyte.gz"):
            (tmp_path / name).write_bytes(content)
            refused(tmp_path / name, "is not gzip", **({"by": "g"} if "csv" in name else {}))


def png(*chunks):
    made = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        made += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return made


def test_damaged_pictures_name_themselves(tmp_path):
    pytest.importorskip("PIL.Image")
    (tmp_path / "set").mkdir()
    size = (b"IHDR", struct.pack(">IIBBBBB", 5, 5, 8, 0, 0, 0, 0))
    for content in (
        png(size),
        png(size, (b"IDAT", b"\xff" * 20), (b"IEND", b"")),
        png(size, (b"IDAT", zlib.compress(bytes(30))[:-8]))[:-5],
        png((b"IHDR", b"\x00")),
    ):
        (tmp_path / "set" / "a.png").write_bytes(content)
        with pytest.raises(InvalidFileError, match=r"a\.png' is not an image, or it is damaged"):
            files.read(tmp_path / "set")


def test_pictures_are_of_the_kinds_that_are_promised(tmp_path, monkeypatch):
    pytest.importorskip("PIL.Image")
    from PIL import EpsImagePlugin

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: pytest.fail("Ghostscript was started"))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n%%EndComments\nshowpage\n%%EOF\n"
    )
    with pytest.raises(InvalidFileError, match=r"a\.png' is not an image"):
        files.read(tmp_path / "set")


def test_damaged_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"g": ["a", "b"], "x": [1.0, 2.0]}), path)
    content = path.read_bytes()
    for damaged in (content[:50], content[:4] + bytes(40) + content[44:], b"PAR1" + bytes(20) + b"PAR1"):
        path.write_bytes(damaged)
        refused(path, "is not a table, or it is damaged", by="g")


def test_cells_that_are_no_text_are_refused_by_file(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"g": ["a", "bbbb"], "x": [1.0, 2.0]}), path, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"bbbb", b"\xff" * 4))
    refused(path, r"t\.parquet' is not a table of measures", by="g")


# -- what is no file ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.npy", "a-ubyte", "a.parquet", "a.csv.gz"])
def test_a_pipe_does_not_block(tmp_path, name):
    os.mkfifo(tmp_path / name)
    refused(tmp_path / name, "is not a regular file", **({"by": "g"} if "csv" in name or "parq" in name else {}))


def test_pipes_of_labels_and_devices_do_not_block(tmp_path):
    np.save(tmp_path / "i.npy", IMAGES)
    os.mkfifo(tmp_path / "labels.txt")
    for labels in (tmp_path / "labels.txt", "/dev/zero"):
        with pytest.raises(InvalidFileError, match="is not a regular file"):
            files.read(tmp_path / "i.npy", labels=labels)


def test_a_dangling_link_is_named_for_what_it_is(tmp_path):
    (tmp_path / "cells.csv").symlink_to("gone.csv")
    with pytest.raises(FileNotFoundError, match=r"cells\.csv' is a link to 'gone\.csv', which is not there$"):
        files.read(tmp_path / "cells.csv")


# -- names and cells ------------------------------------------------------------------------------


def test_upper_case_endings_are_endings(tmp_path):
    np.savez(tmp_path / "a.npz", images=IMAGES)
    (tmp_path / "a.npz").rename(tmp_path / "A.NPZ")
    np.save(tmp_path / "b.npy", IMAGES)
    (tmp_path / "b.npy").rename(tmp_path / "B.NPY")
    idx = b"\x00\x00\x08\x03" + struct.pack(">3I", *IMAGES.shape) + IMAGES.tobytes()
    (tmp_path / "C.IDX.GZ").write_bytes(gzip.compress(idx))
    (tmp_path / "D.CSV.GZ").write_bytes(gzip.compress(b"g,x\na,1\nb,2\n"))
    parquet.write_table(pa.table({"g": ["a", "b"], "x": [1.0, 2.0]}), tmp_path / "E.PARQUET")
    (tmp_path / "L.TXT").write_text("1\n2\n3\n4\n")
    for name in ("A.NPZ", "B.NPY", "C.IDX.GZ"):
        assert files.read(tmp_path / name).measures.fingerprint == Measures.from_images(IMAGES).fingerprint
    for name in ("D.CSV.GZ", "E.PARQUET"):
        assert files.read(tmp_path / name, by="g").keys.tolist() == ["a", "b"]
    assert files.read(tmp_path / "B.NPY", labels=tmp_path / "L.TXT").labels.tolist() == [1, 2, 3, 4]
    np.save(tmp_path / "l.npy", np.arange(4))
    (tmp_path / "l.npy").rename(tmp_path / "L.NPY")
    assert files.read(tmp_path / "B.NPY", labels=tmp_path / "L.NPY").labels.tolist() == [0, 1, 2, 3]
    for name in ("OUT.CSV", "OUT.PARQUET"):
        files.write(files.read(tmp_path / "A.NPZ"), tmp_path / name)
        assert files.read(tmp_path / name, by="measure", weights="weight").measures.dim == 2


STRAY = "g,x,y,note\na,1,2,first\na,2,1.2O,second\nb,3,4,third\n"


def test_a_string_among_numbers_is_an_error_not_a_lost_coordinate(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(STRAY)
    message = r"t\.csv': the column 'y' has the string '1\.2O' among its numbers in row 1 \(.* 0\).*--columns x\."
    for options in ({}, {"drop_missing": True}, {"columns": ["x", "y"]}, {"columns": ["x"], "weights": "y"}):
        refused(path, message, by="g", **options)
    assert files.read(path, by="g", columns=["x"]).columns == ("x",)
    path.write_text(STRAY.replace("1.2O", "1.20"))  # a column of strings alone is left out as ever
    assert files.read(path, by="g").columns == ("x", "y")
    path.write_text(STRAY.replace("1.2O", ""))
    assert files.read(path, by="g", drop_missing=True).columns == ("x", "y")


def test_columns_that_are_no_text_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"g,x,y\na,1,yes\nb\xff,2,n\xffo\n")
    refused(path, "the column 'g' holds bytes, not UTF-8 text", by="g")
    path.write_bytes(b"g,x,y\na,1,yes\nb,2,n\xffo\n")
    refused(path, "the column 'y' holds bytes, not UTF-8 text", by="g", label="y")


def test_an_archive_with_a_broken_directory(tmp_path):
    path = tmp_path / "a.npz"
    archive(path, {"images.npy": npy(IMAGES)})
    content = bytearray(path.read_bytes())
    where = content.rindex(b"PK\x05\x06")
    content[where + 16 : where + 20] = b"\xff\xff\xff\x7f"  # the directory starts beyond the end: seek to before 0
    path.write_bytes(content)
    refused(path, "is not an archive of plain arrays")


def test_the_download_asks_as_often_as_scikit_learn_allows(monkeypatch):
    import sklearn.datasets

    monkeypatch.setattr(sklearn.datasets._openml, "_get_data_info_by_name", offline)
    monkeypatch.setattr(datasets._images, "find_folder", lambda *_: None)
    with pytest.raises(FileNotFoundError, match="nor could they be downloaded from OpenML"):
        datasets.load_mnist()


def offline(*_, **__):
    raise OSError("no network")
