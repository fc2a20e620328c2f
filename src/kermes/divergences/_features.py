"""Explicit features of a point kernel, and the moments of measures in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import FloatArray
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import batches

if TYPE_CHECKING:
    from ..core.moments import Moments

#: Points among which pivots are looked for; the others are checked afterwards.
POOL = 4096
ROUNDS = 5
#: Residuals of the pivoted Cholesky below this fraction of the diagonal are rounding.
ROUNDING = 1e-14


#: Bytes that the prepared measures may take in explicit features.
PREPARED_BYTES = 1 << 29


class Features(Protocol):
    """A map of points (n, d) to explicit features (n, rank)."""

    @property
    def rank(self) -> int:
        """Number of features."""

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the features (n, rank) of points (n, d)."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The features of the linear ground: coordinates less a centre, since distances do not change."""

    centre: FloatArray

    @classmethod
    def about_mean(cls, X: Measures) -> Coordinates:
        """Move points to the centre of the measures."""
        return cls(X.expectation(X.points).mean(axis=0))

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.centre)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the features (n, rank) of points (n, d)."""
        return points - self.centre


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Features F(x) = L^-1 k(pivots, x), so that F(x) . F(y) is close to k(x, y): k(pivots, pivots) = L L'."""

    ground: PointKernel
    pivots: FloatArray
    factor: FloatArray

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.pivots)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the features (n, rank) of points (n, d)."""
        values = self.ground(self.pivots, points)
        return np.asarray(solve_triangular(self.factor, values, lower=True, check_finite=False, overwrite_b=True).T)

    def rest(self, points: FloatArray) -> FloatArray:
        """Return k(x, x) - |F(x)|^2 for each point, which bounds every error of k by Cauchy and Schwarz."""
        parts = np.array_split(points, -(-len(points) // POOL))
        return np.concatenate([self.ground.diagonal(part) - (self(part) ** 2).sum(axis=1) for part in parts])


def feature_map(
    ground: PointKernel, points: FloatArray, tolerance: float, largest: int, pool_size: int = POOL
) -> FeatureMap | None:
    """Return at most ``largest`` features whose error stays below ``tolerance`` on all points, or None."""
    if largest < 1 or tolerance < ROUNDING * ground.diagonal(points).max():
        return None
    pool = points
    if len(points) > pool_size:
        pool = points[np.random.default_rng(0).choice(len(points), pool_size, replace=False)]
    for _ in range(ROUNDS):
        features = _pivoted_cholesky(ground, pool, 0.5 * tolerance, largest)
        if features is None:
            return None
        missed = points[features.rest(points) > tolerance] if pool is not points else points[:0]
        if not len(missed):
            return features
        pool = np.concatenate([features.pivots, missed[:pool_size]])
    return None


def _pivoted_cholesky(ground: PointKernel, points: FloatArray, tolerance: float, largest: int) -> FeatureMap | None:
    """Take as pivot the point that is approximated worst, until none is off by more than ``tolerance``."""
    rows = np.empty((min(largest, len(points)), len(points)))
    pivots: list[int] = []
    rest = ground.diagonal(points)
    while (worst := int(np.argmax(rest))) >= 0 and rest[worst] > tolerance:
        k = len(pivots)
        if k == len(rows):
            return None
        value = ground(points[[worst]], points)[0] - rows[:k, worst] @ rows[:k]
        rows[k] = value / np.sqrt(rest[worst])
        rest = np.maximum(rest - rows[k] ** 2, 0.0)
        rest[worst] = 0.0
        pivots.append(worst)
    return FeatureMap(ground, points[pivots], np.ascontiguousarray(rows[: len(pivots), pivots].T))


def explicit_features(
    ground: PointKernel, X: Measures, Y: Measures, tolerance: float, largest: float, entries: Callable[[int], float]
) -> Coordinates | FeatureMap | None:
    """Return features of a rank of at most ``largest``, if ``entries(rank)`` numbers per run fit the memory."""
    if isinstance(ground, Linear):
        fits = X.dim <= largest and 8 * entries(X.dim) <= PREPARED_BYTES
        return Coordinates.about_mean(X) if fits else None
    while largest >= 1 and 8 * entries(int(largest)) > PREPARED_BYTES:
        largest *= 0.9
    return feature_map(ground, pooled_points(X, Y), tolerance, int(largest))


def pooled_points(X: Measures, Y: Measures) -> FloatArray:
    """Return the points of both collections."""
    return X.points if X is Y else np.concatenate([X.points, Y.points])


def centred_features(
    X: Measures, features: Callable[[FloatArray], FloatArray]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield for each measure the mean of its features, (r,), and the factor F (n_i, r) of their covariance F'F.

    Features are computed for some thousand atoms at a time: one call per measure would take longer than the rest.
    """
    weights = X.probabilities
    for rows in batches(X.sizes.astype(np.float64), POOL):
        start, stop = X.offsets[rows[0]], X.offsets[rows[-1] + 1]
        values = features(X.points[start:stop])
        for i in rows:
            own = values[X.offsets[i] - start : X.offsets[i + 1] - start]
            w = weights[X.offsets[i] : X.offsets[i + 1]]
            mean = w @ own
            yield mean, (own - mean) * np.sqrt(w[:, None])


def moments(X: Measures, features: Callable[[FloatArray], FloatArray], rank: int) -> tuple[FloatArray, FloatArray]:
    """Return means (n, rank) and covariances (n, rank, rank) of the features of each measure."""
    means, covariances = np.empty((len(X), rank)), np.empty((len(X), rank, rank))
    for i, (mean, factor) in enumerate(centred_features(X, features)):
        means[i] = mean
        np.matmul(factor.T, factor, out=covariances[i])
    return means, covariances


def scaled_moments(X: Measures, features: Features, ridge: float) -> Moments:
    """Return the moments in units of the ridge, m / sqrt(ridge) and S / ridge, and h = log det(I + S / ridge) / 2."""
    from ..core.moments import Moments, half_log_dets

    scale = 1 / np.sqrt(ridge)
    means, covariances = moments(X, lambda points: scale * features(points), features.rank)
    values = np.empty(len(X))
    half_log_dets(covariances, 1.0, values)
    return Moments(means, covariances, values)
