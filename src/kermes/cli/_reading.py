"""How a command reads its data, as said by options or by the notes of a model file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InvalidFileError, UnsuitableDataError


@dataclass(frozen=True)
class Reading:
    """How a file is read; None where nothing was said."""

    by: str | None = None
    columns: tuple[str, ...] | None = None
    weights: str | None = None
    label: str | None = None
    labels: Path | None = None
    metadata: tuple[str, ...] | None = None  # columns beside the label, such as blocks
    samples: Path | None = None
    drop_missing: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    use: str | None = None
    arcsinh: float | None = None
    compensate: bool | None = None
    standardize: bool | None = None
    threshold: float | None = None
    binary: bool | None = None
    spacing: str | float | None = None
    invert: bool | None = None
    atoms: int | None = None
    scale: tuple[float, ...] | None = None  # in model files of the first edition

    def read(self, path: Path) -> Any:
        """Return the data of the file, at most ``atoms`` atoms in each measure; the model standardises."""
        from ..files import read as read_file

        later = ("standardize", "atoms", "scale")
        named = {name: value for name, value in asdict(self).items() if value is not None and name not in later}
        data = read_file(path, **named)
        X = data.measures
        if self.scale is not None:
            if len(self.scale) != X.dim:
                raise InvalidFileError(f"the model file scales {len(self.scale)} coordinates; {path} has {X.dim}.")
            X = X.map_points(lambda points: points / np.array(self.scale))
        return replace(data, measures=X if self.atoms is None else X.subsample(self.atoms))

    def scaled(self, path: Path) -> Any:
        """Return the data of the file, standardised if that was asked for: for commands without a model."""
        from ._hints import say_hints

        data = self.read(path)
        say_hints(data, self)
        return self.scale_data(data)

    def scale_data(self, data: Any) -> Any:
        """Return the data standardised if that was asked for."""
        scaler = self.scaler(data.measures)
        return data if scaler is None else replace(data, measures=scaler.fit_transform(data.measures))

    def scaler(self, X: Any) -> Any:
        """Return the step that divides each coordinate by its standard deviation, or None if that was not asked for.

        Where nothing was said and one coordinate decides all distances, say so.
        """
        from sklearn.preprocessing import StandardScaler

        from .. import MapPoints
        from ._hints import say_units

        if self.standardize is None:
            say_units(X)
        if not self.standardize:
            return None
        constant = np.flatnonzero(X.points.std(axis=0) == 0)
        if len(constant):
            raise UnsuitableDataError(f"coordinate {constant[0]} is constant and has no scale; leave it out.")
        return MapPoints(StandardScaler(with_mean=False), weighting="atom")

    def notes(self) -> dict[str, Any]:
        """Return plain values that a model file keeps, without the labels."""
        return {name: value for name, value in asdict(self).items() if value is not None and name in NOTES}

    def or_else(self, notes: Any, path: Path) -> Reading:
        """Return this reading, with ``notes`` where nothing was said and where they have a meaning for the file."""
        from ..files import kind
        from ..files._data import MEANING

        check_notes(notes)
        known = (*MEANING[kind(path)], "atoms", "scale")
        missing: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in notes.items()
            if name in known and getattr(self, name) is None
        }
        return replace(self, **missing)


#: What a model file may say about reading. It never names a file.
NOTES: dict[str, Any] = {
    "by": str,
    "columns": [str],
    "weights": str,
    "drop_missing": bool,
    "use": str,
    "arcsinh": (int, float),
    "compensate": bool,
    "threshold": (int, float),
    "binary": bool,
    "spacing": (str, int, float),
    "invert": bool,
    "atoms": int,
    "scale": [float],
}


def check_notes(notes: Any) -> None:
    """Refuse notes of a model file that do not say how data are read."""
    if not isinstance(notes, dict):
        raise InvalidFileError(f"the model file is damaged: how data are read is {type(notes).__name__}, not a table.")
    for name, value in notes.items():
        kind = NOTES.get(name)
        listed = isinstance(kind, list) and isinstance(value, (list, tuple)) and bool(value)
        fits = kind and (all(isinstance(v, kind[0]) for v in value) if listed else _is_a(value, kind))
        if not fits or (name == "atoms" and value < 1):
            raise InvalidFileError(
                f"the model file is damaged, or not to be trusted: it reads data with {name}={value!r:.99}."
            )


def _is_a(value: Any, kind: Any) -> bool:
    return not isinstance(kind, list) and isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
