"""What ``dir()`` shows of a package, and with it the completion of an editor or a shell."""

from __future__ import annotations

from collections.abc import Callable


def public_dir(names: list[str]) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of a package: the names in its ``__all__``, without its files and imports."""
    return lambda: sorted(names)
