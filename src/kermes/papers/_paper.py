"""What a reproduction is: pieces to run, results that are kept, tables to print, numbers that are off."""

from __future__ import annotations

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files import whole

FloatArray = NDArray[np.float64]
AnyArray = NDArray[Any]
#: Settings, sizes and results, as TOML and JSON have them.
Numbers = dict[str, Any]
#: Where progress is reported.
Say = Callable[[str], None]
#: Makes a matplotlib figure.
Drawing = Callable[[], Any]
#: The numbers of a piece, and what draws it: a figure of its name, several by their names, or none.
Result = tuple[Numbers, Drawing | Mapping[str, Drawing] | None]


class PrintedTable(NamedTuple):
    """A table to print."""

    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Run:
    """A reproduction under way.

    ``settings`` are ``config.toml`` of the paper, ``sizes`` the part of it for the size of this run, ``published`` the
    numbers in the paper. Finished parts are files in ``folder``: an interrupted run goes on from there.
    """

    settings: Numbers
    sizes: Numbers
    published: Numbers
    folder: Path
    say: Say

    def has(self, name: str, depends_on: Numbers) -> bool:
        """Return whether the result ``name`` was computed already, with the same numbers."""
        path = self.folder / f"{name}.json"
        kept = json.loads(path.read_text()) if path.exists() else None
        return isinstance(kept, dict) and kept.get("settings") == json.loads(json.dumps(depends_on))

    def keep(self, name: str, depends_on: Numbers, compute: Callable[[], Any]) -> Any:
        """Return the result ``name``: the kept one if it was computed with the same numbers, otherwise a new one.

        The file also records the versions of what computed it.
        """
        path = self.folder / f"{name}.json"
        if not self.has(name, depends_on):
            versions = {name: metadata.version(name) for name in ("kermes", "numpy", "scipy", "numba", "scikit-learn")}
            _write_json(path, {"settings": depends_on, "result": compute(), "versions": versions})
        return json.loads(path.read_text())["result"]  # the same numbers as in the next run


#: One table or figure of a paper.
Piece = Callable[[Run], Result]


class Paper(ABC):
    """A paper: the pieces that can be run, the tables they make, and the numbers that are off.

    ``pieces`` are its tables and figures, in its order; the ``optional`` ones are run on request only. The folder of
    the package holds ``config.toml``, the ``settings`` (sizes and grids), and ``expected.json``: the published
    numbers, the ones measured here, and tolerances.
    """

    def __init__(self, package: str, pieces: Mapping[str, Piece], optional: Mapping[str, Piece] | None = None) -> None:
        folder = resources.files(package)
        self.settings: Numbers = tomllib.loads(folder.joinpath("config.toml").read_text())
        self.expected: Numbers = json.loads(folder.joinpath("expected.json").read_text())
        self.pieces = dict(pieces)
        self.optional = dict(optional or {})

    def reproduce(
        self, size: str, folder: Path, wanted: Iterable[str] | None = None, say: Say = print
    ) -> dict[str, Numbers]:
        """Run what ``folder`` does not hold yet, draw the figures, and return the numbers by piece.

        ``size`` is 'quick' or 'full'; ``wanted`` names pieces, all but the optional ones by default. A full run says
        beforehand what is there and how long the rest takes.
        """
        chosen = set(self.pieces if wanted is None else wanted)
        folder.mkdir(parents=True, exist_ok=True)
        run = Run(self.settings, self.settings[size], self.expected["paper"], folder, say)
        for line in self.ahead(run, chosen) if size == "full" else []:
            say(line)
        summary: dict[str, Numbers] = {}
        pieces = self.pieces | self.optional
        for name, piece in pieces.items():
            if name in chosen:
                summary[name], drawn = piece(run)
                for title, drawing in ({name: drawn} if callable(drawn) else drawn or {}).items():
                    save_figure(folder / f"{title}.png", drawing)
        path = folder / "summary.json"
        earlier = json.loads(path.read_text()) if path.exists() else {}
        together = earlier | summary  # pieces of other runs stay, each as it was last run
        _write_json(path, {name: together[name] for name in pieces if name in together})
        return summary

    def ahead(self, run: Run, chosen: set[str]) -> list[str]:
        """Return in words what the folder has of the chosen pieces, and how long the rest takes on this machine."""
        count = len([path for path in run.folder.glob("*.json") if path.name != "summary.json"])
        line = f"Finished parts in {run.folder}: {count}. Those of the same settings are not run again."
        return [line] if count else []

    @abstractmethod
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return the tables of the pieces in the summary, with the paper's numbers."""

    @abstractmethod
    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words the numbers that differ from the recorded ones by more than the tolerance."""


def by_name(*pieces: Any) -> dict[str, Piece]:
    """Return the pieces under the names of their functions."""
    return {piece.__name__: piece for piece in pieces}


def flat(nested: Numbers, prefix: str = "") -> dict[str, float]:
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


def _write_json(path: Path, content: Any) -> None:
    with whole(path) as fresh:
        fresh.write_text(json.dumps(content, indent=1))


def panels(rows: int, columns: int, figsize: tuple[float, float] | None = None, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes (rows, columns)."""
    import matplotlib.pyplot as plt

    size = figsize or (4.4 * columns, 3.4 * rows)
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)


def save_figure(path: Path, drawing: Drawing) -> None:
    """Write a figure; without matplotlib do nothing."""
    try:
        import matplotlib as mpl
    except ImportError:
        return
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        figure = drawing()
        figure.savefig(path, dpi=150)
        plt.close(figure)
