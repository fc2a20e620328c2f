"""Count, mean and scatter of vectors, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._typing import FloatArray

__all__ = ["Moments"]


class Moments:
    """Moments of n vectors (r,): what a least-squares fit needs to know of them, whatever n is.

    Scatters are about the mean, and updated as by Chan, Golub and LeVeque (1979): no digits are lost to large means.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: FloatArray = np.zeros(size)
        self.scatter: FloatArray = np.zeros((size, size))

    def add(self, rows: FloatArray) -> None:
        """Add the vectors ``rows`` (m, r)."""
        if not len(rows):
            return
        mean = rows.mean(axis=0)
        centred = rows - mean
        gap, total = mean - self.mean, self.count + len(rows)
        self.scatter += centred.T @ centred + np.outer(gap, gap * (self.count * len(rows) / total))
        self.mean = self.mean + gap * (len(rows) / total)
        self.count = total

    @staticmethod
    def pool(parts: Iterable[Moments]) -> tuple[FloatArray, FloatArray]:
        """Return mean and scatter of all vectors of several moments."""
        parts = list(parts)
        counts, means = np.array([part.count for part in parts], dtype=np.float64), np.array([p.mean for p in parts])
        mean = counts @ means / counts.sum()
        gaps = means - mean
        scatter: FloatArray = (gaps.T * counts) @ gaps
        for part in parts:
            scatter += part.scatter
        return mean, scatter
