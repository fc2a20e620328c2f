"""Checks of parameters, with one form of message: "<name> must be ...; got ...".

Measures are checked at one edge only, :mod:`kermes.measures`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ._values import as_floats, label_array, mixed_kinds, refuse_dates, refuse_masked
from .exceptions import InvalidParameterError, MissingDependencyError

#: Largest difference between a matrix and its transpose, relative to the largest entry, that counts as rounding.
ASYMMETRY = 1e-8
#: The same between two distances, relative to them: the order of two additions or a root.
ROUNDING = 1e-13


def real(
    value: Any,
    name: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    remedy: str = "",
) -> float:
    """Return ``value`` as a finite float in ``[low, high]`` (``(low, high]`` when ``open_low``)."""
    if isinstance(value, int) and abs(value) >= 2**63:  # which NumPy would take for an object
        raise InvalidParameterError(f"`{name}` is a whole number of over 63 bits, {value}; write it with a point.")
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not valid or value > high or (value <= low if open_low else value < low):
        raise InvalidParameterError(
            f"`{name}` must be a finite number{_range(low, high, open_low)}; got {value!r}. {remedy}".rstrip()
        )
    return float(value)


def positive(value: Any, name: str, remedy: str = "") -> float:
    """Return ``value`` as a finite float greater than zero."""
    return real(value, name, low=0.0, open_low=True, remedy=remedy)


def integer(value: Any, name: str, *, low: int, remedy: str = "") -> int:
    """Return ``value`` as an int of at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        message = f"`{name}` must be an integer of at least {low}; got {value!r}. {remedy}"
        raise InvalidParameterError(message.rstrip())
    return int(value)


def flag(value: Any, name: str) -> bool:
    """Return ``value`` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameterError(f"`{name}` must be True or False; got {value!r}.")
    return bool(value)


def choice(value: Any, name: str, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; otherwise name them and guess what was meant."""
    options = list(options)
    if isinstance(value, str) and value in options:
        return value
    listed = ", ".join(repr(option) for option in options)
    raise InvalidParameterError(f"`{name}` must be one of {listed}; got {value!r}.{guess(value, options)}")


def guess(value: Any, options: Iterable[str]) -> str:
    """Return a question, with a space before it, that names the options nearest to ``value``; '' if none is near.

    If it is a slip of none, those are near that have it as a part between hyphens.
    """
    options = list(options)
    close = nearest(value, options)
    near = [option for option in options if str(value).lower() in str(option).split("-")] if close is None else [close]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def nearest(value: Any, options: Iterable[str]) -> str | None:
    """Return the option that ``value`` is a slip or a part of, upper and lower case alike; None if none is.

    A slip is a letter that is wrong, missing, too many or changed with its neighbour; two of them are near from six
    letters on, three from fifteen.
    """
    if not isinstance(value, str) or len(value) < 2:
        return None
    word, options = value.lower(), [str(option) for option in options]
    begun = [option for option in options if len(word) > 2 and option.lower().startswith(word)]
    longer = begun or [option for option in options if len(word) > 2 and word in option.lower()]
    if len(longer) == 1:
        return longer[0]
    allowed = 1 + (len(word) >= 6) + (len(word) >= 15)
    slips = {o: _slips(word, o.lower()) for o in options if abs(len(o) - len(word)) <= allowed}
    best = min(slips, key=lambda option: slips[option], default=None)
    return best if best is not None and slips[best] <= allowed else None


def _slips(a: str, b: str) -> int:
    """Return how many letters must be changed, left out, put in or exchanged with their neighbour between words."""
    before, last = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                row[-1] = min(row[-1], before[j - 2] + 1)
        before, last = last, row
    return last[-1]


def row_number(row: int) -> str:
    """Return how messages name a row: as pandas, NumPy and polars count, and saying so."""
    return f"row {row} (counting from 0)"


def as_numbers(values: Any, name: str) -> FloatArray:
    """Return values as an array of floats, or say that they are something else."""
    refuse_masked(values, name)
    refuse_dates(values, name)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"`{name}` must be an array of numbers; got {values!r:.60}.") from None


def as_symmetric(
    K: ArrayLike, name: str, remedy: str = " Pass kernel(X), not kernel(X, Y).", tolerance: float = ASYMMETRY
) -> FloatArray:
    """Return K as an exactly symmetric array of finite floats, or say what it is instead."""
    matrix = as_floats(K, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InvalidParameterError(f"`{name}` must be a square Gram matrix; got shape {matrix.shape}.{remedy}")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidParameterError(f"`{name}` must hold finite numbers; entry ({i}, {j}) is {matrix[i, j]}.")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > tolerance * np.abs(matrix).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise InvalidParameterError(
            f"`{name}` must be symmetric; entries ({i}, {j}) and ({j}, {i}) differ by {gap[i, j]:.3g}. "
            f"Use ({name} + {name}.T) / 2 if that is noise."
        )
    return np.asarray((matrix + matrix.T) / 2.0)


def as_distances(values: ArrayLike, name: str) -> FloatArray:
    """Return values as a square array, non-negative, symmetric, zero on the diagonal, or say what is wrong."""
    table = as_floats(values, name)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
        raise InvalidParameterError(f"`{name}` must be a square array; got shape {table.shape}.")
    if not np.isfinite(table).all() or (table < 0).any():
        i, j = np.argwhere(~np.isfinite(table) | (table < 0))[0]
        raise InvalidParameterError(
            f"`{name}` must hold finite numbers of at least 0; entry ({i}, {j}) is {table[i, j]}."
        )
    if np.diagonal(table).any():
        i = int(np.flatnonzero(np.diagonal(table))[0])
        raise InvalidParameterError(
            f"`{name}` must be zero on the diagonal; entry ({i}, {i}) is {table[i, i]}. Is it a similarity?"
        )
    apart = np.abs(table - table.T) > ROUNDING * np.maximum(table, table.T)
    if apart.any():
        i, j = np.argwhere(apart)[0]
        raise InvalidParameterError(
            f"`{name}` must be symmetric; entry ({i}, {j}) is {table[i, j]} and ({j}, {i}) is "
            f"{table[j, i]}. Take the mean of the table and its transpose if it is nearly so."
        )
    return table if np.array_equal(table, table.T) else np.asarray((table + table.T) / 2.0)


def as_labels(values: ArrayLike, name: str, n: int | None = None) -> tuple[AnyArray, IndexArray]:
    """Return the distinct labels in order and the position of each measure's label among them."""
    labels = label_array(values, name)
    if labels.ndim != 1 or not len(labels) or (n is not None and len(labels) != n):
        wanted = "one label per measure" if n is None else f"{n} labels, one per measure"
        raise InvalidParameterError(f"`{name}` must hold {wanted}; got shape {labels.shape}.")
    try:
        distinct, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise mixed_kinds(name) from None
    return distinct, codes.astype(np.int64)


def require_order(X: Any, called: str = "X", /, **given: Any) -> None:
    """Refuse series and frames (or mappings to them) whose index names the samples of X, but not in their order.

    What is given with X is taken by position. Indices that do not name samples, such as numbers of rows, say nothing.
    """
    names = f"{called}.index" if hasattr(X, "iloc") else f"{called}.keys"
    for name, values in given.items():
        for part in values.values() if isinstance(values, Mapping) else [values]:
            index = _names(part) if hasattr(part, "iloc") else None
            own = None if index is None else _names(X)
            if index is not None and own is not None and _names_others(own, index):
                i = next(i for i in range(len(index)) if own[i : i + 1] != index[i : i + 1])
                there = ", ".join(side[i] if i < len(side) else "nothing" for side in (own, index))
                raise InvalidParameterError(
                    f"`{name}` must be in the order of the measures, since it is taken by position; its index names "
                    f"them in another order (at position {i}: {there}). Pass {name}.loc[{names}], or {name}.to_numpy() "
                    "if it is in order already."
                )


def _names_others(own: list[str], index: list[str]) -> bool:
    """Whether an index is one of the samples, but not in their order; numbers may be equal by chance."""
    known, words = set(own) & set(index), any(key.strip("-.0123456789") for key in own)
    return index != own and (known == set(own) or (words and bool(known) and len(index) == len(own)))


def _names(X: Any) -> list[str] | None:
    """Return the names of samples: keys of measures, index of a series or frame; None if it has none but numbers."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else getattr(X, "keys", None)
    if index is None or callable(index):
        return None
    if type(index).__name__ == "RangeIndex" and index.name is None:
        return None
    return [str(key) for key in np.asarray(index).tolist()]


def missing(package: str, extra: str, purpose: str) -> MissingDependencyError:
    """Return the error to raise when an optional package is not installed."""
    return MissingDependencyError(
        f"{purpose} needs the package {package}, which is not installed. Install it with: pip install 'kermes[{extra}]'"
    )


def needed(module: str, extra: str, purpose: str, package: str | None = None) -> Any:
    """Return an optional module, or raise the error of a package that is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise missing(package or module.partition(".")[0], extra, purpose) from None


def _range(low: float, high: float, open_low: bool) -> str:
    if high < math.inf:
        return f" in {'(' if open_low else '['}{low:g}, {high:g}]"
    if low > -math.inf:
        return f" greater than {low:g}" if open_low else f" of at least {low:g}"
    return ""
