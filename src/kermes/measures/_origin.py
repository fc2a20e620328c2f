"""Where a collection that was sent to another process came from: by that, processes find each other's distances."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .._typing import IndexArray

__all__ = ["Origin", "has_session", "session"]

_own: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class Origin:
    """Rows of a collection in the process that sent them.

    ``session`` names the folder that this process and those it started share, ``fingerprint`` and ``size`` the
    collection, and ``rows`` (n,) says which of its measures these are.
    """

    session: str
    fingerprint: str
    size: int
    rows: IndexArray

    def take(self, rows: IndexArray) -> Origin:
        """Return the origin of some of the measures."""
        return Origin(self.session, self.fingerprint, self.size, self.rows[rows])

    @property
    def folder(self) -> Path | None:
        """The folder of the session, or None on another machine and after its end."""
        path = Path(tempfile.gettempdir()) / self.session
        return path if path.is_dir() else None


def session() -> str | None:
    """Return the name of the folder that this process shares with those it starts; made once, removed at exit.

    None in a process that is itself started by another: it ends without the chance to remove anything.
    """
    global _own
    if multiprocessing.parent_process() is not None:
        return None
    if _own is None:
        _own = Path(tempfile.mkdtemp(prefix="kermes-")).name, os.getpid()
        atexit.register(close)
    return _own[0]


def has_session() -> bool:
    """Whether anything was ever sent to another process."""
    return _own is not None


def close() -> None:
    """Remove the folder; called at exit, and by hand where a process ends without."""
    global _own
    if _own is not None and os.getpid() == _own[1]:  # not in a forked child
        shutil.rmtree(Path(tempfile.gettempdir()) / _own[0], ignore_errors=True)
        _own = None
