"""Files that are either written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole"]


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, and rename it to ``path`` if the block ends without an error."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp allows the owner only
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """Return the mask of new files, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
