"""Jensen difference of the generalised variance: the inverse generalised variance (IGV) kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import Claims, check_ground, empty_tile
from ._factors import Factors, Table, factorise
from ._features import FeatureMap, feature_map, moments
from ._support import LARGEST_TABLE
from .jensen import Jensen

__all__ = ["GeneralizedVariance"]

# Seconds per unit of work, measured on two cores of a small server; only their ratios matter.
FACTOR = 1 / 1.5e10  # an operation of the Cholesky core
PRODUCT = 1 / 2.5e10  # an operation of a matrix product
KERNEL = 1.5e-9  # a value of a point kernel
LOOKUP = 1.0e-9  # a value read from a table
OPERATION = 1 / 1.5e9  # the unit of ``work``
#: Largest error of a log-determinant that the low-rank features may cause.
LOW_RANK_ERROR = 1e-9
MOMENT_BYTES = 1 << 29
#: Pairs per measure from which low-rank features are looked for.
FEWEST = 8


class _Route(NamedTuple):
    """How pairs are computed, and what it costs in seconds per pair and per row of a tile."""

    name: str
    pair: float
    row: float = 0.0
    table: Table | None = None  # kernel values on a shared support
    features: FeatureMap | None = None  # of low rank
    centre: FloatArray | None = None  # for the linear ground


class _Moments(NamedTuple):
    """Means and covariances in an explicit feature space, divided by sqrt(eta) and eta, and h of each measure."""

    means: FloatArray
    covariances: FloatArray
    values: FloatArray


class _Atoms(NamedTuple):
    """The factors of the measures, and the route that takes them."""

    route: _Route
    atoms: Factors

    @property
    def values(self) -> FloatArray:
        return self.atoms.values


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
        check_ground(self.ground)

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

    def context(self, X: Measures, Y: Measures) -> _Route:
        """Choose the cheapest route."""
        atoms = self._atoms_route(X, Y)
        if isinstance(self.ground, Linear):
            moments_route = _Route("moments", _moments_cost(X.dim), centre=X.expectation(X.points).mean(axis=0))
            return min(moments_route, atoms._replace(centre=moments_route.centre), key=lambda route: route.pair)
        return self._low_rank_route(X, Y, atoms) or atoms

    def prepare(self, X: Measures, context: _Route) -> _Moments | _Atoms:
        """Factorise once per measure."""
        if context.name == "moments":
            return self._prepare_moments(X, context)
        keep = context.name == "support"
        return _Atoms(context, factorise(self.ground, X, self.eta, context.centre, context.table, keep))

    def values(self, A: _Moments | _Atoms) -> FloatArray:
        """Return h of each measure."""
        return A.values

    def mean_values(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        """Return h of the means."""
        from ..core import log_det, variance

        out = empty_tile(rows, cols)
        if isinstance(A, _Moments):
            log_det.half_log_det_means(A.means, A.covariances, rows, B.means, B.covariances, cols, 1.0, triangle, out)
        elif A.route.name == "support":
            self._support_tile(A.atoms, B.atoms, rows, cols, triangle, out)
        else:
            x, y = A.atoms, B.atoms
            variance.atoms_tile(
                x.code, x.params, self.eta,
                x.coordinates, x.ids, x.scales, x.offsets, rows, x.halves,
                x.keep, x.places, x.factors, x.inverses, x.solved,
                y.coordinates, y.ids, y.scales, y.offsets, cols, triangle, out,
            )  # fmt: skip
        return out

    def work(self, X: Measures, Y: Measures, context: _Route) -> float:
        """Seconds per pair of the route, in operations."""
        return context.pair / OPERATION

    def row_work(self, X: Measures, Y: Measures, context: _Route) -> float:
        """The conditioned kernel matrix of the support route."""
        return context.row / OPERATION

    # -- routes ---------------------------------------------------------------------------------

    def _atoms_route(self, X: Measures, Y: Measures) -> _Route:
        """Return the route over all atoms: with a table of kernel values, conditioned or not, or computing them."""
        m = float(np.sqrt(X.sizes.mean() * Y.sizes.mean()))
        route = _Route("atoms", 7 / 3 * m**3 * FACTOR + 1.5 * m**2 * KERNEL)
        if not X.shares_support(Y):
            return route
        assert X.support is not None
        assert X.atoms is not None
        assert Y.atoms is not None
        used = np.union1d(X.atoms, Y.atoms)
        n = len(used)
        if n > LARGEST_TABLE:
            return route
        route = route._replace(table=Table(used, self.ground(X.support.points[used])))
        row = n**2 * m * PRODUCT + n**2 * LOOKUP
        pair = m**3 / 3 * FACTOR + m**2 / 2 * LOOKUP
        return route._replace(name="support", pair=pair, row=row) if pair + row / _columns(X, Y) < route.pair else route

    def _low_rank_route(self, X: Measures, Y: Measures, other: _Route) -> _Route | None:
        """Return moments in explicit features of the point kernel, if their rank is low enough to pay."""
        columns = _columns(X, Y)
        budget = other.pair + other.row / columns
        n = len(X) if X is Y else len(X) + len(Y)
        largest = int(min((3 * budget / FACTOR) ** (1 / 3), np.sqrt(MOMENT_BYTES / 8 / n)))
        # Looking for features costs as much as a few pairs per measure: not worth it for a handful of measures.
        if columns < FEWEST:
            return None
        if other.table is not None and X.support is not None:
            points = X.support.points[other.table.used]
        else:
            points = X.points if X is Y else np.concatenate([X.points, Y.points])
        # A log-determinant changes by less than trace(remainder) / eta.
        features = feature_map(self.ground, points, LOW_RANK_ERROR * self.eta, largest)
        return None if features is None else _Route("moments", _moments_cost(features.rank), features=features)

    # -- moments --------------------------------------------------------------------------------

    def _prepare_moments(self, X: Measures, route: _Route) -> _Moments:
        from ..core.log_det import half_log_dets

        scale = 1 / np.sqrt(self.eta)
        if route.features is None:
            centre = np.asarray(route.centre)
            means, covariances = moments(X, lambda points: scale * (points - centre), X.dim)
        else:
            features = route.features
            means, covariances = moments(X, lambda points: scale * features(points), features.rank)
        values = np.empty(len(X))
        half_log_dets(covariances, 1.0, values)
        return _Moments(means, covariances, values)

    def _support_tile(
        self, A: Factors, B: Factors, rows: IndexArray, cols: IndexArray, triangle: bool, out: FloatArray
    ) -> None:
        """Condition the kernel on each measure of ``rows``: P = K - G'G with G = L^-1 diag(s) K, u = 1 - G'z."""
        from ..core import variance

        conditioned = np.empty_like(A.params)
        for i, row in enumerate(rows):
            L, z, ids, scales = A.own(row)
            G = solve_triangular(L, scales[:, None] * A.params[ids], lower=True, check_finite=False, overwrite_b=True)
            np.copyto(conditioned, A.params)
            # A row-major lower triangle is a column-major upper one.
            dsyrk(-1.0, np.asfortranarray(G), 1.0, conditioned.T, trans=1, lower=0, overwrite_c=1)
            log_det, square = A.halves[row]
            variance.support_row(
                conditioned, 1.0 - z @ G, self.eta, log_det, square,
                B.ids, B.scales, B.offsets, cols, i + 1 if triangle else 0, out[i],
            )  # fmt: skip


def _moments_cost(rank: int) -> float:
    return rank**3 / 3 * FACTOR + rank**2 / 2 * LOOKUP


def _columns(X: Measures, Y: Measures) -> float:
    """Return the pairs per row: of a triangle half are needed."""
    return len(Y) / 2 if X is Y else len(Y)
