"""Collections in ``.npz`` files: plain arrays, readable anywhere, never pickled."""

from __future__ import annotations

import contextlib
import hashlib
from os import PathLike, fspath

import numpy as np

from .._atomic import whole
from .._foreign import read_npz
from .._typing import AnyArray
from ..exceptions import InvalidFileError, InvalidMeasureError
from ._build import pack, refuse_repeated
from ._packed import Packed, Support

#: Format 1 has no digest.
FORMAT = 2


def save(packed: Packed, path: str | PathLike[str]) -> None:
    """Write ``packed`` to ``path`` exactly as named."""
    arrays = {
        "kermes_format": np.array(FORMAT),
        "points": packed.points,
        "weights": packed.weights,
        "offsets": packed.offsets,
    }
    if packed.support is not None and packed.atoms is not None:
        arrays |= {
            "atoms": packed.atoms,
            "support": packed.support.points,
            "grid": np.array(packed.support.shape or (0, 0)),
            "spacing": np.array(packed.support.spacing),
        }
    if packed.keys is not None:
        arrays["keys"] = packed.keys
    arrays["digest"] = np.array(_digest(packed))
    with whole(path) as fresh, open(fresh, "wb") as file:  # an open file keeps NumPy from appending a suffix
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load(path: str | PathLike[str]) -> Packed:
    """Read what :func:`save` wrote; nothing is taken on trust."""
    try:
        arrays = read_npz(path)
    except InvalidFileError as error:
        raise InvalidMeasureError(
            f"{fspath(path)!r} is not a file of measures written by Measures.save: {error}"
        ) from error
    if "kermes_format" not in arrays or not {"points", "weights", "offsets"} <= set(arrays):
        raise InvalidMeasureError(f"{fspath(path)!r} is not a file of measures; it must be written by Measures.save.")
    number, sound = FORMAT, False
    with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
        number = int(arrays["kermes_format"])
        packed = _packed(arrays)
        sound = packed.is_sound() and (number == 1 or str(arrays["digest"]) == _digest(packed))
    if number > FORMAT:
        raise InvalidMeasureError(
            f"{fspath(path)!r} was written by a newer kermes (format {number}; this one reads {FORMAT}). Upgrade it."
        )
    if not sound:
        raise InvalidMeasureError(f"{fspath(path)!r} is damaged: its arrays do not fit together. Write it again.")
    if packed.support is not None:
        refuse_repeated(packed.support.points)
    return pack(packed.points, packed.weights, packed.offsets, packed.support, packed.atoms, packed.keys)


def _digest(packed: Packed) -> str:
    """Return the digest of all that is in a file: one whose directory is damaged may seem to hold less."""
    keys = b"" if packed.keys is None else packed.keys.tobytes()
    return hashlib.blake2b(packed.fingerprint.encode() + keys, digest_size=16).hexdigest()


def _packed(arrays: dict[str, AnyArray]) -> Packed:
    """Return the arrays in their types; complex numbers, strings and fractions are a ValueError."""
    numbers = {
        name: arrays[name].astype(dtype, casting="same_kind")
        for name, dtype in (("points", float), ("weights", float), ("offsets", np.int64), ("atoms", np.int64))
        if name in arrays
    }
    support = None
    if "support" in arrays:
        height, width = (int(side) for side in arrays["grid"])
        shape = (height, width) if height else None
        support = Support(arrays["support"].astype(float, casting="same_kind"), shape, float(arrays["spacing"]))
    return Packed(support=support, keys=arrays.get("keys"), **numbers)
