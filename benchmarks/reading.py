"""Reading of a long table, against pandas, which reads the same file and groups nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from kermes import files

from .harness import Contest, Row, relative

ROWS_READ = 2_000_000


def read_csv() -> Row:
    """Two million cells of 60 patients in 8 markers: the measures of kermes, the table of pandas."""
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(ROWS_READ, 8)).round(5), columns=list("abcdefgh"))
    table.insert(0, "patient", [f"p{i:03d}" for i in np.sort(rng.integers(0, 60, ROWS_READ))])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cells.csv"
        table.to_csv(path, index=False)
        return Contest(
            "read a CSV of 2 million rows", "pandas read_csv", lambda: files.read(path, by="patient").measures.points,
            lambda: pd.read_csv(path).iloc[:, 1:].to_numpy(), ROWS_READ, ROWS_READ, floor=0.5, tolerance=0.0,
            compare=relative, repeats=2,
        ).run()  # fmt: skip


ROWS = {"read_csv": read_csv}
