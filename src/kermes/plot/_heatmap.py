"""Distances in the order of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_labels
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..clustering import HierarchicalClustering
from ..exceptions import InvalidParameterError
from ._classes import class_bar
from ._display import Display, short_form
from ._gram import as_square


@dataclass(eq=False, repr=False)
class HeatmapDisplay(Display):
    """A matrix of distances in the order of a tree, with borders of clusters and a bar of known classes.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
    order : ndarray of shape (n,)
        The measures from left to right.
    clusters : ndarray of shape (n,), optional
        Numbers of clusters: lines separate neighbours of different ones.
    classes : (names, codes), optional
        Known classes: their names and the number of each measure's class.

    See Also
    --------
    DendrogramDisplay : the tree.

    Notes
    -----
    Figure 2a of "Kernel Wasserstein distance" is such a picture, with the first measure below.

    Examples
    --------
    >>> from kermes import datasets, divergences, plot
    >>> digits = datasets.load_digits()[:40]
    >>> display = plot.HeatmapDisplay.from_measures(
    ...     digits.measures(), divergences.SlicedWasserstein(), labels=digits.target, n_clusters=5
    ... )
    """

    distances: FloatArray
    order: IndexArray
    clusters: IndexArray | None = None
    classes: tuple[AnyArray, IndexArray] | None = None

    @classmethod
    def from_distances(
        cls,
        distances: Any,
        order: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        ax: Any = None,
    ) -> HeatmapDisplay:
        """Draw a matrix of distances, or those of a clustering.

        Parameters
        ----------
        distances : array of shape (n, n), or fitted HierarchicalClustering
            Such as ``pairwise(X, divergence=...)``. Of a clustering, its leaves and its clusters are drawn unless
            others are given.
        order : array of shape (n,), or 'tree', optional
            The measures from left to right, such as ``leaves_``; 'tree': the leaves of a hierarchical clustering
            (average linkage); by default cluster by cluster, or as they are.
        labels : array of shape (n,), optional
            Known classes.
        clusters : array of shape (n,), optional
            Clusters, such as ``labels_``: lines separate neighbours of different clusters.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        if hasattr(distances, "fit"):
            return cls.from_estimator(distances, labels, order, clusters, ax)
        values = as_square(distances, "distances", "pairwise(X, divergence=...)")
        n = len(values)
        if isinstance(order, str) and order == "tree":
            order = HierarchicalClustering("precomputed", n_clusters=1).fit(values).leaves_
        groups = None if clusters is None else as_labels(clusters, "clusters", n)[1]
        classes = None if labels is None else as_labels(labels, "labels", n)
        return cls(values, _order(order, groups, n), groups, classes).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        clustering: Any,
        labels: ArrayLike | None = None,
        order: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        ax: Any = None,
    ) -> HeatmapDisplay:
        """Draw the distances of a fitted HierarchicalClustering, with its leaves and clusters unless others are given.

        The parameters are those of :meth:`from_distances`.
        """
        if not hasattr(clustering, "distances_"):
            raise InvalidParameterError(
                f"`clustering` must be a fitted HierarchicalClustering; {clustering!r} has no distances."
            )
        order = clustering.leaves_ if order is None else order
        clusters = clustering.labels_ if clusters is None else clusters
        return cls.from_distances(clustering.distances_, order, labels, clusters, ax)

    @classmethod
    def from_measures(
        cls,
        X: Any,
        divergence: Any = None,
        labels: ArrayLike | None = None,
        n_clusters: int = 2,
        linkage: str = "average",
        ax: Any = None,
    ) -> HeatmapDisplay:
        """Cluster measures, and draw their distances in the order of the tree.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        divergence, n_clusters, linkage
            Those of :class:`~kermes.clustering.HierarchicalClustering`.
        labels : array of shape (n,), optional
            Known classes.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        tree = HierarchicalClustering(divergence, n_clusters, linkage).fit(X)
        return cls.from_estimator(tree, labels, ax=ax)

    def plot(self, ax: Any = None) -> HeatmapDisplay:
        """Draw, on given axes or on a new figure."""
        ax = self._open(ax, 5.2, 4.8)
        n = len(self.distances)
        shown = self.distances[np.ix_(self.order, self.order)]
        image = ax.imshow(shown, cmap="viridis")  # averages where many measures share a pixel
        ax.figure.colorbar(image, ax=ax, shrink=0.85, label="distance")
        ax.set(xticks=[], yticks=[], ylabel=f"{n} measures")
        if self.clusters is not None:
            for border in np.flatnonzero(np.diff(self.clusters[self.order])) + 0.5:
                ax.axhline(border, color="white", linewidth=1.2)
                ax.axvline(border, color="white", linewidth=1.2)
        if self.classes is not None:
            names, codes = self.classes
            class_bar(ax, names, codes[self.order], (-0.5, n - 0.5))
        return self


heatmap = short_form("heatmap", HeatmapDisplay.from_distances, "ax_")


def _order(order: ArrayLike | None, groups: IndexArray | None, n: int) -> IndexArray:
    if order is None:
        return np.arange(n) if groups is None else np.argsort(groups, kind="stable")
    rows = np.asarray(order)
    if not np.array_equal(np.sort(rows, axis=None), np.arange(n)) or rows.ndim != 1:
        raise InvalidParameterError(
            f"`order` must hold each of the numbers 0 to {n - 1} once, such as `leaves_`; got shape {rows.shape}."
        )
    return rows.astype(np.int64)
