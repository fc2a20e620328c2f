"""Matern profiles of a distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import positive
from .._typing import FloatArray
from ..divergences import Divergence
from ..engine import Engine
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._base import RadialKernel, number

#: Smoothness for which the profile is a polynomial times an exponential.
SMOOTHNESS = (0.5, 1.5, 2.5)
#: The exponential of minus this is 0, and the polynomial before it still finite.
FAR = 1000.0


@dataclass(eq=False, repr=False)
class Matern(RadialKernel):
    r"""Matern kernel of a distance between measures: rougher than the squared exponential.

    With :math:`s = \sqrt{2 \nu} \, d(\mu, \nu') / \ell`,

    .. math:: k_{1/2} = e^{-s}, \qquad k_{3/2} = (1 + s) \, e^{-s}, \qquad
              k_{5/2} = \left(1 + s + \tfrac13 s^2\right) e^{-s}.

    A Gaussian process with :math:`\nu = 5/2` has functions that are twice differentiable along curves of measures on
    which d is the length, with 1/2 only continuous ones.

    Parameters
    ----------
    divergence : Divergence
        The distance d, such as ``divergences.SlicedWasserstein()``.
    length_scale : float
        The length :math:`\ell`, in units of d. The median distance is a fair first guess.
    nu : 0.5, 1.5 or 2.5
        The smoothness :math:`\nu`. Not a tunable hyperparameter of Gaussian processes.
    length_scale_bounds : pair of float or 'fixed'
        Where the marginal likelihood may look for the length scale; its gradient is in log(length_scale).
    engine : Engine, optional
        How distances are computed and remembered.

    Notes
    -----
    *Positive definite* for every length scale if :math:`d^2` is conditionally negative definite: d is then the distance
    of a Hilbert space in which the measures lie (Schoenberg), and a Matern profile, a mixture of
    :math:`\exp(-t d^2)` over t > 0, is positive definite in every dimension. For :math:`\nu = 1/2` it is enough that d
    itself is conditionally negative definite. *Cost*: the distances once, then one exponential per entry.

    Examples
    --------
    >>> from kermes import Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0]])
    >>> kernels.Matern(divergences.Wasserstein(), length_scale=2.0, nu=1.5)(X).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    divergence: Divergence
    length_scale: float = 1.0
    nu: float = 1.5
    length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5)
    engine: Engine | None = None

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        length_scale, nu = positive(self.length_scale, "length_scale"), self._smoothness()
        D = self._distances(X, Y)
        self._refuse_negative(D, "Matern kernel", "")
        with np.errstate(over="ignore"):
            s = np.minimum(np.sqrt(2 * nu) * (D / length_scale), FAR)
        return matern(s, nu), matern_log_gradient(s, nu)[:, :, None] if gradient else None

    def _smoothness(self) -> float:
        if self.nu not in SMOOTHNESS:
            raise InvalidParameterError(
                f"`nu` must be 0.5, 1.5 or 2.5; got {self.nu!r}. Exponential has the limit of large nu."
            )
        return float(self.nu)

    @property
    def _needed_type(self) -> float:
        return 1.0 if self._smoothness() == 0.5 else 2.0

    def __repr__(self) -> str:
        return f"Matern({self.divergence!r}, length_scale={number(self.length_scale)}, nu={number(self.nu)})"


def matern(s: FloatArray, nu: float) -> FloatArray:
    """Return the profile of s = sqrt(2 nu) d / l."""
    polynomial = {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[nu]
    return np.asarray(polynomial * np.exp(-s))


def matern_log_gradient(s: FloatArray, nu: float) -> FloatArray:
    """Return d/d(log l) of the above, which is -s k'(s)."""
    polynomial = {0.5: s, 1.5: s * s, 2.5: s * s * (1.0 + s) / 3.0}[nu]
    return np.asarray(polynomial * np.exp(-s))
