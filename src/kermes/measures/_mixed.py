"""Samples of several columns: measures beside numbers. What kernels on columns and estimators pass around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._checks import require_order, row_number
from .._typing import AnyArray, FloatArray
from .._values import as_array, column_names, refuse_dates, refuse_masked
from ..exceptions import InvalidMeasureError, InvalidParameterError
from ._collection import Measures
from ._convert import as_measures
from ._measure import Measure
from ._packed import objects

#: Name or number of a column.
Key: TypeAlias = str | int


class Want(NamedTuple):
    """Columns that are read together, and whether as numbers (n, d) rather than as measures."""

    columns: tuple[Key, ...]
    numeric: bool


class Mixed:
    """Samples as columns by their labels: measures, or numbers (n, d).

    Like ``Measures`` they have ``shape == (n,)``, take rows, and are an object array of opaque samples for
    scikit-learn, which turn back into columns. ``names`` are those that numbered columns of a frame have there.
    """

    names: Mapping[str, list[str]] = {}

    def __init__(self, columns: dict[str, Measures | FloatArray], names: Mapping[str, list[str]] | None = None) -> None:
        self.columns = columns
        if names:
            self.names = dict(names)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def keys(self) -> AnyArray | None:
        """Names of the samples: those of the first measures that have names, or None."""
        of_columns = (column.keys for column in self.columns.values() if isinstance(column, Measures))
        return next((keys for keys in of_columns if keys is not None), None)

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``."""
        return (len(self),)

    def __getitem__(self, rows: Any) -> Mixed:
        return Mixed({label: column[rows] for label, column in self.columns.items()}, self.names)

    def __iter__(self) -> Iterator[MixedSample]:
        parts = [list(column) for column in self.columns.values()]
        return (MixedSample(dict(zip(self.columns, values, strict=True))) for values in zip(*parts, strict=True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return objects(self)

    def __repr__(self) -> str:
        return f"Mixed({len(self)} samples of {', '.join(self.columns)})"


class MixedSample:
    """One sample: a measure or numbers for each label."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values


def as_mixed(X: Any, wanted: Mapping[str, Want]) -> Mixed:
    """Return the ``wanted`` columns of a table, a mapping, an array (by number), or of samples read before."""
    if isinstance(X, Mixed):
        return X
    if isinstance(X, (np.ndarray, list, tuple)) and len(X) and isinstance(X[0], MixedSample):
        values = {label: [sample.values[label] for sample in X] for label in wanted}
        return Mixed({
            label: as_measures(column) if isinstance(column[0], Measure) else np.stack(column)
            for label, column in values.items()
        })  # fmt: skip
    if isinstance(X, Mapping):
        _require_one_order(X)
    read = {label: _columns(X, label, want) for label, want in wanted.items()}
    lengths = {label: len(column) for label, column in read.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{label} has {n}" for label, n in lengths.items())
        raise InvalidMeasureError(f"the columns of `X` must have one row per sample; {listed}.")
    return Mixed(read, {label: found for label, want in wanted.items() if (found := _numbered(X, want))})


def _numbered(X: Any, want: Want) -> list[str]:
    """Return the names that columns have in a frame from which they are taken by their numbers."""
    names = column_names(X) or ()
    return [names[key] for key in want.columns if isinstance(key, int) and names]


def _require_one_order(X: Mapping[Any, Any]) -> None:
    """Refuse columns that are series and name the samples in another order than the measures, or one another, do."""
    names = sorted(X, key=lambda name: not isinstance(X[name], Measures))  # measures first, others in their order
    for i, name in enumerate(names):
        require_order(X[name], f"X[{name!r}]", **{f"X[{other!r}]": X[other] for other in names[i + 1 :]})


def _columns(X: Any, label: str, want: Want) -> Measures | FloatArray:
    """Return one column as measures, or some as numbers (n, d)."""
    found = [_column(X, key) for key in want.columns]
    if want.numeric:
        return np.column_stack([_numbers(column, key) for column, key in zip(found, want.columns, strict=True)])
    column = found[0]
    values = column if isinstance(column, Measures) else as_array(column, f"X[{label!r}]")
    if isinstance(values, np.ndarray) and values.ndim == 1 and not isinstance(values.flat[0], Measure):
        values = _numbers(values, want.columns[0])[:, None]  # numbers for a kernel on measures: Dirac masses
    return as_measures(values, f"X[{label!r}]")


def _column(X: Any, key: Key) -> Any:
    if not isinstance(X, Mapping) and getattr(X, "columns", None) is None:
        array = as_array(X, "X")
        if not isinstance(key, int):
            raise InvalidParameterError(
                f"the kernel is on the column {key!r}, but `X` has no names: it is a {type(X).__name__}. Pass a data "
                "frame or a dict of columns, or number the columns of the kernel, {0: ..., 1: ...}. Gaussian processes "
                "of scikit-learn drop the names of a frame: pass them `kernel.read(frame)`."
            )
        if array.ndim != 2 or not -array.shape[1] <= key < array.shape[1]:
            raise InvalidParameterError(f"the kernel is on column {key}, which `X` of shape {array.shape} lacks.")
        return array[:, key]
    names = list(X if isinstance(X, Mapping) else X.columns)
    if key not in names and isinstance(key, int) and -len(names) <= key < len(names):
        key = names[key]
    if key not in names:
        raise InvalidParameterError(
            f"the kernel is on the column {key!r}, which `X` lacks; it has {', '.join(map(repr, names)) or 'none'}."
        )
    return X[key]


def _numbers(column: Any, key: Key) -> FloatArray:
    name = f"X[{key!r}]"
    refuse_masked(column, name, "Drop them, or fill them in.", InvalidMeasureError)
    refuse_dates(column, name, InvalidMeasureError)
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidMeasureError(
            f"the column {key!r} must hold numbers for its kernel; encode it first, as 0 and 1 or by a OneHotEncoder."
        ) from None
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        raise InvalidMeasureError(f"the column {key!r} has no finite number in {row_number(row)}; drop or impute it.")
    return values
