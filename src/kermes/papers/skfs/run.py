"""Figures 1 and 2 of *Semigroup kernels on finite sets*, and its comparison with an RBF kernel."""

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
    "figure1": pictures.figure1,
    "figure2a": experiments.figure2a,
    "figure2b": experiments.figure2b,
    "rbf": experiments.rbf,
}
#: The figures, and the comparison in the text.
PIECES = tuple(_RUNS)
config = partial(read_config, __package__)
expected = partial(read_expected, __package__)


def reproduce(
    size: str, folder: Path, pieces: tuple[str, ...] = PIECES, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run the pieces; see :func:`kermes.papers._common.run_pieces`."""
    return run_pieces(_RUNS, pieces, config(), size, folder, say)


def tables(size: str, summary: dict[str, Any]) -> list[Table]:
    """Return the numbers of the figures and of the comparison, with the paper's."""
    paper = expected()["paper"]
    made = []
    if "figure1" in summary:
        rows = [
            [point_kernel, name, *(", ".join(f"{v:.4f}" for v in values[: len(known)]) for values in (found, known))]
            for point_kernel, measures in paper["figure1"].items()
            for name, known in measures.items()
            for found in [summary["figure1"][point_kernel][name]]
        ]
        made.append(Table("Figure 1: eigenvalues", ["point kernel", "measure", "ours", "paper"], rows))
    if "figure2a" in summary:
        made.append(best_table("Figure 2a", summary["figure2a"], "paper: 19.5 % at eta 0.008 to 0.02, sigma 0.12"))
    if "figure2b" in summary:
        found = summary["figure2b"]
        every = list(next(iter(found["mean"].values())))
        shown = [count for count in every if int(count) % 5 == 0]
        made.append(error_table("Figure 2b: error by sampled points, %", found, {}, shown))
    if "rbf" in summary:
        made.append(error_table("RBF on pixels: error by sampled points, %", summary["rbf"], paper["rbf"], ["30"]))
    return made


def deviations(size: str, summary: dict[str, Any]) -> list[str]:
    """Return in words the errors that differ from the recorded ones by more than the tolerance.

    The full protocol is held against the paper, and the normalised kernel against the error it must not exceed at its
    best cell; the quick one against what was measured when it was written.
    """
    recorded = expected()
    found = named_errors(summary)
    if size == "quick":
        return off(found, flat(recorded["quick"]), recorded["tolerance"]["quick"])
    known = flat({name: recorded["paper"][name] for name in ("figure2a", "rbf")})
    return off(found, known, recorded["tolerance"]["paper"]) + above(found, flat(recorded["limit"]))
