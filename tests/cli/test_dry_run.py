"""``--dry-run``: what every command that computes would take, and nothing else."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from kermes import Measures
from kermes.cli import main

COMMANDS = {
    "distances": [],
    "gram": ["-o", "data.csv"],  # it exists, and is not looked at
    "cluster": ["-o", "no/folder.csv"],
    "test": ["--label", "label"],
    "compare": ["--label", "label", "-k", "sliced", "-k", "gaussian-wasserstein"],
    "fit": ["--label", "label"],
    "diagnose": [],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_computed_or_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    rows = [f"{i},{i % 2},{x:.4f},{y:.4f}" for i in range(12) for x, y in random.normal(i % 2, 1.0, (6, 2))]
    (tmp_path / "data.csv").write_text("\n".join(["who,label,x,y", *rows]) + "\n")
    reading = ["data.csv", "--by", "who", "--columns", "x,y"]
    result = CliRunner().invoke(main, [name, *reading, *COMMANDS[name], "--dry-run"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "pairs" in result.output
    assert "not computed" in result.output
    found = CliRunner().invoke(main, [name, *reading, *COMMANDS[name], "--dry-run", "--json"])
    start = found.output.index("{")
    assert json.loads(found.output[start:])["pairs"] >= 1
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("command", [["mean"], ["explain", "--label", "labels"], ["convert"]])
def test_commands_without_pairs_have_nothing_to_estimate(command, run, folder):
    before = sorted(path.name for path in folder.iterdir())
    out = run(command[0], "digits.npz", *command[1:], "--dry-run").out
    assert out == "not computed\n  pairs  0\n  time   not estimated: it goes into no pairs of measures\n"
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_store_is_not_begun(run, folder):
    before = sorted(path.name for path in folder.iterdir())
    assert "pairs   66" in run("distances", "digits.npz", "-o", "d.zarr", "--dry-run").out
    assert sorted(path.name for path in folder.iterdir()) == before


def test_without_pairs_nothing_is_written_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Measures.from_samples([[0.0, 1.0]]).save("one.npz")
    result = CliRunner().invoke(main, ["distances", "one.npz", "-o", "d.npy", "--dry-run"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "pairs   0" in result.output
    assert not (tmp_path / "d.npy").exists()
