"""What people meet in their first minutes: names nearly right, columns of which nothing was said, one measure."""

from __future__ import annotations

import numpy as np
import pytest

import kermes
from kermes import files
from kermes.exceptions import InvalidMeasureError, InvalidParameterError

CLOUDS = "".join(
    f"{name},{i},{x:.3f},{i + 1}\n" for name in "abcd" for i, x in enumerate(np.sin(np.arange(3) + ord(name)))
)


@pytest.fixture
def table(folder):
    folder.joinpath("cells.csv").write_text("k,cd4,cd8,mass\n" + CLOUDS)
    return ["cells.csv", "--by", "k", "--columns", "cd4,cd8"]


def test_a_table_that_convert_wrote_is_not_misread(run, folder, table):
    """Its masses would have become a third coordinate."""
    written = run("convert", *table, "--weights", "mass", "-o", "out.csv")
    assert "Read it with: --by k --weights weight" in written.err
    refused = run("distances", "out.csv", "--by", "k", "-o", "d.npy", code=2)
    assert "'weight' of which nothing was said: masses (--weights weight" in refused.err
    assert "--columns cd4,cd8,weight" in refused.err
    run("distances", "out.csv", "--by", "k", "--weights", "weight", "-o", "d.npy")
    run("distances", *table, "--weights", "mass", "-o", "e.npy")
    np.testing.assert_array_equal(np.load(folder / "d.npy"), np.load(folder / "e.npy"))
    run("distances", "out.csv", "--by", "k", "--columns", "cd4,cd8,weight", "-o", "f.npy")  # body weight


@pytest.mark.parametrize("name", ["weight", "Weights", " WEIGHT"])
def test_columns_called_as_weights_are_need_a_word(tmp_path, name):
    path = tmp_path / "t.parquet"
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table({"k": ["a", "b"], "x": [0.0, 1.0], name: [1.0, 2.0]}), path
    )
    with pytest.raises(InvalidParameterError, match="of which nothing was said"):
        files.read(path, by="k")
    assert files.read(path, by="k", weights=name).columns == ("x",)
    assert files.read(path, by="k", label=name).columns == ("x",)
    assert files.read(path, by="k", columns=["x", name]).columns == ("x", name)


def test_dropped_rows_are_counted(run, folder, table):
    folder.joinpath("cells.csv").write_text("k,cd4,cd8,mass\n" + CLOUDS + "a,,1,1\nb,1,,1\n")
    assert files.read(folder / "cells.csv", by="k", columns=["cd4", "cd8"], drop_missing=True).dropped == 2
    found = run("distances", *table, "--drop-missing", "-o", "d.npy")
    assert "2 rows without a number left out" in found.err
    found = run("distances", *table, "--columns", "mass", "--drop-missing", "-o", "m.npy")
    assert "left out" not in found.err


@pytest.mark.parametrize(
    "command",
    [
        ("distances", "-d", "euclidean", "-o", "d.npy"),
        ("gram", "-k", "euclidean", "-o", "k.npy"),
        ("diagnose", "-k", "euclidean"),
        ("cluster", "-d", "euclidean"),
    ],
)
def test_masses_of_points_that_no_two_measures_share_say_nothing_of_places(run, folder, table, command):
    assert "no two measures have a point in common" in run(command[0], *table, *command[1:]).err
    rows = "".join(f"{name},{x},{ord(name) * x % 7 + 1}\n" for name in "abcd" for x in range(4))
    folder.joinpath("bins.csv").write_text("k,bin,count\n" + rows)
    for matrix in folder.glob("*.npy"):
        matrix.unlink()
    shared = run(command[0], "bins.csv", "--by", "k", "--columns", "bin", "--weights", "count", *command[1:])
    assert "point in common" not in shared.err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("-d", "mmd"), "mmd needs a point kernel, such as mmd:sigma=2."),
        (("-d", "kl"), "Did you mean 'gaussian-kl' or 'kernel-kl'?"),
        (("-d", "mmd,sigma=1"), "'mmd,sigma=1' must have the form name:parameter=value"),
        (("-d", "jensen-shannon"), "-d jensen-shannon:sigma=..."),
    ],
)
def test_names_nearly_right(run, table, option, said):
    refused = run("distances", *table, *option, "-o", "d.npy", code=2)
    assert said in " ".join(refused.err.split())
    assert ("All names: kermes list" in refused.err) is (option[1] in ("kl", "mmd,sigma=1"))


def test_too_many_clusters_name_the_option(run, table):
    assert "`n_clusters` (--clusters) must be at most" in run("cluster", *table, "-n", "9", code=2).err


def test_one_measure_has_no_distances_to_judge(run, folder):
    folder.joinpath("one.csv").write_text("k,x\na,0\na,1\n")
    found = run("diagnose", "one.csv", "--by", "k")
    assert "no distances to judge" in found.out
    assert "All distances are 0" not in found.out


def test_columns_of_lists_are_to_be_named(tmp_path):
    path = tmp_path / "lists.parquet"
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"k": ["a", "b"], "x": [[0.0, 1.0], [2.0]]}), path)
    with pytest.raises(InvalidMeasureError, match=r"--columns x \(columns=\['x'\]\)"):
        files.read(path, by="k")
    assert files.read(path, by="k", columns=["x"]).measures.sizes.tolist() == [2, 1]


def test_repeated_rows_of_a_view_are_one_member():
    X = kermes.Measures.from_samples([[0.0, 1.0], [5.0], [0.0, 1.0]])
    view = X[[0, 0, 1, 2]]
    assert kermes.inspection.nearest(view, view[0]).indices.tolist() == [3, 2]
    assert kermes.inspection.nearest(view, 0).indices.tolist() == [1, 3, 2]
