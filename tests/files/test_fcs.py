"""FCS files, written with flowio."""

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


def test_options_of_tables_have_no_meaning_and_the_extra_is_named(wells, monkeypatch):
    import sys

    folder, _ = wells
    with pytest.raises(InvalidParameterError, match=r"`by` \(--by\) has no meaning here: .* is of FCS files"):
        files.read(folder, by="donor")
    monkeypatch.setitem(sys.modules, "flowio", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[cells\]"):
        files.read(folder)
