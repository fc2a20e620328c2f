"""Run the rows named on the command line, or all but the long ones and those on real data, and print one table.

The first part of a name stands for all rows that begin with it (``threads``, ``flat``, ``peak``, ``share``, ``peer``).

``--record`` also writes what was measured to ``benchmarks/results/DATE.json``, from which the documentation makes its
tables; a row that is measured again on a day replaces the earlier one.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import (
    comparison,
    exact,
    families,
    feature_space,
    features,
    foundation,
    gaussian_process,
    gpm,
    inference,
    mmd,
    neighbors,
    peers,
    reading,
    real,
    regret,
    scaling,
    search,
    semigroup,
    store,
    thinning,
    transport,
)
from .harness import Row

RESULTS = Path(__file__).parent / "results"
PEERS = ("numpy", "scipy", "scikit-learn", "numba", "pot")
ROWS = {
    **foundation.ROWS,
    **transport.ROWS,
    **exact.ROWS,
    **mmd.ROWS,
    **semigroup.ROWS,
    **feature_space.ROWS,
    **families.ROWS,
    **gaussian_process.ROWS,
    **features.ROWS,
    **neighbors.ROWS,
    **search.ROWS,
    **comparison.ROWS,
    **store.ROWS,
    **gpm.ROWS,
    **inference.ROWS,
    **reading.ROWS,
    **thinning.ROWS,
    **real.ROWS,
    **scaling.ROWS,
    **peers.ROWS,
}
#: Rows that are run when they are named.
NAMED = {*store.LONG, *real.ROWS, *scaling.LONG, *peers.ROWS}


def record(name: str, row: Row) -> None:
    """Add a row to the results of today."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{date.today().isoformat()}.json"
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), **{p: version(p) for p in PEERS}}
    found = json.loads(path.read_text()) if path.exists() else {"machine": machine, "rows": {}}
    found["rows"][name] = {**vars(row), "passed": bool(row.passed)}
    path.write_text(json.dumps(found, indent=1) + "\n")


def group(name: str) -> list[str]:
    """Return the rows whose names begin with ``name_``, or the name itself if there are none."""
    return [row for row in ROWS if row.startswith(f"{name}_")] or [name]


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if name != "--record"]
    names = [row for name in names for row in ([name] if name in ROWS else group(name))]
    if names[:1] == ["regret"]:
        return regret.main(names[1:])
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"no row {unknown[0]!r}; there are: {', '.join(ROWS)}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(title="kermes against peers, one run, best of several")
    for column in ("work", "peer", "kermes", "peer's", "figure", "asked", "differ by", ""):
        table.add_column(column)
    passed = True
    for name in names or [name for name in ROWS if name not in NAMED]:
        with console.status(name):
            row = ROWS[name]()
        passed &= row.passed
        if "--record" in arguments:
            record(name, row)
        table.add_row(*[str(cell) for cell in list(vars(row).values())[:-1]], "ok" if row.passed else "MISSED")
    console.print(table)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
