"""Which measures of which root collection these are, in terms that other processes understand.

Names only: what processes share by them, and where, is the engine's business.
"""

from __future__ import annotations

import multiprocessing
import os
import uuid
from dataclasses import dataclass

from .._typing import IndexArray

__all__ = ["Origin", "own_process"]

_own: str | None = None


@dataclass(frozen=True, eq=False)
class Origin:
    """Rows of a root collection: what identifies measures wherever they are sent.

    Parameters
    ----------
    process : str
        Name of the process that has the root collection.
    root : str
        Unique name of that collection.
    size : int
        Number of its measures.
    rows : ndarray of shape (n,)
        Which of them these are; a row may be there several times.
    """

    process: str
    root: str
    size: int
    rows: IndexArray

    def take(self, rows: IndexArray) -> Origin:
        """Return the origin of some of the measures."""
        return Origin(self.process, self.root, self.size, self.rows[rows])


def own_process() -> str | None:
    """Return the name of this process, which starts with its number.

    None in a process that another one started: it may end without the chance to remove anything, so that nothing is
    kept under its name.
    """
    global _own
    if multiprocessing.parent_process() is not None:
        return None
    if _own is None:
        _own = f"{os.getpid()}-{uuid.uuid4().hex}"
    return _own
