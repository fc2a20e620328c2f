"""Exponential profiles of a distance."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter

from .._checks import positive, real
from .._typing import FloatArray
from ..core import profiles
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._base import MeasureKernel, number

__all__ = ["Exponential"]


class Exponential(MeasureKernel):
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

    def __init__(
        self,
        divergence: Divergence,
        length_scale: float = 1.0,
        power: float = 2.0,
        length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5),
        engine: Engine | None = None,
    ) -> None:
        if isinstance(divergence, Measures):  # SVC(kernel=Exponential) calls the class with the data
            raise InvalidParameterError(
                "`divergence` must be a divergence, not measures. Pass a kernel object, such as "
                "Exponential(divergences.Wasserstein()), not the class."
            )
        self.divergence = divergence
        self.length_scale = length_scale
        self.power = power
        self.length_scale_bounds = length_scale_bounds
        self.engine = engine

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The one hyperparameter that a Gaussian process tunes."""
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> FloatArray | tuple[FloatArray, FloatArray]:
        length_scale = positive(self.length_scale, "length_scale")
        power = real(self.power, "power", low=0.0, high=2.0, open_low=True)
        # For h = 2 no root is taken: the regularised Sinkhorn value may be negative.
        squared = power == 2.0
        D = np.asarray(pairwise(X, Y, divergence=self.divergence, engine=self._engine(), squared=squared))
        exponent = D / length_scale**2 if squared else (D / length_scale) ** power
        K = profiles.exponential(exponent)
        if not gradient:
            return K
        if self.hyperparameter_length_scale.fixed:
            return K, np.empty((*K.shape, 0))
        return K, profiles.exponential_log_gradient(exponent, K, power)[:, :, np.newaxis]

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return whether the kernel is proved positive definite on R^dim; None if unknown."""
        negative_type = self.divergence.claims(dim).negative_type
        if negative_type is None:
            return None
        return True if self.power <= negative_type else None

    def __repr__(self) -> str:
        return f"Exponential({self.divergence!r}, length_scale={number(self.length_scale)}, power={number(self.power)})"
