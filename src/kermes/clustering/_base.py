"""What clusterings share: reading measures or distances, labels, and trees of merges in scipy's form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from .._checks import as_distances, integer
from .._estimator import MeasureEstimator, Samples
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from .._values import as_floats, refuse_masked
from ..engine._pairwise import true_distances
from ..exceptions import InvalidParameterError
from ..measures import Measures


def number_of_clusters(value: int, n_measures: int) -> int:
    """Return ``n_clusters`` if so many clusters can be made of the measures."""
    value = integer(value, "n_clusters", low=1)
    if value > n_measures:
        raise InvalidParameterError(
            f"`n_clusters` (--clusters) must be at most the number of measures, n_samples = {n_measures}; got {value}. "
            "Ask for fewer clusters."
        )
    return value


def number_by_size(labels: AnyArray) -> tuple[IndexArray, IndexArray]:
    """Return labels 0, 1, ... from the largest cluster to the smallest, and the old label of each.

    Clusters of equal size are in the order of their first members.
    """
    old, first, new, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[new], old[order]


def cut_tree(Z: FloatArray, n_clusters: int) -> IndexArray:
    """Return the labels, numbered by size, of exactly ``n_clusters`` clusters: the last merges are undone.

    scipy's ``fcluster`` looks for a height instead, and so finds fewer clusters where heights are tied, or where a
    merge lies below one of its parts ('centroid', 'median').
    """
    n = len(Z) + 1
    kept = n - number_of_clusters(n_clusters, n)
    tops = np.arange(2 * n - 1)  # the cluster of each node, handed down from the last kept merge
    children = Z[:, :2].astype(np.int64)
    for i in range(kept - 1, -1, -1):
        tops[children[i]] = tops[n + i]
    return number_by_size(tops[:n])[0]


def as_linkage(Z: ArrayLike, name: str) -> FloatArray:
    """Return Z as a linkage matrix, or say what it is instead."""
    wanted = (
        f"`{name}` must be a fitted HierarchicalClustering or a linkage matrix of shape (n - 1, 4) of finite numbers"
    )
    if hasattr(Z, "fit"):
        raise InvalidParameterError(f"{wanted}; got {Z!r}, which has no tree.")
    tree = as_floats(Z, name)
    if tree.ndim != 2 or tree.shape[1] != 4 or not np.isfinite(tree).all():
        raise InvalidParameterError(f"{wanted}; got shape {tree.shape}.")
    # Each node but the last is a part of exactly one later merge.
    if (
        not np.array_equal(np.sort(tree[:, :2], axis=None), np.arange(2 * len(tree)))
        or (tree[:, :2].max(axis=1, initial=0) >= len(tree) + 1 + np.arange(len(tree))).any()
    ):
        raise InvalidParameterError(f"`{name}` must merge every cluster once; see scipy.cluster.hierarchy.linkage.")
    return tree


class CentresMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Clusters around centres: what is nearest to one belongs to it. ``transform`` returns the distances to all."""

    def predict(self, X: Any) -> IndexArray:
        """Return the cluster of the nearest centre."""
        return np.asarray(self.transform(X).argmin(axis=1))


class MeasureClustering(ClusterMixin, MeasureEstimator):
    """Base of the clusterings with a ``divergence`` parameter: a divergence, None or 'precomputed'."""

    divergence: Any
    n_clusters: int
    engine: Any
    divergence_: Any
    labels_: IndexArray

    def _read(self, X: Any, *, reset: bool) -> Samples:
        """Return checked measures, or distances if precomputed; with ``reset`` they are training samples."""
        divergence = self._resolve_divergence("None or 'precomputed'")
        self.divergence_ = divergence if reset else self.divergence_
        if not self._precomputed:
            return self._read_measures(X, reset=reset)
        if isinstance(X, Measures):
            raise InvalidParameterError("`X` must be distances if `divergence` is 'precomputed'; got Measures.")
        refuse_masked(X, "X")
        distances = validate_data(self, X, reset=reset, dtype=np.float64)
        return as_distances(distances, "X") if reset else distances

    def _read_training(self, X: Any) -> tuple[Samples, FloatArray]:
        """Return training samples and the matrix of their distances; clusters are counted before these are paid for."""
        samples = self._read(X, reset=True)
        number_of_clusters(self.n_clusters, len(samples))
        if not isinstance(samples, Measures):
            return samples, samples
        return samples, true_distances(samples, divergence=self.divergence_, engine=self.engine)
