"""The eigenvalues of a Gram matrix, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._linalg import eigvalsh
from .._quantities import counted
from .._typing import ArrayLike, FloatArray
from ..core.eigenvalues import negative_mass, rounding
from ..exceptions import InvalidParameterError

#: Largest difference between K and its transpose, relative to the largest entry, that counts as rounding.
ASYMMETRY = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum:
    """Report on the eigenvalues of a symmetric matrix.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
        In ascending order, read-only.
    tolerance : float
        n eps max|lambda|: an eigenvalue of smaller size may be zero, of either sign.
    """

    eigenvalues: FloatArray
    tolerance: float

    @property
    def min(self) -> float:
        """Smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def max(self) -> float:
        """Largest eigenvalue."""
        return float(self.eigenvalues[-1])

    @property
    def negative_mass(self) -> float:
        """Sum of the sizes of the negative eigenvalues over that of all, in [0, 1]."""
        return negative_mass(self.eigenvalues)

    @property
    def condition(self) -> float:
        """Largest over smallest absolute eigenvalue; infinite for a singular matrix."""
        sizes = np.abs(self.eigenvalues)
        return float(sizes.max() / sizes.min()) if sizes.min() > 0 else float("inf")

    @property
    def verdict(self) -> str:
        """'positive definite', 'positive semidefinite (to rounding)' or 'indefinite'."""
        if self.min > self.tolerance:
            return "positive definite"
        return "positive semidefinite (to rounding)" if self.min >= -self.tolerance else "indefinite"

    def __repr__(self) -> str:
        n = len(self.eigenvalues)
        return (
            f"Spectrum({self.verdict}: {counted(n, 'eigenvalue')} in [{self.min:.3g}, {self.max:.3g}], "
            f"negative mass {self.negative_mass:.2%}, condition {self.condition:.2g})"
        )


def spectrum(K: ArrayLike) -> Spectrum:
    r"""Report on the eigenvalues of a Gram matrix.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric up to rounding (1e-8 of its largest entry).

    Returns
    -------
    Spectrum
        ``eigenvalues``, ``min``, ``max``, ``negative_mass``, ``condition``, ``verdict``, ``tolerance``.

    Notes
    -----
    *Rule*: with the tolerance :math:`\tau = n \epsilon \max_i |\lambda_i|` (:math:`\epsilon` of float64), K is called
    positive definite if :math:`\lambda_{\min} > \tau`, indefinite if :math:`\lambda_{\min} < -\tau`, and positive
    semidefinite (to rounding) in between. *Cost*: :math:`O(n^3)`.

    Examples
    --------
    >>> from kermes import definiteness
    >>> definiteness.spectrum([[1.0, 0.5], [0.5, 1.0]])
    Spectrum(positive definite: 2 eigenvalues in [0.5, 1.5], negative mass 0.00%, condition 3)
    >>> definiteness.spectrum([[1.0, 2.0], [2.0, 1.0]]).verdict
    'indefinite'
    """
    values: FloatArray = eigvalsh(as_symmetric(K, "K"))
    values.flags.writeable = False
    return Spectrum(values, rounding(values))


def as_symmetric(K: ArrayLike, name: str) -> FloatArray:
    """Return K as an exactly symmetric array of finite floats, or say what it is instead."""
    matrix: FloatArray = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InvalidParameterError(
            f"`{name}` must be a square Gram matrix; got shape {matrix.shape}. Pass kernel(X), not kernel(X, Y)."
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InvalidParameterError(f"`{name}` must hold finite numbers; entry ({i}, {j}) is {matrix[i, j]}.")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > ASYMMETRY * np.abs(matrix).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise InvalidParameterError(
            f"`{name}` must be symmetric; entries ({i}, {j}) and ({j}, {i}) differ by {gap[i, j]:.3g}. "
            f"Use ({name} + {name}.T) / 2 if that is noise."
        )
    return np.asarray((matrix + matrix.T) / 2.0)
