"""Jensen differences of the entropy of the Gaussian density that fits a measure best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import FloatArray, IndexArray
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Claims, empty_tile
from ._features import moments
from .jensen import Jensen

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

    def prepare(self, X: Measures, context: None) -> Moments | Marginals:
        """Compute the moments, and refuse measures whose covariance is singular."""
        from ..core.moments import Marginals, Moments, half_log_dets

        means = X.expectation(X.points)
        centred = X.points - np.repeat(means, X.sizes, axis=0)
        with np.errstate(over="ignore", under="ignore"):  # checked next
            variances = X.expectation(centred**2)
        _check_spread(X, variances)
        if self.diagonal or X.dim == 1:
            return Marginals(means, np.sqrt(variances), self.beta * (UNIT * X.dim + np.log(variances).sum(axis=1)))
        _, covariances = moments(X, lambda points: points, X.dim)
        _check_rank(X, covariances)
        values = np.empty(len(X))
        half_log_dets(covariances, 0.0, values)
        return Moments(means, covariances, self._entropies(values, X.dim))

    def values(self, A: Moments | Marginals) -> FloatArray:
        """Return what ``prepare`` computed."""
        return A.values

    def mean_values(
        self, A: Moments | Marginals, B: Moments | Marginals, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> FloatArray:
        """Return h of the means."""
        from ..core.moments import Moments, half_log_det_means

        out = empty_tile(rows, cols)
        if isinstance(A, Moments) and isinstance(B, Moments):
            half_log_det_means(0.0, A, rows, B, cols, triangle, out)
            return self._entropies(out, A.means.shape[1])
        apart = 0.5 * (A.values[rows][:, None] + B.values[cols][None])
        return apart + self.tile(A, B, rows, cols, triangle)[0]

    def tile(
        self, A: Moments | Marginals, B: Moments | Marginals, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, None]:
        """Return J; axis by axis without a difference of logarithms."""
        from ..core.moments import Marginals, log_variance_gaps

        if not isinstance(A, Marginals) or not isinstance(B, Marginals):
            return super().tile(A, B, rows, cols, triangle)
        out = empty_tile(rows, cols)
        log_variance_gaps(A, rows, B, cols, triangle, out)
        return self.beta * out, None

    def _entropies(self, half_log_dets: FloatArray, dim: int) -> FloatArray:
        return self.beta * (UNIT * dim + 2.0 * half_log_dets)

    def work(self, X: Measures, Y: Measures, context: Any) -> float:
        """A logarithm per axis, or a Cholesky factorisation."""
        d = float(X.dim)
        return 20.0 * d if self.diagonal else d**3 / 3.0 + 3.0 * d**2 + 20.0 * d


def _check_spread(X: Measures, variances: FloatArray) -> None:
    if not np.isfinite(variances).all():
        raise UnsuitableDataError("the second moments of the points overflow; divide the coordinates by a common unit.")
    largest = np.maximum.reduceat(np.abs(X.points), X.offsets[:-1], axis=0)
    flat = variances <= (NO_SPREAD * largest) ** 2
    if flat.any():
        i, axis = np.argwhere(flat)[0]
        raise _degenerate(X, int(i), f"its coordinate {axis} does not vary")


def _check_rank(X: Measures, covariances: FloatArray) -> None:
    deviations = np.sqrt(np.einsum("ijj->ij", covariances))
    correlations = covariances / (deviations[:, :, None] * deviations[:, None])
    singular = np.linalg.eigvalsh(correlations)[:, 0] <= SINGULAR
    if singular.any():
        i = int(np.argmax(singular))
        raise _degenerate(X, i, f"its {X.sizes[i]} atoms span less than all {X.dim} dimensions")


def _degenerate(X: Measures, i: int, reason: str) -> UnsuitableDataError:
    return UnsuitableDataError(
        f"measure {X.rows[i]} has a singular covariance ({reason}), so that its Gaussian density has no entropy. Leave "
        "such measures out, give them more atoms, or use divergences.GeneralizedVariance, which regularises."
    )
