"""Where finished tiles go: a table of the pairs seen so far, and the bounded memo of such tables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import FloatArray, IndexArray, StatusArray
from ..core.status import PENDING

#: Bytes of one pair: a float64 value and a uint8 status.
PAIR_BYTES = 9


class PairTable:
    """Values and status of pairs (row of one root collection, row of another), growing as rows appear.

    Rows are mapped to slots in the order they come. A symmetric table (both roots the same) keeps one
    map and writes every tile to both triangles. A pair is either PENDING or finished: an interrupted
    run leaves nothing half-written.
    """

    def __init__(self, n_left: int, n_right: int, symmetric: bool) -> None:
        self.symmetric = symmetric
        left = np.full(n_left, -1, dtype=np.int64)
        self._slot_of = (left, left if symmetric else np.full(n_right, -1, dtype=np.int64))
        self._used = [0, 0]
        self.values: FloatArray = np.empty((0, 0))
        self.status: StatusArray = np.empty((0, 0), dtype=np.uint8)
        self.lock = threading.RLock()
        self._complete = True

    #: Whether everybody else who wants these pairs waits while they are computed.
    exclusive = False

    def locked(self) -> AbstractContextManager[object]:
        """Return what keeps others out: a second thread waits, then finds its pairs done."""
        return self.lock

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self.values.nbytes + self.status.nbytes

    def nbytes_with(self, left: IndexArray, right: IndexArray) -> int:
        """Memory that would be in use with these rows."""
        if self.symmetric:
            side = self._used[0] + self._count_new(np.union1d(left, right), 0)
            return PAIR_BYTES * side * side
        return PAIR_BYTES * int(
            np.prod(
                [
                    used + self._count_new(rows, k)
                    for k, (used, rows) in enumerate(zip(self._used, (left, right), strict=True))
                ]
            )
        )

    def slots(self, left: IndexArray, right: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the slots of both sets of distinct rows, making room for the new ones."""
        self._assign(left, 0)
        self._assign(right, 0 if self.symmetric else 1)
        if self.symmetric:
            self._used[1] = self._used[0]
        self._grow()
        return self.slots_of(left, right)

    def slots_of(self, left: IndexArray, right: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the slots of rows that have been given one."""
        return self._slot_of[0][left], self._slot_of[1][right]

    def complete(self) -> bool:
        """Whether all pairs of the rows so far are computed, and none is unconverged: nothing to look for."""
        if not self._complete:
            self._complete = not self.status[: self._used[0], : self._used[1]].any()
        return self._complete

    def pending(self, left: IndexArray, right: IndexArray) -> NDArray[np.bool_]:
        """Return which pairs of slots are not computed yet."""
        return np.asarray(_block(self.status, left, right) == PENDING)

    def write(self, left: IndexArray, right: IndexArray, values: FloatArray, status: StatusArray) -> None:
        """Store a finished tile; the status last, so that a pair is never finished without its value."""
        place = np.ix_(left, right)
        self.values[place] = values
        self.status[place] = status
        if self.symmetric:
            place = np.ix_(right, left)
            self.values[place] = values.T
            self.status[place] = status.T

    def read(self, left: IndexArray, right: IndexArray) -> tuple[FloatArray, StatusArray]:
        """Return fresh arrays of values and status."""
        values = _block(self.values, left, right)
        if self.complete():
            return values, np.zeros(values.shape, dtype=np.uint8)
        return values, _block(self.status, left, right)

    def _count_new(self, rows: IndexArray, side: int) -> int:
        return int(np.count_nonzero(self._slot_of[side][rows] < 0))

    def _assign(self, rows: IndexArray, side: int) -> None:
        new = rows[self._slot_of[side][rows] < 0]
        if len(new):
            self._slot_of[side][new] = self._used[side] + np.arange(len(new))
            self._used[side] += len(new)
            self._complete = False

    def _grow(self) -> None:
        """Enlarge the arrays if needed; by a quarter at least once they hold something."""
        shape = self.values.shape
        if all(used <= size for used, size in zip(self._used, shape, strict=True)):
            return
        grown = [
            max(used, size + size // 4) if used > size else size for used, size in zip(self._used, shape, strict=True)
        ]
        values, status = self._allocate(grown[0], grown[1])
        values[: shape[0], : shape[1]] = self.values
        status[: shape[0], : shape[1]] = self.status
        self.values, self.status = values, status

    def _allocate(self, n: int, m: int) -> tuple[FloatArray, StatusArray]:
        """Return arrays for n x m pairs, all of them pending."""
        return np.empty((n, m)), np.full((n, m), PENDING, dtype=np.uint8)


def _block(array: Any, left: IndexArray, right: IndexArray) -> Any:
    """Return a fresh array of the block left x right."""
    if all(len(slots) and (np.diff(slots) == 1).all() for slots in (left, right)):
        return np.array(array[left[0] : left[-1] + 1, right[0] : right[-1] + 1])
    return np.asarray(array).take(left, axis=0).take(right, axis=1)  # five times as fast as array[np.ix_(left, right)]


class Memo:
    """Pair tables by (divergence, root, root), the least recently used dropped over ``limit`` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._tables: OrderedDict[Hashable, PairTable] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return sum(table.nbytes for table in self._tables.values())

    def table(self, key: Hashable, left: IndexArray, right: IndexArray, make: PairTable) -> PairTable:
        """Return the table of ``key`` (``make`` if there is none); a table over the limit is not kept."""
        with self._lock:
            table = self._tables.get(key, make)
            need = table.nbytes_with(left, right)
            if need > self.limit:
                return make
            self._tables[key] = table
            self._tables.move_to_end(key)
            others = self.nbytes - table.nbytes
            while others + need > self.limit and len(self._tables) > 1:
                _, dropped = self._tables.popitem(last=False)
                others -= dropped.nbytes
            return table

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._tables.clear()
