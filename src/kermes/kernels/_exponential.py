"""Exponential profiles of a distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import positive, real
from .._typing import FloatArray
from ..core import profiles
from ..divergences import Divergence
from ..engine import Engine
from ..measures import Measures
from ._base import RadialKernel, number


@dataclass(eq=False, repr=False)
class Exponential(RadialKernel):
    r"""Exponential kernel of a distance between measures.

    .. math:: k(\mu, \nu) = \exp\left(-\tfrac12 \left(d(\mu, \nu) / \ell\right)^h\right)

    With the power h = 2 this is :math:`\exp(-d^2 / (2 \ell^2))`, the Gaussian RBF with a distance between measures
    in place of the Euclidean one.

    Parameters
    ----------
    divergence : Divergence
        The distance d, such as ``divergences.Wasserstein(p=2)``.
    length_scale : float
        The length :math:`\ell`, in units of d. The median distance is a fair first guess.
    power : float
        The exponent h, in (0, 2]. Not a tunable hyperparameter of Gaussian processes.
    length_scale_bounds : pair of float or 'fixed'
        Where the marginal likelihood may look for the length scale; its gradient is in log(length_scale).
    engine : Engine, optional
        How distances are computed and remembered.

    Notes
    -----
    Positive definite for every length scale if and only if :math:`d^h` is conditionally negative definite
    (Schoenberg); ``divergence.claims(dim)`` says for which h that is proved. *Cost*: the distances once,
    then one exponential per entry for every new length scale.

    Examples
    --------
    >>> from kermes import Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0]])
    >>> kernels.Exponential(divergences.Wasserstein(), length_scale=2.0)(X).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    divergence: Divergence
    length_scale: float = 1.0
    power: float = 2.0
    length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5)
    engine: Engine | None = None

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        positive(self.length_scale, "length_scale")  # refused before distances are computed
        K, derivatives = self.profile(self.distances(X, Y), gradient)
        return K, np.stack(derivatives, axis=2) if gradient else None

    def distances(self, X: Measures, Y: Measures | None) -> FloatArray:
        """Return d^2 for the power 2, otherwise d: the regularised Sinkhorn value may be negative and have no root."""
        if self._power() == 2.0:
            return self._squares(X, Y, self.divergence)
        D = self._distances(X, Y)
        if self._power() != 1.0:
            self._refuse_negative(D, f"power {self.power}", "power=2 or 1, or ")
        return D

    def profile(self, D: FloatArray, gradient: bool) -> tuple[FloatArray, list[FloatArray]]:
        """Return the kernel from what :meth:`distances` returned, and its derivative in log(length_scale) or none."""
        length_scale, power = positive(self.length_scale, "length_scale"), self._power()
        exponent = profiles.squared_exponent(D, length_scale) if power == 2.0 else (D / length_scale) ** power
        K = profiles.exponential(exponent)
        return K, [profiles.exponential_log_gradient(exponent, K, power)] if gradient else []

    def _power(self) -> float:
        return real(self.power, "power", low=0.0, high=2.0, open_low=True)

    @property
    def _needed_type(self) -> float:
        return self.power

    def __repr__(self) -> str:
        return f"Exponential({self.divergence!r}, length_scale={number(self.length_scale)}, power={number(self.power)})"
