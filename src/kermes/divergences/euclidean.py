"""The baseline: measures as plain vectors of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .._typing import FloatArray, IndexArray
from ..measures import Measures
from ._base import Claims, Divergence, empty_tile
from ._support import CommonSupport, Rows, common_support, dense_rows, sparse_rows

__all__ = ["Euclidean"]

#: Entries of a dense difference that cost as much as one step of a merge of sorted lists.
DENSE_FACTOR = 8.0


class _Route(NamedTuple):
    """Where the atoms are numbered, and whether dense rows are the cheaper form."""

    common: CommonSupport
    dense: bool


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

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_histograms([[1, 0], [0, 1]], support=[0.0, 1.0])
    >>> pairwise(X, divergence=divergences.Euclidean(), squared=True)
    array([[0., 2.],
           [2., 0.]])
    """

    def claims(self, dim: int) -> Claims:
        """A Hilbert norm."""
        return Claims(True, 2.0, "a Hilbert space norm (Schoenberg)")

    def context(self, X: Measures, Y: Measures) -> _Route:
        """Number the atoms, and choose the cheaper of two layouts."""
        common = common_support(X, Y)
        return _Route(common, bool(len(common.points) <= DENSE_FACTOR * (X.sizes.mean() + Y.sizes.mean())))

    def prepare(self, X: Measures, context: _Route) -> FloatArray | Rows:
        """Write each measure as a vector."""
        return dense_rows(X, *context.common) if context.dense else sparse_rows(X, *context.common)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> tuple[FloatArray, None]:
        """Return squared distances."""
        from ..core import vectors

        if not isinstance(A, Rows):
            return vectors.squared_tile(A, rows, B, cols, triangle), None
        out = empty_tile(rows, cols)
        vectors.sparse_tile(A.ids, A.weights, A.offsets, rows, B.ids, B.weights, B.offsets, cols, triangle, 2.0, out)
        return out, None
