"""Figures 1 to 12, A1 and A2 of *Gaussian process regression over discrete probability measures*, and causes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .._common import Piece, Table, read_config, read_expected, run_pieces
from . import experiments, pictures, report

__all__ = ["PIECES", "config", "deviations", "expected", "reproduce", "tables"]

_RUNS: dict[str, Piece] = {
    "figure1": pictures.figure1,
    "figure2": pictures.figure2,
    "figure3": pictures.figure3,
    "figure4": pictures.figure4,
    "figure5": pictures.figure5,
    "figure6": experiments.figure6,
    "figure7": experiments.figure7,
    "figure8": experiments.figure8,
    "figure9": experiments.figure9,
    "figure10": experiments.figure10,
    "figure11": experiments.figure11,
    "figure12": experiments.figure12,
    "figureA1": pictures.figureA1,
    "figureA2": pictures.figureA2,
    "ablation": experiments.ablation,
    "corrected": experiments.comparison,
}
#: The figures, the causes of the failures, and the comparison with correct matrices.
PIECES = tuple(_RUNS)

config = partial(read_config, __package__)
expected = partial(read_expected, __package__)


def reproduce(
    size: str, folder: Path, pieces: tuple[str, ...] = PIECES, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run the pieces; see :func:`kermes.papers._common.run_pieces`."""
    settings = config()
    every = dict.fromkeys(PIECES, settings[size])  # figures share their runs
    return run_pieces(_RUNS, pieces, settings | {size: every}, size, folder, say)


def tables(size: str, summary: dict[str, Any]) -> list[Table]:
    """Return failures, errors and the corrected comparison, with the published numbers."""
    return report.tables(summary, config()["shown"])


def deviations(size: str, summary: dict[str, Any]) -> list[str]:
    """Return in words what differs from the published failures, and from the errors recorded here, by too much."""
    return report.deviations(size, summary, expected())
