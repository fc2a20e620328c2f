"""Measures as vectors of weights over a fixed set of points."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..measures import Measures

__all__ = ["WeightVectors"]


class WeightVectors:
    """Numbers the atoms of measures in a fixed set of points (m, d), in its order."""

    def __init__(self, points: FloatArray) -> None:
        self.points = points

    def ids(self, X: Measures, name: str = "X") -> IndexArray:
        """Return the number of the point of each atom of X; refuse atoms elsewhere."""
        known = len(self.points)
        distinct, inverse = np.unique(np.concatenate([self.points, X.points]), axis=0, return_inverse=True)
        place = np.full(len(distinct), -1, dtype=np.int64)
        place[inverse.ravel()[:known]] = np.arange(known)
        ids = place[inverse.ravel()[known:]]
        strange = np.flatnonzero(ids < 0)
        if len(strange):
            atom = strange[0]
            raise UnsuitableDataError(
                f"`{name}[{ragged.owners(X.offsets)[atom]}]` has an atom at {X.points[atom]}, which is not among the "
                f"{known} points that have a length scale of their own. Use isotropic=True, or measures on the support "
                "of the training measures."
            )
        return np.asarray(ids)

    def rows(self, X: Measures, name: str = "X") -> FloatArray:
        """Return the weights of each measure, (len(X), m); they add up to 1."""
        rows = np.zeros((len(X), len(self.points)))
        np.add.at(rows, (ragged.owners(X.offsets), self.ids(X, name)), X.probabilities)
        return rows
