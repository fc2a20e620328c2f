"""The length scales at which a squared-exponential Gram matrix is positive semidefinite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np

from .._checks import as_distances, integer, positive
from .._linalg import eigvalsh
from .._typing import AnyArray, ArrayLike, FloatArray
from ..core import profiles
from ..core.eigenvalues import rounding
from ..exceptions import InvalidParameterError

#: The grid ends at this multiple of the largest distance, where K differs from 1 1' by 1 / 200.
REACH = 10.0
#: From this multiple on K - 1 1' is -D^2 / (2 l^2) to the last digit, and larger length scales say nothing new.
LIMIT = 1e9


@dataclass(frozen=True, eq=False)
class Curve:
    """Extreme eigenvalues of exp(-D^2 / (2 l^2)) along l.

    Parameters
    ----------
    length_scales : ndarray of shape (m,)
    smallest, largest : ndarray of shape (m,)
        Smallest and largest eigenvalue at each length scale.
    tolerance : ndarray of shape (m,)
        n eps largest: a smallest eigenvalue above ``-tolerance`` counts as non-negative.
    """

    length_scales: FloatArray
    smallest: FloatArray
    largest: FloatArray
    tolerance: FloatArray

    @property
    def semidefinite(self) -> AnyArray:
        """Mask of the length scales at which the matrix is positive semidefinite (to rounding)."""
        return np.asarray(self.smallest >= -self.tolerance)


def psd_curve(D: ArrayLike, length_scales: ArrayLike) -> Curve:
    r"""Return the extreme eigenvalues of :math:`\exp(-D^2 / (2 \ell^2))` for each length scale.

    Parameters
    ----------
    D : array of shape (n, n)
        Distances: non-negative, symmetric, zero on the diagonal.
    length_scales : array of shape (m,)
        Positive numbers, in units of D.

    Returns
    -------
    Curve

    Notes
    -----
    The smallest eigenvalue is 1 at :math:`\ell \to 0` (distinct measures), 0 at :math:`\ell \to \infty`, continuous
    in between, and not monotone. *Cost*: :math:`O(m n^3)`.

    Examples
    --------
    >>> from kermes import definiteness
    >>> definiteness.psd_curve([[0.0, 1.0], [1.0, 0.0]], [0.1, 1.0]).smallest.round(3)
    array([1.   , 0.393])
    """
    distances = as_distances(D, "D")
    scales: FloatArray = np.array(length_scales, dtype=np.float64)
    if scales.ndim != 1 or not len(scales) or not (np.isfinite(scales) & (scales > 0)).all():
        raise InvalidParameterError("`length_scales` must be a 1-D array of finite numbers greater than 0.")
    spectra = np.array([eigvalsh(profiles.exponential((distances / scale) ** 2)) for scale in scales])
    tolerance = np.array([rounding(values) for values in spectra])
    return Curve(scales, spectra[:, 0], spectra[:, -1], tolerance)


@overload
def psd_length_scale(
    D: ArrayLike, *, n_grid: int = ..., rtol: float = ..., return_curve: Literal[False] = ...
) -> float: ...
@overload
def psd_length_scale(
    D: ArrayLike, *, n_grid: int = ..., rtol: float = ..., return_curve: Literal[True]
) -> tuple[float, Curve]: ...
def psd_length_scale(
    D: ArrayLike, *, n_grid: int = 64, rtol: float = 1e-4, return_curve: bool = False
) -> float | tuple[float, Curve]:
    r"""Return the largest length scale up to which :math:`\exp(-D^2 / (2 \ell^2))` is positive semidefinite.

    Every smaller length scale gives a positive semidefinite matrix too: the constant of Proposition 2.4 of
    "Wasserstein exponential kernels".

    Parameters
    ----------
    D : array of shape (n, n)
        Distances: non-negative, symmetric, zero on the diagonal.
    n_grid : int
        Length scales tried, evenly spaced in log, before the first sign change is refined by bisection.
    rtol : float
        Relative accuracy of the result.
    return_curve : bool
        Also return the eigenvalues on the grid, as :class:`Curve`.

    Returns
    -------
    float
        - ``inf`` if :math:`D^2` is conditionally negative definite to rounding, for then every length scale works
          (Schoenberg);
        - ``0.0`` if two samples at distance 0 differ in their distances to a third, for then none works.
    curve : Curve
        Only with ``return_curve``.

    Notes
    -----
    The grid starts where K is diagonally dominant, hence surely positive definite
    (:math:`\ell^2 = d_{\min}^2 / (2 \log n)`), and ends at ten times the largest distance. If :math:`D^2` is not
    conditionally negative definite, K is indefinite for all large :math:`\ell`, and the search goes on until it is. The
    smallest eigenvalue is not monotone, so a dip narrower than one step of the grid may be missed. With
    :math:`E = K - 1 1^\top`, which is exact to rounding at every :math:`\ell`, K is semidefinite if and only if the
    Schur complement of the constant vector is: :math:`J (E - E 1 1^\top E / (n^2 + 1^\top E 1)) J`, with J the
    projection that centres. An eigenvalue of it counts as negative below -n eps times the largest one; the result
    is accurate to ``rtol``, or to rounding if that is larger.
    *Cost*: :math:`O(n^3)` for each length scale tried.

    Examples
    --------
    A cycle of four points with its path metric, which has no isometric copy in a Hilbert space:

    >>> from kermes import definiteness
    >>> D = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
    >>> round(definiteness.psd_length_scale(D), 3)
    0.906
    """
    integer(n_grid, "n_grid", low=2)
    positive(rtol, "rtol")
    distances = as_distances(D, "D")
    grid = _grid(distances, n_grid)
    result = _search(distances, grid, rtol)
    return (result, psd_curve(distances, grid)) if return_curve else result


def _search(distances: FloatArray, grid: FloatArray, rtol: float) -> float:
    distinct = _without_copies(distances)
    if distinct is None:
        return 0.0
    if _negative_type(distinct):
        return float("inf")
    beyond = np.geomspace(1.0, LIMIT / REACH, 60)[1:] * grid[-1]
    tried = np.concatenate([grid, beyond])
    first = next((i for i, scale in enumerate(tried) if _indefinite(distinct, scale)), None)
    if first is None:
        return float("inf")
    low, high = tried[max(first - 1, 0)], tried[first]
    while high > low * (1.0 + rtol):
        middle = np.sqrt(low) * np.sqrt(high)
        if not low < middle < high:  # neighbouring numbers
            break
        low, high = (low, middle) if _indefinite(distinct, middle) else (middle, high)
    return float(low)


def _grid(distances: FloatArray, n_grid: int) -> FloatArray:
    off_diagonal = distances[distances > 0]
    if not len(off_diagonal):
        return np.geomspace(0.1, REACH, n_grid)
    dominant = off_diagonal.min() / np.sqrt(2.0 * np.log(len(distances)))
    return np.geomspace(dominant, REACH * off_diagonal.max(), n_grid)


def _without_copies(distances: FloatArray) -> FloatArray | None:
    """Return the distances of distinct samples; None if samples at distance 0 are not copies of each other."""
    original = (distances == 0).argmax(axis=1)
    if np.abs(distances - distances[original]).max() > np.sqrt(np.finfo(np.float64).eps) * distances.max():
        return None
    kept = np.unique(original)
    return np.asarray(distances[np.ix_(kept, kept)])


def _negative_type(distances: FloatArray) -> bool:
    """Whether D^2 is conditionally negative definite: -J D^2 J / 2 is the Gram matrix of an embedding."""
    values = eigvalsh(-0.5 * _centred((distances / distances.max(initial=1e-300)) ** 2))
    return bool(values[0] >= -rounding(values))


def _indefinite(distances: FloatArray, length_scale: float) -> bool:
    """Whether K has a negative eigenvalue, by the Schur complement of the constant vector in K = 1 1' + E."""
    E = np.expm1(-0.5 * (distances / length_scale) ** 2)
    sums = E.sum(axis=0)
    n, total = len(E), float(E.sum())
    if n * n + total <= 0:
        return True
    values = eigvalsh(_centred(E) - np.outer(sums - sums.mean(), (sums - sums.mean()) / (n * n + total)))
    return bool(values[0] < -rounding(values))


def _centred(table: FloatArray) -> FloatArray:
    """Return J A J with J = I - 1 1' / n."""
    centred = table - table.mean(axis=0)
    return np.asarray(centred - centred.mean(axis=1, keepdims=True))
