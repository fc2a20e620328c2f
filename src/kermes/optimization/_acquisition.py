"""Acquisitions: what an evaluation at a point is worth, given the mean and standard deviation of the surrogate there.

All are for *minimisation*, and greater is better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from .._checks import real
from .._typing import FloatArray

#: Below this z series in 1 / z^2 have all digits; above it the difference 1 - |z| r keeps twelve.
TAIL = -100.0
LOG_ROOT_2_PI = 0.5 * float(np.log(2 * np.pi))


class Worth(NamedTuple):
    """Scores (n,), and their derivatives in the mean and in the standard deviation (n,)."""

    score: FloatArray
    by_mean: FloatArray
    by_std: FloatArray


class Acquisition(ABC):
    """Base of the acquisitions: frozen parameters, and :meth:`worth`."""

    @abstractmethod
    def worth(self, mean: FloatArray, std: FloatArray, best: float) -> Worth:
        """Return scores to maximise, and their derivatives.

        Parameters
        ----------
        mean, std : ndarray of shape (n,)
            Of the function at n points; ``std`` is positive.
        best : float
            The least mean at evaluated points.
        """


@dataclass(frozen=True)
class ExpectedImprovement(Acquisition):
    r"""Expected improvement on the best value, :math:`E[(f^* - \xi - f(a))_+]`.

    .. math:: \mathrm{EI} = \sigma\, h(z), \qquad h(z) = \varphi(z) + z\, \Phi(z), \qquad z = (f^* - \xi - \mu) / \sigma

    Parameters
    ----------
    xi : float
        Improvements below it do not count, in units of the function; at least 0.

    Notes
    -----
    :meth:`worth` scores by log EI, which has the same order and a gradient where EI itself underflows.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import optimization
    >>> EI = optimization.ExpectedImprovement()
    >>> EI(np.array([0.0, 1.0]), np.array([1.0, 1.0]), best=0.0).round(4)
    array([0.3989, 0.0833])
    """

    xi: float = 0.0

    def __post_init__(self) -> None:
        real(self.xi, "xi", low=0.0)

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:
        r"""Return EI itself, :math:`g_+ + \sigma h(-|g| / \sigma)` with the gain :math:`g = f^* - \xi - \mu`."""
        gain = best - self.xi - np.asarray(mean)
        known = np.asarray(std) <= 0.0
        with np.errstate(over="ignore"):  # of z: h is 0
            z = -np.abs(gain) / np.where(known, 1.0, std)
        log_h = _improvement(z)[0]
        return np.asarray(np.maximum(gain, 0.0) + np.where(known, 0.0, std * np.exp(log_h)))

    def worth(self, mean: FloatArray, std: FloatArray, best: float) -> Worth:
        """Return log EI and its derivatives, see :class:`Acquisition`."""
        log_h, rise, fall = _improvement((best - self.xi - mean) / std)
        return Worth(np.log(std) + log_h, -rise / std, fall / std)


@dataclass(frozen=True)
class LowerConfidenceBound(Acquisition):
    r"""The optimist's guess: :math:`-(\mu - \kappa \sigma)`, the lower confidence bound with its sign turned.

    Parameters
    ----------
    kappa : float
        How many standard deviations below the mean are hoped for; 0 trusts the mean.

    Notes
    -----
    The function is *minimised*, so the bound is the lower one and the best point is where it is least; the score is
    its negative. For the maximum of g minimise -g: the score becomes the upper confidence bound (UCB) of g.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import optimization
    >>> optimization.LowerConfidenceBound(2.0)(np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    array([2., 3.])
    """

    kappa: float = 2.0

    def __post_init__(self) -> None:
        real(self.kappa, "kappa", low=0.0)

    def __call__(self, mean: FloatArray, std: FloatArray, best: float = np.inf) -> FloatArray:
        """Return the score; ``best`` does not matter."""
        return np.asarray(self.kappa * std - mean)

    def worth(self, mean: FloatArray, std: FloatArray, best: float) -> Worth:
        """Return the score and its derivatives, see :class:`Acquisition`."""
        return Worth(self(mean, std), np.full(len(mean), -1.0), np.full(len(mean), float(self.kappa)))


def _improvement(z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log h, h' / h = Phi / h and (h - z h') / h = phi / h for h = phi + z Phi, none of which underflows.

    With Mills' ratio r = Phi / phi, h = phi (1 - |z| r) for z < 0.
    """
    left, far, right = np.clip(z, TAIL, 0.0), np.minimum(z, TAIL), np.maximum(z, 0.0)
    mills = np.sqrt(np.pi / 2) * special.erfcx(-left / np.sqrt(2))
    rest = 1.0 + left * mills
    with np.errstate(over="ignore"):  # z^2 beyond 1e308: log h is minus infinity
        square = far**2
        density = -0.5 * z**2 - LOG_ROOT_2_PI
    # |z| r and z^2 (1 - |z| r), by their asymptotic series.
    series_of_mills = np.polynomial.polynomial.polyval(1.0 / square, [1.0, -1.0, 3.0, -15.0, 105.0])
    series_of_rest = np.polynomial.polynomial.polyval(1.0 / square, [1.0, -3.0, 15.0, -105.0, 945.0])
    phi, Phi = np.exp(-0.5 * right**2 - LOG_ROOT_2_PI), special.ndtr(right)
    h = phi + right * Phi
    tail = np.log(series_of_rest) - 2.0 * np.log(-far)
    cases = [z > 0, z < TAIL]
    log_h = np.select(cases, [np.log(h), density + tail], density + np.log(rest))
    rise = np.select(cases, [Phi / h, -far * series_of_mills / series_of_rest], mills / rest)
    fall = np.select(cases, [phi / h, square / series_of_rest], 1.0 / rest)
    return log_h, rise, fall
