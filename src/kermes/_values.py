"""What comes with measures: columns of labels and numbers, what is missing in them, and what has no value at all.

All arrays that kermes reads itself pass here, so that a gap is one wherever it is: nan, NaT, None, ``pandas.NA``, or an
entry under a mask.
"""

from __future__ import annotations

import numbers
import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from ._typing import AnyArray, FloatArray, IndexArray
from .exceptions import InvalidParameterError

#: How types of columns that are declared categories begin: those of pandas, polars and Arrow.
CATEGORIES = ("category", "categorical", "enum", "dictionary")
#: Deviations and sizes of numbers whose squares are normal numbers, sums of many too.
SMALLEST, LARGEST = 1e-150, 1e150
#: Halves of characters of UTF-16, but for those that stand for bytes in names of files, and are written as these.
SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def refuse_masked(
    values: Any, name: str, remedy: str = "Drop them, or fill them in.", error: type[Exception] = InvalidParameterError
) -> None:
    """Refuse a masked array that hides entries: what is under the mask is not meant."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise error(f"`{name}` has masked entries, which have no value. {remedy}")


def as_array(values: Any, name: str, dtype: Any = None) -> AnyArray:
    """Return values as an array; refuse masked entries, whose values ``numpy.asarray`` would take."""
    refuse_masked(values, name)
    return np.asarray(values, dtype=dtype)


def as_floats(values: Any, name: str) -> FloatArray:
    """Return values as an array of floats likewise."""
    return as_array(values, name, np.float64)


def refuse_rounded(values: AnyArray, name: str, error: type[Exception] = InvalidParameterError) -> None:
    """Refuse whole numbers of more than 53 bits: doubles would round them, and make different ones equal."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return
    if int(values.min()) >= -(2**53) and int(values.max()) <= 2**53:
        return
    for value in map(int, values.flat):
        if int(float(value)) != value:
            raise error(
                f"{name} has the whole number {value}, which takes more than the 53 bits of a double and would be "
                "rounded. Subtract an origin that all share (of times), or number the different values (of codes)."
            )


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, or one that is not equal to itself, as nan and NaT."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA answers neither yes nor no
        return True


def column_names(given: Any) -> list[str] | None:
    """Return the names of the columns of a frame of pandas, polars or Arrow; None if it has numbers, or is no frame."""
    names = getattr(given, "column_names", getattr(given, "columns", None))
    if names is None or callable(names) or not hasattr(given, "shape"):
        return None
    return list(names) if all(isinstance(name, str) for name in names) else None


def missing_rows(values: AnyArray) -> IndexArray:
    """Return the rows of a column, or of a table of columns, in which a value is missing."""
    values = np.atleast_1d(values)
    if values.dtype.kind in "fc":
        gaps = np.isnan(values)
    elif values.dtype.kind in "mM":
        gaps = np.isnat(values)
    elif values.dtype.kind in "OT":
        gaps = np.array([is_missing(value) for value in values.ravel().tolist()], dtype=bool).reshape(values.shape)
    else:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(gaps.reshape(len(gaps), -1).any(axis=1)) if gaps.size else np.zeros(0, dtype=np.int64)


def written(values: Any) -> list[Any]:
    """Return values as text files have them: dates and durations as strings, whatever their resolution is."""
    array = np.asarray(values)
    if array.dtype.kind not in "mM":
        return list(array.tolist())
    gaps = np.isnat(array).tolist()
    return [None if gap else word for gap, word in zip(gaps, array.astype(str).tolist(), strict=True)]


def is_category(column: Any) -> bool:
    """Whether a column is declared to hold categories, whatever these are: by pandas, polars or Arrow."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return str(kind).casefold().startswith(CATEGORIES)


def holds_numbers(column: Any) -> bool:
    """Whether the values of a column are numbers, also of type object (after a merge), rather than labels."""
    values = np.asarray(column)
    if is_category(column):
        return False
    if values.dtype != object:
        return values.dtype.kind in "iuf"
    given = [value for value in values.ravel().tolist() if not is_missing(value)]
    return bool(given) and all(isinstance(v, (numbers.Real, Decimal)) and not isinstance(v, bool) for v in given)


def as_values(values: Any, name: str) -> AnyArray:
    """Return a column as an array; values of a list stay what they are, where NumPy would change them.

    It makes strings of numbers that are among strings, and rounds whole numbers that only floats could all be.
    """
    array = as_array(values, name)
    if not isinstance(values, (list, tuple)) or array.ndim != 1 or array.dtype.kind not in "USf":
        return array
    kept = np.array(values, dtype=object)
    return array if kept.tolist() == array.tolist() else kept


def label_array(values: Any, name: str) -> AnyArray:
    """Return labels as an array likewise; refuse those that are missing or infinite."""
    labels = as_values(values, name)
    finite = np.isfinite(labels) if labels.dtype.kind == "f" else np.ones(labels.shape, dtype=bool)
    gaps = missing_rows(labels) if finite.all() else np.argwhere(~finite)[:, 0]
    if len(gaps):
        found = np.atleast_1d(labels)[gaps[0]]
        raise InvalidParameterError(
            f"`{name}` must hold a label for every measure; that of measure {gaps[0]} is {found!s}."
        )
    return labels


def plain(values: AnyArray) -> AnyArray:
    """Return numbers that are objects as an array of numbers, unless that would change one."""
    members = values.ravel().tolist() if values.dtype == object else []
    if not members or not all(isinstance(value, (numbers.Real, np.bool_)) for value in members):
        return values
    found = np.array(members)
    return found.reshape(values.shape) if found.tolist() == members else values


def class_array(values: Any, name: str) -> AnyArray:
    """Return labels as scikit-learn takes classes: strings or numbers."""
    labels = plain(label_array(values, name))
    members = labels.ravel().tolist() if labels.dtype == object else []
    strangers = [i for i, value in enumerate(members) if not isinstance(value, str)]
    if strangers and len(strangers) < len(members):
        raise mixed_kinds(name)
    if strangers:
        raise InvalidParameterError(
            f"`{name}` must hold strings, or numbers of at most 64 bits; that of measure {strangers[0]} is "
            f"{members[strangers[0]]!r}. Make strings of all: [str(label) for label in {name}]."
        )
    return labels


def mixed_kinds(name: str) -> InvalidParameterError:
    """Return the error to raise for labels that have no order."""
    return InvalidParameterError(
        f"`{name}` must hold labels of one kind, such as numbers or strings, that can be sorted."
    )


def refuse_unwritable(values: AnyArray, name: str, error: type[Exception] = InvalidParameterError) -> None:
    """Refuse labels that model files or tables cannot hold."""
    remedies = {
        "S": "bytes; decode them, numpy.char.decode(labels)",
        "c": "complex numbers; take a part of them, such as labels.real",
        "m": "durations; make numbers of them, such as days, labels / numpy.timedelta64(1, 'D')",
    }
    remedy = remedies.get(values.dtype.kind)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        remedy = f"numbers of type {values.dtype}; make doubles of them, labels.astype(float)"
    if values.dtype.kind in "UOT" and (lone := next(filter(SURROGATE.search, map(str, values.tolist())), None)):
        remedy = f"the string {lone!r}, which is no text in UTF-8; write it anew"
    if remedy is not None:
        raise error(f"{name} must be numbers, strings or dates, not {remedy}.")


def refuse_dates(values: Any, name: str, error: type[Exception] = InvalidParameterError) -> None:
    """Refuse dates and durations in the place of numbers: their unit, a microsecond or a day, is nobody's choice."""
    if times := _times_in(values):
        what, days = times
        raise error(f"`{name}` must hold numbers; got {what}. Convert them first, for example to days: {days}.")


def refuse_times_of_two_meanings(values: Any, name: str) -> None:
    """Refuse dates and durations where numbers and labels are both taken: days of a course, or names of batches."""
    if times := _times_in(values):
        what, days = times
        raise InvalidParameterError(
            f"{name!r} holds {what}, which may be meant as numbers or as labels. Convert them, to days by {days}, or "
            "to strings."
        )


def _times_in(values: Any) -> tuple[str, str] | None:
    """Return what kind of dates or durations values are, and how to make days of them; None if they are neither."""
    try:
        array = np.asarray(values)
    except ValueError:  # ragged, which the caller refuses
        return None
    members = array.ravel().tolist() if array.dtype == object else []
    times = [type(v) for v in members if isinstance(v, (date, timedelta, np.datetime64, np.timedelta64))]
    if array.dtype.kind not in "mM" and not times:
        return None
    durations = issubclass(times[0], (timedelta, np.timedelta64)) if times else array.dtype.kind == "m"
    what, kind = "durations" if durations else "dates", times[0].__name__ if times else array.dtype
    days = "t / numpy.timedelta64(1, 'D')" if durations else "(t - t.min()) / numpy.timedelta64(1, 'D')"
    if times:
        days += f", with t = numpy.array(..., dtype='{'timedelta64' if durations else 'datetime64'}[us]')"
    return f"{what} ({kind})", days


def require_numbers(values: Any, name: str) -> None:
    """Refuse what is masked, dates, and missing objects among numbers; scikit-learn sees those that are nan."""
    array = as_array(values, name)
    refuse_dates(array, name)
    gaps: Any = missing_rows(array) if array.dtype == object else ()
    if len(gaps):
        raise InvalidParameterError(
            f"`{name}` must hold finite numbers; that of measure {gaps[0]} is {array[gaps[0]]}."
        )


def as_targets(y: Any, numeric: bool, name: str = "y") -> Any:
    """Return targets as scikit-learn can check them further: numbers, or classes."""
    if y is None:
        return None
    if not numeric:
        return class_array(y, name)
    require_numbers(y, name)
    array = as_array(y, name)
    if array.dtype.kind == "f":
        refuse_scale(array, name)
    return y


def refuse_scale(values: FloatArray, name: str, error: type[Exception] = InvalidParameterError) -> None:
    """Refuse numbers whose squared deviations vanish or overflow: models of such targets score like the mean.

    Columns are judged one by one; what is not finite is left to others.
    """
    for column in values.reshape(len(values), -1).T:
        finite = column[np.isfinite(column)]
        largest = float(np.abs(finite).max(initial=0.0))
        spread = float(np.ptp(finite)) if 0.0 < largest <= LARGEST else largest
        if spread > LARGEST or 0.0 < spread < SMALLEST:
            raise error(
                f"the values of `{name}` reach {largest:.3g} and differ by {spread:.3g}, whose square is no normal "
                f"number. Divide them by {largest:.1g}."
            )
