"""What a store says of itself: format, versions, divergence, data, layout."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..divergences import Divergence
from ..exceptions import StoreError
from ..measures import Measures
from . import _tiling
from ._identity import describe
from ._scale import Scale

#: Of new stores. Format 1 differs in that its fingerprints do not cover a support, and it has no estimated errors.
FORMAT = 2
READABLE = (1, 2)

Manifest: TypeAlias = dict[str, Any]


def contents(dtype: str, divergence: Divergence, X: Measures, Y: Measures) -> Manifest:
    """Return what the distances are."""
    return {
        "format": FORMAT,
        **versions(),
        "divergence": describe(divergence),
        "scale": list(Scale.of(divergence)),
        "X": X._packed.fingerprint,
        "Y": Y._packed.fingerprint,
        "symmetric": X._packed.fingerprint == Y._packed.fingerprint,
        "shape": [len(X), len(Y)],
        "dtype": dtype,
        "error": divergence.estimates_error,
    }


def layout(tile: tuple[int, int], n: int, m: int) -> Manifest:
    """Return in which pieces they are computed and kept."""
    return {"tile": list(tile), "chunk": _tiling.chunk_side(tile, n, m)}


def versions() -> dict[str, str]:
    """Return the versions that may change the last digits."""
    return {"kermes": version("kermes"), "numpy": np.__version__}


def refuse_format(there: Manifest, path: Path) -> None:
    """Refuse a store that another version of kermes wrote in a way of its own."""
    if there["format"] not in READABLE:
        raise StoreError(
            f"`{path}` was written by kermes {there['kermes']} in the store format {there['format']}; this version "
            f"reads the formats {', '.join(map(str, READABLE))}. Use that version to read it."
        )


def refuse_other(there: Manifest, here: Manifest, path: Path) -> None:
    """Refuse a store of something else, and name all that differs."""
    differences: list[str] = []
    if there["divergence"] != here["divergence"]:
        differences += _differences(there["divergence"], here["divergence"])
    elif there["scale"][0] != here["scale"][0]:
        differences.append(f"the power that is kept (stored {there['scale'][0]:g}, now {here['scale'][0]:g})")
    for name in ("X", "Y"):
        if there[name] != here[name]:
            axis = "XY".index(name)
            sizes = there["shape"][axis], here["shape"][axis]
            what = f"it has {sizes[0]} measures, not {sizes[1]}" if sizes[0] != sizes[1] else "its measures are others"
            differences.append(f"the data `{name}` ({what})")
    if there["dtype"] != here["dtype"]:
        differences.append(f"`dtype` (stored {there['dtype']}, asked for {here['dtype']})")
    if differences:
        if there["format"] == 1:
            differences.append(
                "the format (1 does not know supports: of histograms and images it can be read, not continued)"
            )
        raise StoreError(
            f"`store` {path} holds other distances; what differs: {'; '.join(differences)}. One store holds the "
            "distances of one divergence between the same measures in the same order: use another path."
        )


def _differences(there: dict[str, str], here: dict[str, str]) -> Iterable[str]:
    for name in {**there, **here}:
        stored, asked = there.get(name, "absent"), here.get(name, "absent")
        if stored != asked:
            yield f"`{name}` (stored {stored}, asked for {asked})"
