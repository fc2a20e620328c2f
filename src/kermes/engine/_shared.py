"""Pair tables in memory-mapped files: what one process computed, those with the same data read.

A collection that is sent to another process carries its :class:`~kermes.measures._origin.Origin`. Engines in such
processes keep the pairs of a collection in a file of the session's folder, and so does the process that sent it, once
there is one: searches with ``n_jobs`` compute each pair once in all. Files are locked while pairs are computed.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray, StatusArray
from ..core.status import PENDING
from ..divergences import Divergence
from ..exceptions import StoreError
from ..measures import Measures
from ..measures._origin import Origin, has_session
from ._identity import describe
from ._pairs import PAIR_BYTES, PairTable

try:
    import fcntl
except ImportError:  # no such locks on this system: every process computes for itself
    fcntl = None  # type: ignore[assignment]

__all__ = ["SharedTable", "publish", "shared_table"]

#: Tables whose files stay open.
REMEMBERED = 32
#: By folder: stamp of the index, slots of the rows, rows in use, and the mapped arrays.
_seen: dict[Path, tuple[Any, ...]] = {}


def shared_table(divergence: Divergence, X: Measures, n_rows: int, limit: int) -> SharedTable | None:
    """Return the table of a collection that several processes have, or None if it is for this one alone.

    ``n_rows`` of its measures take part; a table of over ``limit`` bytes, or one that would fill the disk, is not
    shared.
    """
    if X._root.origin is None and not has_session():
        return None
    origin = X._root.origin_of(None)
    place = None if origin is None else _place(divergence, origin)
    if origin is None or place is None:
        return None
    if not place.exists():
        need = PAIR_BYTES * n_rows * n_rows
        in_child = X._root.origin is not None and multiprocessing.parent_process() is not None
        if not in_child or need > limit or 2 * need > shutil.disk_usage(place.parent).free:
            return None
    return SharedTable(place, origin)


def publish(divergence: Divergence, X: Measures, values: FloatArray, status: StatusArray) -> bool:
    """Write the pairs of X, all of them computed, to a file; return False where nothing can be shared."""
    origin = X._root.origin_of(None)
    place = None if origin is None else _place(divergence, origin)
    if origin is None or place is None:
        return False
    table = SharedTable(place, origin)
    rows, first = np.unique(X.rows, return_index=True)
    with table.locked():
        table.write(*table.slots(rows, rows), values[np.ix_(first, first)], status[np.ix_(first, first)])
    return True


class SharedTable(PairTable):
    """A symmetric table whose arrays are files in the folder ``place``; rows are those of the origin.

    ``index`` holds the side of the arrays, then the rows in the order of their slots. A process that is killed
    leaves its lock to the next one and its pairs pending.
    """

    exclusive = True

    def __init__(self, place: Path, origin: Origin) -> None:
        super().__init__(origin.size, origin.size, symmetric=True)
        self._folder = place
        self._rows = origin.rows
        self._stored = 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes and threads out, and read what they have done."""
        self._folder.mkdir(exist_ok=True)
        with open(self._folder / "lock", "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            self._load()
            yield

    def slots_of(self, left: IndexArray, right: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the slots of rows that have been given one."""
        return super().slots_of(self._rows[left], self._rows[right])

    def _assign(self, rows: IndexArray, side: int) -> None:
        rows = self._rows[rows]
        if self._count_new(rows, 0):
            slot_of = self._slot_of[0].copy()  # what is remembered is what the files say
            self._slot_of = slot_of, slot_of
        super()._assign(rows, side)

    def _grow(self) -> None:
        side = len(self.values)
        super()._grow()
        if self._used[0] > self._stored:
            self._store()
        if len(self.values) > side:
            for old in self._files(side):
                with contextlib.suppress(OSError):  # some systems keep files that are mapped
                    old.unlink(missing_ok=True)

    def _allocate(self, n: int, m: int) -> tuple[FloatArray, StatusArray]:
        for path, size in zip(self._files(n), (8, 1), strict=True):
            _reserve(path, size * n * n)
        values, status = self._mapped(n, "r+")
        status[:] = PENDING
        return values, status

    def _load(self) -> None:
        """Read the index, unless it is the one that this process saw last."""
        try:
            found = os.stat(self._folder / "index")
        except FileNotFoundError:
            return
        stamp = found.st_ino, found.st_mtime_ns
        known = _seen.get(self._folder)
        if known is None or known[0] != stamp:
            side, *_ = index = np.fromfile(self._folder / "index", dtype=np.int64)
            slot_of = np.full(len(self._slot_of[0]), -1, dtype=np.int64)
            slot_of[index[1:]] = np.arange(len(index) - 1)
            values, status = self._mapped(side, "r+")
            known = stamp, slot_of, len(index) - 1, values, status
            _remember(self._folder, known)
        _, slot_of, used, self.values, self.status = known
        self._slot_of, self._used = (slot_of, slot_of), [used, used]
        self._stored, self._complete = used, False

    def _store(self) -> None:
        slot_of = self._slot_of[0]
        rows = np.flatnonzero(slot_of >= 0)
        rows = rows[np.argsort(slot_of[rows])]
        temporary = self._folder / "index.tmp"
        np.concatenate([[len(self.values)], rows]).astype(np.int64).tofile(temporary)
        os.replace(temporary, self._folder / "index")  # all or nothing
        self._stored = len(rows)

    def _mapped(self, side: int, mode: Any) -> tuple[FloatArray, StatusArray]:
        """Return the arrays as mapped files."""
        values, status = self._files(side)
        return (
            np.memmap(values, dtype=np.float64, mode=mode, shape=(side, side)).view(np.ndarray),
            np.memmap(status, dtype=np.uint8, mode=mode, shape=(side, side)).view(np.ndarray),
        )

    def _files(self, side: int) -> tuple[Path, Path]:
        return self._folder / f"values-{side}", self._folder / f"status-{side}"


def _place(divergence: Divergence, origin: Origin) -> Path | None:
    """Return the folder of a table, or None if processes cannot agree on one."""
    folder = origin.folder
    if folder is None or fcntl is None:
        return None
    try:
        name = describe(divergence)
    except StoreError:  # a parameter that no other process would recognise
        return None
    return folder / hashlib.blake2b(f"{origin.fingerprint} {name}".encode(), digest_size=16).hexdigest()


def _reserve(path: Path, size: int) -> None:
    """Make a file of its final size on blocks of its own: a full disk is an error here, and would be a crash later."""
    with open(path, "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)


def _remember(folder: Path, state: tuple[Any, ...]) -> None:
    """Keep what the files of a table say; the oldest of many is forgotten."""
    _seen[folder] = state
    while len(_seen) > REMEMBERED:
        _seen.pop(next(iter(_seen)), None)
