"""Profiles phi(d) that turn distances into kernel values, with derivatives in log theta."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def exponential(exponent: FloatArray) -> FloatArray:
    """Return exp(-(d / l)^h / 2)."""
    return np.exp(-0.5 * exponent)


def exponential_log_gradient(exponent: FloatArray, kernel: FloatArray, power: float) -> FloatArray:
    """Return d/d(log l) of the above: k (h / 2) (d / l)^h."""
    return kernel * (0.5 * power) * exponent
