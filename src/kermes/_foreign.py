"""Files that others made: limits before memory is taken, and errors that name the file.

Whatever a decoder raises on damaged bytes becomes an ``InvalidFileError``. A compressed file may expand to ``FREE``
bytes or to ``RATIO`` times its own size, whichever is more, and never beyond the memory of the machine.
"""

from __future__ import annotations

import gzip
import math
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ._typing import AnyArray
from .exceptions import InvalidFileError, KermesError

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
        raise InvalidFileError(f"{os.fspath(path)!r} is not {what}, or it is damaged ({reason}).") from error


def require_file(path: str | PathLike[str]) -> None:
    """Refuse pipes and devices, which may block or never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise InvalidFileError(f"{os.fspath(path)!r} is not a regular file; write its content to one first.")


def require_room(path: str | PathLike[str], size: int) -> None:
    """Refuse a file that would expand to ``size`` bytes, if that is more than it may."""
    limit = min(max(FREE, RATIO * os.path.getsize(path)), _memory())
    if size > limit:
        raise InvalidFileError(
            f"{os.fspath(path)!r} would expand to {size:,} bytes, more than the {limit:,} that a file of its size may; "
            "if you trust it, save it uncompressed."
        )


def is_gzip(path: str | PathLike[str]) -> bool:
    """Whether the name is that of a gzipped file."""
    return os.fspath(path).lower().endswith(".gz")


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, expanded if its name ends in ``.gz``."""
    require_file(path)
    if not is_gzip(path):
        require_room(path, os.path.getsize(path))
        return Path(path).read_bytes()
    content = bytearray()
    with decoding(path, "gzip"), gzip.open(path) as file:
        while chunk := file.read(CHUNK):
            content += chunk
            require_room(path, len(content))
    return bytes(content)


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
        require_room(path, sum(member.file_size for member in archive.infolist()))
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
        raise ValueError("its strings have characters that do not exist")
    return np.ndarray(shape, dtype, data, order="F" if fortran else "C")


def _memory() -> float:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf
