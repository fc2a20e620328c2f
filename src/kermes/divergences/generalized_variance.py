"""Jensen difference of the generalised variance: the inverse generalised variance (IGV) kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import Claims, empty_tile, portions
from ._features import FeatureMap, feature_map, moments
from ._support import LARGEST_TABLE, sparse_rows
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
#: Bytes of the factors kept for all measures; beyond that each is computed again where it is needed.
FACTOR_BYTES = 1 << 28
MOMENT_BYTES = 1 << 29
#: Pairs per measure from which low-rank features are looked for.
FEWEST = 8


class _Route(NamedTuple):
    """How pairs are computed, and what it costs in seconds per pair and per row of a tile."""

    name: str
    pair: float
    row: float = 0.0
    used: IndexArray | None = None  # atoms of the shared support that occur, sorted
    table: FloatArray | None = None  # kernel values between them
    features: FeatureMap | None = None  # of low rank
    centre: FloatArray | None = None  # for the linear ground


class _Moments(NamedTuple):
    """Means and covariances in an explicit feature space, divided by sqrt(eta) and eta, and h of each measure."""

    means: FloatArray
    covariances: FloatArray
    values: FloatArray


class _Atoms(NamedTuple):
    """Atoms, their scales s = sqrt(w / eta), the factors of their halved blocks, and h of each measure.

    ``places[i]`` is where the vectors of length p_i (a multiple of 4) and the matrix p_i x p_i of measure i start.
    """

    route: _Route
    code: int
    params: FloatArray
    coordinates: FloatArray
    ids: IndexArray
    scales: FloatArray
    offsets: IndexArray
    keep: bool
    places: IndexArray
    factors: FloatArray
    inverses: FloatArray
    solved: FloatArray
    halves: FloatArray
    values: FloatArray


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
        if not isinstance(self.ground, PointKernel):
            raise InvalidParameterError(
                f"`ground` must be a point kernel such as ground.Gaussian(sigma=1.0); got {self.ground!r}."
            )

    def claims(self, dim: int) -> Claims:
        """A metric by Sra's theorem; negative definite on the line only."""
        if isinstance(self.ground, Linear) and dim == 1:
            return Claims(False, 2.0, "log(1 + x) is a Bernstein function of the variance of the mean; "
                          "zero for measures of equal mean and variance")  # fmt: skip
        reason = "a metric between moments (Sra 2016); negative definite is exp(-t J) for t = 1, 2, ... only"
        return Claims(bool(self.ground.characteristic), None, reason)

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
        return self._prepare_moments(X, context) if context.name == "moments" else self._prepare_atoms(X, context)

    def values(self, A: _Moments | _Atoms) -> FloatArray:
        """Return h of each measure."""
        return A.values

    def mean_values(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        """Return h of the means."""
        from ..core import variance

        out = empty_tile(rows, cols)
        if isinstance(A, _Moments):
            variance.moments_tile(A.means, A.covariances, rows, B.means, B.covariances, cols, triangle, out)
        elif A.route.name == "support":
            self._support_tile(A, B, rows, cols, triangle, out)
        else:
            variance.atoms_tile(
                A.code, A.params, self.eta,
                A.coordinates, A.ids, A.scales, A.offsets, rows, A.halves,
                A.keep, A.places, A.factors, A.inverses, A.solved,
                B.coordinates, B.ids, B.scales, B.offsets, cols, triangle, out,
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
        assert X.support is not None and X.atoms is not None and Y.atoms is not None
        used = np.union1d(X.atoms, Y.atoms)
        n = len(used)
        if n > LARGEST_TABLE:
            return route
        route = route._replace(used=used, table=self.ground(X.support.points[used]))
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
        if other.used is not None and X.support is not None:
            points = X.support.points[other.used]
        else:
            points = X.points if X is Y else np.concatenate([X.points, Y.points])
        # A log-determinant changes by less than trace(remainder) / eta.
        features = feature_map(self.ground, points, LOW_RANK_ERROR * self.eta, largest)
        return None if features is None else _Route("moments", _moments_cost(features.rank), features=features)

    # -- moments --------------------------------------------------------------------------------

    def _prepare_moments(self, X: Measures, route: _Route) -> _Moments:
        from ..core import variance

        scale = 1 / np.sqrt(self.eta)
        if route.features is None:
            centre = np.asarray(route.centre)
            means, covariances = moments(X, lambda points: scale * (points - centre), X.dim)
        else:
            features = route.features
            means, covariances = moments(X, lambda points: scale * features(points), features.rank)
        values = np.empty(len(X))
        variance.moments_values(covariances, values)
        return _Moments(means, covariances, values)

    # -- atoms ----------------------------------------------------------------------------------

    def _prepare_atoms(self, X: Measures, route: _Route) -> _Atoms:
        from ..core import variance

        if route.table is None:
            points = X.points if route.centre is None else X.points - route.centre
            coordinates, ids = np.array(points.T, order="C"), np.zeros(len(points), dtype=np.int64)
            weights, offsets = X.probabilities, np.array(X.offsets)
            code, params = self.ground.code, self.ground.params[None]
        else:
            assert X.support is not None and route.used is not None
            ids, weights, offsets = sparse_rows(X, X.support.points, True)
            ids = np.searchsorted(route.used, ids)
            coordinates, code, params = np.zeros((0, len(ids))), variance.TABLE, route.table
        sides = -(-np.diff(offsets) // 4) * 4
        places = np.stack([np.cumsum(sides) - sides, np.cumsum(sides**2) - sides**2], axis=1)
        keep = bool(route.name == "support" or 8 * (sides**2).sum() <= FACTOR_BYTES)
        kept = sides.sum() if keep else 0
        factors, inverses, solved = np.zeros((sides**2).sum() if keep else 0), np.empty(kept), np.empty(kept)
        halves, values = np.empty((len(X), 2)), np.empty(len(X))
        scales = np.sqrt(weights / self.eta)
        for rows in portions(2 / 3 * sides.astype(np.float64) ** 3):
            variance.prepare(
                code, params, coordinates, ids, scales, offsets, rows, self.eta,
                keep, places, factors, inverses, solved, halves, values,
            )  # fmt: skip
        return _Atoms(
            route, code, params, coordinates, ids, scales, offsets, keep, places, factors, inverses, solved, halves,
            values,
        )  # fmt: skip

    def _support_tile(
        self, A: _Atoms, B: _Atoms, rows: IndexArray, cols: IndexArray, triangle: bool, out: FloatArray
    ) -> None:
        """Condition the kernel on each measure of ``rows``: P = K - G'G with G = L^-1 diag(s) K, u = 1 - G'z."""
        from ..core import variance

        conditioned = np.empty_like(A.params)
        for i, row in enumerate(rows):
            L, z, ids, scales = _own(A, row)
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


def _own(A: _Atoms, row: int) -> tuple[FloatArray, FloatArray, IndexArray, FloatArray]:
    """Return factor, solved vector, atoms and scales (of halved weights) of one measure."""
    start, stop = A.offsets[row], A.offsets[row + 1]
    size, side = stop - start, -(-(stop - start) // 4) * 4
    first, corner = A.places[row]
    L = A.factors[corner : corner + side**2].reshape(side, side)[:size, :size]
    return L, A.solved[first : first + size], A.ids[start:stop], A.scales[start:stop] * np.sqrt(0.5)
