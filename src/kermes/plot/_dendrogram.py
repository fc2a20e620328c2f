"""Trees of merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_labels
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..clustering._labels import as_linkage, cut_tree
from ..exceptions import InvalidParameterError
from ._display import MOST_NAMES, Display, class_bar, colours, short_form

#: More leaves than this have no names.
MOST_LEAVES = 60
#: More characters than this do not fit beside each other.
ACROSS = 90
#: Colour of merges of different clusters.
ABOVE = (0.44, 0.44, 0.44, 1.0)


@dataclass(eq=False, repr=False)
class DendrogramDisplay(Display):
    """The tree of a hierarchical clustering, clusters in colours, known classes in a bar below.

    Parameters
    ----------
    linkage : ndarray of shape (n - 1, 4)
        A tree in the form of :func:`scipy.cluster.hierarchy.linkage`.
    clusters : ndarray of shape (n,)
        Clusters, numbered by size.
    names : list of n str
        Names of the measures. They are written for up to 60 measures.
    classes : (names, codes), optional
        Known classes: their names and the number of each measure's class.

    Notes
    -----
    Clusters are named by their size rank, as in ``labels_``. Figure 2b of "Kernel Wasserstein distance" is such a
    picture.

    Examples
    --------
    >>> from kermes import clustering, datasets, divergences, plot
    >>> digits = datasets.load_digits()[:40]
    >>> tree = clustering.HierarchicalClustering(divergences.SlicedWasserstein()).fit(digits.measures())
    >>> display = plot.DendrogramDisplay.from_estimator(tree, digits.target)
    """

    linkage: FloatArray
    clusters: IndexArray
    names: list[str]
    classes: tuple[AnyArray, IndexArray] | None = None

    @classmethod
    def from_estimator(
        cls,
        clustering: Any,
        labels: ArrayLike | None = None,
        n_clusters: int | None = None,
        names: Sequence[Any] | None = None,
        ax: Any = None,
    ) -> DendrogramDisplay:
        """Draw the tree of a clustering.

        Parameters
        ----------
        clustering : fitted HierarchicalClustering, or array of shape (n - 1, 4)
            A tree in the form of :func:`scipy.cluster.hierarchy.linkage`.
        labels : array of shape (n,), optional
            Known classes.
        n_clusters : int, optional
            Number of coloured clusters; that of ``clustering``, or 2 for a matrix, by default.
        names : sequence of n names, optional
            Names of the measures, their numbers by default.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        Z = as_linkage(getattr(clustering, "linkage_", clustering), "clustering")
        n = len(Z) + 1
        clusters = cut_tree(Z, getattr(clustering, "n_clusters", min(2, n)) if n_clusters is None else n_clusters)
        classes = None if labels is None else as_labels(labels, "labels", n)
        written = [str(name) for name in (range(n) if names is None else names)]
        if len(written) != n:
            raise InvalidParameterError(f"`names` must hold {n} names, one per measure; got {len(written)}.")
        return cls(Z, clusters, written, classes).plot(ax)

    @classmethod
    def from_linkage(cls, Z: ArrayLike, labels: ArrayLike | None = None, **options: Any) -> DendrogramDisplay:
        """Draw a tree of scipy's ``linkage``; the options are those of :meth:`from_estimator`."""
        return cls.from_estimator(Z, labels, **options)

    def plot(self, ax: Any = None) -> DendrogramDisplay:
        """Draw, on given axes or on a new figure."""
        from scipy.cluster.hierarchy import leaves_list

        ax = self._open(ax, 7.0, 4.0)
        leaves = leaves_list(self.linkage).astype(np.int64) if len(self.linkage) else np.zeros(1, dtype=np.int64)
        _draw(ax, self.linkage, leaves, self.clusters)
        height = _write(ax, [self.names[i] for i in leaves])
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.set_ylabel("distance")
        if self.classes is not None:
            names, codes = self.classes
            class_bar(ax, names, codes[leaves], (-0.5, len(leaves) - 0.5), low=height)
        return self


dendrogram = short_form("dendrogram", DendrogramDisplay.from_estimator, "ax_")


def _write(ax: Any, names: list[str]) -> float:
    """Write the names of the leaves if there is room, and return their height in heights of the axes."""
    if len(names) > MOST_LEAVES:
        ax.set_xticks([])
        return 0.0
    longest = max(map(len, names))
    turned = longest > 2 or longest * len(names) > ACROSS
    ax.set_xticks(np.arange(len(names)), names)
    ax.tick_params(axis="x", length=0, labelsize=7, rotation=90 if turned else 0)
    inches = 0.1 + 0.06 * (longest if turned else 1)
    return float(inches * ax.figure.dpi / ax.get_window_extent().height)


def _draw(ax: Any, Z: FloatArray, leaves: IndexArray, clusters: IndexArray) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    n = len(leaves)
    sizes = np.bincount(clusters)
    palette = colours(len(sizes))
    forks, members = _forks(Z, leaves, clusters)
    drawn = np.vstack([palette, ABOVE])[members]  # -1 is the last row
    ax.add_collection(LineCollection(list(forks), colors=drawn, linewidths=1.2 if n <= 200 else 0.6), autolim=False)
    top = float(Z[:, 2].max(initial=0.0)) or 1.0
    low = min(0.0, float(Z[:, 2].min(initial=0.0)))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(low, 1.05 * top))
    if len(sizes) <= MOST_NAMES:
        handles = [Line2D([], [], color=colour) for colour in palette]
        names = [f"cluster {i} ({size})" for i, size in enumerate(sizes)]
        # Above the axes: branches may be anywhere inside.
        ax.legend(
            handles, names, ncols=min(len(names), 4), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False,
            fontsize=9,
        )  # fmt: skip


def _forks(Z: FloatArray, leaves: IndexArray, clusters: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the corners (n - 1, 4, 2) of each merge and its cluster, -1 for a merge of different clusters.

    scipy's own ``dendrogram`` calls itself for every level of the tree: chains of 1164 measures, which single linkage
    makes, end in a RecursionError.
    """
    n = len(leaves)
    x, y, cluster = np.empty(2 * n - 1), np.zeros(2 * n - 1), np.empty(2 * n - 1, dtype=np.int64)
    x[leaves] = np.arange(n)
    cluster[:n] = clusters
    forks = np.empty((n - 1, 4, 2))
    for i, (left, right) in enumerate(Z[:, :2].astype(np.int64).tolist()):
        x[n + i], y[n + i] = (x[left] + x[right]) / 2.0, Z[i, 2]
        cluster[n + i] = cluster[left] if cluster[left] == cluster[right] else -1
        forks[i] = [[x[left], y[left]], [x[left], Z[i, 2]], [x[right], Z[i, 2]], [x[right], y[right]]]
    return forks, cluster[n:]
