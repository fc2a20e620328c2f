"""Run the truth tests and print what became of the cases: ``KERMES_CASES=1000 python -m tests.truth [pytest options]``.

Columns: cases, those refused by an error, those reported by a status, the largest relative error (of values above a
thousand times their bound), and the largest error in units of the bound.
"""

import sys
from pathlib import Path

import pytest


class Table:
    """Prints the records at the end of the run."""

    def pytest_terminal_summary(self, terminalreporter):
        from tests.truth.judge import RECORDS  # the module that the tests use

        print = terminalreporter.write_line
        print(f"{'':56}{'cases':>7}{'refused':>9}{'reported':>9}{'relative':>10}{'of bound':>10}")
        for name, record in RECORDS.items():
            counts = f"{record.cases:7}{record.refusals:9}{record.reported:9}"
            print(f"{name:56}{counts}{record.relative:10.1e}{record.share:10.1e}")


if __name__ == "__main__":
    options = ["-q", "--timeout=0", "-o", "faulthandler_timeout=0", *sys.argv[1:]]
    here = Path(__file__).parent
    paths = [] if any(Path(option.split("::")[0]).exists() for option in options) else [str(here)]
    sys.exit(pytest.main([*paths, *options], plugins=[Table()]))
