"""Profiles phi(d) that turn distances into kernel values, with derivatives in log theta."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def exponent(squared: FloatArray, length_scale: float, power: float) -> FloatArray:
    """Return (d / l)^h from squared distances; for h = 2 no root is taken."""
    scaled = squared / length_scale**2
    return scaled if power == 2.0 else scaled ** (0.5 * power)


def exponential(exponent: FloatArray) -> FloatArray:
    """Return exp(-(d / l)^h / 2)."""
    return np.exp(-0.5 * exponent)


def exponential_log_gradient(exponent: FloatArray, kernel: FloatArray, power: float) -> FloatArray:
    """Return d/d(log l) of the above: k (h / 2) (d / l)^h."""
    return kernel * (0.5 * power) * exponent
