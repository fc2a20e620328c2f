"""Kernels that see how much mass a measure has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..exceptions import InvalidParameterError, NumericalError
from ..measures import Measures, as_measures
from ._base import CompoundKernel, takes_measures


@dataclass(eq=False, repr=False)
class MassWeighted(CompoundKernel):
    r"""Kernel of the normalised measures, multiplied by both masses.

    .. math:: k'(\mu, \nu) = |\mu| \, |\nu| \, k(\mu / |\mu|, \nu / |\nu|)

    The reweighted kernel of "Wasserstein exponential kernels" (equation 5), where the mass of an image is its ink.
    Divergences normalise masses to 1, so that without it a faint and a dark copy of an image are equal.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, such as ``Exponential(divergence)``. Its hyperparameters are tuned as if it stood alone, and
        searches reach them as ``kernel__length_scale``.

    Notes
    -----
    *Positive definite* whenever k is: the Gram matrix is congruent to that of k. Values grow with the squared masses;
    divide the weights by a typical mass if a regularisation parameter is to mean the same as without.
    Products of masses outside of 1e-307 to 1e308 are refused. *Cost*: that of k, and two products per entry.

    Examples
    --------
    >>> from kermes import Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0]])
    >>> kernels.MassWeighted(kernels.Exponential(divergences.Wasserstein(), length_scale=2.0))(X).round(3)
    array([[4.   , 1.463],
           [1.463, 1.   ]])
    """

    kernel: Any

    @property
    def _parts(self) -> dict[str, Any]:
        """The inner kernel."""
        return {"kernel": self.kernel}

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        if not takes_measures(self.kernel):
            raise InvalidParameterError(
                f"`kernel` must be a kernel on measures such as kernels.Exponential(divergence); got {self.kernel!r}."
            )
        scale = _products(X.masses[:, np.newaxis], (X if Y is None else Y).masses)
        if not gradient:
            return scale * self.kernel(X, Y), None
        K, inner = self.kernel(X, eval_gradient=True)
        return scale * K, scale[:, :, np.newaxis] * inner

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X: squared masses times that of the inner kernel."""
        measures = as_measures(X)
        return np.asarray(_products(measures.masses, measures.masses) * self.kernel.diag(measures))

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return whether the kernel is proved positive definite on R^dim; None if unknown."""
        claim = getattr(self.kernel, "is_positive_definite", None)
        return None if claim is None else claim(dim)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.kernel == other.kernel

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"MassWeighted({self.kernel!r})"


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the products of masses, or refuse those that are no normal numbers."""
    with np.errstate(over="ignore", under="ignore"):
        products = left * right
    if not np.isfinite(products).all() or products.min(initial=1.0) < np.finfo(np.float64).tiny:
        masses = np.concatenate([left.ravel(), right.ravel()])
        raise NumericalError(
            f"MassWeighted multiplies masses, which reach from {masses.min():.3g} to {masses.max():.3g}: their "
            "products are too large or too small for a number. Divide all weights by a typical mass."
        )
    return np.asarray(products)
