"""A column of measures in a pandas data frame: an extension array. The one module that needs pandas.

A :class:`MeasureArray` is a collection and row numbers in it, -1 where there is no measure: selecting, sorting and
joining rows copies no atoms, and the column turns back into a view of its collection.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype, register_extension_dtype, take
from pandas.api.indexers import check_array_indexer

from .._typing import AnyArray, IndexArray
from ..exceptions import InvalidMeasureError
from ._collection import Measures
from ._convert import as_measures
from ._measure import Measure
from ._packed import objects

__all__ = ["MeasureArray", "MeasureDtype"]


@register_extension_dtype
class MeasureDtype(ExtensionDtype):  # type: ignore[misc]
    """The type of a column of measures; pandas knows it as ``'measure'``."""

    name = "measure"
    type = Measure
    na_value = np.nan

    @classmethod
    def construct_array_type(cls) -> Any:
        """Return what holds such a column."""
        return MeasureArray


class MeasureArray(ExtensionArray):  # type: ignore[misc]
    """Measures in a pandas column; made by :meth:`kermes.Measures.to_series`.

    Entries are equal if they are the same row of the same collection. Measures have no order and no sum: pandas sorts,
    groups and aggregates by other columns.

    Parameters
    ----------
    pool : Measures or None
        The collection; None if there is no measure at all.
    rows : ndarray of shape (n,)
        Row of the collection for each entry; -1 where it is missing, as after an outer join.
    """

    def __init__(self, pool: Measures | None, rows: IndexArray) -> None:
        self._pool = pool
        self._rows = rows

    @classmethod
    def of(cls, measures: Measures) -> MeasureArray:
        """Return the column of a view, over the whole collection that it is a view of."""
        return cls(Measures(measures._root), np.array(measures.rows))

    def to_measures(self) -> Measures:
        """Return the measures, a view; refuse missing ones and an empty column."""
        missing = np.flatnonzero(self.isna())
        if len(missing):
            raise InvalidMeasureError(
                f"entry {missing[0]} of the column holds no measure ({len(missing)} such in all); every sample needs "
                "one. Drop those rows with `frame.dropna()`."
            )
        if self._pool is None or not len(self):
            raise InvalidMeasureError("the column holds no measures; a collection needs one or more.")
        return self._pool[self._rows]

    # -- what pandas asks of an extension array -------------------------------------------------------

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> MeasureArray:
        if isinstance(scalars, Measures):
            return cls.of(scalars)
        if isinstance(scalars, MeasureArray):
            return scalars.copy() if copy else scalars
        entries = objects(scalars)
        rows = np.full(len(entries), -1)
        present = np.flatnonzero([not _is_missing(entry) for entry in entries])
        if not len(present):
            return cls(None, rows)
        measures = as_measures(entries[present], "the column")
        rows[present] = measures.rows
        return cls(Measures(measures._root), rows)

    @classmethod
    def _from_factorized(cls, values: Any, original: MeasureArray) -> MeasureArray:
        return cls(original._pool, np.asarray(values, dtype=np.int64))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[MeasureArray]) -> MeasureArray:
        pools = {id(part._pool._root): part._pool for part in to_concat if part._pool is not None}
        if len(pools) <= 1:
            return cls(next(iter(pools.values()), None), np.concatenate([part._rows for part in to_concat]))
        starts = dict(zip(pools, np.cumsum([0, *(len(pool) for pool in pools.values())]), strict=False))
        shifted = [
            np.where(part._rows < 0, -1, part._rows + (0 if part._pool is None else starts[id(part._pool._root)]))
            for part in to_concat
        ]
        return cls(Measures.concatenate(list(pools.values())), np.concatenate(shifted))

    @property
    def dtype(self) -> MeasureDtype:
        """The type of the column."""
        return MeasureDtype()

    @property
    def nbytes(self) -> int:
        """Bytes of the row numbers; atoms belong to the collection."""
        return int(self._rows.nbytes)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        key = check_array_indexer(self, key)
        if isinstance(key, (int, np.integer)):
            return self._entry(self._rows[key])
        part = type(self)(self._pool, self._rows[key])
        if np.shares_memory(part._rows, self._rows):
            part._readonly = getattr(self, "_readonly", False)
        return part

    def __iter__(self) -> Any:
        return (self._entry(row) for row in self._rows)

    def __setitem__(self, key: Any, value: Any) -> None:
        if getattr(self, "_readonly", False):  # since pandas 3
            raise ValueError("Cannot modify read-only array")
        single = isinstance(value, Measure) or _is_missing(value)
        new = self._from_sequence([value] if single else value)
        both = self._concat_same_type([self, new])
        if self._pool is None or both._pool is None or both._pool._root is not self._pool._root:
            self._pool, self._rows = both._pool, self._rows.copy()  # views keep the old collection
        inserted = both._rows[len(self) :]
        self._rows[check_array_indexer(self, key)] = inserted[0] if single else inserted

    def _entry(self, row: Any) -> Any:
        return self.dtype.na_value if row < 0 or self._pool is None else self._pool[int(row)]

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (pd.Series, pd.DataFrame, pd.Index)):
            return NotImplemented
        others = [other] * len(self) if isinstance(other, Measure) or _is_missing(other) else other
        if not isinstance(others, Sized) or len(others) != len(self):
            raise ValueError("Lengths must match to compare")
        return np.array([a == b for a, b in zip(self, others, strict=True)], dtype=bool)  # type: ignore[call-overload]

    __hash__ = None  # type: ignore[assignment]

    def isna(self) -> AnyArray:
        """Return where there is no measure."""
        return np.asarray(self._rows < 0)

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> MeasureArray:
        """Return some entries, the missing ones ``fill_value``; pandas' workhorse."""
        if not _is_missing(fill_value):
            filled = self._concat_same_type([self, self._from_sequence([fill_value])])
            rows = take(filled._rows[:-1], indices, allow_fill=allow_fill, fill_value=filled._rows[-1])
            return type(self)(filled._pool, rows)
        return type(self)(self._pool, take(self._rows, indices, allow_fill=allow_fill, fill_value=-1))

    def copy(self) -> Self:
        """Return a copy of the column over the same collection."""
        return type(self)(self._pool, self._rows.copy())

    def view(self, dtype: Any = None) -> Any:
        """Return another array over the same rows."""
        if dtype is not None:
            raise NotImplementedError(dtype)  # what pandas expects of arrays without views as another type
        return type(self)(self._pool, self._rows)

    def _values_for_factorize(self) -> tuple[AnyArray, Any]:
        return self._rows, -1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return an object array of measures: the form in which scikit-learn carries them."""
        if dtype is not None and np.dtype(dtype) != object:
            raise InvalidMeasureError(
                "a column of measures has no numeric form; pass it to a kermes kernel or estimator."
            )
        if copy is False:
            raise ValueError("a column of measures has no array form without a copy")
        return objects(self)

    def _formatter(self, boxed: bool = False) -> Any:
        return repr


def _is_missing(value: Any) -> bool:
    return not isinstance(value, Measure) and pd.api.types.is_scalar(value) and bool(pd.isna(value))
