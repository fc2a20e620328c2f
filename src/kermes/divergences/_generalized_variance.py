"""Jensen difference of the generalised variance: the inverse generalised variance (IGV) kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..ground import Linear, PointKernel, as_point_kernel
from ..measures import Measures
from ._base import Claims, empty_tile, filled, n_prepared, pooled_points
from ._cores import core
from ._features import Coordinates, Factors, FactorsRoute, KernelSource, exact_features, feature_map, kernel_table
from ._jensen import Jensen, JensenRoute
from ._thin import STEEP, Prepared, ScaledMoments, Thin, ThinRoute, half_log_det_row, thin_tile

# Costs in elementary operations of 0.7 ns, measured on two cores of a small server; only their ratios matter.
FACTOR = 0.1  # an operation of the Cholesky core
PRODUCT = 0.06  # an operation of a matrix product
KERNEL = 2.25  # a value of a point kernel
LOOKUP = 1.5  # a value read from a table
#: Largest error of a log-determinant that the low-rank features may cause.
LOW_RANK_ERROR = 1e-9
MOMENT_BYTES = 1 << 29
#: Pairs per measure from which low-rank features are looked for.
FEWEST = 8


class MomentsRoute(ScaledMoments, JensenRoute):
    """By means and covariances in an explicit feature space; by their factors if these dwarf the ridge."""

    def values(self, A: Prepared) -> FloatArray:
        return np.asarray(A.core.values)

    def mean_values(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        return self.pairs(core.moments.half_log_det_means, half_log_det_row, A, B, rows, cols, triangle, pooled=True)

    def work(self, X: Measures, Y: Measures) -> float:
        """A Cholesky factor of the covariance of the mean."""
        rank = self.features.rank
        return rank**3 / 3 * FACTOR + rank**2 / 2 * LOOKUP


class AxesRoute(ThinRoute, JensenRoute):
    """By singular values of the centred points of each pair: points far apart."""

    def mean_values(self, A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        return thin_tile(half_log_det_row, A, B, rows, cols, triangle)

    def work(self, X: Measures, Y: Measures) -> float:
        """A singular value decomposition of the pooled points."""
        return 2e4 + 40.0 * self.features.rank * _side(X, Y) ** 2


@dataclass(frozen=True, eq=False)
class AtomsRoute(FactorsRoute, JensenRoute):
    """By kernel values between all atoms."""

    def values(self, A: Factors) -> FloatArray:
        """At least 0, as log det(I + ...) is: of coincident atoms rounding leaves some -4e-16, and a kernel above 1."""
        return np.maximum(A.values, 0.0)

    def mean_values(self, A: Factors, B: Factors, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        return filled(partial(core.generalized_variance.atoms_tile, self.source.core), A, rows, B, cols, triangle)

    def work(self, X: Measures, Y: Measures) -> float:
        """The rest of the factor of the pooled atoms."""
        m = _side(X, Y)
        return 7 / 3 * m**3 * FACTOR + 1.5 * m**2 * KERNEL


@dataclass(frozen=True, eq=False)
class SupportRoute(AtomsRoute):
    """By a table of kernel values on a shared support, conditioned on each measure of the rows of a tile."""

    factor_bytes: float = np.inf

    def mean_values(self, A: Factors, B: Factors, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        out, table = empty_tile(rows, cols), self.source.core.table
        P = np.empty_like(table)
        for i, row in enumerate(rows):
            np.copyto(P, table)
            core.generalized_variance.support_row(_condition(P, A, row), B, cols, i + 1 if triangle else 0, out[i])
        return out

    def work(self, X: Measures, Y: Measures) -> float:
        """A factor of the conditioned values at the atoms of the second measure."""
        m = _side(X, Y)
        return m**3 / 3 * FACTOR + m**2 / 2 * LOOKUP

    def row_work(self, X: Measures, Y: Measures) -> float:
        """The conditioned table."""
        n = len(self.source.core.table)
        return n**2 * _side(X, Y) * PRODUCT + n**2 * LOOKUP


@dataclass(frozen=True)
class GeneralizedVariance(Jensen):
    r"""Jensen difference of the generalised variance.

    .. math:: d(\mu, \nu)^2 = h\left(\tfrac{\mu + \nu}{2}\right) - \tfrac12 \left(h(\mu) + h(\nu)\right), \qquad
              h(\mu) = \tfrac12 \log\det\left(\tfrac1\eta \Sigma(\mu) + I\right)

    with the covariance :math:`\Sigma` of the measure: of its points (linear ground) or of their images in the
    feature space of a point kernel. Two measures are close if together they spread no further than each alone.

    Parameters
    ----------
    eta : float
        Regularisation, greater than 0, in units of a variance: directions with less variance hardly count.
    ground : PointKernel
        ``ground.Linear()`` compares means and covariances of the points; ``ground.Gaussian(sigma=...)`` compares
        shapes.

    Notes
    -----
    *Returned*: d. *Metric*: d satisfies the triangle inequality, since J is half the S-divergence of the second-moment
    matrices bordered by the means (Sra, 2016); it separates all measures for a characteristic ground, and
    measures with different means or covariances for the linear one. *Negative type*: not negative definite in general;
    :math:`\exp(-t J)` is positive definite for t = 1, 2, ... and, for the linear ground in n dimensions, for
    t > n - 1; for all t > 0 if n = 1.

    *Cost*: with m atoms each, :math:`\tfrac73 m^3` operations per pair: the factor of one measure is prepared, a pair
    extends it. Cheaper routes are taken where they apply, and agree within 1e-8 in the log-determinant: on a shared
    support one conditioned kernel matrix per measure leaves :math:`\tfrac13 m^3`; for the linear ground in n
    dimensions, or a smooth kernel of numerical rank n, moments leave :math:`\tfrac13 n^3`.

    *Accuracy*: that of a pair depends on its two measures only, as for ``GaussianKL``: covariances that dwarf eta are
    never formed, so that eta survives. The error of :math:`d^2` is below 1e-9 by moments of covariances up to 1e7 eta,
    and below 2e-16 k(x, x) / eta by atoms. Beyond 1e7 eta rounding acts on the standard deviations of the features, by
    up to 1e-14 of the largest one and of the distance of the means (of the largest feature for a polynomial). A
    ``NumericalError`` refuses measures for which rounding could change :math:`d^2` by more than about
    :math:`10^{-3} (1 + d^2)`.

    Examples
    --------
    >>> from kermes import Measures, divergences, ground, pairwise
    >>> X = Measures.from_samples([[0.0, 2.0], [2.0, 4.0]])
    >>> pairwise(X, divergence=divergences.GeneralizedVariance(eta=1.0), squared=True).round(4)
    array([[0.    , 0.2027],
           [0.2027, 0.    ]])
    """

    eta: float
    ground: PointKernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        positive(self.eta, "eta")
        object.__setattr__(self, "ground", as_point_kernel(self.ground))

    def claims(self, dim: int) -> Claims:
        """A metric by Sra's theorem; negative definite on the line only."""
        if isinstance(self.ground, Linear) and dim == 1:
            return Claims(False, 2.0, "log(1 + x) is a Bernstein function of the variance of the mean; "
                          "zero for measures of equal mean and variance")  # fmt: skip
        linear = isinstance(self.ground, Linear)
        rest = "not for all t" if linear else "not known for all t"
        reason = f"a metric between moments (Sra 2016); exp(-t J) is positive definite for t = 1, 2, ..., {rest}"
        # For the linear ground a counterexample for one `eta` is one for all: scale the points.
        return Claims(bool(self.ground.characteristic), None, reason, 2.0 if linear else None)

    def semigroup_definite(self, t: float, dim: int) -> bool | None:
        """Return True for t = 1, 2, ... (Gaussian integrals), and on R^dim with the linear ground for t > dim - 1."""
        if float(t).is_integer() or (isinstance(self.ground, Linear) and t > dim - 1):
            return True
        return None

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        if isinstance(self.ground, Linear):
            return self._linear_route(X, Y)
        atoms = self._atoms_route(X, Y, None)
        features = exact_features(self.ground, X.dim, np.sqrt(MOMENT_BYTES / 8 / n_prepared(X, Y)))
        moments = None if features is None else MomentsRoute(features, self.eta)
        if moments is not None and moments.work(X, Y) <= _pair_work(atoms, X, Y):
            return moments
        return self._low_rank_route(X, Y, atoms) or atoms

    def _linear_route(self, X: Measures, Y: Measures) -> JensenRoute:
        """Return the route of the linear ground: by coordinates, or by atoms if these are fewer."""
        moments = MomentsRoute(Coordinates(X.dim), self.eta)
        if X.dim <= _side(X, Y):
            return moments
        centre = X.expectation(X.points).mean(axis=0)
        atoms = self._atoms_route(X, Y, centre)
        if moments.work(X, Y) <= atoms.work(X, Y):
            return moments
        # A centre common to all measures must not round away what a pair depends on.
        with np.errstate(over="ignore"):
            spread = max(float(np.square(Z.points - centre).sum(axis=1).max()) for Z in (X, Y))
        return atoms if spread <= STEEP * self.eta else AxesRoute(Coordinates(X.dim), self.eta)

    def _atoms_route(self, X: Measures, Y: Measures, centre: FloatArray | None) -> AtomsRoute:
        """Return the route over all atoms: with a table of kernel values, conditioned or not, or computing them."""
        if not X.shares_support(Y):
            return AtomsRoute(KernelSource.of(self.ground, X, Y, centre), self.eta)
        source = KernelSource(self.ground, kernel_table(self.ground, X, Y), centre)
        atoms = AtomsRoute(source, self.eta)
        if source.table is None:
            return atoms
        support = SupportRoute(source, self.eta)
        return support if _pair_work(support, X, Y) < atoms.work(X, Y) else atoms

    def _low_rank_route(self, X: Measures, Y: Measures, atoms: AtomsRoute) -> MomentsRoute | None:
        """Return moments in explicit features of the point kernel, if their rank is low enough to pay."""
        # Looking for features costs as much as a few pairs per measure: not worth it for a handful of measures.
        if _columns(X, Y) < FEWEST:
            return None
        largest = min((3 * _pair_work(atoms, X, Y) / FACTOR) ** (1 / 3), np.sqrt(MOMENT_BYTES / 8 / n_prepared(X, Y)))
        table = atoms.source.table
        points = pooled_points(X, Y) if table is None else table.common.points[table.used]
        # A log-determinant changes by less than trace(remainder) / eta.
        features = feature_map(self.ground, points, LOW_RANK_ERROR * self.eta, int(largest))
        return None if features is None else MomentsRoute(features, self.eta)


def _condition(P: FloatArray, A: Factors, row: int) -> core.generalized_variance.Conditioned:
    """Overwrite the kernel K by P = K - G'G with G = L^-1 diag(s) K of a measure; u = 1 - G'z."""
    from scipy.linalg import solve_triangular
    from scipy.linalg.blas import dsyrk

    start, stop = A.offsets[row], A.offsets[row + 1]
    first, corner = A.places[row]
    size, side = stop - start, core.points.padded_size(stop - start)
    L = A.factors[corner : corner + side**2].reshape(side, side)[:size, :size]
    right = (A.scales[start:stop] * core.generalized_variance.HALF)[:, None] * P[A.ids[start:stop]]
    G = solve_triangular(L, right, lower=True, check_finite=False, overwrite_b=True)
    # A row-major lower triangle is a column-major upper one.
    dsyrk(-1.0, np.asfortranarray(G), 1.0, P.T, trans=1, lower=0, overwrite_c=1)
    return core.generalized_variance.Conditioned(P, 1.0 - A.solved[first : first + size] @ G, *A.halves[row])


def _side(X: Measures, Y: Measures) -> float:
    """Return the number of atoms of a typical measure."""
    return float(np.sqrt(X.sizes.mean() * Y.sizes.mean()))


def _columns(X: Measures, Y: Measures) -> float:
    """Return the pairs per row: of a triangle half are needed."""
    return len(Y) / 2 if X is Y else len(Y)


def _pair_work(route: JensenRoute, X: Measures, Y: Measures) -> float:
    """Return the cost of a pair with its part of the cost of the row."""
    return route.work(X, Y) + route.row_work(X, Y) / _columns(X, Y)
