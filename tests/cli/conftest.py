import json

import numpy as np
import pytest
from click.testing import CliRunner

from kermes.cli import main


class Result:
    """What a command printed, and how it ended."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.exception = result.exception

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(folder):
    """Run ``kermes`` with these arguments in a folder with small files."""

    def invoke(*arguments, code=0):
        result = Result(CliRunner().invoke(main, [str(argument) for argument in arguments]))
        assert result.code == code, (result.code, result.out, result.err, result.exception)
        assert "Traceback" not in result.out + result.err
        return result

    return invoke


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with cells.csv, new.csv and digits.npz, which is the current one."""
    write_cells(tmp_path / "cells.csv", range(24), labels=True)
    write_cells(tmp_path / "new.csv", [31, 30, 33, 32], labels=False)
    rng = np.random.default_rng(0)
    digit = np.arange(12) % 3
    images = rng.uniform(0.6, 1.0, size=(12, 5, 5)) * (np.arange(5) // 2 == digit[:, None])[:, None, :]
    np.savez(tmp_path / "digits.npz", images=8 * images, labels=digit)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_cells(path, patients, labels):
    """Write a table of patients whose cells spread twice as far if they are sick, that is odd."""
    rng = np.random.default_rng(1)
    lines = ["patient,cd4,cd8" + (",sick,age" if labels else "")]
    for patient in patients:
        cells = rng.normal(size=(6, 2)) * (1 + 2 * (patient % 2)) + patient / 10
        known = f",{'yes' if patient % 2 else 'no'},{20 + patient}.5" if labels else ""
        lines += [f"p{patient},{x:.3f},{y:.3f}{known}" for x, y in cells]
    path.write_text("\n".join(lines) + "\n")
