"""Keeps pairs in memory-mapped files: what one process computed, those with the same data read.

Measures that were sent to another process carry their :class:`~kermes.measures._packed.Origin`: which rows of which
collection of which process they are. Under that name engines keep their pairs in files, in a folder that belongs to
the process which has the collection. So searches with ``n_jobs`` compute each pair once in all. Files are locked while
pairs are computed; the folder is made by the first engine that needs it and removed when its process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import multiprocessing
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._atomic import whole
from .._typing import AnyArray, IndexArray
from ..divergences import Divergence, Tile
from ..exceptions import StoreError
from ..measures import Measures
from ..measures._packed import Origin, own_process
from ._manifest import describe
from ._memory import MemoryKeeper

try:
    import fcntl
except ImportError:  # no such locks on this system: every process computes for itself
    fcntl = None  # type: ignore[assignment]

DAY = 86_400.0
#: Keepers whose files stay open.
REMEMBERED = 32
#: By folder: stamp of the index, slots of the rows, rows in use, and the mapped arrays.
_seen: dict[Path, tuple[Any, ...]] = {}
_pid = os.getpid()


def shared_keeper(divergence: Divergence, X: Measures, n_rows: int, limit: int) -> SharedKeeper | None:
    """Return the keeper of a collection that several processes have, or None if it is for this one alone.

    ``n_rows`` of its measures take part; files of over ``limit`` bytes, or such that would fill the disk, are not made.
    A process that has the collection itself reads what others have computed, and leaves it to them to begin.
    """
    origin, in_child = X._root.origin, multiprocessing.parent_process() is not None
    if origin is None or not (in_child or _session(origin.process).exists()):
        return None
    folder = _folder(divergence, origin)
    exists = folder is not None and folder.exists()
    if folder is None or not (exists or (in_child and _alive(origin.process))):
        return None
    keeper = SharedKeeper(folder, origin, divergence.estimates_error)
    need = keeper.pair_bytes * n_rows * n_rows
    try:
        if not exists and (need > limit or 2 * need > shutil.disk_usage(folder.parent.parent).free):
            return None
        keeper.make()
    except OSError:  # there is no folder for temporary files
        return None
    return keeper


def publish(divergence: Divergence, X: Measures, tile: Tile) -> bool:
    """Write the pairs of X, all of them computed, to files; return False where nothing can be shared."""
    origin = X._root.identify()
    folder = None if origin is None else _folder(divergence, origin)
    if origin is None or folder is None:
        return False
    keeper = SharedKeeper(folder, origin, divergence.estimates_error)
    with keeper.locked():
        keeper.put(*keeper.slots(X.rows, X.rows), tile)
    return True


def close() -> None:
    """Remove the folder of this process; called at exit, and by hand where a process ends without."""
    name = own_process()
    if name is not None and os.getpid() == _pid:  # not in a forked child
        shutil.rmtree(_session(name), ignore_errors=True)


atexit.register(close)


class SharedKeeper(MemoryKeeper):
    """A symmetric keeper whose arrays are files in ``folder``; its rows are those of the root collection.

    ``index`` holds the side of the arrays, then the rows in the order of their slots. A process that is killed
    leaves its lock to the next one and its pairs pending.
    """

    exclusive = True
    temporary = False

    def __init__(self, folder: Path, origin: Origin, with_error: bool) -> None:
        super().__init__(origin.size, origin.size, True, with_error)
        self._folder = folder
        self._rows = origin.rows
        self._stored = 0

    def make(self) -> None:
        """Make the folder, if there is none."""
        if not self._folder.parent.exists():
            _sweep()
        self._folder.parent.mkdir(mode=0o700, exist_ok=True)
        self._folder.mkdir(exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes and threads out, and read what they have done."""
        self.make()
        with open(self._folder / "lock", "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                self._load()
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open too

    def slots(self, left: IndexArray, right: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the slots of measures of this process, with room for those that are new."""
        return super().slots(self._rows[left], self._rows[right])

    def _assign(self, rows: IndexArray, side: int) -> None:
        if len(self._new(rows, side)):
            slot_of = self._slot_of[0].copy()  # what is remembered is what the files say
            self._slot_of = slot_of, slot_of
        super()._assign(rows, side)

    def _grow(self) -> None:
        side = len(self.arrays["values"])
        super()._grow()
        if self._used[0] > self._stored:
            self._store()
        if len(self.arrays["values"]) > side:
            for name in self.arrays:
                with contextlib.suppress(OSError):  # some systems keep files that are mapped
                    self._file(name, side).unlink(missing_ok=True)

    def _allocate(self, n: int, m: int) -> dict[str, AnyArray]:
        for name, dtype in self._dtypes.items():
            _reserve(self._file(name, n), np.dtype(dtype).itemsize * n * n)
        return self._mapped(n)

    def _load(self) -> None:
        """Read the index, unless it is the one that this process saw last."""
        try:
            found = os.stat(self._folder / "index")
        except FileNotFoundError:
            return
        stamp = found.st_ino, found.st_mtime_ns
        known = _seen.get(self._folder)
        if known is None or known[0] != stamp:
            slot_of = np.full(len(self._slot_of[0]), -1, dtype=np.int64)
            try:
                side, rows = np.split(np.fromfile(self._folder / "index", dtype=np.int64), [1])
                slot_of[rows] = np.arange(len(rows))
                arrays = self._mapped(int(side[0]))
                if len(rows) > side[0] or np.count_nonzero(slot_of >= 0) < len(rows):
                    raise ValueError
            except (ValueError, OverflowError, IndexError, OSError):  # damaged: all pairs are computed anew
                (self._folder / "index").unlink()
                return
            known = _seen[self._folder] = stamp, slot_of, len(rows), arrays
            while len(_seen) > REMEMBERED:  # the oldest is forgotten
                _seen.pop(next(iter(_seen)), None)
        _, slot_of, used, self.arrays = known
        self._slot_of, self._used = (slot_of, slot_of), [used, used]
        self._stored, self._complete = used, False

    def _store(self) -> None:
        slot_of = self._slot_of[0]
        rows = np.flatnonzero(slot_of >= 0)
        rows = rows[np.argsort(slot_of[rows])]
        with whole(self._folder / "index") as temporary:
            np.concatenate([[len(self.arrays["values"])], rows]).astype(np.int64).tofile(temporary)
        self._stored = len(rows)

    def _mapped(self, side: int) -> dict[str, AnyArray]:
        """Return the arrays as mapped files."""
        return {
            name: np.memmap(self._file(name, side), dtype=dtype, mode="r+", shape=(side, side)).view(np.ndarray)
            for name, dtype in self._dtypes.items()
        }

    def _file(self, name: str, side: int) -> Path:
        return self._folder / f"{name}-{side}"


def _folder(divergence: Divergence, origin: Origin) -> Path | None:
    """Return the folder of the pairs of a collection, or None if processes cannot agree on one."""
    session = _session(origin.process)
    if fcntl is None or (session.exists() and session.stat().st_uid != os.getuid()):
        return None
    try:
        name = describe(divergence)
    except StoreError:  # a parameter that no other process would recognise
        return None
    return session / hashlib.blake2b(f"{origin.root} {name}".encode(), digest_size=16).hexdigest()


def _session(process: str) -> Path:
    """Return the folder that a process shares with those it starts."""
    return Path(tempfile.gettempdir()) / f"kermes-{process}"


def _sweep() -> None:
    """Remove the folders of processes that were killed, once nothing was written there for a day."""
    for folder in Path(tempfile.gettempdir()).glob("kermes-*"):
        process = re.fullmatch(r"kermes-(\d+-[0-9a-f]{32})", folder.name)
        with contextlib.suppress(OSError):
            found = folder.lstat()
            old = time.time() - found.st_mtime > DAY
            if process and old and found.st_uid == os.getuid() and not _alive(process[1]):
                shutil.rmtree(folder, ignore_errors=True)


def _alive(process: str) -> bool:
    """Whether the process of this name is there to remove its folder."""
    try:
        os.kill(int(process.partition("-")[0]), 0)
    except (OSError, ValueError):
        return False
    return True


def _reserve(path: Path, size: int) -> None:
    """Make a file of its final size on blocks of its own: a full disk is an error here, and would be a crash later."""
    path.unlink(missing_ok=True)  # somebody may still read it
    with open(path, "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
