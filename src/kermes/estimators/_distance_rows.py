"""Distances from one measure to a few others, again and again: prepared once, no plan of all pairs."""

from __future__ import annotations

import threading
import warnings

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import status as codes
from ..divergences import Divergence
from ..divergences._base import require_same_dim
from ..exceptions import ConvergenceWarning, NumericalError
from ..measures import Measures

__all__ = ["DistanceRows"]


class DistanceRows:
    """Distances between the measures of Y and chosen ones of X, those of ``pairwise``; may be called from threads."""

    def __init__(self, divergence: Divergence, Y: Measures, X: Measures) -> None:
        require_same_dim(Y, X)
        divergence.check(Y)
        self._divergence = divergence
        self._route = divergence.route(Y, X)
        self._A, self._B = self._route.prepare(Y), self._route.prepare(X)
        self._twins = Y.twins(X) if divergence.biased else None
        self._unconverged, self._lock = 0, threading.Lock()

    def __call__(self, row: int, cols: IndexArray) -> FloatArray:
        """Return the distances between Y[row] and X[cols]."""
        values, status, _ = self._route.tile(self._A, self._B, np.array([row]), cols, False)
        distances = np.maximum(values[0], 0.0)
        if self._twins is not None:  # equal measures are at distance 0, wherever they come from
            distances[self._twins[1][cols] == self._twins[0][row]] = 0.0
        state = np.zeros(len(cols), dtype=np.uint8) if status is None else status[0]
        failed = np.flatnonzero(~np.isfinite(distances) | (state == codes.FAILED))
        if len(failed):
            raise NumericalError(
                f"{self._divergence!r} found no finite value for query {row} and measure {cols[failed[0]]}. Check the "
                "scale of their points and weights."
            )
        with self._lock:
            self._unconverged += int(np.count_nonzero(state == codes.UNCONVERGED))
        power = self._divergence.power
        return np.sqrt(distances) if power == 2.0 else np.asarray(distances ** (1.0 / power))

    def warn(self) -> None:
        """Tell how many distances did not reach their tolerance."""
        if self._unconverged:
            warnings.warn(
                f"{self._unconverged} distances of {self._divergence!r} did not reach their tolerance; they are "
                "estimates, and so are the neighbours chosen by them.",
                ConvergenceWarning,
                stacklevel=4,
            )
