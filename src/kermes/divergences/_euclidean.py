"""The baseline: measures as plain vectors of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._typing import FloatArray, IndexArray
from ..core.ragged import Rows
from ..measures import Measures
from ._base import Claims, Divergence, Route, Tile, filled
from ._cores import core
from ._support import CommonSupport, common_support, dense_rows, sparse_rows

#: Entries of a dense difference that cost as much as one step of a merge of sorted lists.
DENSE_FACTOR = 8.0


@dataclass(frozen=True)
class _Dense(Route):
    """Measures as the rows of a matrix."""

    common: CommonSupport

    def prepare(self, X: Measures) -> FloatArray:
        return dense_rows(X, *self.common)

    def tile(self, A: FloatArray, B: FloatArray, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(core.vectors.squared_tile(A, rows, B, cols, triangle))


@dataclass(frozen=True)
class _Sparse(Route):
    """Measures as sorted atom numbers and weights, merged for each pair."""

    common: CommonSupport

    def prepare(self, X: Measures) -> Rows:
        return sparse_rows(X, *self.common)

    def tile(self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(filled(core.vectors.sparse_tile, A, rows, B, cols, triangle))


@dataclass(frozen=True)
class Euclidean(Divergence):
    r"""Euclidean distance between the weight vectors of two measures.

    .. math:: d(\mu, \nu)^2 = \sum_z (\mu(z) - \nu(z))^2

    over the union of the supports, masses normalised to 1. It ignores where the atoms are: this is
    the distance of an RBF kernel on pixels or bins, the baseline to beat. On point clouds without
    common points it only says whether two clouds differ.

    Notes
    -----
    *Returned*: d. *Metric*: yes. *Negative type*: d^2 is conditionally negative definite (a Hilbert
    space norm). *Cost*: :math:`O(m)` per pair for a support of m points, :math:`O(n_i + n_j)` when supports are sparse.
    *Accuracy*: :math:`d^2` to 1e-12 of itself for the weights as they are normalised.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_histograms([[1, 0], [0, 1]], support=[0.0, 1.0])
    >>> pairwise(X, divergence=divergences.Euclidean(), squared=True)
    array([[0., 2.],
           [2., 0.]])
    """

    biased: ClassVar[bool] = False

    def claims(self, dim: int) -> Claims:
        return Claims(True, 2.0, "a Hilbert space norm (Schoenberg)")

    def route(self, X: Measures, Y: Measures) -> Route:
        common = common_support(X, Y)
        dense = len(common.points) <= DENSE_FACTOR * (X.sizes.mean() + Y.sizes.mean())
        return _Dense(common) if dense else _Sparse(common)
