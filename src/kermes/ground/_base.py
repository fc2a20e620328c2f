"""What costs and point kernels have in common."""

from __future__ import annotations

import numpy as np

from .._typing import ArrayLike, FloatArray
from ..exceptions import InvalidParameterError


def coordinates(points: ArrayLike, name: str) -> FloatArray:
    """Return points (n, d) or (n,) as the (d, n) layout of the cores."""
    array = np.asarray(points, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2:
        raise InvalidParameterError(f"`{name}` must be points of shape (n, d) or (n,); got {array.shape}.")
    return np.ascontiguousarray(array.T)


def point_blocks(x: ArrayLike, y: ArrayLike | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both point sets in core layout and an empty (n, m) block."""
    a = coordinates(x, "x")
    b = a if y is None else coordinates(y, "y")
    if a.shape[0] != b.shape[0]:
        raise InvalidParameterError(f"`x` has dimension {a.shape[0]}, `y` dimension {b.shape[0]}; they must agree.")
    return a, b, np.empty((a.shape[1], b.shape[1]))
