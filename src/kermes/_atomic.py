"""Files that are either written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._dry_run import stop_if_dry


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, and rename it to ``path`` if the block ends without an error."""
    stop_if_dry()
    temporary = _temporary(Path(path))
    try:
        yield temporary
        mask = os.umask(0)  # can be read only by setting it
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp allows the owner only
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise now what :func:`whole` would raise, before the work whose result is to be written."""
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a folder", os.fspath(path))
    try:
        _temporary(Path(path)).unlink()
    except OSError as error:
        raise type(error)(error.errno, f"Cannot be written ({error.strerror})", os.fspath(path)) from None


def _temporary(target: Path) -> Path:
    """Return a new empty file beside ``target``."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    if target.exists() and not target.is_file():  # renaming would put a file in place of /dev/null
        raise FileExistsError(errno.EEXIST, "Is no regular file, and is left alone", str(target))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    return Path(name)
