"""Rows in any order to packed arrays, a piece at a time: memory for the result and for one piece, nothing is sorted.

The groups of all rows come first, as numbers; so every row has its place in the result before its coordinates are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import InvalidMeasureError


class Coded(NamedTuple):
    """A column of strings: different ones in any order, used or not, and which one each row has."""

    names: list[str]
    numbers: IndexArray


class Numbering:
    """Numbers of groups in the order of their first rows; ``name`` is the column that names them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers: dict[Any, int] = {}
        self._kinds: set[type] = set()
        self._dtypes: list[np.dtype[Any]] = []

    def codes(self, values: AnyArray | Coded) -> IndexArray:
        """Return the number of the group of each row, with new numbers for new groups."""
        if isinstance(values, Coded):
            first = np.full(len(values.names), -1)
            first[values.numbers[::-1]] = np.arange(len(values.numbers))[::-1]  # the last assignment counts
            used = np.flatnonzero(first >= 0)
            used = used[np.argsort(first[used])]  # in the order of their first rows
            codes = np.empty(len(values.names), dtype=np.int64)
            codes[used] = self._objects([values.names[i] for i in used.tolist()])
            return np.asarray(codes[values.numbers])
        if values.dtype == object:
            return self._objects(values.tolist())
        if values.dtype not in self._dtypes:
            self._dtypes.append(values.dtype)
            self._refuse_mixed()
        unique, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)
        numbers = np.empty(len(unique), dtype=np.int64)
        for i in order.tolist():
            # Dates are kept as integers: those of nanoseconds have no other plain form.
            value = unique[i].astype(np.int64) if unique.dtype.kind in "mM" else unique[i]
            numbers[i] = self._numbers.setdefault(value.item(), len(self._numbers))
        return np.asarray(numbers[inverse])

    def _objects(self, values: list[Any]) -> IndexArray:
        self._kinds.update(map(type, values))
        self._refuse_mixed()
        if not self._kinds <= {int, float, bool, str}:
            values = [str(value) for value in values]
        numbers = self._numbers
        for value in dict.fromkeys(values):
            numbers.setdefault(value, len(numbers))
        return np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))

    def _refuse_mixed(self) -> None:
        """Refuse objects of two types, and objects beside numbers, in one piece or in several (files of a folder).

        1 and "1" would become one group, or two of one name; names would neither sort nor be stored without pickle.
        """
        if len(self._kinds) > 1 or (self._kinds and self._dtypes):
            names = sorted({*(kind.__name__ for kind in self._kinds), *(dtype.name for dtype in self._dtypes)})
            raise InvalidMeasureError(
                f"the column {self._name!r} mixes {', '.join(names)}; give all names one type, such as .astype(str)."
            )

    def keys(self) -> AnyArray:
        """Return the names of the groups."""
        names = list(self._numbers)
        if self._dtypes:
            dtype = np.result_type(*self._dtypes)
            return np.array(names, dtype=np.int64).view(dtype) if dtype.kind in "mM" else np.array(names, dtype=dtype)
        return np.array(names)


def gather(
    codes: IndexArray, n_groups: int, blocks: Iterable[tuple[AnyArray | list[FloatArray], AnyArray | None]], dim: int
) -> tuple[FloatArray, FloatArray, IndexArray]:
    """Return points, weights and offsets of the groups, which ``codes`` numbers; the rows of each keep their order.

    ``blocks`` has all rows in order, a piece at a time: points (b, dim) or a list of columns, and weights (b,) or None.
    """
    offsets = ragged.offsets_of(np.bincount(codes, minlength=n_groups))
    points = np.empty((len(codes), dim))
    weights = np.ones(len(codes))
    free = offsets[:-1].copy()  # where the next row of each group goes
    start = 0
    for coordinates, masses in blocks:
        columns = coordinates if isinstance(coordinates, list) else None
        part = codes[start : start + len(coordinates if columns is None else columns[0])]
        start += len(part)
        places = _places(part, free)
        if columns is None:
            points[places] = coordinates
        elif isinstance(places, slice):
            for j, column in enumerate(columns):
                points[places, j] = column
        else:
            points[places] = np.column_stack(columns)
        if masses is not None:
            weights[places] = masses
    return points, weights, offsets


def _places(codes: IndexArray, free: IndexArray) -> Any:
    """Return where the rows of a piece go, and advance ``free``."""
    if not len(codes):
        return slice(0, 0)
    if (codes == codes[0]).all():
        begin = int(free[codes[0]])
        free[codes[0]] += len(codes)
        return slice(begin, begin + len(codes))
    sorted_by_group = bool((codes[1:] >= codes[:-1]).all())
    order = np.arange(len(codes)) if sorted_by_group else np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    counts = np.diff(starts, append=len(codes))
    begins = free[ordered[starts]]
    if sorted_by_group and (begins[1:] == begins[:-1] + counts[:-1]).all():  # one group ends where the next begins
        free[ordered[starts]] += counts
        return slice(int(begins[0]), int(begins[0]) + len(codes))
    places = np.empty(len(codes), dtype=np.int64)
    places[order] = free[ordered] + np.arange(len(codes)) - np.repeat(starts, counts)
    free[ordered[starts]] += counts
    return places
