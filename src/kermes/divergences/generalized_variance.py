"""Jensen difference of the generalised variance: the inverse generalised variance (IGV) kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import Claims, empty_tile
from .jensen import Jensen

__all__ = ["GeneralizedVariance"]


class _Atoms(NamedTuple):
    measures: list[tuple[FloatArray, FloatArray]]
    values: FloatArray


@dataclass(frozen=True)
class GeneralizedVariance(Jensen):
    """Jensen difference of half the log-determinant of the regularised covariance."""

    eta: float
    ground: PointKernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        positive(self.eta, "eta")
        if not isinstance(self.ground, PointKernel):
            raise InvalidParameterError(
                f"`ground` must be a point kernel such as ground.Gaussian(sigma=1.0); got {self.ground!r}."
            )

    def claims(self, dim: int) -> Claims:
        """Negative definite on the line with the linear ground; unknown elsewhere."""
        return Claims(None, None, "not known to be negative definite; exp(-t J) is positive definite for t = 1, 2, ...")

    def prepare(self, X: Measures, context: None) -> _Atoms:
        """Evaluate once per measure."""
        cuts = X.offsets[1:-1]
        measures = list(zip(np.split(X.points, cuts), np.split(X.probabilities, cuts), strict=True))
        return _Atoms(measures, np.array([self._value(*measure) for measure in measures]))

    def values(self, A: _Atoms) -> FloatArray:
        """Return h of each measure."""
        return A.values

    def mean_values(self, A: _Atoms, B: _Atoms, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        """Return h of the means."""
        out = empty_tile(rows, cols)
        for i, row in enumerate(rows):
            x, a = A.measures[row]
            for j in range(i + 1 if triangle else 0, len(cols)):
                y, b = B.measures[cols[j]]
                out[i, j] = self._value(np.concatenate([x, y]), np.concatenate([a, b]) / 2)
        return out

    def _value(self, points: FloatArray, weights: FloatArray) -> float:
        root = np.sqrt(weights)
        K = self.ground(points)
        mean = K @ weights
        K = K - mean[:, None] - mean[None] + weights @ mean
        return 0.5 * float(np.linalg.slogdet(np.eye(len(K)) + root[:, None] * K * root / self.eta)[1])

    def semigroup_definite(self, t: float, dim: int) -> bool | None:
        """Return True for t = 1, 2, ...: powers of det^(-1/2), a Gaussian integral of positive definite kernels."""
        if float(t).is_integer() or (isinstance(self.ground, Linear) and t > dim - 1):
            return True
        return None

    def work(self, X: Measures, Y: Measures) -> float:
        """A determinant of the pooled atoms."""
        return float(X.sizes.mean() + Y.sizes.mean()) ** 3
