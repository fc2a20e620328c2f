"""Data sets: trees of merges, and maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_labels
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..clustering._base import as_linkage, cut_tree
from ..core import ragged
from ..exceptions import InvalidParameterError
from ..inspection import DataMap, data_map
from ..measures import as_measures
from ._display import MOST_NAMES, Display, class_bar, class_colours, class_legend, colours, short_form

#: More leaves than this have no names.
MOST_LEAVES = 60
#: More characters than this do not fit beside each other.
ACROSS = 90
#: Colour of merges of different clusters.
ABOVE = (0.44, 0.44, 0.44, 1.0)
#: Side of a thumbnail, as a part of the wider side of the map.
THUMBNAIL = 0.055
#: A map is at least this high or wide to either side of its middle, in its wider sides.
FLAT = 0.2


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
        clustering : fitted HierarchicalClustering, or its ``linkage``
        labels : array of shape (n,), optional
            Known classes.
        n_clusters : int, optional
            Number of coloured clusters; that of ``clustering``, or 2 for a matrix, by default.
        names : sequence of n names, optional
            Names of the measures, their numbers by default.
        ax : matplotlib axes, optional
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
        height = 0.0  # of the names, in heights of the axes
        if len(leaves) > MOST_LEAVES:
            ax.set_xticks([])
        else:
            longest = max(map(len, self.names))
            turned = longest > 2 or longest * len(leaves) > ACROSS
            ax.set_xticks(np.arange(len(leaves)), [self.names[i] for i in leaves])
            ax.tick_params(axis="x", length=0, labelsize=7, rotation=90 if turned else 0)
            inches = 0.1 + 0.06 * (longest if turned else 1)
            height = float(inches * ax.figure.dpi / ax.get_window_extent().height)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.set_ylabel("distance")
        if self.classes is not None:
            names, codes = self.classes
            class_bar(ax, names, codes[leaves], (-0.5, len(leaves) - 0.5), low=height)
        return self


dendrogram = short_form("dendrogram", DendrogramDisplay.from_estimator, "ax_")


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


@dataclass(eq=False, repr=False)
class MapDisplay(Display):
    """Measures as points of a plane: near ones are alike. Classes have colours, images are drawn as thumbnails.

    The title says how far to trust the map: the stress, and the share of the spectrum that it explains.

    Parameters
    ----------
    map : kermes.inspection.DataMap
    classes : (names, codes), optional
        Known classes: their names and the number of each measure's class.
    images : ndarray of shape (n, h, w), optional
        Thumbnails, ink bright; where they would overlap, dots are drawn instead.

    See Also
    --------
    kermes.inspection.data_map : the numbers.

    Examples
    --------
    >>> from kermes import datasets, divergences, plot
    >>> digits = datasets.load_digits()[:100]
    >>> display = plot.MapDisplay.from_measures(digits.measures(), divergences.SlicedWasserstein(), digits.target)
    """

    map: DataMap
    classes: tuple[AnyArray, IndexArray] | None = None
    images: AnyArray | None = None

    @classmethod
    def from_measures(
        cls,
        X: Any,
        divergence: Any = None,
        labels: ArrayLike | None = None,
        method: Any = "mds",
        thumbnails: bool = True,
        ax: Any = None,
    ) -> MapDisplay:
        """Compute a map of measures by :func:`kermes.inspection.data_map` and draw it.

        ``labels`` (n,) are classes; with ``thumbnails``, measures that come from images are drawn as images.
        """
        measures = as_measures(X)
        found = data_map(measures, divergence, method)
        images: AnyArray | None = None
        support = measures.support
        if thumbnails and support is not None and support.shape is not None and measures.atoms is not None:
            images = np.zeros((len(measures), len(support.points)))  # which measures on pixels came from
            images[ragged.owners(measures.offsets), measures.atoms] = measures.weights
            images = images.reshape(len(measures), *support.shape)
        return cls.from_map(found, labels, images, ax)

    @classmethod
    def from_distances(
        cls, distances: ArrayLike, labels: ArrayLike | None = None, method: Any = "mds", images: Any = None,
        ax: Any = None,
    ) -> MapDisplay:  # fmt: skip
        """Compute a map from a matrix of distances and draw it; ``images`` (n, h, w) are thumbnails."""
        return cls.from_map(data_map(distances, "precomputed", method), labels, images, ax)

    @classmethod
    def from_map(
        cls, found: DataMap, labels: ArrayLike | None = None, images: Any = None, ax: Any = None
    ) -> MapDisplay:
        """Draw a map of :func:`kermes.inspection.data_map`, of two dimensions."""
        n, k = found.coordinates.shape
        if k != 2:
            raise InvalidParameterError(f"a map of two dimensions can be drawn; this one has {k}. Use n_components=2.")
        classes = None if labels is None else as_labels(labels, "labels", n)
        pictures = None if images is None else np.asarray(images, dtype=np.float64)
        if pictures is not None and (pictures.ndim != 3 or len(pictures) != n):
            raise InvalidParameterError(f"`images` must have shape ({n}, h, w); got {pictures.shape}.")
        return cls(found, classes, pictures).plot(ax)

    def plot(self, ax: Any = None) -> MapDisplay:
        """Draw, on given axes or on a new figure."""
        ax = self._open(ax, 6.2, 5.2)
        places = self.map.coordinates
        palette = colours(1)
        of_each = np.zeros(len(places), dtype=np.int64)
        if self.classes is not None:
            names, of_each = self.classes
            palette = class_colours(len(names))
        span = float(np.ptp(places, axis=0).max()) or 1.0
        side = THUMBNAIL * span
        shown = np.zeros(len(places), dtype=bool) if self.images is None else _apart(places, side)
        faint = {"s": 7, "alpha": 0.45} if shown.any() else {"s": 14, "alpha": 0.8}  # dots between thumbnails
        ax.scatter(*places[~shown].T, c=palette[of_each[~shown]], linewidths=0, zorder=1, **faint)
        for i in np.flatnonzero(shown):
            _stamp(ax, self.images[i], places[i], side, palette[of_each[i]])  # type: ignore[index]
        low, high = places.min(axis=0), places.max(axis=0)
        half = np.maximum((high - low) / 2, FLAT * span) + side
        left, bottom = (low + high) / 2 - half
        ax.set(xlim=(left, left + 2 * half[0]), ylim=(bottom, bottom + 2 * half[1]), aspect="equal")
        ax.set(xlabel="first coordinate", ylabel="second coordinate")
        share = "" if self.map.explained is None else f", {self.map.explained:.0%} of the spectrum explained"
        method = {"mds": "classical scaling", "kernel_pca": "kernel PCA"}.get(self.map.method, self.map.method)
        ax.set_title(f"{method}: stress {self.map.stress:.2f}{share}", fontsize=10)
        if self.classes is not None:
            class_legend(ax, self.classes[0], loc="center left", bbox_to_anchor=(1.01, 0.5))
        return self


def _apart(places: FloatArray, side: float) -> AnyArray:
    """Choose points, in order, that are at least ``side`` from all chosen before along some axis."""
    chosen: list[int] = []
    for i, place in enumerate(places):
        if not chosen or (np.abs(places[chosen] - place).max(axis=1) >= side).all():
            chosen.append(i)
    return np.isin(np.arange(len(places)), chosen)


def _stamp(ax: Any, image: AnyArray, place: FloatArray, side: float, colour: AnyArray) -> None:
    """Draw an image around a place: ink in the colour, the rest transparent."""
    h, w = image.shape
    half = 0.5 * side * np.array([w, h]) / max(h, w)
    stamp = np.empty((h, w, 4))
    stamp[..., :3] = colour[:3]
    stamp[..., 3] = np.clip(image / (image.max() or 1.0), 0.0, 1.0)
    extent = (place[0] - half[0], place[0] + half[0], place[1] - half[1], place[1] + half[1])
    ax.imshow(stamp, extent=extent, interpolation="nearest", zorder=2)
