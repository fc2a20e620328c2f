"""The entropic distance as published code computes it: plain iterations that stop early, and no correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import Measures
from ...divergences import Claims, Divergence, Tile
from .._paper import AnyArray, FloatArray

#: Most iterations of a pair; a few dozen are enough.
MOST = 1000


@dataclass(frozen=True)
class EarlySinkhorn(Divergence):
    """<P, C> of the plan at which plain scalings first leave an L1 error of the rows below ``tol``; C is Euclidean."""

    epsilon: float
    tol: float = 5e-2
    biased: ClassVar[bool] = False

    @property
    def power(self) -> float:
        """Tiles hold distances."""
        return 1.0

    def claims(self, dim: int) -> Claims:
        """Nothing is known."""
        return Claims(None, None, "iterations that stop early")

    def prepare(self, X: Measures) -> list[Any]:
        """Return points and probabilities."""
        return [(mu.points, mu.weights / mu.mass) for mu in X]

    def tile(self, A: list[Any], B: list[Any], rows: AnyArray, cols: AnyArray, triangle: bool) -> Tile:
        """Compute the pairs one by one."""
        values = np.zeros((len(rows), len(cols)))
        for i, row in enumerate(rows):
            for j in range(i + 1 if triangle else 0, len(cols)):
                values[i, j] = self._value(*A[row], *B[cols[j]])
        return Tile(values)

    def _value(self, x: FloatArray, a: FloatArray, y: FloatArray, b: FloatArray) -> float:
        C = np.sqrt(((x[:, np.newaxis] - y) ** 2).sum(axis=2))
        K = np.exp(-C / self.epsilon)
        u = np.ones(len(a))
        for _ in range(MOST):
            v = b / (u @ K)
            sums = K @ v
            if np.abs(u * sums - a).sum() < self.tol:
                break
            u = a / sums
        return float(u @ (K * C) @ v)
