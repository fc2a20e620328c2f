"""Measures back to long tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._checks import choice
from .._typing import AnyArray
from ..core import ragged
from ..exceptions import InvalidParameterError, MissingDependencyError
from ._packed import Packed

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(packed: Packed, columns: Sequence[str] | None, by: str, library: str) -> Any:
    """Return the long table of a data-frame library."""
    import narwhals as nw

    backend: Any = choice(library, "library", LIBRARIES)
    try:
        __import__(library)
    except ImportError:
        raise MissingDependencyError(
            f"`library` is {library!r}, which is not installed: pip install {library}"
        ) from None
    return nw.from_dict(long_columns(packed, columns, by), backend=backend).to_native()


def long_columns(packed: Packed, columns: Sequence[str] | None, by: str) -> dict[str, AnyArray]:
    """Return the columns of the long table by their names: measure, coordinates, weight."""
    dim = packed.points.shape[1]
    grid = packed.support is not None and packed.support.shape is not None
    names = list(columns or (("row", "column") if grid else (f"x{i}" for i in range(dim))))
    if len(names) != dim:
        raise InvalidParameterError(f"`columns` must name the {dim} coordinates; got {len(names)} names.")
    keys = np.arange(len(packed)) if packed.keys is None else packed.keys
    pairs = [(by, keys[ragged.owners(packed.offsets)]), *zip(names, packed.points.T, strict=True)]
    pairs.append(("weight", packed.weights))
    if len(dict(pairs)) < len(pairs):
        raise InvalidParameterError(
            f"two columns would have one name: {', '.join(name for name, _ in pairs)}. Rename a column."
        )
    return dict(pairs)
