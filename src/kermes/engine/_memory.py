"""Keeps pairs in memory: a table that grows as measures appear, the bounded memo of such tables, and what is free."""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from .._typing import AnyArray, IndexArray
from ..core.status import PENDING
from ..divergences import Tile
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ..measures._packed import Packed

#: What is kept of a pair, in the order of writing: the status last, so that no pair is finished without its value. The
#: estimated error only of divergences that have one.
DTYPES: dict[str, Any] = {"values": np.float64, "error": np.float64, "status": np.uint8}
#: Rows that are copied at a time.
BAND = 256
#: Matrices of fewer bytes are made without a look at the memory that is free.
SMALL = 1 << 26


def kept(with_error: bool) -> dict[str, Any]:
    """Return name and type of all that is kept of a pair."""
    return {name: dtype for name, dtype in DTYPES.items() if with_error or name != "error"}


class MemoryKeeper:
    """Values, status and errors of the pairs (row of one root collection, row of another).

    Rows are given slots in the order they come. A symmetric table (both roots the same) numbers both sides alike and
    keeps both triangles. A pair is either PENDING or finished: an interrupted run leaves nothing half-written. In a
    ``temporary`` table, of which an interrupted run leaves nothing, all pairs are missing and no status says so: where
    all went well, its status is never written, and takes no memory.
    """

    #: Whether everybody else who wants these pairs waits while they are computed.
    exclusive = False
    #: Whether the pairs are read once: then the table itself is handed out.
    temporary = True

    def __init__(self, n_left: int, n_right: int, symmetric: bool, with_error: bool) -> None:
        self.symmetric = symmetric
        left = np.full(n_left, -1, dtype=np.int64)
        self._slot_of = (left, left if symmetric else np.full(n_right, -1, dtype=np.int64))
        self._used = [0, 0]
        self._dtypes = kept(with_error)
        self.arrays: dict[str, AnyArray] = {name: np.empty((0, 0), dtype) for name, dtype in self._dtypes.items()}
        self._lock = threading.RLock()
        self._complete = True

    def forgo_errors(self) -> None:
        """Keep no errors: before the first pair."""
        self._dtypes.pop("error", None)
        self.arrays.pop("error", None)

    def locked(self) -> AbstractContextManager[object]:
        """Return what keeps others out: a second thread waits, then finds its pairs done."""
        return self._lock

    @property
    def pair_bytes(self) -> int:
        """Bytes of a pair."""
        return sum(np.dtype(dtype).itemsize for dtype in self._dtypes.values())

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return sum(array.nbytes for array in self.arrays.values())

    def nbytes_with(self, left: IndexArray, right: IndexArray) -> int:
        """Memory that would be in use with these rows."""
        sides = (np.concatenate([left, right]),) * 2 if self.symmetric else (left, right)
        n, m = self._grown(
            [used + len(self._new(rows, k)) for k, (used, rows) in enumerate(zip(self._used, sides, strict=True))]
        )
        return self.pair_bytes * n * m

    def slots(self, left: IndexArray, right: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the slots of the rows of both sides, with room for those that are new."""
        if self.symmetric:
            self._assign(np.concatenate([left, right]), 0)
            self._used[1] = self._used[0]
        else:
            self._assign(left, 0)
            self._assign(right, 1)
        self._grow()
        return self._slot_of[0][left], self._slot_of[1][right]

    def complete(self) -> bool:
        """Whether all pairs of the rows so far are computed, and none is unconverged: nothing to look for."""
        if not self._complete and not self.temporary:
            self._complete = not self.arrays["status"][: self._used[0], : self._used[1]].any()
        return self._complete

    def pending(self, left: IndexArray, right: IndexArray) -> NDArray[np.bool_] | None:
        """Return which pairs of slots are not computed yet; None if all are not."""
        if self.temporary:
            return None
        return np.asarray(_block(self.arrays["status"], left, right, copy=False) == PENDING)

    def put(self, left: IndexArray, right: IndexArray, tile: Tile, mirrored_later: bool = False) -> None:
        """Keep finished pairs of slots; called from any thread, for pairs that no other one computes."""
        place, mirrored = _place(left, right), _place(right, left)
        for name, array in self.arrays.items():
            block = getattr(tile, name)
            if name == "status" and self.temporary and not block.any():
                continue
            array[place] = block
            if self.symmetric and not (mirrored_later and name != "status"):
                array[mirrored] = _padded(block).T

    def mirror(self, top: int, bottom: int) -> None:
        """Fill the slots ``top`` to ``bottom`` up to the diagonal, where :meth:`put` did not."""
        for name, array in self.arrays.items():
            for start in range(0, top if name != "status" else 0, BAND):
                stop = min(start + BAND, top)
                array[top:bottom, start:stop] = array[start:stop, top:bottom].T

    def read(self, left: IndexArray, right: IndexArray) -> Tile:
        """Return arrays of the pairs of slots, which the caller may write to."""
        blocks = {
            name: _block(array, left, right, copy=not self.temporary)
            for name, array in self.arrays.items()
            if name != "status" or not self.complete()
        }
        return Tile(**{"status": np.zeros((len(left), len(right)), dtype=np.uint8), **blocks})

    def _new(self, rows: IndexArray, side: int) -> IndexArray:
        """Return the rows without a slot, in ascending order and once each."""
        new = rows[self._slot_of[side][rows] < 0]
        return np.unique(new) if len(new) else new

    def _assign(self, rows: IndexArray, side: int) -> None:
        new = self._new(rows, side)
        if len(new):
            self._slot_of[side][new] = self._used[side] + np.arange(len(new))
            self._used[side] += len(new)
            self._complete = False

    def _grown(self, used: list[int]) -> list[int]:
        """Return the shape of arrays for so many rows: if larger than now, by a quarter at least."""
        shape = self.arrays["values"].shape
        return [max(n, size + size // 4) if n > size else size for n, size in zip(used, shape, strict=True)]

    def _grow(self) -> None:
        """Enlarge the arrays if needed."""
        n, m = self.arrays["values"].shape
        if self._used[0] <= n and self._used[1] <= m:
            return
        arrays = self._allocate(*self._grown(self._used))
        if not self.temporary:
            arrays["status"][:] = PENDING
        for name, array in self.arrays.items():
            arrays[name][:n, :m] = array
        self.arrays = arrays

    def _allocate(self, n: int, m: int) -> dict[str, AnyArray]:
        """Return arrays for n x m pairs."""
        return {
            name: (np.zeros if name == "status" else np.empty)((n, m), dtype) for name, dtype in self._dtypes.items()
        }


def _place(left: IndexArray, right: IndexArray) -> tuple[Any, ...]:
    """Return the index of the block left x right: slices, ten times as fast, where slots follow each other."""
    if _consecutive(left) and (right is left or _consecutive(right)):
        return slice(left[0], left[-1] + 1), slice(right[0], right[-1] + 1)
    return np.ix_(left, right)


def _consecutive(slots: IndexArray) -> bool:
    """Whether slots are i, i + 1, ...: asked for every tile, so that nearly all others are told by their ends."""
    return len(slots) > 0 and slots[-1] - slots[0] == len(slots) - 1 and bool((slots[1:] > slots[:-1]).all())


def _padded(block: AnyArray) -> AnyArray:
    """Return a block in rows that are not a power of two apart: transposed, those are copied three times as slowly."""
    n, m = block.shape
    padded = np.empty((n, m + 8), dtype=block.dtype)[:, :m]
    padded[...] = block
    return padded


def _block(array: AnyArray, left: IndexArray, right: IndexArray, copy: bool) -> AnyArray:
    """Return the block left x right: a fresh array, or without ``copy`` a part of ``array`` where it is one."""
    place = _place(left, right)
    if isinstance(place[0], slice):
        part: AnyArray = array[place]
        return part.copy() if copy else part
    block = np.empty((len(left), len(right)), dtype=array.dtype)
    for start in range(0, len(left), BAND):  # five times as fast as array[np.ix_(left, right)]
        block[start : start + BAND] = array.take(left[start : start + BAND], axis=0).take(right, axis=1)
    return block


class Memo:
    """Keepers by (divergence, root, root), the least recently used dropped over ``limit`` bytes.

    One takes half of them at most: beside a large table there must be room for the matrix that is returned.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._keepers: OrderedDict[Hashable, MemoryKeeper] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._total = 0  # of the sizes: thousands of small tables are not counted again at every call
        self._lock = threading.Lock()
        _memos.add(self)

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return sum(keeper.nbytes for keeper in self._keepers.values())

    def keeper(self, key: Hashable, left: IndexArray, right: IndexArray, fresh: MemoryKeeper) -> MemoryKeeper:
        """Return the keeper of ``key`` (``fresh`` if there is none); one over the limit is not remembered."""
        with self._lock:
            keeper = self._keepers.get(key, fresh)
            need = keeper.nbytes_with(left, right)
            if 2 * need > self.limit:
                return fresh
            keeper.temporary = False
            self._keepers[key] = keeper
            self._keepers.move_to_end(key)
            size = max(need, keeper.nbytes)
            self._total += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            while self._total > self.limit and len(self._keepers) > 1:
                dropped, _ = self._keepers.popitem(last=False)
                self._total -= self._sizes.pop(dropped)
            return keeper

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._keepers.clear()
            self._sizes.clear()
            self._total = 0


_memos: WeakSet[Memo] = WeakSet()


def _after_fork() -> None:
    """Forget, in a forked child, the tables that threads of its parent were filling: they do not go on here."""
    for memo in list(_memos):
        memo._lock = threading.Lock()
        for key, keeper in list(memo._keepers.items()):
            if keeper._lock.acquire(blocking=False):
                keeper._lock.release()
            else:
                del memo._keepers[key]
                memo._total -= memo._sizes.pop(key)
    cached = ((Packed, "fingerprint"), (Packed, "first_twins"), (Measures, "_packed"), (Measures, "is_uniform"))
    for owner, name in cached:
        if hasattr(vars(owner)[name], "lock"):  # of cached properties, up to Python 3.11
            vars(owner)[name].lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def refuse_too_large(keeper: MemoryKeeper, left: IndexArray, right: IndexArray) -> None:
    """Refuse, before anything is computed, a matrix for which there is no memory."""
    need = keeper.pair_bytes * len(left) * len(right)
    if need <= SMALL:
        return
    need += 0 if keeper.temporary else keeper.nbytes_with(left, right) - keeper.nbytes
    free = available_memory()
    if need > free:
        raise InvalidParameterError(
            f"the distances of {len(left):,} x {len(right):,} measures take {need / 2**30:,.1f} GiB of memory; "
            f"{max(free, 0) / 2**30:,.1f} GiB are free. Keep them on disk, Engine(store='d.zarr'), or take fewer."
        )


def available_memory() -> float:
    """Return how many bytes this process may still take: of the machine, its control group, its own limit."""
    free = [math.inf]
    with suppress(OSError, ValueError, AttributeError):
        free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError, KeyError):
        machine = _numbers(Path("/proc/meminfo"))
        free.append(1024 * (machine["MemAvailable:"] + machine["SwapFree:"]))
    for limit, used in (("memory.max", "anon"), ("memory/memory.limit_in_bytes", "total_rss")):
        with suppress(OSError, ValueError, KeyError):  # "max" is no number; caches of files make room
            file = Path("/sys/fs/cgroup", limit)
            free.append(int(file.read_text()) - _numbers(file.with_name("memory.stat"))[used])
    with suppress(OSError, ValueError, ImportError):
        import resource

        limit_here, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit_here != resource.RLIM_INFINITY:
            free.append(limit_here - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize())
    return min(free)


def _numbers(file: Path) -> dict[str, int]:
    """Return the lines "name number ..." of a file of the kernel."""
    return {name: int(number) for name, number, *_ in map(str.split, file.read_text().splitlines())}
