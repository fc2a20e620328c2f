"""How a command reads its data, as said by options or by the notes of a model file, and what it says about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import kermes

from .._quantities import counted
from ..core import ragged
from ..exceptions import InvalidFileError, InvalidParameterError, UnsuitableDataError
from ..files import kind, read
from ..files._data import MEANING
from ..measures._columns import without_value
from ._naming import Named
from ._output import say

#: Coordinates whose standard deviations differ by more than this factor should be standardised.
UNEQUAL = 10.0
STANDARDIZE = "The coordinates have very different standard deviations: --standardize, unless their units are the same."
STANDARDIZED = (
    "Each coordinate is divided by its standard deviation, since these differ more than tenfold; --no-standardize "
    "leaves them, if their units are the same."
)


def _noted(kind: Any) -> Any:
    """Return a field that model files keep, as a value of this kind or a list of them."""
    return field(default=None, metadata={"noted": kind})


@dataclass(frozen=True)
class Reading:
    """Which file is read, and how; None where nothing was said."""

    path: Path
    by: str | None = _noted(str)
    columns: tuple[str, ...] | None = _noted([str])
    weights: str | None = _noted(str)
    label: str | None = None
    labels: Path | None = None
    samples: Path | None = None
    drop_missing: bool | None = _noted(bool)
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    use: str | None = _noted(str)
    arcsinh: float | None = _noted((int, float))
    compensate: bool | None = _noted(bool)
    standardize: bool | None = None
    threshold: float | None = _noted((int, float))
    binary: bool | None = _noted(bool)
    spacing: str | float | None = _noted((str, int, float))
    invert: bool | None = _noted(bool)
    white: float | None = _noted((int, float))  # with `invert`: the level of the training images
    atoms: int | None = _noted(int)
    scale: tuple[float, ...] | None = _noted([float])  # in model files of the first edition

    def read(self, **columns: str | tuple[str, ...] | None) -> Any:
        """Return the data of the file, at most ``atoms`` atoms in each measure; the model standardises.

        ``columns`` say something of each measure beside its label (units that stay together, blocks, covariates), by
        the options that name them; each measure must have a value in them.
        """
        listed = {option: (names,) if isinstance(names, str) else names or () for option, names in columns.items()}
        asked = {name: option for option, names in listed.items() for name in names}
        if asked and self.samples is None and self.path.exists() and "metadata" not in MEANING[kind(self.path)]:
            option = next(iter(asked.values()))
            raise InvalidParameterError(
                f"`{option}` (--{option}) must name a column, which {self.path.name!r} does not have; give --samples "
                "TABLE, a table with a row for each measure."
            )
        later = ("path", "standardize", "white", "atoms", "scale")
        named = {name: value for name, value in asdict(self).items() if value is not None and name not in later}
        if self.invert and self.white is not None:
            named["invert"] = self.white
        data = read(self.path, metadata=tuple(asked), **named)
        if data.dropped:
            say(f"{counted(data.dropped, 'row')} without a number left out (--drop-missing)")
        X = data.measures
        if self.scale is not None:
            if len(self.scale) != X.dim:
                raise InvalidFileError(f"the model file scales {len(self.scale)} coordinates; {self.path} has {X.dim}.")
            X = X.map_points(lambda points: points / np.array(self.scale))
        data = replace(data, measures=X if self.atoms is None else X.subsample(self.atoms))
        for name, option in asked.items():
            gaps = without_value(data.metadata[name])
            if gaps.any():
                raise InvalidParameterError(
                    f"`{option}` (--{option}): measure {data.keys[gaps.argmax()]!s} has no value in the column "
                    f"{name!r}; leave it out or fill it in."
                )
        return data

    def read_groups(self, numbers: bool = False, **columns: str | None) -> tuple[Any, dict[str, Any]]:
        """Read measures with labels, which name groups unless they are ``numbers``, and the columns of options."""
        found = self.read(**columns)
        if found.labels is None:
            raise InvalidParameterError(
                "`label` (--label) must name the groups; for files of images also --labels FILE."
            )
        groups, sizes = np.unique(found.labels, return_counts=True)
        name = self.label or "label"
        if not numbers and len(groups) < 2:
            raise UnsuitableDataError(f"all measures have {groups[0]!s} in {name!r}; there must be two groups or more.")
        if not numbers and sizes.min() < 2:
            number = " If it is a number (age, dose): kermes test --trend." if found.labels.dtype.kind in "iuf" else ""
            raise UnsuitableDataError(
                f"every group must have two measures or more; group {groups[sizes.argmin()]!s} of {name!r} has one. "
                f"Leave it out, or join it with another.{number}"
            )
        self.say_hints(found)
        return found, {option: None if name is None else found.metadata[name] for option, name in columns.items()}

    def scaled(self, *compared: Named) -> Any:
        """Return the data of the file, standardised if that was asked for: for commands without a model."""
        data = self.read()
        self.say_hints(data)
        say_if_apart(data.measures, *compared)
        return replace(data, measures=self.rescaled(data)[0])

    def rescaled(self, data: Any, automatic: bool = False) -> tuple[Any, Any]:
        """Return measures as :meth:`scaler` makes them, and the fitted step or None."""
        scaler = self.scaler(data, automatic)
        return (data.measures if scaler is None else scaler.transform(data.measures)), scaler

    def scaler(self, data: Any, automatic: bool = False) -> Any:
        """Return the step that divides each coordinate by its standard deviation, or None if that was not asked for.

        It is fitted to the data. Where nothing was said and one coordinate decides all distances, say so; ``automatic``
        takes it as asked for, and leaves what is constant as it is.
        """
        from sklearn.preprocessing import StandardScaler

        asked = self.standardize
        found = coordinates(data)
        if asked is None and unequal(found):
            say(STANDARDIZED if automatic else f"Hint: {STANDARDIZE}")
            asked = automatic
        if not asked:
            return None
        constant = [row["name"] for row in found if row["std"] == 0]
        if constant and self.standardize:
            raise UnsuitableDataError(
                f"{self.path.name}: coordinate {constant[0]} is constant and has no scale; leave it out (--columns)."
            )
        scaler = kermes.MapPoints(StandardScaler(with_mean=False))  # atoms count by their mass
        with np.errstate(all="ignore"):
            scales = scaler.fit(data.measures).transformer_.scale_
        for row, scale in zip(found, scales, strict=True):
            # Squares vanish or overflow, or scikit-learn takes for constant what varies little for its size.
            if row["std"] and not np.isclose(scale, row["std"], rtol=1e-3, atol=0.0):
                raise UnsuitableDataError(
                    f"{self.path.name}: coordinate {row['name']} has mean {row['mean']:.3g} and standard deviation "
                    f"{row['std']:.3g}, which is too far from 1, or too small for such a mean, to be divided by. "
                    "Subtract a constant or change the unit, or use --no-standardize."
                )
        return scaler

    def say_hints(self, data: Any) -> None:
        """Say what may be wrong with the coordinates, and which they are unless they were chosen."""
        X = data.measures
        if not data.columns or self.columns is not None or data.kind == "measures":
            return
        names = [name or repr(name) for name in data.columns]
        say(f"Coordinates: {', '.join(names)} (choose others with --columns)")
        same = (X.points == X.points[X.offsets[:-1]][ragged.owners(X.offsets)]).all(axis=0)  # within each measure
        if same.any() and X.sizes.max() > 1:
            say(
                f"Warning: {', '.join(names[i] for i in np.flatnonzero(same))}: the same in all rows of each measure, "
                "so likely a label or a number of the measure; name the coordinates with --columns."
            )
        if X.sizes.max() == 1 and X.dim > 1:
            say(
                "Warning: every measure has one row, so it is a single point. Histograms have a row for each bin: "
                "--columns BIN --weights COUNT."
            )

    def notes(self) -> dict[str, Any]:
        """Return plain values that a model file keeps, without the labels."""
        return {name: value for name, value in asdict(self).items() if value is not None and name in NOTES}

    def or_else(self, notes: Any) -> Reading:
        """Return this reading, with ``notes`` where nothing was said and where they have a meaning for the file."""
        check_notes(notes)
        known = (*MEANING[kind(self.path)], "white", "atoms", "scale")
        missing: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in notes.items()
            if name in known and getattr(self, name) is None
        }
        return replace(self, **missing)


def coordinates(data: Any) -> list[dict[str, Any]]:
    """Return name, least and largest value, mean and standard deviation of each coordinate; atoms count by mass."""
    X = data.measures
    mass = X.weights / X.weights.max()
    found = []
    for name, column in zip(data.columns or [f"x{i}" for i in range(X.dim)], X.points.T, strict=True):
        x = np.ascontiguousarray(column)
        least, largest = x.min(), x.max()
        mean, std = largest, 0.0
        if least < largest:  # a rounded mean of equal numbers differs from them
            size = max(-least, largest)  # squares of others may vanish or overflow
            mean = np.average(x / size, weights=mass)
            std = size * np.sqrt(np.average((x / size - mean) ** 2, weights=mass))
            mean *= size
        found.append({"name": name, "least": least, "mean": mean, "largest": largest, "std": std})
    return found


def unequal(found: list[dict[str, Any]]) -> bool:
    """Whether coordinates that vary have scales so different that one of them decides all distances."""
    stds = [row["std"] for row in found if row["std"]]
    return bool(stds and max(stds) > UNEQUAL * min(stds))


def say_if_apart(X: Any, *compared: Named) -> None:
    """Warn of weight vectors that are compared between measures no two of which have a point in common."""
    divergences = [getattr(one.made, "divergence", one.made) for one in compared]
    if not any(isinstance(one, kermes.divergences.Euclidean) for one in divergences) or X.support is not None:
        return
    if len(X) > 1 and len(np.unique(X.points, axis=0)) == len(X.points):
        say(
            "Warning: no two measures have a point in common, so that euclidean, which compares masses point by point, "
            "knows their weights only, not where they lie. Take another distance, such as sliced."
        )


def units_of(data: Any, units: str | None) -> Any:
    """Return the unit of each measure, or None if no column was named; one unit cannot be divided."""
    if units is None:
        return None
    values = data.metadata[units]
    if (values == values[0]).all():
        raise InvalidParameterError(
            f"`units` (--units): all measures have {values[0]!s} in the column {units!r}; a split needs two units."
        )
    return values


#: What a model file may say about reading. It never names a file.
NOTES: dict[str, Any] = {item.name: item.metadata["noted"] for item in fields(Reading) if item.metadata}


def check_notes(notes: Any) -> None:
    """Refuse notes of a model file that do not say how data are read."""
    if not isinstance(notes, dict):
        raise InvalidFileError(f"the model file is damaged: how data are read is {type(notes).__name__}, not a table.")
    for name, value in notes.items():
        kind: Any = NOTES.get(name)
        if isinstance(kind, list):
            fits = isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, kind[0]) for v in value)
        else:
            fits = bool(kind) and isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or (name == "atoms" and value < 1):
            raise InvalidFileError(
                f"the model file is damaged, or not to be trusted: it reads data with {name}={value!r:.99}."
            )
