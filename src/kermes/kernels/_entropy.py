"""The entropy kernel."""

from __future__ import annotations

from ..divergences import JensenShannon
from ..engine import Engine
from ..ground import Gaussian
from ._base import number
from ._semigroup import RateKernel


class Entropy(RateKernel):
    r"""Entropy kernel: close to 1 when the mean of two measures has hardly more entropy than each of them.

    .. math:: k(\mu, \nu) = \exp\left(-t J(\mu, \nu)\right), \qquad
              J(\mu, \nu) = h\left(\tfrac{\mu + \nu}{2}\right) - \tfrac12 \left(h(\mu) + h(\nu)\right)

    with the entropy h and the Jensen-Shannon divergence J, in nats; not normalised,
    :math:`\exp(-t h((\mu + \nu)/2))`.

    Parameters
    ----------
    t : float
        The rate; greater values tell measures apart more sharply. Normalised values lie between :math:`2^{-t}` and 1.
    smoothing : ground.Gaussian, optional
        None for histograms, images and samples of whole numbers; ``ground.Gaussian(sigma=...)`` for clouds, which are
        smoothed to densities. See :class:`~kermes.divergences.JensenShannon`.
    normalized : bool
        Divide by the square roots of the diagonal, so that :math:`k(\mu, \mu) = 1`.
    t_bounds : pair of float or 'fixed'
        Where the marginal likelihood of a Gaussian process may look for t.
    engine : Engine, optional
        How J is computed and remembered.

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

    def __init__(
        self,
        t: float = 1.0,
        smoothing: Gaussian | None = None,
        normalized: bool = True,
        t_bounds: tuple[float, float] | str = (1e-5, 1e5),
        engine: Engine | None = None,
    ) -> None:
        self.t = t
        self.smoothing = smoothing
        self.normalized = normalized
        self.t_bounds = t_bounds
        self.engine = engine

    @property
    def jensen(self) -> JensenShannon:
        """The Jensen-Shannon divergence."""
        return JensenShannon(self.smoothing)

    def __repr__(self) -> str:
        smoothing = "" if self.smoothing is None else f", smoothing={self.smoothing!r}"
        return f"Entropy(t={number(self.t)}{smoothing}, normalized={self.normalized})"
