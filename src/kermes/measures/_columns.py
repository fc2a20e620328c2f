"""Columns of a table as arrays: of numbers, and of what names or describes measures; what is missing in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import guess
from .._typing import AnyArray, FloatArray
from .._values import refuse_rounded
from ..exceptions import InvalidMeasureError
from ._gather import Coded

#: Types of objects that name no measure.
UNNAMED = (dict, list, set, np.ndarray, bytes)
#: Significant digits of decimals up to which doubles tell them apart.
DIGITS = 15
#: Strings in lower case that stand for no value.
NO_VALUE = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")


def cells(column: Any, coded: bool = False) -> tuple[Any, AnyArray]:
    """Return the values of a column, and where there is none (whole numbers are 0 there).

    Strings of Arrow may stay ``coded``.
    """
    mixed = column.dtype == nw.Object and any(isinstance(value, UNNAMED) for value in column.to_list())
    if mixed or column.dtype in (nw.Struct, nw.List, nw.Array, nw.Binary, nw.Time):
        raise InvalidMeasureError(
            f"the column {column.name!r} holds {'lists, tables or bytes' if mixed else column.dtype}; what names or "
            "describes measures must be one value in each row: a number, a string or a date. Take a part of it, or "
            "make strings of it."
        )
    if column.implementation.is_pyarrow() and column.dtype in (nw.String, nw.Categorical):
        encoded = column.to_native().combine_chunks()
        encoded = encoded if hasattr(encoded, "dictionary") else encoded.dictionary_encode()
        if "string" not in str(encoded.dictionary.type):  # numbers that are stored once
            plain = nw.new_series(column.name, encoded.dictionary_decode(), backend="pyarrow")
            return cells(plain, coded)
        names = [name or "" for name in encoded.dictionary.to_pylist()]  # each different string is looked at once
        _refuse_zero_bytes(names, column.name)
        places = encoded.indices.fill_null(len(names)).to_numpy()
        empty = np.array([*(not name.strip() for name in names), True])[places]
        known = coded and not empty.any()
        return Coded(names, places) if known else np.array([*names, None], dtype=object)[places], empty
    if column.dtype.is_integer() and column.is_null().any():  # NumPy would make floats of them, of 53 bits
        return np.asarray(column.fill_null(0).to_numpy()), np.array(column.is_null().to_numpy(), dtype=bool)
    if column.dtype.is_decimal() and not coded and _of_few_digits(column):
        return numbers(column), np.array(column.is_null().to_numpy(), dtype=bool)
    if getattr(column.dtype, "time_zone", None):  # NumPy's dates know no time zone, and would be those of UTC
        values = np.array([str(value) for value in column.to_list()], dtype=object)
    else:
        values = _values_of(column)
    return values, empty_cells(values, np.array(column.is_null().to_numpy(), dtype=bool))


def _values_of(column: Any) -> AnyArray:
    """Return a column as an array; say which type has none."""
    try:
        if column.dtype == nw.String:
            names = column.drop_nulls()
            _refuse_zero_bytes(names.filter(names.str.ends_with("\0")).to_list(), column.name)
        return np.asarray(column.to_numpy())
    except NotImplementedError:  # of Arrow, in pandas
        raise InvalidMeasureError(
            f"the column {column.name!r} has a type that NumPy does not know; make strings or numbers of it."
        ) from None


def _refuse_zero_bytes(names: Sequence[str], column: str) -> None:
    """Refuse names that end in a zero: NumPy drops it, and two names would become one."""
    if wrong := next((name for name in names if name.endswith("\0")), None):
        raise InvalidMeasureError(f"the column {column!r} has the string {wrong!r}, which ends in a zero; strip it.")


def _of_few_digits(column: Any) -> bool:
    """Whether doubles tell all decimals apart; if not, they are names."""
    return all(len(value.normalize().as_tuple().digits) <= DIGITS for value in column.to_list() if value is not None)


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers; whole ones that would be rounded are refused."""
    if column.dtype.is_integer():
        whole = np.asarray(column.fill_null(0).to_numpy())
        refuse_rounded(whole, f"the column {column.name!r}", InvalidMeasureError)
        return np.where(column.is_null().to_numpy(), np.nan, whole.astype(np.float64))
    if column.dtype.is_decimal():  # casts are a unit in the last place off, but for those of Python
        return np.array([np.nan if value is None else float(value) for value in column.to_list()])
    if column.implementation.is_pyarrow() and column.dtype.is_numeric():  # whose casts refuse to round
        array = column.to_native().combine_chunks().cast("float64", safe=False)
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def empty_cells(values: AnyArray, gaps: AnyArray) -> AnyArray:
    """Return where there is no value: a gap, not a number or no date, or a string without a letter."""
    return np.asarray(gaps | (_is_nan(values) if values.dtype.kind in "fmM" else _strings_in(values, ("",))))


def without_value(values: AnyArray) -> AnyArray:
    """Return where a value is missing: not a number or no date, or a string that stands for nothing."""
    return _is_nan(values) if values.dtype.kind in "fmM" else _strings_in(values, NO_VALUE)


def whole_with_gaps(values: AnyArray, gaps: AnyArray) -> AnyArray:
    """Return whole numbers as they are where there is no gap; as floats with nan, or if these would round, as strings.

    Two identifiers of over 53 bits stay two.
    """
    if not gaps.any():
        return values
    if ((values > -(2**53)) & (values < 2**53)).all():
        return np.where(gaps, np.nan, values)
    return np.where(gaps, "", values.astype(str))


def _is_nan(values: AnyArray) -> AnyArray:
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else np.isnat(values))


def _strings_in(values: AnyArray, words: Sequence[str]) -> AnyArray:
    """Return where there are strings that are, but for case and blanks around them, some of these words."""
    strings = set(values.tolist()) if values.dtype.kind in "OUT" else ()
    found = {value for value in strings if isinstance(value, str) and value.strip().casefold() in words}
    if not found:
        return np.zeros(values.shape, dtype=bool)
    return np.array([value in found for value in values.tolist()], dtype=bool)


def require_column(schema: Mapping[str, Any], name: str) -> None:
    """Refuse a name that is none of the columns'; guess at the one that was meant."""
    if name not in schema:
        raise InvalidMeasureError(f"there is no column {name!r}; the table has {listed(schema)}.{guess(name, schema)}")


def require_numbers(schema: Mapping[str, Any], name: str) -> None:
    kind = schema[name]
    if not kind.is_numeric() and kind != nw.Boolean:
        raise InvalidMeasureError(
            f"the column {name!r} has type {kind}; coordinates and weights must be numbers. Convert or encode it first."
        )


def listed(schema: Mapping[str, Any]) -> str:
    """Return the names of the columns; one without a name, such as an index that pandas wrote, as ''."""
    return ", ".join(name or "''" for name in map(str, schema))
