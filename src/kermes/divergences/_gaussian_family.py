"""Jensen differences of the entropy of the Gaussian density that fits a measure best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import FloatArray, IndexArray
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Claims, Tile, filled
from ._features import Coordinates, centred_features, moments
from ._jensen import Jensen, JensenRoute

if TYPE_CHECKING:
    from ..core.moments import Marginals, Moments

#: Smallest eigenvalue of a correlation matrix that is not taken for rounding; log-determinants then keep 6 digits.
SINGULAR = 1e-10
#: A standard deviation below this part of the coordinates themselves is taken for rounding.
NO_SPREAD = 1e-13
#: ln(2 pi e): twice the entropy of a standard normal variable.
UNIT = float(np.log(2.0 * np.pi)) + 1.0


@dataclass(frozen=True)
class GaussianFamily(Jensen):
    """h = 2 beta times the entropy (1/2) ln((2 pi e)^d |S|), with the full covariance S or its diagonal."""

    beta: float
    diagonal: bool

    def claims(self, dim: int) -> Claims:
        """Negative definite axis by axis; with a full covariance only some powers are known."""
        if self.diagonal or dim == 1:
            return Claims(
                False, 2.0,
                "variances of means are negative definite, and so are their logarithms (Gamma integral of v^-p, p > 0);"
                " zero between measures of equal means and variances",
            )  # fmt: skip
        return Claims(
            False, None,
            "a metric of means and covariances (the S-divergence of augmented second moments, Sra 2016); zero between "
            "measures that share both", 2.0,
        )  # fmt: skip

    def semigroup_definite(self, t: float, dim: int) -> bool | None:
        """Return True where |S|^(-beta t) is a Gaussian or Wishart integral of positive definite kernels."""
        power = self.beta * t
        if (2.0 * power).is_integer() or power > (dim - 1) / 2.0:
            return True
        return super().semigroup_definite(t, dim)

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        """Return the route axis by axis, or with full covariances."""
        return _ByAxis(self.beta) if self.diagonal or X.dim == 1 else _Full(self.beta)


@dataclass(frozen=True)
class _ByAxis(JensenRoute):
    """J is a sum over axes, without a difference of logarithms."""

    beta: float

    def prepare(self, X: Measures) -> Marginals:
        from ..core.moments import Marginals

        means, tails, variances = (np.empty((len(X), X.dim)) for _ in range(3))
        with np.errstate(over="ignore", under="ignore"):  # checked next
            for rows, part in centred_features(X, Coordinates(X.dim)):
                means[rows], tails[rows] = part.means, part.tails
                variances[rows] = np.add.reduceat(part.packed**2, part.offsets[:-1], axis=0)
        _check_spread(X, variances)
        return Marginals(means, tails, np.sqrt(variances), self.beta * (UNIT * X.dim + np.log(variances).sum(axis=1)))

    def values(self, A: Marginals) -> FloatArray:
        return A.values

    def tile(self, A: Marginals, B: Marginals, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        from ..core.moments import log_variance_gaps

        return Tile(self.beta * filled(log_variance_gaps, A, rows, B, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """A logarithm per axis."""
        return 20.0 * X.dim


@dataclass(frozen=True)
class _Full(JensenRoute):
    """Log-determinants of covariances."""

    beta: float

    def prepare(self, X: Measures) -> Moments:
        from ..core.moments import Moments, half_log_dets

        means, tails, covariances = moments(centred_features(X, Coordinates(X.dim)), len(X), X.dim)
        _check_spread(X, np.einsum("ijj->ij", covariances))
        _check_rank(X, covariances)
        values = np.empty(len(X))
        half_log_dets(covariances, 0.0, values)
        return Moments(means, tails, covariances, self._entropies(values, X.dim), scale=1.0, ridge=0.0)

    def values(self, A: Moments) -> FloatArray:
        return A.values

    def mean_values(self, A: Moments, B: Moments, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        from ..core.moments import half_log_det_means

        none = np.zeros((len(rows), len(cols)), dtype=bool)
        return self._entropies(filled(half_log_det_means, A, rows, B, cols, triangle, none), A.means.shape[1])

    def rounding(self, A: Moments, B: Moments, rows: IndexArray, cols: IndexArray) -> float:
        """1e-15 over the determinant of the correlations, at least SINGULAR."""
        return 1e-15 / SINGULAR * self.beta

    def _entropies(self, half_log_dets: FloatArray, dim: int) -> FloatArray:
        return self.beta * (UNIT * dim + 2.0 * half_log_dets)

    def work(self, X: Measures, Y: Measures) -> float:
        """A Cholesky factorisation."""
        d = float(X.dim)
        return d**3 / 3.0 + 3.0 * d**2 + 20.0 * d


def _check_spread(X: Measures, variances: FloatArray) -> None:
    """Refuse measures that do not vary along an axis."""
    if not np.isfinite(variances).all():
        raise UnsuitableDataError("the second moments of the points overflow; divide the coordinates by a common unit.")
    largest = np.maximum.reduceat(np.abs(X.points), X.offsets[:-1], axis=0)
    flat = variances <= (NO_SPREAD * largest) ** 2
    if flat.any():
        i, axis = np.argwhere(flat)[0]
        raise _degenerate(X, int(i), f"its coordinate {axis} does not vary")


def _check_rank(X: Measures, covariances: FloatArray) -> None:
    spreads = np.sqrt(np.einsum("ijj->ij", covariances))
    correlations = covariances / (spreads[:, :, None] * spreads[:, None])
    singular = np.linalg.eigvalsh(correlations)[:, 0] <= SINGULAR
    if singular.any():
        i = int(np.argmax(singular))
        raise _degenerate(X, i, f"its {X.sizes[i]} atoms span less than all {X.dim} dimensions")


def _degenerate(X: Measures, i: int, reason: str) -> UnsuitableDataError:
    return UnsuitableDataError(
        f"measure {X.rows[i]} has a singular covariance ({reason}), so that its Gaussian density has no entropy. Leave "
        "such measures out, give them more atoms, or use divergences.GeneralizedVariance, which regularises."
    )
