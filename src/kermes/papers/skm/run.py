"""Table 1 and Figures 2 to 7 of *Semigroup kernels on measures*."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .._common import Piece, Table, above, flat, off, read_config, read_expected, run_pieces
from .._digits import best_table, error_table, named_errors
from . import experiments, pictures

__all__ = ["PIECES", "config", "deviations", "expected", "reproduce", "tables"]

_RUNS: dict[str, Piece] = {
    "table1": experiments.table1,
    "figure2": pictures.figure2,
    "figure3": pictures.figure3,
    "figure4": pictures.figure4,
    "figure5": pictures.figure5,
    "figure6": experiments.figure6,
    "figure7": experiments.figure7,
}
#: The table and the figures; Figure 1 of the paper explains a notion.
PIECES = tuple(_RUNS)
#: Numbers of points whose errors are printed of Figure 7, or the nearest measured ones; all are in the figure.
SHOWN = (10, 20, 35, 60, 100, 200)
config = partial(read_config, __package__)
expected = partial(read_expected, __package__)


def reproduce(
    size: str, folder: Path, pieces: tuple[str, ...] = PIECES, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run the pieces; see :func:`kermes.papers._common.run_pieces`."""
    return run_pieces(_RUNS, pieces, config(), size, folder, say)


def tables(size: str, summary: dict[str, Any]) -> list[Table]:
    """Return Table 1 and the numbers of the figures, with the paper's."""
    paper = expected()["paper"]
    made = []
    if "table1" in summary:
        found = summary["table1"]
        known = paper["table1"] if size == "full" else {}  # the quick size has half the images
        made.append(error_table("Table 1: error by sampled points, %", found, known, _columns(found)))
    if "figure2" in summary:
        found = summary["figure2"]
        rows = [
            [name, *(f"{v:.4f}" for v in found["variances"][name]), *(f"{v:.4f}" for v in known)]
            for name, known in paper["figure2"]["variances"].items()
        ]
        rows.append(["kernel value", f"{found['kernel']:.3f}", "", f"{paper['figure2']['kernel']:.3f}", ""])
        made.append(Table("Figure 2: variances", ["measure", "first", "second", "paper", "paper"], rows))
    if "figure3" in summary:
        rows = [[pair, f"{value:.2f}"] for pair, value in summary["figure3"]["mean"].items()]
        made.append(Table("Figure 3: mean kernel value", ["digits", "linear IGV"], rows))
    if "figure6" in summary:
        made.append(best_table("Figure 6", summary["figure6"], "paper: 19.5 % at eta 0.008 to 0.02, sigma 0.12"))
    if "figure7" in summary:
        found = summary["figure7"]
        nearest = [min(_columns(found), key=lambda column: abs(int(column) - wanted)) for wanted in SHOWN]
        columns = list(dict.fromkeys(nearest))
        made.append(error_table("Figure 7: error by sampled points, %", found, paper["figure7"], columns))
    return made


def deviations(size: str, summary: dict[str, Any]) -> list[str]:
    """Return in words the errors that differ from the recorded ones by more than the tolerance.

    The full protocol is held against the paper, and the normalised kernel, which the paper does not have, against the
    errors it must not exceed; the quick one against what was measured when it was written.
    """
    recorded = expected()
    found = named_errors(summary)
    if size == "quick":
        return off(found, flat(recorded["quick"]), recorded["tolerance"]["quick"])
    known = flat({name: recorded["paper"][name] for name in ("table1", "figure6", "figure7")})
    return off(found, known, recorded["tolerance"]["paper"]) + above(found, flat(recorded["limit"]))


def _columns(found: dict[str, Any]) -> list[str]:
    return list(next(iter(found["mean"].values())))
