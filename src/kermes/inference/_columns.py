"""Columns that come with the measures of a study: factors and numbers, as they are read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_labels
from .._typing import AnyArray, FloatArray, IndexArray
from .._values import as_array, as_values, holds_numbers, is_category, missing_rows, refuse_times_of_two_meanings
from ..divergences import Divergence
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measures
from ._linear_model import indicators


@dataclass(frozen=True, eq=False)
class Column:
    """A factor or a number of each row: its design columns, and a code for each row, equal for equal values."""

    name: str
    codes: IndexArray
    columns: FloatArray
    levels: AnyArray | None = None  # None: a number

    def of(self, rows: IndexArray) -> Column:
        """Return the column for some of the rows."""
        return Column(self.name, self.codes[rows], self.columns[rows], self.levels)


def as_columns(values: Any, name: str, n: int | None = None, *, numbers: bool = False) -> tuple[Column, ...]:
    """Return the columns of a table (mapping of names to columns, or data frame), or one column called ``name``.

    Columns are labels of groups; with ``numbers``, those that hold numbers and are not declared categories are numbers.
    """
    if values is None:
        return ()
    if isinstance(values, (Divergence, Measures)):
        raise InvalidParameterError(
            f"`{name}` must hold a label for each measure; got {type(values).__name__}. The order of the arguments is "
            "measures, groups, divergence."
        )
    columns = []
    for key, given in table_of(values, name).items():
        if numbers and not len(missing_rows(as_array(given, key))):
            refuse_times_of_two_meanings(given, key)
        if numbers and holds_numbers(given):
            columns.append(as_number(given, key, n))
        else:
            levels, codes = as_labels(given, key, n)
            columns.append(Column(key, codes, indicators(codes), levels))
    return tuple(columns)


def table_of(values: Any, name: str) -> dict[str, Any]:
    """Return the columns of a table by their names, or one column called ``name``; none of None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) and not hasattr(values, "columns"):
        return {name: values}
    table = {str(key): values[key] for key in (values if isinstance(values, Mapping) else values.columns)}
    if not table:
        raise InvalidParameterError(f"`{name}` must have a column; got none.")
    return table


def rows_of(column: Any, rows: IndexArray) -> AnyArray:
    """Return some rows of a column; declared categories as strings, so that they stay labels."""
    values = as_values(column, "covariates")[rows]
    return values.astype(str) if is_category(column) else values


def as_number(values: Any, name: str, n: int | None = None) -> Column:
    """Return a column of finite numbers, centred and scaled; dates, which need no unit for that, are numbers too."""
    found = as_array(values, name)
    gaps: Any = missing_rows(found) if found.ndim == 1 else ()
    if len(gaps):
        raise InvalidParameterError(
            f"`{name}` must hold finite numbers; that of measure {gaps[0]} is {found[gaps[0]]}."
        )
    exact = found.ndim == 1 and found.dtype.kind in "iuMm"
    try:
        x = _above_least(found) if exact else np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        got = type(values).__name__ if found.ndim == 0 else repr(found.ravel()[0])
        raise InvalidParameterError(f"`{name}` must hold a number for each measure; got {got}.") from None
    if x.ndim != 1 or not len(x) or (n is not None and len(x) != n):
        raise InvalidParameterError(f"`{name}` must hold one number per measure; got shape {x.shape}.")
    if not np.isfinite(x).all():
        i = int(np.flatnonzero(~np.isfinite(x))[0])
        raise InvalidParameterError(f"`{name}` must hold finite numbers; that of measure {i} is {x[i]}.")
    if (x == x[0]).all():
        value = found[0] if exact else f"{x[0]:g}"
        raise UnsuitableDataError(f"`{name}` is {value} for every measure: a constant explains nothing.")
    codes = np.unique(x, return_inverse=True)[1].astype(np.int64)
    with np.errstate(over="ignore"):
        low, reach = x.min(), x.max() - x.min()
    scaled = (x - low) / reach if np.isfinite(reach) else x / np.abs(x).max()
    return Column(name, codes, (scaled - scaled.mean())[:, None])


def _above_least(values: AnyArray) -> FloatArray:
    """Return whole numbers or dates less the least of them: doubles have 53 bits, nanoseconds since 1970 take 61."""
    whole = values.astype(np.int64) if values.dtype.kind in "Mm" else values
    numbers = [int(value) for value in whole]
    least = min(numbers, default=0)
    return np.array([number - least for number in numbers], dtype=np.float64)
