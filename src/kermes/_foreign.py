"""Files that others made: limits before memory is taken, and errors that name the file.

Whatever a decoder raises on damaged bytes becomes an ``InvalidFileError``. A compressed file may expand to ``FREE``
bytes or to ``RATIO`` times its own size, whichever is more, and never beyond the memory of the machine.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import os
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO, RawIOBase
from os import PathLike
from typing import Any

import numpy as np

from ._checks import needed
from ._typing import AnyArray
from .exceptions import InvalidFileError, KermesError, UnsuitableDataError

FREE = 1 << 28
RATIO = 100
CHUNK = 1 << 20


@contextmanager
def decoding(path: str | PathLike[str], what: str) -> Iterator[None]:
    """Turn the errors of a decoder into one that names the file; that a file cannot be opened passes."""
    try:
        yield
    except (KermesError, ImportError):
        raise
    except MemoryError as error:
        raise InvalidFileError(f"{os.fspath(path)!r} does not fit into memory.") from error
    except Exception as error:  # decoders raise what they like: zlib.error, struct.error, TokenError, KeyError ...
        if isinstance(error, OSError) and error.filename is not None:
            raise
        reason = (str(error).strip().splitlines() or [""])[0] or type(error).__name__
        raise InvalidFileError(
            f"{os.fspath(path)!r} is not {what}, or it is damaged ({reason}). Check its extension, or write it anew."
        ) from error


def require_file(path: str | PathLike[str]) -> None:
    """Refuse pipes and devices, which may block or never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise InvalidFileError(
            f"{os.fspath(path)!r} is not a regular file; write its content to one first, or pipe a table in as '-'."
        )


def require_room(path: str | PathLike[str], size: int) -> None:
    """Refuse a file that would expand to ``size`` bytes, if that is more than it may."""
    limit = min(max(FREE, RATIO * os.path.getsize(path)), _memory())
    if size > limit:
        raise InvalidFileError(
            f"{os.fspath(path)!r} would expand to {size:,} bytes, more than the {limit:,} that a file of its size may; "
            "if you trust it, save it uncompressed."
        )


def require_memory(size: int, what: str, remedy: str) -> None:
    """Refuse arrays of ``size`` bytes that the machine cannot hold, before they are made."""
    if size > _memory():
        raise UnsuitableDataError(f"{what} would take {size / 1e9:,.1f} GB, more than this machine has; {remedy}.")


def is_compressed(path: str | PathLike[str]) -> bool:
    """Whether the name is that of a file that is expanded as it is read."""
    return os.fspath(path).lower().endswith(tuple(COMPRESSED))


def open_limited(path: str | PathLike[str]) -> BufferedReader:
    """Open a file for reading, expanded if its name says so, within the limits of what a file may expand to."""
    require_file(path)
    return BufferedReader(_Limited(path), CHUNK) if is_compressed(path) else open(path, "rb")


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, expanded if its name says that it is compressed."""
    require_file(path)
    if not is_compressed(path):
        require_room(path, os.path.getsize(path))
    with open_limited(path) as file:
        return file.read()


def read_stream(file: Any) -> bytes:
    """Return all that comes from standard input, if the machine can hold it."""
    content = bytearray()
    while chunk := file.read(CHUNK):
        content += chunk
        require_memory(2 * len(content), "standard input", "write it to a file and read that")
    return bytes(content)


class _Limited(RawIOBase):
    """The expanded content of a file; reading ends in an error that names the file."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path, self._size = path, 0
        self._kind, opened = next(how for end, how in COMPRESSED.items() if os.fspath(path).lower().endswith(end))
        with decoding(path, self._kind):
            self._file = opened(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with decoding(self._path, self._kind):
            chunk = self._file.read(len(buffer))
        self._size += len(chunk)
        require_room(self._path, self._size)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._file.close()
        super().close()


def _zstandard(path: str | PathLike[str]) -> Any:
    pa = needed("pyarrow", "io", "Reading files compressed by Zstandard")
    return pa.input_stream(os.fspath(path), compression="zstd")


#: What compressed files are called in errors, and how they are opened, by their endings.
COMPRESSED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    ".gz": ("gzip", gzip.open),
    ".bz2": ("bzip2", bz2.open),
    ".xz": ("xz", lzma.open),
    ".zst": ("Zstandard", _zstandard),
}


def read_npy(path: str | PathLike[str]) -> AnyArray:
    """Return the plain array in an ``.npy`` file, gzipped or not."""
    content = read_bytes(path)
    with decoding(path, "a plain array"):
        return check_npy(content)


def read_npz(path: str | PathLike[str]) -> dict[str, AnyArray]:
    """Return the plain arrays of an ``.npz`` archive by name."""
    members = read_zip(path, "an archive of plain arrays")
    with decoding(path, "an archive of plain arrays"):
        return {
            name.removesuffix(".npy"): check_npy(content) for name, content in members.items() if name.endswith(".npy")
        }


def read_zip(path: str | PathLike[str], what: str) -> dict[str, bytes]:
    """Return the members of a zip archive by name; names are never taken for paths."""
    require_file(path)
    with decoding(path, what), zipfile.ZipFile(path) as archive:
        return _members(path, archive, 0)


def check_arrays(path: str | PathLike[str], members: dict[str, bytes]) -> None:
    """Check the arrays among the members of an archive, and those in archives among them, as sparse matrices are."""
    taken = sum(map(len, members.values()))
    for content in members.values():  # NumPy goes by the first bytes, whatever the name
        if content.startswith(b"PK"):
            with zipfile.ZipFile(BytesIO(content)) as archive:
                arrays = _members(path, archive, taken)
            taken += sum(map(len, arrays.values()))
            for array in arrays.values():
                check_npy(array)
        elif content.startswith(np.lib.format.MAGIC_PREFIX):
            check_npy(content)


def _members(path: str | PathLike[str], archive: zipfile.ZipFile, taken: int) -> dict[str, bytes]:
    """Return the members of an archive, if they and the ``taken`` bytes of others are what ``path`` may expand to."""
    require_room(path, taken + sum(member.file_size for member in archive.infolist()))
    kinds = {member.compress_type for member in archive.infolist()}
    if not kinds <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ValueError("it is compressed by a method other than deflate")
    return {member.filename: archive.read(member) for member in archive.infolist()}


def check_npy(content: bytes) -> AnyArray:
    """Return the read-only array in the format of NumPy, if its declared shape is exactly what the bytes hold."""
    file = BytesIO(content)
    headers: dict[Any, Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, fortran, dtype = headers[np.lib.format.read_magic(file)](file)
    if dtype.kind not in "biufcUSmM" or not dtype.itemsize:
        raise ValueError(f"an array of {dtype} is not plain numbers or strings")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError(f"the shape {shape} does not fit its {len(content) - file.tell()} bytes")
    data = file.read()
    if dtype.kind == "U" and (np.frombuffer(data, f"{dtype.byteorder}u4") > sys.maxunicode).any():
        raise ValueError("its strings hold invalid characters")
    return np.ndarray(shape, dtype, data, order="F" if fortran else "C")


def _memory() -> float:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf
