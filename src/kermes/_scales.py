"""The scale of a collection: the median of the distances between samples that differ, a unit for their squares."""

from __future__ import annotations

import math

import numpy as np

from ._typing import FloatArray


def median_distance(distances: FloatArray) -> float:
    """Return the median of the positive entries; 1 if there are none, a scale like any other for equal samples."""
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def unit_of(values: FloatArray) -> float:
    """Return the power of 2 next to the largest size; divided by it, no digit changes and squares stay in range."""
    largest = float(np.abs(values).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0
