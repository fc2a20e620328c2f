"""Numbering the atoms of several collections in one common finite set of points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..measures import Measures


class CommonSupport(NamedTuple):
    """Distinct points (m, d); ``given`` when they are the support that the collections came with."""

    points: FloatArray
    given: bool

    def __len__(self) -> int:
        return len(self.points)


class Rows(NamedTuple):
    """Measures as sparse vectors: sorted distinct atom numbers and their probabilities."""

    ids: IndexArray
    weights: FloatArray
    offsets: IndexArray


def common_support(X: Measures, Y: Measures) -> CommonSupport:
    """Return the shared support of both collections, or the union of their atoms."""
    if X.shares_support(Y):
        assert X.support is not None
        return CommonSupport(X.support.points, True)
    pooled = X.points if X is Y else np.concatenate([X.points, Y.points])
    return CommonSupport(np.unique(pooled, axis=0), False)


def sparse_rows(X: Measures, common: CommonSupport) -> Rows:
    """Return the measures over ``common``; repeated atoms are added up."""
    ids = X.atoms if common.given else _locate(X.points, common.points)
    assert ids is not None  # a given support comes with atom numbers
    flat, inverse = np.unique(ragged.owners(X.offsets) * len(common) + ids, return_inverse=True)
    weights = np.bincount(inverse.ravel(), weights=X.probabilities).astype(np.float64)
    sizes = np.bincount(flat // len(common), minlength=len(X))
    return Rows(flat % len(common), weights, ragged.offsets_of(sizes))


def dense_rows(X: Measures, common: CommonSupport) -> FloatArray:
    """Return the measures over ``common`` as the rows of a matrix (n, m)."""
    rows = sparse_rows(X, common)
    dense = np.zeros((len(X), len(common)))
    dense[ragged.owners(rows.offsets), rows.ids] = rows.weights
    return dense


def _locate(points: FloatArray, union: FloatArray) -> IndexArray:
    """Return the row of ``union`` (sorted, distinct) that holds each point."""
    stacked = np.concatenate([union, points])
    _, inverse = np.unique(stacked, axis=0, return_inverse=True)
    return np.asarray(inverse.ravel()[len(union) :], dtype=np.int64)
