"""Long tables (pandas, polars, pyarrow through narwhals) to packed arrays."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._typing import AnyArray, FloatArray
from ..core import ragged
from ..exceptions import InvalidMeasureError
from ._build import pack
from ._packed import Packed


def from_frame(frame: Any, by: str, columns: str | Sequence[str], weights: str | None) -> Packed:
    """Pack the rows of each group of ``by``; groups keep the order of their first row."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        remedy = " Call .collect() first." if hasattr(frame, "collect") else ""
        raise InvalidMeasureError(
            f"`frame` must be a pandas, polars or pyarrow table; got {type(frame).__name__}.{remedy}"
        ) from None
    except nw.exceptions.DuplicateError:
        raise InvalidMeasureError("`frame` has two columns of the same name; rename one of them.") from None
    if not isinstance(by, str):
        raise InvalidMeasureError(f"`by` must be the name of one column; got {by!r}. Join several into one first.")
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise InvalidMeasureError("`columns` must name at least one coordinate column.")
    for name in [by, *names, *([] if weights is None else [weights])]:
        require_column(table, name)
    if not len(table):
        raise InvalidMeasureError("`frame` has no rows; a collection needs at least one measure.")
    keys, codes = groups(table, by)
    order = np.argsort(codes, kind="stable")
    offsets = ragged.offsets_of(np.bincount(codes))
    points = np.column_stack([_column(table, name) for name in names])[order]
    mass = np.ones(len(table)) if weights is None else _column(table, weights)
    return pack(points, mass[order], offsets, keys=keys)


def groups(table: Any, by: str) -> tuple[AnyArray, AnyArray]:
    """Return the distinct values of ``by`` in order of appearance, and the group number of each row."""
    column = table[by]
    gaps = empty_cells(column)
    if gaps.any():
        row = int(np.flatnonzero(gaps)[0])
        raise InvalidMeasureError(
            f"row {row} has no value in the column {by!r}; every row must belong to a measure. Drop such rows."
        )
    values = np.asarray(column.to_numpy())
    if values.dtype == object:
        # Plain arrays sort, and are stored without pickle. Of mixed types 1 and "1" would become one group.
        kinds = {type(value) for value in values}
        if len(kinds) > 1:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise InvalidMeasureError(
                f"the column {by!r} mixes {names}; give all names one type, such as .astype(str)."
            )
        values = np.array(values.tolist()) if kinds <= {int, float, bool} else values.astype(str)
    unique, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(unique), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(unique))
    return unique[np.argsort(first)], rank[inverse]


def empty_cells(column: Any) -> AnyArray:
    """Return where a column has no value: null, not a number, or a string without a letter."""
    gaps = np.array(column.is_null().to_numpy(), dtype=bool)
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "f":
        gaps |= np.isnan(values)
    elif values.dtype.kind in "OUT":
        gaps |= [isinstance(value, str) and not value.strip() for value in values.tolist()]
    return gaps


def require_column(table: Any, name: str) -> None:
    if name in table.columns:
        return
    by_lower_case = {column.lower(): column for column in table.columns}
    close = [by_lower_case[match] for match in difflib.get_close_matches(str(name).lower(), by_lower_case, n=1)]
    guess = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidMeasureError(f"there is no column {name!r}; the table has {listed(table)}.{guess}")


def listed(table: Any) -> str:
    """Return the names of the columns; one without a name, such as an index that pandas wrote, as ''."""
    return ", ".join(name or "''" for name in map(str, table.columns))


def _column(table: Any, name: str) -> FloatArray:
    column = table[name]
    if not column.dtype.is_numeric() and column.dtype != nw.Boolean:
        raise InvalidMeasureError(
            f"the column {name!r} has type {column.dtype}; coordinates and weights must be numbers. "
            "Convert or encode it first."
        )
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
