"""What the Gaussian divergences share: explicit features where they are few, atoms where they are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._features import FeatureMap, feature_map

#: Bytes that the prepared measures may take on the explicit route.
PREPARED_BYTES = 1 << 29


@dataclass(frozen=True)
class Explicit:
    """Features of the points: their coordinates less a centre (linear ground), or a map of low rank."""

    centre: FloatArray | None
    features: FeatureMap | None
    rank: int

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the features (n, rank) of points (n, d)."""
        if self.features is not None:
            return self.features(points)
        assert self.centre is not None
        return points - self.centre


class Atoms(NamedTuple):
    """Atoms coordinate by coordinate, their probabilities, and per measure |m|^2 and the trace of the covariance."""

    coordinates: FloatArray
    weights: FloatArray
    offsets: IndexArray
    norms: FloatArray
    traces: FloatArray


def explicit_route(
    ground: PointKernel, X: Measures, Y: Measures, tolerance: float, largest: float, entries: Callable[[int], float]
) -> Explicit | None:
    """Return features of a rank of at most ``largest``, if ``entries(rank)`` numbers per run fit the memory."""
    if isinstance(ground, Linear):
        fits = X.dim <= largest and 8 * entries(X.dim) <= PREPARED_BYTES
        return Explicit(X.expectation(X.points).mean(axis=0), None, X.dim) if fits else None
    while largest >= 1 and 8 * entries(int(largest)) > PREPARED_BYTES:
        largest *= 0.9
    points = X.points if X is Y else np.concatenate([X.points, Y.points])
    found = feature_map(ground, points, tolerance, int(largest))
    return None if found is None else Explicit(None, found, found.rank)


def prepare_atoms(ground: PointKernel, X: Measures, centre: FloatArray | None) -> Atoms:
    """Lay out the atoms; the linear ground is moved to ``centre``, since distances do not change."""
    points = X.points if centre is None else X.points - centre
    weights = X.probabilities
    norms = np.empty(len(X))
    for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
        norms[i] = weights[start:stop] @ ground(points[start:stop]) @ weights[start:stop]
    traces = np.add.reduceat(weights * ground.diagonal(points), X.offsets[:-1]) - norms
    return Atoms(np.array(points.T, order="C"), weights, np.array(X.offsets), norms, np.maximum(traces, 0.0))
