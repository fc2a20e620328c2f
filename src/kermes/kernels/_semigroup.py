"""Semigroup kernels: functions of the mean of two measures, such as its entropy."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter

from .._checks import flag, positive
from .._typing import FloatArray
from ..divergences import GeneralizedVariance, Jensen, JensenShannon
from ..engine import Engine
from ..engine._engine import as_engine
from ..exceptions import InvalidParameterError
from ..ground import Gaussian, Linear, PointKernel
from ..measures import Measures, as_measures
from ._base import MeasureKernel, number


class SemigroupKernel(MeasureKernel):
    """What all kernels exp(-t J) and exp(-t h((mu + nu) / 2)) share; subclasses say which J and t."""

    normalized: bool

    @property
    @abstractmethod
    def jensen(self) -> Jensen:
        """The Jensen difference J."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """The factor t, as checked; proportional to the one hyperparameter."""

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        rate = self.rate  # checked before anything is computed
        flag(self.normalized, "normalized")
        exponent = self._squares(X, Y, self.jensen)
        if not self.normalized:  # h of the mean = J + (h(mu) + h(nu)) / 2
            left = self._concentrations(X)
            right = left if Y is None else self._concentrations(Y)
            exponent += 0.5 * (left[:, None] + right[None])
        exponent *= -rate
        K = np.exp(exponent)
        return K, (exponent * K)[:, :, np.newaxis] if gradient else None  # t dK/dt

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X: ones if normalised."""
        measures = as_measures(X)
        if self.normalized:
            return np.ones(len(measures))
        return np.asarray(np.exp(-self.rate * self._concentrations(measures)))

    def _concentrations(self, X: Measures) -> FloatArray:
        """Return h of each measure."""
        return as_engine(self.engine).concentrations(self.jensen, X)

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return whether the kernel is proved positive definite on R^dim; None if unknown."""
        return self.jensen.semigroup_definite(self.rate, dim)


class RateKernel(SemigroupKernel):
    """Semigroup kernels whose rate is a parameter of their own, ``t``, which Gaussian processes tune."""

    t: float
    t_bounds: tuple[float, float] | str

    @property
    def hyperparameter_t(self) -> Hyperparameter:
        """The one hyperparameter that a Gaussian process tunes."""
        return Hyperparameter("t", "numeric", self.t_bounds)

    @property
    def rate(self) -> float:
        return positive(self.t, "t")


@dataclass(eq=False, repr=False)
class Semigroup(RateKernel):
    r"""Semigroup kernel of a Jensen difference.

    .. math:: k(\mu, \nu) = \exp\left(-t J(\mu, \nu)\right), \qquad
              J(\mu, \nu) = h\left(\tfrac{\mu + \nu}{2}\right) - \tfrac12 \left(h(\mu) + h(\nu)\right)

    or, not normalised, :math:`\exp(-t h((\mu + \nu)/2))`: large when the two measures together are concentrated.

    Parameters
    ----------
    divergence : Jensen
        Which functional h: ``divergences.GeneralizedVariance``, ``JensenShannon``, ``ExponentialFamily``, or
        ``JensenDifference`` of your own.
    t : float
        The rate; greater values tell measures apart more sharply.
    normalized : bool
        Divide by the square roots of the diagonal, so that :math:`k(\mu, \mu) = 1`.
    t_bounds : pair of float or 'fixed'
        Where the marginal likelihood of a Gaussian process may look for t.
    engine : Engine, optional
        How the Jensen differences are computed and remembered.

    Notes
    -----
    *Positive definite* for every t if J is conditionally negative definite (Schoenberg): the Jensen-Shannon
    divergence is. For the generalised variance see :class:`IGV`. Both forms are positive definite for the same t: each
    is the other, scaled from both sides. *Cost*: J once per pair, then one exponential for every new t.

    Examples
    --------
    >>> from kermes import Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 2.0], [2.0, 4.0]])
    >>> kernels.Semigroup(divergences.GeneralizedVariance(eta=1.0), t=2.0)(X).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    divergence: Jensen
    t: float = 1.0
    normalized: bool = True
    t_bounds: tuple[float, float] | str = (1e-5, 1e5)
    engine: Engine | None = None

    @property
    def jensen(self) -> Jensen:
        """The divergence, if it is a Jensen difference."""
        if not isinstance(self.divergence, Jensen):
            raise InvalidParameterError(
                "`divergence` must be a Jensen difference such as divergences.GeneralizedVariance(eta=0.01); got "
                f"{self.divergence!r}. For other distances use kernels.Exponential; a functional of your own goes into "
                "divergences.JensenDifference(functional)."
            )
        return self.divergence

    def __repr__(self) -> str:
        return f"Semigroup({self.divergence!r}, t={number(self.t)}, normalized={self.normalized})"


@dataclass(eq=False, repr=False)
class IGV(SemigroupKernel):
    r"""Inverse generalised variance kernel; with a point kernel as ground, the kernelised one (k-IGV).

    .. math:: k(\mu, \nu) = \det\left(\tfrac1\eta \Sigma\left(\tfrac{\mu + \nu}{2}\right) + I\right)^{-p}

    with the covariance operator :math:`\Sigma` in the feature space of the ground kernel and the power p. Normalised,
    it is divided by the square roots of its diagonal:
    :math:`(\sqrt{|\Sigma_\mu / \eta + I| |\Sigma_\nu / \eta + I|} / |\Sigma_{(\mu + \nu)/2} / \eta + I|)^p`.

    Parameters
    ----------
    eta : float
        Regularisation, in units of a variance: directions with less variance than eta hardly count.
    ground : PointKernel
        ``ground.Linear()``: second moments of the points. ``ground.Gaussian(sigma=...)``: shapes.
    normalized : bool
        True is the form that learns better; False with ``power=1`` is exactly equation (3) of "Semigroup kernels on
        measures", whose values may be tiny: divide the Gram matrix by its mean diagonal before a solver sees it.
    power : float
        The exponent p.
    power_bounds : pair of float or 'fixed'
        Where the marginal likelihood of a Gaussian process may look for p; fixed by default, since not every power is
        positive definite.
    engine : Engine, optional
        How determinants are computed and remembered.

    Notes
    -----
    *Positive definite* for p = 1/2 (the proof of proposition 3 of "Semigroup kernels on measures" writes it as a
    Gaussian integral) and therefore for its multiples 1, 3/2, ...; for the linear ground in d dimensions also for every
    p > (d - 1) / 2 (Gindikin). Otherwise unknown. *Cost*: see ``divergences.GeneralizedVariance``.

    Examples
    --------
    >>> from kermes import Measures, kernels
    >>> X = Measures.from_samples([[0.0, 2.0], [2.0, 4.0]])
    >>> kernels.IGV(eta=1.0, normalized=False)(X).round(3)
    array([[0.5  , 0.333],
           [0.333, 0.5  ]])
    """

    eta: float
    ground: PointKernel | None = None
    normalized: bool = True
    power: float = 1.0
    power_bounds: tuple[float, float] | str = "fixed"
    engine: Engine | None = None

    @property
    def hyperparameter_power(self) -> Hyperparameter:
        """The one hyperparameter that a Gaussian process may tune."""
        return Hyperparameter("power", "numeric", self.power_bounds)

    @property
    def jensen(self) -> Jensen:
        """J of h = log det(...) / 2."""
        return GeneralizedVariance(self.eta, Linear() if self.ground is None else self.ground)

    @property
    def rate(self) -> float:
        """det^-p = exp(-2 p h)."""
        return 2.0 * positive(self.power, "power")

    def __repr__(self) -> str:
        ground = "" if self.ground is None else f", {self.ground!r}"
        return f"IGV(eta={number(self.eta)}{ground}, normalized={self.normalized}, power={number(self.power)})"


@dataclass(eq=False, repr=False)
class Entropy(RateKernel):
    r"""Entropy kernel: close to 1 when the mean of two measures has hardly more entropy than each of them.

    .. math:: k(\mu, \nu) = \exp\left(-t J(\mu, \nu)\right), \qquad
              J(\mu, \nu) = h\left(\tfrac{\mu + \nu}{2}\right) - \tfrac12 \left(h(\mu) + h(\nu)\right)

    with the entropy h and the Jensen-Shannon divergence J, in nats; not normalised,
    :math:`\exp(-t h((\mu + \nu)/2))`.

    Parameters
    ----------
    t, normalized, t_bounds, engine
        As in :class:`Semigroup`. Normalised values lie between :math:`2^{-t}` and 1.
    smoothing : ground.Gaussian, optional
        None for histograms, images and samples of whole numbers; ``ground.Gaussian(sigma=...)`` for clouds, which are
        smoothed to densities. See :class:`~kermes.divergences.JensenShannon`.

    Notes
    -----
    *Positive definite* for every t > 0: J is conditionally negative definite, so the kernel is infinitely divisible
    (proposition 1 of "Semigroup kernels on measures"). *Cost*: that of ``divergences.JensenShannon`` once per
    pair, then one exponential for every new t.

    Examples
    --------
    >>> from kermes import Measures, kernels
    >>> X = Measures.from_histograms([[1, 0, 0], [0, 1, 0], [1, 1, 0]], support=[0.0, 1.0, 2.0])
    >>> kernels.Entropy(t=1.0)(X).round(3)
    array([[1.   , 0.5  , 0.806],
           [0.5  , 1.   , 0.806],
           [0.806, 0.806, 1.   ]])
    """

    t: float = 1.0
    smoothing: Gaussian | None = None
    normalized: bool = True
    t_bounds: tuple[float, float] | str = (1e-5, 1e5)
    engine: Engine | None = None

    @property
    def jensen(self) -> JensenShannon:
        return JensenShannon(self.smoothing)

    def __repr__(self) -> str:
        smoothing = "" if self.smoothing is None else f", smoothing={self.smoothing!r}"
        return f"Entropy(t={number(self.t)}{smoothing}, normalized={self.normalized})"
