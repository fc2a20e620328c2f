"""Figures 1 to 4 of *Kernel Wasserstein distance*, on simulated slices, and what their numbers depend on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .._common import Piece, Table, off, read_config, read_expected, run_pieces
from . import experiments, report

__all__ = ["PIECES", "config", "deviations", "expected", "reproduce", "tables"]

_RUNS: dict[str, Piece] = {
    "figure1": experiments.figure1,
    "figure2": experiments.figure2,
    "figure3": experiments.figure3,
    "figure4": experiments.figure4,
    "sensitivity": experiments.sensitivity,
}
#: The figures, and the dependence on linkage, gamma, rho, grey range and simulation.
PIECES = tuple(_RUNS)
config = partial(read_config, __package__)
expected = partial(read_expected, __package__)


def reproduce(
    size: str, folder: Path, pieces: tuple[str, ...] = PIECES, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run the pieces; see :func:`kermes.papers._common.run_pieces`."""
    settings = config()
    every = dict.fromkeys(PIECES, settings[size])  # all pieces are about the same slices
    return run_pieces(_RUNS, pieces, settings | {size: every}, size, folder, say)


def tables(size: str, summary: dict[str, Any]) -> list[Table]:
    """Return the contingency table, the chi-squares and what they depend on, with the paper's numbers."""
    return report.tables(summary, expected()["paper"], config()["shown"])


def deviations(size: str, summary: dict[str, Any]) -> list[str]:
    """Return in words the numbers that differ from the recorded ones by more than the tolerance.

    Both sizes are held against what was measured when they were written. The full one is also held against the paper:
    since its slices are private and ours are simulated, differences are to be expected.
    """
    recorded = expected()
    lines = _off(summary, recorded[size], recorded["tolerance"]["quick"])
    if size == "full":
        lines += [f"{line} in the paper" for line in _off(summary, recorded["paper"], recorded["tolerance"]["paper"])]
    return lines


def _off(summary: dict[str, Any], known: dict[str, Any], tolerance: dict[str, float]) -> list[str]:
    lines = []
    if "figure2" in summary and "figure2" in known:
        found, wanted = (_named("figure2", numbers["figure2"]["rates"]) for numbers in (summary, known))
        lines += off(found, wanted, tolerance["rates"])
    if "figure3" in summary and "figure3" in known:
        linkage = summary["figure3"]["linkage"]
        scores = {name: row[linkage]["chi_square"] for name, row in summary["figure3"]["scores"].items()}
        found, wanted = (_named("figure3, chi-square", numbers) for numbers in (scores, known["figure3"]))
        lines += off(found, wanted, tolerance["chi_square"], unit="")
    return lines


def _named(piece: str, numbers: dict[str, float]) -> dict[str, float]:
    return {f"{piece}, {name}": value for name, value in numbers.items()}
