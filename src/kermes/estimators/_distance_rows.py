"""Distances from one measure to a few others, again and again: prepared once, and not remembered."""

from __future__ import annotations

import threading
import warnings

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core.status import UNCONVERGED
from ..divergences import Divergence
from ..engine._job import Job
from ..exceptions import ConvergenceWarning
from ..measures import Measures

__all__ = ["DistanceRows"]


class DistanceRows:
    """Distances between the measures of Y and chosen ones of X, those of ``pairwise``; may be called from threads."""

    def __init__(self, divergence: Divergence, Y: Measures, X: Measures) -> None:
        self._job = Job.between(divergence, Y, X)
        self._unconverged, self._lock = 0, threading.Lock()

    def __call__(self, row: int, cols: IndexArray) -> FloatArray:
        """Return the distances between Y[row] and X[cols]."""
        distances, status = self._job.distances(np.array([row]), cols)
        with self._lock:
            self._unconverged += int(np.count_nonzero(status == UNCONVERGED))
        return np.asarray(distances[0])

    def warn(self) -> None:
        """Warn of distances that did not reach their tolerance."""
        if self._unconverged:
            warnings.warn(
                f"{self._unconverged} distances of {self._job.divergence!r} did not reach their tolerance; they are "
                "estimates, and so are the neighbours chosen by them.",
                ConvergenceWarning,
                stacklevel=4,
            )
