"""Laws of the eigenvalues of a symmetric matrix: rounding, negative mass, repairs, features."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray


def rounding(values: FloatArray) -> float:
    """Return n eps max|lambda|: computed eigenvalues of smaller size may be zero, of either sign."""
    return float(len(values) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0))


def negative_mass(values: FloatArray) -> float:
    """Return sum of |negative eigenvalues| / sum of |all eigenvalues|; 0 for the zero matrix."""
    total = np.abs(values).sum()
    return float(np.abs(values[values < 0]).sum() / total) if total > 0 else 0.0


def factors(values: FloatArray, how: str) -> FloatArray:
    """Return g with repaired eigenvalue = g lambda: 0 (clip) or -1 (flip) below zero, 1 elsewhere.

    Values within rounding of zero keep g = 1, so that a semidefinite matrix is left alone.
    """
    return np.where(values < -rounding(values), 0.0 if how == "clip" else -1.0, 1.0)


def shift(values: FloatArray) -> float:
    """Return what must be added to the diagonal: minus the smallest eigenvalue, 0 if it is not negative."""
    smallest = values.min()
    return float(-smallest) if smallest < -rounding(values) else 0.0


def compose(values: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the exactly symmetric matrix V diag(values) V'."""
    product = (vectors * values) @ vectors.T
    return np.asarray((product + product.T) / 2.0)
