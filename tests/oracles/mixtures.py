"""Mixtures of exponentials of integrals, atom by atom."""

import numpy as np


def phi(measures, functions, weights):
    """phi of the sum of the measures."""
    total = 0.0
    for f, w in zip(functions, weights, strict=True):
        integral = sum(a * f(x[None])[0] for m in measures for x, a in zip(m.points, m.weights, strict=True))
        total += w * np.exp(-integral)
    return total
