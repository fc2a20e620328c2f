"""Names for the array types that appear in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.int64]
StatusArray: TypeAlias = NDArray[np.uint8]
AnyArray: TypeAlias = NDArray[Any]

__all__ = ["AnyArray", "ArrayLike", "FloatArray", "IndexArray", "StatusArray"]
