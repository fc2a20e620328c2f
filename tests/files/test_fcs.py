"""FCS files, written with flowio, or by hand where it does not write such."""

import struct

import flowio
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import files
from kermes.exceptions import (
    InvalidFileError,
    InvalidMeasureError,
    InvalidParameterError,
    KermesWarning,
    MissingDependencyError,
)

RNG = np.random.default_rng(0)
DETECTORS, STAINS = ["FSC-A", "FL1-A", "FL2-A", "Time"], ["", "CD4", "CD8", ""]
SPILL = np.array([[1.0, 0.2], [0.1, 1.0]])


def write_fcs(path, n, detectors=DETECTORS, stains=STAINS, metadata=None):
    values = RNG.lognormal(3, 1, size=(n, len(detectors))).astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        flowio.create_fcs(file, values.ravel().tolist(), detectors, stains, metadata_dict=metadata)
    return values


def write_by_hand(path, data, detectors=("A", "B"), **keywords):
    """Write two cells of integers, of 32 bits each, unless keywords (without their $) say otherwise."""
    pairs = {"TOT": 2, "PAR": len(detectors), "MODE": "L", "DATATYPE": "I", "BYTEORD": "1,2,3,4", "NEXTDATA": 0}
    pairs |= dict.fromkeys(("BEGINANALYSIS", "ENDANALYSIS", "BEGINSTEXT", "ENDSTEXT"), 0)
    for i, name in enumerate(detectors, 1):
        pairs |= {f"P{i}N": name, f"P{i}B": 8 * len(data) // (2 * len(detectors)), f"P{i}R": 1 << 16, f"P{i}E": "0,0"}
    pairs |= keywords

    def text(start, end):
        places = {"BEGINDATA": f"{start:08d}", "ENDDATA": f"{end:08d}"}
        return "".join(f"/${key}/{value}" for key, value in (pairs | places).items()).encode() + b"/"

    start = 58 + len(text(0, 0))
    end = start + len(data) - 1
    header = f"{'FCS3.2':<10}" + "".join(f"{place:>8}" for place in (58, start - 1, start, end, 0, 0))
    path.write_bytes(header.encode() + text(start, end) + data)
    return path


@pytest.fixture
def wells(tmp_path):
    spill = "2,FL1-A,FL2-A," + ",".join(map(str, SPILL.ravel()))
    names = {"b": 40, "a": 30, "c": 50}
    return tmp_path, {n: write_fcs(tmp_path / f"{n}.fcs", m, metadata={"spillover": spill}) for n, m in names.items()}


def test_each_file_is_a_measure(wells):
    folder, values = wells
    data = files.read(folder)
    assert data.keys.tolist() == ["a", "b", "c"]
    assert data.columns == ("FSC-A", "CD4", "CD8")  # stains where there are any; time is no coordinate
    assert data.labels is None
    for measure, key in zip(data.measures, data.keys, strict=True):
        assert_allclose(measure.points, values[key][:, :3], rtol=1e-6)
    single = files.read(folder / "b.fcs", columns=["FL2-A", "CD4"])  # detectors are known too
    assert_allclose(single.measures.points, values["b"][:, [2, 1]], rtol=1e-6)


def test_arcsinh_is_for_fluorescence_alone(wells):
    folder, values = wells
    points = files.read(folder, arcsinh=5).measures[0].points
    assert_allclose(points[:, 1:], np.arcsinh(values["a"][:, 1:3] / 5), rtol=1e-6)
    assert_allclose(points[:, 0], values["a"][:, 0], rtol=1e-6)
    with pytest.raises(InvalidParameterError, match="arcsinh"):
        files.read(folder, arcsinh=0)


def test_compensation_undoes_the_spillover(wells):
    folder, values = wells
    points = files.read(folder, compensate=True).measures[0].points
    assert_allclose(points[:, 1:] @ SPILL, values["a"][:, 1:3], rtol=1e-5)


def test_folders_are_classes(tmp_path):
    for name in ("sick/a", "sick/b", "well/a"):
        write_fcs(tmp_path / f"{name}.fcs", 5)
    data = files.read(tmp_path)
    assert data.keys.tolist() == ["sick/a", "sick/b", "well/a"]
    assert data.labels.tolist() == ["sick", "sick", "well"]
    write_fcs(tmp_path / "c.fcs", 5)
    with pytest.raises(InvalidFileError, match="has FCS files beside folders of them"):
        files.read(tmp_path)


def test_a_table_of_samples_has_labels_and_metadata(wells, tmp_path):
    folder, _ = wells
    table = tmp_path / "samples.csv"
    table.write_text("file,arm,age,site\nc.fcs,drug,40,x\na,placebo,,\nb.fcs,drug,60,y\nd,drug,1,x\n")
    data = files.read(folder, samples=table, label="arm", metadata=["age", "site"])
    assert data.labels.tolist() == ["placebo", "drug", "drug"]
    assert_allclose(data.metadata["age"], [np.nan, 60, 40])
    assert data.metadata["site"].tolist() == ["", "y", "x"]
    table.write_text("file,arm\na.fcs,drug\n")
    with pytest.warns(KermesWarning, match=r"samples\.csv does not name b, c: left out \(2 in all\)"):
        assert files.read(folder, samples=table, label="arm").keys.tolist() == ["a"]
    for content, label, error, message in (
        ("file,arm\nz,drug\n", "arm", InvalidFileError, "names none of the measures in its column 'file'"),
        (
            "file,arm\na,drug\na.fcs,drug\n",
            "arm",
            InvalidFileError,
            "names 'a' twice .* in row 0 .* and row 1",
        ),
        ("file,arm\na,drug\nb,\nc,drug\n", "arm", InvalidFileError, "measure b has no label in the column 'arm'"),
        ("file,arm\na,drug\n", "amr", InvalidMeasureError, r"samples\.csv: there is no column 'amr'.*'arm'"),
    ):
        table.write_text(content)
        with pytest.raises(error, match=message):
            files.read(folder, samples=table, label=label)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("other", {}, r"other\.fcs has no channel 'CD4'; it has FSC-A, FL1-A, FL3-A"),
        ("none", {}, r"none\.fcs' has no cells"),
        ("other", {"columns": ["CD44"]}, r"a\.fcs has no channel 'CD44'.*Did you mean 'CD4'\?"),
        ("plain", {"compensate": True}, r"plain\.fcs' has no spillover matrix; read it without --compensate"),
        ("odd", {"compensate": True}, r"odd\.fcs' is not an FCS file.*spillover matrix has 1 numbers for 2 channels"),
        ("text", {}, r"text\.fcs' is not an FCS file, or it is damaged"),
    ],
)
def test_files_that_do_not_fit(wells, name, options, message):
    folder, _ = wells
    path = folder / f"{name}.fcs"
    if name == "text":
        path.write_bytes(b"FCS3.1 and nothing else")
    elif name == "other":
        write_fcs(path, 5, ["FSC-A", "FL1-A", "FL3-A"], ["", "", ""])
    else:
        metadata = {"spillover": "2,FL1-A,FL2-A,1"} if name == "odd" else None
        write_fcs(path, 0 if name == "none" else 5, metadata=metadata)
    with pytest.raises((InvalidFileError, InvalidMeasureError), match=message):
        files.read(folder, **options)


@pytest.mark.parametrize(
    ("form", "keywords"),
    [
        ("<4I", {}),
        ("<4I", {"MODE": "l", "P2DATATYPE": "i"}),
        (">4I", {"BYTEORD": "4,3,2,1"}),
        ("<4H", {"BYTEORD": "1,2"}),
        (">4H", {"BYTEORD": "2,1"}),
        ("<4f", {"DATATYPE": "F"}),
        (">4d", {"DATATYPE": "D", "BYTEORD": "4,3,2,1"}),
    ],
)
def test_types_and_orders_of_bytes(tmp_path, form, keywords):
    path = write_by_hand(tmp_path / "a.fcs", struct.pack(form, 1, 2, 300, 4), **keywords)
    assert files.read(path).measures.points.tolist() == [[1, 2], [300, 4]]


def test_gains_are_of_linear_channels_alone(tmp_path):
    """FCS 3.1 gives no meaning to the gain of a logarithmic channel; values were divided by it."""
    scaled = {"P1E": "4,1", "P1G": "2", "P2G": "2"}
    path = write_by_hand(tmp_path / "a.fcs", struct.pack("<4I", 1 << 14, 2, 1 << 15, 4), **scaled)
    np.testing.assert_allclose(files.read(path).measures.points, [[10.0, 1.0], [100.0, 2.0]])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"P2DATATYPE": "F"}, r"type F in channel 2 \(\$P2DATATYPE\) and of type I .* export it with one type"),
        ({"MODE": "C"}, r"holds histograms \(\$MODE C\).*; export the list of its events"),
        ({"MODE": "U"}, r"holds histograms \(\$MODE U\)"),
        *(
            ({"BYTEORD": order}, rf"in the order {order} \(\$BYTEORD\).* export it with 1,2,3,4 or 4,3,2,1")
            for order in ("3,4,1,2", "2,1,4,3", "1,2,4,3", "4,3", "1,2,3", "8,7,6,5,4,3,2,1")
        ),
        ({"detectors": ["A", "A"]}, r"two channels of the name 'A', numbers 1 and 2 \(\$P1N, \$P2N\); rename one"),
        ({"P1S": "B", "P2S": "C"}, r"'B' is the stain of one channel and the detector of another, numbers 1 and 2"),
    ],
)
def test_what_would_be_read_as_other_numbers_is_refused(tmp_path, keywords, message):
    path = write_by_hand(tmp_path / "a.fcs", struct.pack("<IfIf", 1, 1.5, 2, 2.5), **keywords)
    with pytest.raises((InvalidFileError, InvalidMeasureError), match=rf"a\.fcs.*{message}"):
        files.read(path)


def test_a_name_of_two_channels_is_refused_where_it_is_wanted(tmp_path):
    path = write_by_hand(tmp_path / "a.fcs", struct.pack("<4I", 1, 2, 3, 4), P1S="B", P2S="C")
    assert files.read(path, columns=["A", "C"]).measures.points.tolist() == [[1, 2], [3, 4]]


def test_what_is_hidden_is_no_class(tmp_path):
    for name in ("sick/a", "well/a", "sick/._a", ".trash/a"):
        write_fcs(tmp_path / f"{name}.fcs", 5)
    assert files.read(tmp_path).labels.tolist() == ["sick", "well"]


def test_options_of_tables_have_no_meaning_and_the_extra_is_named(wells, monkeypatch):
    import sys

    folder, _ = wells
    with pytest.raises(InvalidParameterError, match=r"`by` \(--by\) has no meaning here: .* is of FCS files"):
        files.read(folder, by="donor")
    monkeypatch.setitem(sys.modules, "flowio", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[cells\]"):
        files.read(folder)
