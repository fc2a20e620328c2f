"""What the papers share: settings, results kept piece by piece, tables, figures without a display."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "Piece",
    "Store",
    "Table",
    "above",
    "flat",
    "off",
    "read_config",
    "read_expected",
    "run_pieces",
    "save_figure",
]


#: One table or figure: takes the settings, its sizes, the store and where to report; returns its numbers and, if it is
#: to be drawn, a function that makes the figure.
Piece = Callable[..., tuple[dict[str, Any], Callable[[], Any] | None]]


class Table(NamedTuple):
    """A table to print."""

    title: str
    header: list[str]
    rows: list[list[str]]


def read_config(package: str) -> dict[str, Any]:
    """Return the sizes and grids in ``config.toml`` of a paper."""
    return tomllib.loads(resources.files(package).joinpath("config.toml").read_text())


def read_expected(package: str) -> dict[str, Any]:
    """Return the published numbers and the ones measured here, from ``expected.json`` of a paper."""
    found: dict[str, Any] = json.loads(resources.files(package).joinpath("expected.json").read_text())
    return found


def flat(nested: dict[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the numbers of nested dictionaries under joined names: ``{"a": {"b": 1.0}}`` as ``{"a, b": 1.0}``."""
    found: dict[str, float] = {}
    for key, value in nested.items():
        name = f"{prefix}, {key}" if prefix else key
        found |= flat(value, name) if isinstance(value, dict) else {name: value}
    return found


def above(found: dict[str, float], limits: dict[str, float]) -> list[str]:
    """Return in words the errors above their limits."""
    return [
        f"{name}: {found[name]:.1f} %, more than {limit:.1f} %"
        for name, limit in limits.items()
        if name in found and found[name] > limit
    ]


def off(found: dict[str, float], known: dict[str, float], tolerance: float, unit: str = " %") -> list[str]:
    """Return in words the numbers that differ from the known ones by more than ``tolerance``, in their unit."""
    return [
        f"{name}: {found[name]:.1f}{unit} against {value:.1f}{unit}"
        for name, value in known.items()
        if name in found and abs(found[name] - value) > tolerance
    ]


class Store:
    """Finished pieces of a run: a file each, with the settings it belongs to.

    Parameters
    ----------
    folder : Path
        Made if it does not exist. An interrupted run goes on where it stopped.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, settings: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """Return the result ``name``: the kept one if it was computed with these settings, otherwise a new one."""
        path = self.folder / f"{name}.json"
        wanted = json.loads(json.dumps(settings))
        if path.exists():
            kept = json.loads(path.read_text())
            if isinstance(kept, dict) and kept.get("settings") == wanted:
                return kept["result"]
        self.write(name, {"settings": wanted, "result": compute()})
        return json.loads(path.read_text())["result"]  # the same numbers as in the next run

    def write(self, name: str, content: Any) -> None:
        """Write a file as a whole: an interruption leaves the old one or the new one."""
        path = self.folder / f"{name}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(content, indent=1))
        fresh.replace(path)


def save_figure(path: Path, figure_of: Callable[..., Any], *arguments: Any) -> None:
    """Write the figure that ``figure_of(*arguments)`` returns; without matplotlib do nothing."""
    try:
        import matplotlib as mpl
    except ImportError:
        return
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        figure = figure_of(*arguments)
        figure.savefig(path, dpi=150)
        plt.close(figure)


def run_pieces(
    pieces: dict[str, Piece],
    wanted: tuple[str, ...],
    settings: dict[str, Any],
    size: str,
    folder: Path,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Run what ``folder`` does not hold yet, draw the figures, and return the numbers by name.

    ``reproduce`` of every paper with several tables or figures.

    Parameters
    ----------
    pieces : dict of Piece
        The tables and figures of the paper, in its order.
    wanted : tuple of str
        Names among them.
    settings : dict
        The paper's ``config.toml``; a piece gets the part ``settings[size][name]`` beside the whole.
    size : 'quick' or 'full'
    folder : Path
        Finished parts are files in it: an interrupted run goes on from there.
    say : callable
        Where to report progress.
    """
    store = Store(folder)
    summary: dict[str, Any] = {}
    for name, piece in pieces.items():
        if name in wanted:
            summary[name], figure_of = piece(settings, settings[size].get(name, {}), store, say)
            if figure_of is not None:
                save_figure(folder / f"{name}.png", figure_of)
    store.write("summary", summary)
    return summary
