"""Leave-one-out predictions of Gaussian processes, without refitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, special

from .._typing import ArrayLike, FloatArray
from ..estimators._measure_gp import target_units
from ..exceptions import InvalidParameterError, UnsuitableDataError


@dataclass(frozen=True)
class LeaveOneOut:
    """Predictions of each training target from all others.

    Parameters
    ----------
    targets, means, stds : ndarray of shape (n,)
        The targets, and mean and standard deviation predicted for them, in units of the targets.
    """

    targets: FloatArray
    means: FloatArray
    stds: FloatArray

    @property
    def residuals(self) -> FloatArray:
        """Standardised errors, (n,): like draws of a standard normal if the process is right."""
        return (self.targets - self.means) / self.stds

    @property
    def log_densities(self) -> FloatArray:
        """Logarithms of the predictive densities at the targets, (n,); their sum compares models."""
        return np.asarray(-0.5 * self.residuals**2 - np.log(self.stds) - 0.5 * np.log(2 * np.pi))

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.mean((self.targets - self.means) ** 2)))

    def coverage(self, levels: ArrayLike = (0.5, 0.8, 0.9, 0.95)) -> FloatArray:
        """Return the share of targets inside the central intervals of the given probabilities.

        Calibrated processes have shares near the levels; for n targets they scatter by
        ``sqrt(level * (1 - level) / n)`` or so.
        """
        asked = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if asked.ndim != 1 or not ((asked > 0) & (asked < 1)).all():
            raise InvalidParameterError(f"`levels` must be probabilities between 0 and 1; got {levels!r}.")
        widths = special.ndtri(0.5 + asked / 2)
        return np.asarray((np.abs(self.residuals)[None] <= widths[:, None]).mean(axis=1))

    def __repr__(self) -> str:
        half, most = self.coverage((0.5, 0.9))
        return (
            f"LeaveOneOut({len(self.targets)} targets, RMSE {self.rmse:.2g}, mean log density "
            f"{self.log_densities.mean():.2f}; {half:.0%} in 50%, {most:.0%} in 90%)"
        )


def leave_one_out(gp: Any) -> LeaveOneOut:
    r"""Return what a fitted Gaussian process predicts for each training target without having seen it.

    .. math:: \mu_{-i} = y_i - \frac{[K^{-1} y]_i}{[K^{-1}]_{ii}}, \qquad \sigma_{-i}^2 = \frac{1}{[K^{-1}]_{ii}}

    with the kernel matrix K, noise included, so that these are predictions of observations.

    Parameters
    ----------
    gp : fitted GaussianProcessRegressor, MeasureGPRegressor or EquivalentWassersteinGP
        With one output.

    Notes
    -----
    Equal to refitting without each sample at fixed hyperparameters and with the targets standardised as they
    are. Hyperparameters have seen all targets, so a little optimism remains. *Cost*: :math:`O(n^3)`, once.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import EquivalentWassersteinGP, Measures, inspection
    >>> a = np.linspace(0.05, 0.95, 19)
    >>> X = Measures.from_histograms(np.column_stack([a, 1 - a]), support=[0.0, 1.0])
    >>> y = np.sin(6 * a) + np.random.default_rng(0).normal(0, 0.1, 19)
    >>> inspection.leave_one_out(EquivalentWassersteinGP(random_state=0).fit(X, y))
    LeaveOneOut(19 targets, RMSE 0.087, mean log density 1.01; 47% in 50%, 89% in 90%)
    """
    gp = getattr(gp, "gp_", gp)
    if not hasattr(gp, "L_"):
        raise InvalidParameterError(
            "`gp` must be a fitted Gaussian process regressor, such as MeasureGPRegressor(kernel).fit(X, y); got "
            f"{gp!r}."
        )
    y = np.asarray(gp.y_train_, dtype=np.float64)
    if y.ndim > 1 and y.shape[1] > 1:
        raise UnsuitableDataError(f"leave-one-out takes one output; `gp` has {y.shape[1]}. Fit one process for each.")
    if len(y) < 2:
        raise UnsuitableDataError("leave-one-out needs at least two training samples; got one.")
    # The diagonal of K^-1 = L^-T L^-1: squared columns of L^-1.
    inverse = linalg.solve_triangular(gp.L_, np.eye(len(y)), lower=True, check_finite=False)
    precision = np.einsum("ij,ij->j", inverse, inverse)
    y = y.ravel()
    means = y - np.ravel(gp.alpha_) / precision
    shift, scale = target_units(gp)
    return LeaveOneOut(shift + scale * y, shift + scale * means, scale / np.sqrt(precision))
