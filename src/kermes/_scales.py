"""The scale of a collection: the median of the distances between samples that differ."""

from __future__ import annotations

import numpy as np

from ._typing import FloatArray


def median_distance(distances: FloatArray) -> float:
    """Return the median of the positive entries; 1 if there are none, a scale like any other for equal samples."""
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0
