"""Maximum mean discrepancy: the distance between mean embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ground import Gaussian, Linear, PointKernel, Polynomial, as_point_kernel
from ..measures import Measures
from ._base import Claims, Divergence, Route, n_points, n_prepared, pooled_points
from ._embeddings import ByAxes, ByFeatures, ByProducts, Means, OnAtoms, OnSupport, grid_of, kernel_cost, point_pairs
from ._features import MOST_MONOMIALS, PREPARED_BYTES, KernelSource, exact_features, pivoted_cholesky
from ._support import LARGEST_TABLE, CommonSupport, common_support, fewest_points

#: Ratio of the largest and the smallest k(x, x) from which potentials of a shared support are not accurate enough.
UNEVEN = 100.0
#: Points among which pivots are looked for, and how many features are worth it.
POOL, MOST_FEATURES, FEWEST_FEATURES = 2048, 1024, 16
#: Dimensions, and range of a coordinate in units of gamma^-1/2, up to which features are products over the axes.
MOST_AXES, LONGEST = 3, 1000.0
#: Largest residual of a pivoted Cholesky factor on those points, in units of k(x, x).
FEATURE_ERROR = 5e-15
#: Operations in which features are found, at least.
SETUP = 1e7
#: Operations for each coordinate of an atom in which equal points are found.
SEARCH = 1000.0
#: Dimensions from which squared distances are a matrix product, if gamma |x - c|^2 stays below FLAT: it is rounding
#: times that.
WIDE, FLAT = 24, 16.0


@dataclass(frozen=True)
class MMD(Divergence):
    r"""Maximum mean discrepancy.

    .. math:: d(\mu, \nu)^2 = \sum_{ij} a_i a_j k(x_i, x_j) + \sum_{ij} b_i b_j k(y_i, y_j)
              - 2 \sum_{ij} a_i b_j k(x_i, y_j)

    the distance of the mean embeddings in the feature space of a point kernel k.

    Parameters
    ----------
    ground : PointKernel
        ``ground.Gaussian(sigma=...)``: clouds are compared after smoothing at the length sigma.
        ``ground.Linear()``: the distance of the means.

    Notes
    -----
    *Returned*: d. *Metric*: for a characteristic kernel (Gaussian, Laplacian); otherwise a
    pseudometric. *Negative type*: d^2 is conditionally negative definite (a Hilbert space norm).
    *Cost*: :math:`O(r)` per pair for the linear kernel and for a polynomial one of :math:`r \le 1024` monomials, whose
    values are exact up to 1e-15 of the largest feature of a point; :math:`O(r)` for a Gaussian of low numerical rank r
    on the points at hand (some hundred in the plane, if sigma is not far below the spread), by a pivoted Cholesky
    factor of its values; :math:`O(m)` on a shared support of m points; elsewhere :math:`O(n_i n_j)`, as matrix products
    in many dimensions. The cheapest for the collection is taken. For clouds of 100,000 points and more where none of
    the first three applies, take :class:`~kermes.features.RandomFourierFeatures` and their Euclidean distance.

    *Accuracy*: :math:`d^2` to 1e-14 of the squared norms of the embeddings, so that distances below 1e-7 of them are
    rounding; features add :math:`(e_i + e_j)^2`, with :math:`e_i^2` the part of the squared norm that they miss, at
    most 2e-14 k(x, x). ``pairwise(..., return_info=True)`` returns both in ``info.error``, for point kernels other than
    the linear and polynomial ones.

    Examples
    --------
    >>> from kermes import Measures, divergences, ground, pairwise
    >>> X = Measures.from_samples([[0.0], [1.0]])
    >>> pairwise(X, divergence=divergences.MMD(ground.Gaussian(sigma=1.0)), squared=True).round(4)
    array([[0.    , 0.7869],
           [0.7869, 0.    ]])
    """

    ground: PointKernel

    def __post_init__(self) -> None:
        object.__setattr__(self, "ground", as_point_kernel(self.ground))

    def claims(self, dim: int) -> Claims:
        return Claims(self.ground.characteristic, 2.0, "a Hilbert space norm (Schoenberg)")

    @property
    def biased(self) -> bool:
        """Whether squares are differences, whose rounding has a root of 1e-8: not those between means of points."""
        return not isinstance(self.ground, Linear)

    @property
    def estimates_error(self) -> bool:
        """Whether embeddings may miss something: not those by the coordinates and their monomials."""
        return not isinstance(self.ground, (Linear, Polynomial))

    def route(self, X: Measures, Y: Measures) -> Route:
        """Return the cheapest for all pairs: by vectors, by a shared support, or by kernel values between atoms."""
        monomials = exact_features(self.ground, X.dim, np.inf if isinstance(self.ground, Linear) else MOST_MONOMIALS)
        if monomials is not None:
            return Means(monomials)
        n_pairs = len(X) * len(Y) * (0.5 if X is Y else 1.0)
        atoms = kernel_cost(X.dim) * point_pairs(X, Y) * n_pairs
        common, support = self._support(X, Y, n_pairs, atoms)
        if isinstance(self.ground, Gaussian):
            budget = 0.5 * min(atoms, support)
            low_rank = self._by_axes(X, Y, n_pairs, budget) or self._by_features(X, Y, n_pairs, budget)
            if low_rank is not None:
                return low_rank
        if common is not None and support < atoms:
            return OnSupport.of(self.ground, X, common)
        return self._by_atoms(X, Y)

    def _support(self, X: Measures, Y: Measures, n_pairs: float, atoms: float) -> tuple[CommonSupport | None, float]:
        """Return the support that all share, if it suits, and the operations of all pairs by potentials on it.

        Clouds that share no support may still share their points, as documents do their words: these are looked for
        where that costs a small part of ``atoms``, the operations without a support.
        """
        if isinstance(self.ground, Polynomial):
            return None, np.inf
        if not X.shares_support(Y) and (SEARCH * n_points(X, Y) * X.dim > atoms or fewest_points(X, Y) > LARGEST_TABLE):
            return None, np.inf
        common = common_support(X, Y)
        m, n = len(common.points), n_prepared(X, Y)
        grid = grid_of(self.ground, X) if common.given else None
        if 16 * n * m > PREPARED_BYTES or (
            grid is None and (m > LARGEST_TABLE or not _even(self.ground, common.points))
        ):
            return None, np.inf
        if grid is not None and grid.shape is not None:
            return common, m * (0.5 * n_pairs + 0.3 * n * sum(grid.shape))
        return common, m * (0.5 * n_pairs + 0.3 * n * m + kernel_cost(X.dim) * m)

    def _by_axes(self, X: Measures, Y: Measures, n_pairs: float, budget: float) -> ByAxes | None:
        """Return products of features of each coordinate, if all pairs then take less than ``budget`` operations."""
        if X.dim > MOST_AXES:
            return None
        sides = (X,) if X is Y else (X, Y)
        # Coordinate by coordinate: along the short axis of all points at once it takes twenty times as long.
        low, high = (
            np.array([end([end(Z.points[:, k]) for Z in sides]) for k in range(X.dim)]) for end in (np.min, np.max)
        )
        spans = np.sqrt(self.ground.params[0]) * (high - low)
        if not spans.max() <= LONGEST:
            return None
        rank = float(np.prod(12.0 + 3.5 * spans))  # a little above those found
        if SETUP + 0.3 * rank * (n_pairs + n_points(X, Y)) > budget or 8.0 * rank * (len(X) + len(Y)) > PREPARED_BYTES:
            return None
        counts = (64 + 16 * spans).astype(np.int64)
        grids = [np.linspace(low[k], high[k], counts[k])[:, None] for k in range(X.dim)]
        axes = [pivoted_cholesky(self.ground, grid, FEATURE_ERROR, len(grid)) for grid in grids]
        return ByAxes(tuple(axis for axis in axes if axis is not None))

    def _by_features(self, X: Measures, Y: Measures, n_pairs: float, budget: float) -> ByFeatures | None:
        """Return features in any dimension if so few are enough that all pairs take less than ``budget`` operations."""
        own = kernel_cost(X.dim) * float((X.sizes**2).mean()) * len(X)  # the norms, which show what features miss
        largest = min(MOST_FEATURES, (budget - SETUP - own) / (0.3 * n_pairs + kernel_cost(X.dim) * n_points(X, Y)))
        largest = int(min(largest, np.sqrt(0.4 * budget / POOL)))  # a trial in vain costs a fifth at most
        if largest < FEWEST_FEATURES:
            return None
        points = pooled_points(X, Y)
        if len(points) > POOL:
            points = points[np.random.default_rng(0).choice(len(points), POOL, replace=False)]
        features = pivoted_cholesky(self.ground, points, FEATURE_ERROR, largest, give_up=True)
        return None if features is None else ByFeatures(KernelSource(self.ground), features)

    def _by_atoms(self, X: Measures, Y: Measures) -> Route:
        if isinstance(self.ground, Gaussian) and X.dim >= WIDE and point_pairs(X, Y) >= WIDE**2:
            gamma, centre = float(self.ground.params[0]), X.points.mean(axis=0)
            if gamma * max(((Z.points - centre) ** 2).sum(axis=1).max() for Z in (X, Y)) <= FLAT:
                return ByProducts(gamma, centre)
        return OnAtoms(KernelSource.of(self.ground, X, Y), self.estimates_error)


def _even(ground: PointKernel, points: np.ndarray) -> bool:
    """Return whether no point has so large a k(x, x) that rounding of its values would swamp those of others."""
    diagonal = ground.diagonal(points)
    return bool(diagonal.max() <= UNEVEN * diagonal.min())
