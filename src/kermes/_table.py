"""A square table of distances or costs, checked once, read-only, compared and hashed by content."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ._typing import ArrayLike, FloatArray
from .exceptions import InvalidParameterError

__all__ = ["Table", "as_distances"]


def as_distances(values: ArrayLike, name: str) -> FloatArray:
    """Return values as a square array, non-negative, symmetric, zero on the diagonal, or say what is wrong."""
    table: FloatArray = np.asarray(values, dtype=np.float64)
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
    if not np.array_equal(table, table.T):
        i, j = np.argwhere(table != table.T)[0]
        raise InvalidParameterError(
            f"`{name}` must be symmetric; entry ({i}, {j}) is {table[i, j]} and ({j}, {i}) is "
            f"{table[j, i]}. Take the mean of the table and its transpose if it is nearly so."
        )
    return table


class Table:
    """Distances in the sense of :func:`as_distances`. ``name`` is what errors call it."""

    __slots__ = ("_digest", "values")

    def __init__(self, values: ArrayLike, name: str) -> None:
        table = as_distances(np.array(values, dtype=np.float64), name)
        table.flags.writeable = False
        self.values = table
        self._digest = hashlib.blake2b(table.tobytes(), digest_size=16).hexdigest()

    @property
    def digest(self) -> str:
        """Name of the content, equal in all processes."""
        return self._digest

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.values, "values")

    def __repr__(self) -> str:
        return f"<{len(self)} x {len(self)}>"
