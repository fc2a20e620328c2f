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


def exponent(D: FloatArray, length_scale: float, power: float) -> FloatArray:
    """Return (d / l)^h, from d^2 for h = 2 and from d otherwise; at most the largest number, whose k and k' are 0."""
    if power == 2.0:
        return squared_exponent(D, length_scale)
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum((D / length_scale) ** power, np.finfo(np.float64).max))


def exponential(exponent: FloatArray) -> FloatArray:
    """Return exp(-(d / l)^h / 2)."""
    return np.exp(-0.5 * exponent)


def exponential_log_gradient(exponent: FloatArray, kernel: FloatArray, power: float) -> FloatArray:
    """Return d/d(log l) of the above: k (h / 2) (d / l)^h."""
    return kernel * (0.5 * power) * exponent
