"""One measure or two: principal axes, of points and in the feature space of a point kernel; what moves where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._checks import integer
from .._linalg import leading_eigh
from .._typing import ArrayLike, FloatArray, IndexArray
from .._values import refuse_scale
from ..divergences import Sinkhorn, Wasserstein
from ..divergences._features import MOST_MONOMIALS, Centred, exact_features
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..ground import Linear, PointKernel, as_point_kernel
from ..measures import Measure
from ..measures._mean import single

#: Eigenvalues of a covariance operator, in units of what was rounded, of which three digits are left.
DETERMINED = 1e-12


@dataclass(frozen=True, eq=False)
class WeightedPCA:
    """Mean and principal axes of a measure.

    Parameters
    ----------
    mean : ndarray of shape (d,)
    variances : ndarray of shape (d,)
        Along the axes, in descending order.
    axes : ndarray of shape (d, d)
        Orthonormal rows; the largest entry of each is positive.
    """

    mean: FloatArray
    variances: FloatArray
    axes: FloatArray

    @property
    def generalized_variance(self) -> float:
        """Determinant of the covariance: the product of the variances."""
        return float(np.prod(self.variances))


def weighted_pca(measure: Measure) -> WeightedPCA:
    r"""Return the principal axes of a measure.

    They diagonalise the covariance :math:`\Sigma = \sum_i a_i (x_i - m)(x_i - m)'` with the mean
    :math:`m = \sum_i a_i x_i` and weights that are normalised to sum 1: what the linear IGV kernel sees of a measure.

    Parameters
    ----------
    measure : Measure
        Such as ``X[0]``.

    Examples
    --------
    >>> from kermes import Measures
    >>> from kermes.inspection import weighted_pca
    >>> pca = weighted_pca(Measures.from_samples([[[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]]], [[1, 1, 2]])[0])
    >>> pca.mean, pca.variances
    (array([2. , 0.5]), array([2.  , 0.25]))
    """
    measure = single(measure)
    a = measure.weights / measure.mass
    mean = a @ measure.points
    centred = measure.points - mean
    refuse_scale(centred.reshape(-1, 1), "points", UnsuitableDataError)
    variances, axes = leading_eigh((centred.T * a) @ centred)
    return WeightedPCA(mean, np.maximum(variances, 0.0), axes.T)


@dataclass(frozen=True, eq=False)
class CovarianceSpectrum:
    r"""Leading eigenvalues and eigenfunctions of a covariance operator.

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        Variances :math:`\lambda_j` along the eigenfunctions, in descending order.
    alpha : ndarray of shape (r, n)
        Coefficients of the eigenfunctions, :math:`v_j = \sum_i \alpha_{ji} k(x_i, \cdot)`.
    points : ndarray of shape (n, d)
        The atoms :math:`x_i`.
    ground : PointKernel
        The kernel k.
    total : float
        Sum of all eigenvalues, kept or not: the variance of the measure in feature space.
    """

    eigenvalues: FloatArray
    alpha: FloatArray
    points: FloatArray
    ground: PointKernel
    total: float

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def evaluate(self, points: ArrayLike) -> FloatArray:
        """Return the eigenfunctions at points (m, d), as (r, m); their norm in the feature space is 1, within 1e-3."""
        # The coefficients add up to 0: linear features may be those of centred atoms, which keep their digits.
        atoms = self.points - self.points.mean(axis=0) if isinstance(self.ground, Linear) else self.points
        return np.asarray(self.alpha @ self.ground(atoms, points))

    def __repr__(self) -> str:
        share = self.eigenvalues.sum() / self.total if self.total > 0 else 1.0
        return f"CovarianceSpectrum({len(self)} eigenvalues, {share:.1%} of the variance)"


def covariance_spectrum(measure: Measure, ground: PointKernel, n_components: int | None = None) -> CovarianceSpectrum:
    r"""Return the spectrum of the covariance operator of a measure in the feature space of a point kernel.

    .. math:: \Sigma = \sum_i a_i (\phi(x_i) - m) \otimes (\phi(x_i) - m), \qquad m = \sum_i a_i \phi(x_i), \qquad
              \Sigma v_j = \lambda_j v_j

    with weights a normalised to sum 1. The k-IGV kernel is a function of these eigenvalues:
    :math:`\ln \det(\Sigma / \eta + I) = \sum_j \ln(1 + \lambda_j / \eta)`.

    Parameters
    ----------
    measure : Measure
        Such as ``X[0]``.
    ground : PointKernel
        Such as ``ground.Gaussian(sigma=0.1)``.
    n_components : int, optional
        Keep at most this many of the largest eigenvalues. Those that rounding leaves less than three digits are always
        left out: below 1e-12 of the mean of k(x, x); for the linear ground and polynomials of up to 1,024 monomials,
        whose features are centred first, below 1e-12 of the variance (and 4e-24 of the mean of k(x, x)).

    Notes
    -----
    Signs are such that the atom that weighs most in an eigenfunction weighs positively.
    *Cost*: :math:`O(n^3)` for n atoms.

    Examples
    --------
    >>> from kermes import Measures, ground
    >>> from kermes.inspection import covariance_spectrum
    >>> X = Measures.from_samples([[0.0, 1.0, 3.0]])
    >>> spectrum = covariance_spectrum(X[0], ground.Gaussian(sigma=1.0))
    >>> spectrum.eigenvalues.round(3)
    array([0.371, 0.129])
    >>> spectrum.evaluate([[0.0], [1.0], [3.0]]).round(2)
    array([[-0.64, -0.49,  0.72],
           [-0.34,  0.53,  0.02]])
    """
    measure = single(measure)
    ground = as_point_kernel(ground)
    a = measure.weights / measure.mass
    root = np.sqrt(a)
    inner, size = _centred_inner_products(measure.points, a, ground)
    values, vectors = leading_eigh(inner)
    kept = int(np.count_nonzero(values > DETERMINED * size))
    if n_components is not None:
        kept = min(kept, integer(n_components, "n_components", low=1))
    # v = sum_i b_i (phi(x_i) - m) with b = sqrt(a) u / sqrt(lambda), and m = sum_i a_i phi(x_i).
    b = root * vectors[:, :kept].T / np.sqrt(values[:kept, None])
    alpha = b - a * b.sum(axis=1, keepdims=True)
    return CovarianceSpectrum(values[:kept], alpha, measure.points, ground, float(np.maximum(values, 0.0).sum()))


def _centred_inner_products(points: FloatArray, a: FloatArray, ground: PointKernel) -> tuple[FloatArray, float]:
    """Return those of the features less their mean, times the roots of the weights; and the size that rounding is of.

    Rounding by e of kernel values adds a matrix of norm (sum_ij a_i a_j (e k_ij)^2)^1/2 <= e sum_i a_i k_ii. That of
    features by 1e-15 of their size moves an eigenvalue s^2 by 2e-15 s k^1/2, a thousandth of it at s^2 = 4e-24 k.
    """
    exact = exact_features(ground, points.shape[1], MOST_MONOMIALS)
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        if exact is not None:  # no cancellation, however far from the origin
            rows = Centred.of(exact(points), a, np.array([0, len(a)]), exact.rounding).packed
            inner = rows @ rows.T
            lost = bool(rows.any()) and not inner.any()
            size = np.trace(inner) + (0.0 if isinstance(ground, Linear) else 4e-12 * (a @ ground.diagonal(points)))
        else:
            K, lost = ground(points), False
            mean, root = K @ a, np.sqrt(a)
            inner, size = root[:, None] * (K - mean[:, None] - mean[None] + a @ mean) * root, a @ K.diagonal()
    if lost or not np.isfinite(inner).all():
        raise UnsuitableDataError(
            "the squares of the features are too large or too small for a number; divide the points by a common unit."
        )
    return inner, float(size)


class Moves(NamedTuple):
    """Moves of mass, the largest first: atoms of the source and of the target (k,), the mass and its cost (k,)."""

    source: IndexArray
    target: IndexArray
    mass: FloatArray
    cost: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class TransportPlan:
    """A plan between two measures.

    Parameters
    ----------
    source, target : Measure
    plan : ndarray of shape (n_atoms of source, n_atoms of target)
        Mass moved; both measures have the mass 1.
    costs : ndarray of the same shape
        What moving a unit of mass costs.
    divergence : Divergence
        Whose plan it is.
    """

    source: Measure
    target: Measure
    plan: FloatArray
    costs: FloatArray
    divergence: Any

    @property
    def cost(self) -> float:
        """What the plan costs in all: W_p^p for ``Wasserstein``."""
        return float((self.plan * self.costs).sum())

    def moves(self, k: int | None = None) -> Moves:
        """Return the k largest moves of mass, or all; equal ones in order of the atoms."""
        rows, cols = np.nonzero(self.plan)
        mass = self.plan[rows, cols]
        order = np.argsort(-mass, kind="stable")
        order = order if k is None else order[: integer(k, "k", low=1)]
        rows, cols = rows[order], cols[order]
        return Moves(rows, cols, mass[order], self.costs[rows, cols])

    def __repr__(self) -> str:
        n, m = self.plan.shape
        return f"TransportPlan({n} to {m} atoms, {np.count_nonzero(self.plan)} moves, cost {self.cost:.3g})"


def transport_plan(mu: Measure, nu: Measure, divergence: Wasserstein | Sinkhorn | None = None) -> TransportPlan:
    """Return what moves where between two measures.

    Parameters
    ----------
    mu, nu : Measure
        Members of collections, such as ``X[0]`` and ``X[3]``.
    divergence : Wasserstein or Sinkhorn, optional
        Exact, ``Wasserstein(p=2)`` by default, or entropic, where mass of one atom spreads over many.

    See Also
    --------
    kermes.plot.TransportPlanDisplay : the picture.

    Examples
    --------
    >>> from kermes import Measures, inspection
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 5.0]])
    >>> found = inspection.transport_plan(X[0], X[1])
    >>> found
    TransportPlan(2 to 2 atoms, 2 moves, cost 8.5)
    >>> found.moves(1).cost
    array([1.])
    """
    divergence = Wasserstein(p=2) if divergence is None else divergence
    if not isinstance(divergence, (Wasserstein, Sinkhorn)):
        raise InvalidParameterError(
            f"`divergence` must be Wasserstein or Sinkhorn, which have plans; got {divergence!r}."
        )
    for measure, name in ((mu, "mu"), (nu, "nu")):
        if not isinstance(measure, Measure):
            raise InvalidParameterError(f"`{name}` must be one measure, such as X[0]; got {type(measure).__name__}.")
    return TransportPlan(mu, nu, divergence.plan(mu, nu), divergence.plan_costs(mu, nu), divergence)
