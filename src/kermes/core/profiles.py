"""Profiles phi(d) that turn distances into kernel values, with derivatives in log theta."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def squared_exponent(squares: FloatArray, length_scale: float) -> FloatArray:
    """Return d^2 / l^2 for every length scale, also where l^2 is no normal number; at most the largest number."""
    square = length_scale * length_scale
    normal = np.finfo(np.float64)
    if normal.tiny <= square <= normal.max:
        return squares / square
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(squares / length_scale / length_scale, -normal.max, normal.max))


def exponential(exponent: FloatArray) -> FloatArray:
    """Return exp(-(d / l)^h / 2)."""
    return np.exp(-0.5 * exponent)


def exponential_log_gradient(exponent: FloatArray, kernel: FloatArray, power: float) -> FloatArray:
    """Return d/d(log l) of the above: k (h / 2) (d / l)^h."""
    return kernel * (0.5 * power) * exponent
