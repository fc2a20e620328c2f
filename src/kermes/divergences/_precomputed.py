"""Distances that somebody else computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._checks import as_distances
from .._frozen import FrozenArray
from .._typing import ArrayLike, IndexArray
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Claims, Divergence, Tile


@dataclass(frozen=True)
class Precomputed(Divergence):
    """Look distances up in a table.

    The measures are row numbers: Dirac masses on the line at 0, 1, ..., n - 1, which is how the array
    ``np.arange(n)[:, None]`` is read. It brings kernels and their hyperparameters to distances from
    anywhere, and to scikit-learn estimators that accept numeric arrays only.

    Parameters
    ----------
    distances : array of shape (n, n)
        Non-negative and symmetric, zero on the diagonal. Compares and hashes by content.

    Notes
    -----
    *Claims*: none; whatever the table is. *Accuracy*: the numbers of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import divergences, pairwise
    >>> D = np.array([[0.0, 3.0], [3.0, 0.0]])
    >>> pairwise(np.array([[1], [0]]), divergence=divergences.Precomputed(D))
    array([[0., 3.],
           [3., 0.]])
    """

    distances: ArrayLike
    power: ClassVar[float] = 1.0
    biased: ClassVar[bool] = False  # the table says what is 0

    def __post_init__(self) -> None:
        if not isinstance(self.distances, FrozenArray):
            object.__setattr__(self, "distances", FrozenArray(as_distances(self.distances, "distances")))

    def claims(self, dim: int) -> Claims:
        return Claims(None, None, "given by the user")

    def check(self, X: Measures) -> None:
        size = len(np.asarray(self.distances))
        numbers = X.points[:, 0]
        if X.dim != 1 or (X.sizes != 1).any() or (numbers != np.rint(numbers)).any():
            raise UnsuitableDataError("Precomputed takes row numbers: pass np.arange(n)[:, None] or rows of it.")
        if (numbers < 0).any() or (numbers >= size).any():
            bad = int(np.flatnonzero((numbers < 0) | (numbers >= size))[0])
            raise UnsuitableDataError(
                f"measure {bad} is row {numbers[bad]:g}, but the table has the rows 0 to {size - 1}."
            )

    def prepare(self, X: Measures) -> IndexArray:
        return X.points[:, 0].astype(np.int64)

    def tile(self, A: IndexArray, B: IndexArray, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(np.asarray(self.distances)[np.ix_(A[rows], B[cols])])

    def work(self, X: Measures, Y: Measures) -> float:
        return 1.0
