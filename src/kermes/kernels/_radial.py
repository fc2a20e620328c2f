"""Profiles of a distance over a length scale: exponential and Matern."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter

from .._checks import positive, real
from .._typing import FloatArray
from ..core import profiles
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError, NumericalError
from ..measures import Measures
from ._base import MeasureKernel, number

#: Smoothness for which the profile is a polynomial times an exponential.
SMOOTHNESS = (0.5, 1.5, 2.5)
#: The exponential of minus this is 0, and the polynomial before it still finite.
FAR = 1000.0


class RadialKernel(MeasureKernel):
    """Base of the kernels that are a profile of d / length_scale, whose length scale Gaussian processes tune."""

    divergence: Divergence
    length_scale_bounds: tuple[float, float] | str

    @property
    @abstractmethod
    def _needed_type(self) -> float:
        """The power h for which d^h must be conditionally negative definite for the kernel to be positive definite."""

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return whether the kernel is proved positive definite on R^dim; None if unknown."""
        known = self.divergence.claims(dim).negative_type
        return True if known is not None and known >= self._needed_type else None

    def _distances(self, X: Measures, Y: Measures | None) -> FloatArray:
        return np.asarray(pairwise(X, Y, divergence=self.divergence, engine=self.engine))

    def _refuse_negative(self, D: FloatArray, lacks: str, remedy: str) -> None:
        """Refuse distances below 0, which the regularised Sinkhorn value may be."""
        if (D < 0).any():
            i, j = np.argwhere(D < 0)[0]
            raise NumericalError(
                f"{self.divergence!r} is negative, {D[i, j]:.3g}, for `X[{i}]` and `Y[{j}]`, and has no {lacks}. "
                f"Use {remedy}another value of the divergence."
            )

    def __post_init__(self) -> None:
        if isinstance(self.divergence, Measures):  # SVC(kernel=Exponential) calls the class with the data
            raise InvalidParameterError(
                "`divergence` must be a divergence, not measures. Pass a kernel object, such as "
                f"{type(self).__name__}(divergences.Wasserstein()), not the class."
            )

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The one hyperparameter that a Gaussian process tunes."""
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)


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
        exponent = profiles.exponent(D, length_scale, power)
        K = profiles.exponential(exponent)
        return K, [profiles.exponential_log_gradient(exponent, K, power)] if gradient else []

    def _power(self) -> float:
        return real(self.power, "power", low=0.0, high=2.0, open_low=True)

    @property
    def _needed_type(self) -> float:
        return self.power

    def __repr__(self) -> str:
        return f"Exponential({self.divergence!r}, length_scale={number(self.length_scale)}, power={number(self.power)})"


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
    divergence, length_scale, length_scale_bounds, engine
        As in :class:`Exponential`.
    nu : 0.5, 1.5 or 2.5
        The smoothness :math:`\nu`. Not a tunable hyperparameter of Gaussian processes.

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
        decay = np.exp(-s)
        K = np.asarray({0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[nu] * decay)
        if not gradient:
            return K, None
        derivative = {0.5: s, 1.5: s * s, 2.5: s * s * (1.0 + s) / 3.0}[nu]  # d/d(log l) is -s k'(s)
        return K, (derivative * decay)[:, :, None]

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
