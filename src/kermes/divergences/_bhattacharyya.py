"""Bhattacharyya distance of the Gaussians with the moments of two measures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from .._checks import positive
from .._typing import IndexArray
from ..ground import Linear, PointKernel, Polynomial, as_point_kernel
from ..measures import Measures
from ._base import Claims, Divergence, Route, Tile, filled, n_prepared
from ._cores import core
from ._features import PREPARED_BYTES, Coordinates, Factors, FactorsRoute, KernelSource, exact_features
from ._thin import Prepared, ScaledMoments, Thin, ThinRoute, bhattacharyya_row, features_of_axes, thin_tile

#: Multiplications of a matrix product done in the time of one elementary operation, in which the engine counts work.
FUSED = 8.0
#: Traces of covariances in units of the ridge up to which Cholesky factors give d^2 to 1e-9.
STEEP = 1e4


class MomentsRoute(ScaledMoments):
    """By means and covariances in an explicit feature space; by factors of the covariances if these dwarf the ridge."""

    steep = STEEP

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(self.pairs(core.bhattacharyya.moments_tile, bhattacharyya_row, A, B, rows, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """A Cholesky factor of the mean covariance."""
        rank = self.features.rank
        return 20.0 + rank**2 + rank**3 / 3 / FUSED


class AxesRoute(ThinRoute):
    """By the axes of the covariances."""

    def tile(self, A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(thin_tile(bhattacharyya_row, A, B, rows, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """A singular value decomposition of the axes of both."""
        return 2e4 + 40.0 * self.features.rank * float(X.sizes.mean() * Y.sizes.mean())


class AtomsRoute(FactorsRoute):
    """By kernel values between all atoms."""

    def tile(self, A: Factors, B: Factors, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(filled(partial(core.bhattacharyya.atoms_tile, self.source.core), A, rows, B, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """Operations of the elimination, and one kernel value for each pair of atoms."""
        n, m = float(X.sizes.mean()), float(Y.sizes.mean())
        return 20.0 + 4.0 * m * (n + m / 2) + (n * n * m + n * m * m + m**3 / 3) / FUSED


@dataclass(frozen=True)
class Bhattacharyya(Divergence):
    r"""Root of the Bhattacharyya distance of the Gaussians that have the moments of the measures.

    .. math:: d(\mu, \nu)^2 = -\ln \int \sqrt{p \, q} = \tfrac12 \ln |H| - \tfrac14 \ln |S_\mu| |S_\nu|
              + \tfrac18 (m_\mu - m_\nu)' H^{-1} (m_\mu - m_\nu), \qquad H = \tfrac12 (S_\mu + S_\nu)

    for :math:`p = N(m_\mu, S_\mu)`, where m is the mean and :math:`S = \Sigma + \eta I` the regularised covariance of a
    measure in the feature space of the ground kernel. The powers of :math:`\eta` in the determinants cancel, so that
    the value is the same in the span of the atoms and in all of the feature space.

    Parameters
    ----------
    ground : PointKernel
        ``ground.Linear()``: Gaussians fitted to the points. ``ground.Gaussian(sigma=...)``: Gaussians fitted to the
        functions :math:`k(x, \cdot)`, so that shapes count.
    eta : float
        Regularisation, in units of a variance: directions with less variance than eta hardly count.

    Notes
    -----
    *Returned*: d; ``exp(-d**2)`` is the affinity :math:`\int \sqrt{pq}`, in (0, 1]. *Metric*: no, for no ground and no
    eta. Let x and y be two points, :math:`\delta = |\phi(x) - \phi(y)|^2` and :math:`s = \delta / 8\eta`; then the mean
    :math:`(\delta_x + \delta_y)/2` lies at :math:`d^2 = \frac{s}{4(1 + s)} + \frac12 \ln(1 + s) - \frac14 \ln(1 + 2s)`
    from both, less than a quarter of the s between them. *Negative type*: hence not 2; ``exp(-d**2)`` is positive
    definite nevertheless (see ``kernels.Bhattacharyya``). *Cost*: :math:`O(dim^3)` per pair for the linear ground,
    :math:`O(r^3)` for a polynomial one of r monomials if that is less. Otherwise
    :math:`O(n_i^2 n_j + n_i n_j^2 + n_j^3)`: a triangular solve, an update and a Cholesky factor.

    *Accuracy*: that of a pair depends on its two measures only, as for ``GaussianKL``: covariances that dwarf eta are
    never formed, so that eta survives. By atoms the error of d^2 is below 2e-16 k(x, x) / eta: for grounds other than
    the linear and polynomial ones, and for polynomials of so many monomials that those of all atoms do not fit half a
    gigabyte. Otherwise rounding changes d^2 by less than 1e-9 (1 + d^2) below 1e4 eta; above (for a polynomial also
    below), it acts on the standard deviations of the features, by up to 1e-14 of the largest one (of the largest
    feature for a polynomial). A ``NumericalError`` refuses
    measures for which rounding could change d^2 by more than about 1e-3 (1 + d^2).

    References
    ----------
    R. Kondor and T. Jebara, "A kernel between sets of vectors", ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, ground, pairwise
    >>> X = Measures.from_samples([[-1.0, 1.0], [3.0, 5.0]])  # variances 1, means 0 and 4
    >>> divergence = divergences.Bhattacharyya(ground.Linear(), eta=1.0)
    >>> pairwise(X, divergence=divergence, squared=True)  # 4^2 / (8 (1 + 1))
    array([[0., 1.],
           [1., 0.]])
    """

    ground: PointKernel
    eta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ground", as_point_kernel(self.ground))
        positive(self.eta, "eta")

    def claims(self, dim: int) -> Claims:
        """Not a metric; for unbounded kernels no power of d is negative definite either."""
        # Points far apart in feature space: between them d grows like a length, to their mean like a root of its log.
        unbounded = isinstance(self.ground, (Linear, Polynomial))
        return Claims(
            False,
            0.0 if unbounded else None,
            "two points and their mean violate the triangle inequality (see Notes)",
            0.5 if unbounded else None,
        )

    def route(self, X: Measures, Y: Measures) -> Route:
        """Take the moments of exact features, coordinates or monomials, where these are few; their axes, or atoms."""
        if isinstance(self.ground, Linear):
            return MomentsRoute(Coordinates(X.dim), self.eta)
        atoms = AtomsRoute(KernelSource.of(self.ground, X, Y), self.eta)
        features = exact_features(self.ground, X.dim, np.sqrt(PREPARED_BYTES / 8 / n_prepared(X, Y)))
        moments = None if features is None else MomentsRoute(features, self.eta)
        if moments is not None and moments.work(X, Y) <= atoms.work(X, Y):
            return moments
        # Kernel values of polynomials round away what points near each other, far from the origin, differ by.
        exact = features_of_axes(self.ground, X, Y)
        return atoms if exact is None else AxesRoute(exact, self.eta)
