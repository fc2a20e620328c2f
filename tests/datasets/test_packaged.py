"""Data sets inside other packages: on small trees of the same layout, and on the real ones where they are installed."""

import importlib
from importlib.util import find_spec

import flowio
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import datasets
from kermes.exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, MissingDependencyError

SQUARE = "0 0\n2 0\n2 2\n0 2"
BAR = "5 5\n5 9\n6 9\n6 5"
LOADERS = {
    "load_cells": "geomstats",
    "load_muscles": "geomstats",
    "load_vowels": "aeon",
    "load_appliances": "aeon",
    "load_wells": "FlowCytometryTools",
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_wells(folder):
    values = np.random.default_rng(0).lognormal(3, 1, size=(5, 3)).astype(np.float32)
    for name in ("Plate01/CFP_Well_A4.fcs", "Plate01/RFP_Well_A3.fcs", "Plate02/Mixed_Well_H1.001.fcs"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open(folder / name, "wb") as file:
            flowio.create_fcs(file, values.ravel().tolist(), ["V2-A", "Y2-A", "B1-A"])
    return values


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Packages that must not be imported, with files in the layout of the real ones."""
    for name in {*LOADERS.values()}:
        write(tmp_path / name / "__init__.py", "raise AssertionError('imported')")
    cells, series = tmp_path / "geomstats/datasets/data/cells", tmp_path / "aeon/datasets/data"
    write(cells / "cells.txt", f"{SQUARE}\n\n{BAR}\n\n{SQUARE}\n")
    write(cells / "treatments.txt", "jasp\ncontrol\njasp")
    write(cells / "cell_lines.txt", "dunn\ndunn\ndlm8")
    rows = [(1, "rest", "a"), (2, "rest", "a"), (3, "rock", "a"), (1, "rock", "b")]
    lines = [f"{time}," + ",".join(str(time + i) for i in range(8)) + f",{sign},{who}" for time, sign, who in rows]
    write(
        tmp_path / "geomstats/datasets/data/emg/emg.csv", "time,c0,c1,c2,c3,c4,c5,c6,c7,label,exp\n" + "\n".join(lines)
    )
    frames = ":".join(["1,2,3"] * 11 + ["4,5,6"])
    write(
        series / "JapaneseVowels/JapaneseVowels_TRAIN.ts", f"#a\n@classLabel true 1 2\n@data\n{frames}:2\n{frames}:1\n"
    )
    write(series / "JapaneseVowels/JapaneseVowels_TEST.ts", f"@data\n{frames}:1\n")
    write(series / "ACSF1/ACSF1_TRAIN.ts", "@data\n0.5,-1:0\n0,2:9\n")
    write_wells(tmp_path / "FlowCytometryTools/tests/data")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def test_outlines_carry_their_length_evenly(packages):
    cells = datasets.load_cells(align=False)
    assert repr(cells) == "LabelledMeasures(3 measures in dimension 2, 2 classes, 2 groups)"
    assert cells.classes == ("control", "jasp")
    assert_array_equal(cells.target, [1, 0, 1])
    assert_array_equal(cells.groups, ["dunn", "dunn", "dlm8"])
    assert_allclose(cells.measures.masses, [8, 10, 8])
    assert_allclose(cells.measures[1].points, [[5, 5], [5, 9], [6, 9], [6, 5]])
    assert_allclose(cells.measures[1].weights, 2.5)


def test_aligned_outlines_forget_where_they_lay(packages, tmp_path):
    outline = np.random.default_rng(3).normal(size=(12, 2)) * [3, 1]
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    blocks = ["\n".join(f"{x!r} {y!r}" for x, y in cloud.tolist()) for cloud in (outline, outline @ turn + 7)]
    folder = packages / "geomstats/datasets/data/cells"
    write(folder / "cells.txt", "\n\n".join(blocks))
    write(folder / "treatments.txt", "cytd\ncytd")
    write(folder / "cell_lines.txt", "dunn\ndunn")
    one, other = datasets.load_cells().measures
    assert_allclose(one.points, other.points, atol=1e-9)
    assert_allclose(one.weights @ one.points, 0, atol=1e-9)
    spread = (one.points.T * one.weights) @ one.points
    assert spread[0, 0] > spread[1, 1]
    assert abs(spread[0, 1]) < 1e-9


def test_a_recording_ends_where_the_sign_or_the_session_changes(packages):
    muscles = datasets.load_muscles()
    assert muscles.classes == ("rest", "rock")
    assert_array_equal(muscles.target, [0, 1, 1])
    assert_array_equal(muscles.groups, ["a", "a", "b"])
    assert_allclose(muscles.measures[0].points, [np.arange(1, 9), np.arange(2, 10)])
    assert muscles.columns[7] == "electrode7"
    assert_array_equal(muscles[1:].groups, ["a", "b"])
    assert_array_equal(muscles[muscles.groups == "b"].target, [1])


def test_series_are_points_in_any_order(packages):
    vowels = datasets.load_vowels()
    assert_array_equal(vowels.target, [1, 0])
    assert vowels.groups is vowels[:1].groups is None
    assert_allclose(vowels.measures[0].points[:, 10:], [[1, 4], [2, 5], [3, 6]])
    assert len(datasets.load_vowels(split="test")) == 1
    appliances = datasets.load_appliances()
    assert appliances.classes == ("0", "9")
    assert_allclose(appliances.measures[1].points, [[0], [2]])
    with pytest.raises(InvalidParameterError, match="Did you mean 'test'"):
        datasets.load_vowels(split="tset")


def test_wells_are_on_the_scale_of_arcsinh(tmp_path):
    values = write_wells(tmp_path)
    wells = datasets.load_wells(tmp_path, cofactor=5)
    assert wells.classes == ("CFP", "Mixed", "RFP")
    assert_array_equal(wells.groups, ["Plate01", "Plate01", "Plate02"])
    assert_array_equal(wells.measures.keys, ["CFP_Well_A4", "RFP_Well_A3", "Mixed_Well_H1.001"])
    assert_allclose(wells.measures[2].points, np.arcsinh(values / 5), rtol=1e-6)
    assert_allclose(
        datasets.load_wells(tmp_path, ["B1-A"], 5).measures[0].points, np.arcsinh(values[:, 2:] / 5), rtol=1e-6
    )
    with pytest.raises(InvalidFileError, match=r"CFP_Well_A4.fcs has no channel 'FITC'; it has V2-A, Y2-A, B1-A"):
        datasets.load_wells(tmp_path, ["FITC"])
    with pytest.raises(InvalidParameterError, match="cofactor"):
        datasets.load_wells(tmp_path, cofactor=0)
    with pytest.raises(FileNotFoundError, match="Plate01 and Plate02"):
        datasets.load_wells(tmp_path / "Plate01")


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_package_is_named_with_its_extra(name, monkeypatch):
    monkeypatch.setattr(datasets._packaged, "find_spec", lambda package: None)
    with pytest.raises(MissingDependencyError, match=rf"{LOADERS[name]}.*pip install 'kermes\[data\]'"):
        getattr(datasets, name)()


def test_fcs_files_need_their_reader(tmp_path, monkeypatch):
    write_wells(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "flowio", None)
    with pytest.raises(MissingDependencyError, match="flowio"):
        datasets.load_wells(tmp_path)


def test_another_version_of_a_package_is_refused(packages):
    (packages / "aeon/datasets/data/ACSF1/ACSF1_TRAIN.ts").unlink()
    (packages / "aeon/datasets/data/ACSF1").rmdir()
    with pytest.raises(InvalidFileError, match="aeon has no folder 'datasets/data/ACSF1'"):
        datasets.load_appliances()


@pytest.mark.parametrize(
    ("name", "file", "text", "message"),
    [
        ("load_cells", "geomstats/datasets/data/cells/cells.txt", "1 2\n3", "not a file of outlines"),
        ("load_cells", "geomstats/datasets/data/cells/cells.txt", SQUARE, "1 outlines, 3 treatments, 3 lines"),
        ("load_muscles", "geomstats/datasets/data/emg/emg.csv", "time\n1,2", "not a table of signals"),
        ("load_appliances", "aeon/datasets/data/ACSF1/ACSF1_TRAIN.ts", "1,2:0", "no line @data"),
        ("load_appliances", "aeon/datasets/data/ACSF1/ACSF1_TRAIN.ts", "@data\n1,?:0", "not a file of series"),
        ("load_appliances", "aeon/datasets/data/ACSF1/ACSF1_TRAIN.ts", "@data\n1,2:3,4:0", "has 2 channels, not 1"),
    ],
)
def test_damaged_files_are_named(packages, name, file, text, message):
    write(packages / file, text)
    with pytest.raises(InvalidFileError, match=message):
        getattr(datasets, name)()


def test_a_series_that_is_not_finite_is_refused(packages):
    write(packages / "aeon/datasets/data/ACSF1/ACSF1_TRAIN.ts", "@data\n1,nan:0")
    with pytest.raises(InvalidMeasureError, match="measure 0"):
        datasets.load_appliances()


@pytest.mark.parametrize(
    ("name", "n", "dim", "classes", "groups"),
    [
        ("load_cells", 650, 2, 3, 2),
        ("load_muscles", 120, 8, 5, 4),
        ("load_vowels", 270, 12, 9, 0),
        ("load_appliances", 100, 1, 10, 0),
        ("load_wells", 11, 3, 4, 2),
    ],
)
def test_the_real_data(name, n, dim, classes, groups):
    if find_spec(LOADERS[name]) is None:
        pytest.skip(f"{LOADERS[name]} is not installed (the extra data)")
    data = getattr(datasets, name)()
    assert (len(data), data.measures.dim, len(data.classes)) == (n, dim, classes)
    assert (0 if data.groups is None else len(np.unique(data.groups))) == groups
