"""Runs that end where the work would begin: engines and writers of files raise what they would have done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Planned", "dry_run", "is_dry", "stop_if_dry"]

#: Whether this process is in a dry run; its threads are in it too.
_active = False


class Planned(BaseException):
    """The work that a dry run does not do: no error, so that nothing on the way takes it for one.

    ``estimate`` is None if there were no pairs to compute before a file would have been written.
    """

    def __init__(self, name: str = "", estimate: Any = None) -> None:
        super().__init__(f"{name}: {estimate}")
        self.name = name
        self.estimate = estimate


def is_dry() -> bool:
    """Whether nothing is to be computed or written."""
    return _active


def stop_if_dry() -> None:
    """Raise :class:`Planned` in a dry run: for work that has no pairs to estimate."""
    if _active:
        raise Planned


@contextmanager
def dry_run() -> Iterator[None]:
    """Make engines raise :class:`Planned` instead of computing pairs, and writers instead of writing files."""
    global _active
    _active = True
    try:
        yield
    finally:
        _active = False
