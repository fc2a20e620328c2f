"""The baseline: measures as plain vectors of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..measures import Measures
from ._base import Claims, Divergence, empty_tile

__all__ = ["Euclidean"]

#: Entries of a dense difference that cost as much as one step of a merge of sorted lists.
DENSE_FACTOR = 8.0


class _Dense(NamedTuple):
    """Probabilities over the union of the supports, (n, m)."""

    weights: FloatArray


class _Sparse(NamedTuple):
    """The same as sorted atom numbers with their probabilities."""

    ids: IndexArray
    weights: FloatArray
    offsets: IndexArray


class _Union(NamedTuple):
    """The union of all supports: how many points, and whether dense rows are the cheaper form."""

    size: int
    dense: bool
    points: FloatArray | None  # None: the collections share a support, whose numbering is used


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

    def context(self, X: Measures, Y: Measures) -> _Union:
        """Find the union of the supports, and the cheaper of two layouts."""
        points = None if X.shares_support(Y) else np.unique(np.concatenate([X.points, Y.points]), axis=0)
        size = len(X.support.points) if points is None else len(points)  # type: ignore[union-attr]
        return _Union(size, bool(size <= DENSE_FACTOR * (X.sizes.mean() + Y.sizes.mean())), points)

    def prepare(self, X: Measures, context: _Union) -> _Dense | _Sparse:
        """Number the atoms in the union and add up repeated ones."""
        ids = X.atoms if context.points is None else _locate(X.points, context.points)
        assert ids is not None  # a shared support comes with atom numbers
        owner = ragged.owners(X.offsets)
        flat, inverse = np.unique(owner * context.size + ids, return_inverse=True)
        weights: FloatArray = np.bincount(inverse.ravel(), weights=X.probabilities).astype(np.float64)
        if context.dense:
            dense = np.zeros((len(X), context.size))
            dense.ravel()[flat] = weights
            return _Dense(dense)
        sizes = np.bincount(flat // context.size, minlength=len(X))
        return _Sparse(flat % context.size, weights, ragged.offsets_of(sizes))

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> tuple[FloatArray, None]:
        """Return squared distances."""
        from ..core import vectors

        out = empty_tile(rows, cols)
        if isinstance(A, _Dense):
            vectors.power_tile(A.weights, rows, B.weights, cols, triangle, 2.0, out)
        else:
            vectors.sparse_squared_tile(
                A.ids, A.weights, A.offsets, rows, B.ids, B.weights, B.offsets, cols, triangle, out
            )
        return out, None


def _locate(points: FloatArray, union: FloatArray) -> IndexArray:
    """Return the row of ``union`` (sorted, distinct) that holds each point."""
    stacked = np.concatenate([union, points])
    _, inverse = np.unique(stacked, axis=0, return_inverse=True)
    return np.asarray(inverse.ravel()[len(union) :], dtype=np.int64)
