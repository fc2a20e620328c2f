"""What a store says of itself: format, versions, divergence, data, plan."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..divergences import Divergence
from ..exceptions import StoreError
from ..measures import Measures
from . import _plan
from ._identity import describe
from ._scale import Scale

#: Of the layout of stores; one of another format is refused.
FORMAT = 1

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
    }


def plan(tile: tuple[int, int], n: int, m: int) -> Manifest:
    """Return in which pieces they are computed and kept."""
    return {"tile": list(tile), "chunk": _plan.chunk_side(tile, n, m)}


def versions() -> dict[str, str]:
    """Return the versions that may change the last digits."""
    return {"kermes": version("kermes"), "numpy": np.__version__}


def refuse_other(there: Manifest, here: Manifest, path: Path) -> None:
    """Refuse a store of something else, and name all that differs."""
    differences: list[str] = []
    if there["divergence"] != here["divergence"]:
        differences += _differences(there["divergence"], here["divergence"])
    for name in ("X", "Y"):
        if there[name] != here[name]:
            axis = "XY".index(name)
            sizes = there["shape"][axis], here["shape"][axis]
            what = f"it has {sizes[0]} measures, not {sizes[1]}" if sizes[0] != sizes[1] else "its measures are others"
            differences.append(f"the data `{name}` ({what})")
    if there["dtype"] != here["dtype"]:
        differences.append(f"`dtype` (stored {there['dtype']}, asked for {here['dtype']})")
    if differences:
        raise StoreError(
            f"`store` {path} holds other distances; what differs: {'; '.join(differences)}. One store holds the "
            "distances of one divergence between the same measures in the same order: use another path."
        )


def _differences(there: dict[str, str], here: dict[str, str]) -> Iterable[str]:
    for name in {**there, **here}:
        stored, asked = there.get(name, "absent"), here.get(name, "absent")
        if stored != asked:
            yield f"`{name}` (stored {stored}, asked for {asked})"
