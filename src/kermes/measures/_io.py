"""Collections in ``.npz`` files: plain arrays, readable anywhere, never pickled."""

from __future__ import annotations

import zipfile
from os import PathLike, fspath

import numpy as np

from ..exceptions import InvalidMeasureError
from ._build import pack
from ._packed import Packed, Support

FORMAT = 1


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
    with open(path, "wb") as file:  # an open file keeps NumPy from appending a suffix
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load(path: str | PathLike[str]) -> Packed:
    """Read what :func:`save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, ValueError, TypeError, EOFError):  # TypeError: a plain array, no archive
        arrays = {}
    if "kermes_format" not in arrays or not {"points", "weights", "offsets"} <= set(arrays):
        raise InvalidMeasureError(f"{fspath(path)!r} is not a file of measures; it must be written by Measures.save.")
    if int(arrays["kermes_format"]) > FORMAT:
        raise InvalidMeasureError(
            f"{fspath(path)!r} was written by a newer kermes (format {int(arrays['kermes_format'])}, this one "
            f"reads {FORMAT}). Upgrade kermes."
        )
    support = None
    if "support" in arrays:
        height, width = (int(side) for side in arrays["grid"])
        shape = (height, width) if height else None
        support = Support(arrays["support"], shape, float(arrays["spacing"]))
    packed = Packed(
        arrays["points"], arrays["weights"], arrays["offsets"], support, arrays.get("atoms"), arrays.get("keys")
    )
    if not packed.is_sound():
        raise InvalidMeasureError(f"{fspath(path)!r} is damaged: its arrays do not fit together. Write it again.")
    return pack(packed.points, packed.weights, packed.offsets, packed.support, packed.atoms, packed.keys)
