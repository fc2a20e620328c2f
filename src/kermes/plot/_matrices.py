"""Matrices: Gram matrices in order of classes, their eigenvalues, distances in the order of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_labels
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..clustering import HierarchicalClustering
from ..definiteness import Spectrum, spectrum
from ..exceptions import InvalidParameterError
from ._display import PALETTE, Display, class_bar, short_form

#: Values this many widths of the middle 98 % beyond it share the colour of its end.
FAR = 0.5


@dataclass(eq=False, repr=False)
class GramDisplay(Display):
    """A Gram matrix or a matrix of distances, classes side by side.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        In the order in which it is drawn.
    classes : list of (name, size)
        Classes in this order; empty if they are not known.

    Notes
    -----
    Colours run from 0 to 1 if all values lie there and one exceeds 1/2, otherwise over the values. A diagonal, or a
    few values, that would leave the others without colours are cut off, which arrows on the colour bar show.

    Examples
    --------
    >>> from kermes import datasets, kernels, plot
    >>> digits = datasets.load_digits()[:60]
    >>> X = digits.measures(spacing="unit")
    >>> display = plot.GramDisplay.from_measures(X, kernels.IGV(eta=1e-3), digits.target)
    """

    K: FloatArray
    classes: list[tuple[Any, int]]

    @classmethod
    def from_matrix(cls, K: ArrayLike, labels: ArrayLike | None = None, ax: Any = None) -> GramDisplay:
        """Draw a matrix.

        Parameters
        ----------
        K : array of shape (n, n)
            Such as ``kernel(X)`` or ``pairwise(X, divergence=...)``.
        labels : array of shape (n,), optional
            Classes: rows and columns are sorted by them (within a class they keep their order), lines separate them
            and their names stand at the sides.
        ax : matplotlib axes, optional
        """
        values = as_square(K, "K", "kernel(X)")
        if labels is None:
            return cls(values, []).plot(ax)
        of_rows, n = np.asarray(labels), len(values)
        if of_rows.shape != (n,):
            raise InvalidParameterError(
                f"`labels` must hold {n} classes, one per row of `K`; got shape {of_rows.shape}."
            )
        names, counts = np.unique(of_rows, return_counts=True)
        order = np.argsort(of_rows, kind="stable")
        return cls(values[np.ix_(order, order)], list(zip(names.tolist(), counts.tolist(), strict=True))).plot(ax)

    @classmethod
    def from_measures(cls, X: Any, kernel: Any, labels: ArrayLike | None = None, ax: Any = None) -> GramDisplay:
        """Draw ``kernel(X)``; the other parameters are those of :meth:`from_matrix`."""
        return cls.from_matrix(np.asarray(kernel(X)), labels, ax)

    def plot(self, ax: Any = None) -> GramDisplay:
        """Draw, on given axes or on a new figure."""
        ax = self._open(ax, 4.6, 4.0)
        low, high, extend = _limits(self.K)
        image = ax.imshow(self.K, cmap="viridis", interpolation="nearest", vmin=low, vmax=high)
        ax.figure.colorbar(image, ax=ax, shrink=0.85, extend=extend)
        if not self.classes:
            ax.set(xlabel="measure", ylabel="measure")
            return self
        ends = np.cumsum([count for _, count in self.classes])
        middles = ends - np.array([count for _, count in self.classes]) / 2 - 0.5
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="white", linewidth=1.2)
            ax.axvline(end - 0.5, color="white", linewidth=1.2)
        written = [str(name) for name, _ in self.classes]
        ax.set_xticks(middles, written)
        ax.set_yticks(middles, written)
        ax.tick_params(length=0)
        ax.set(xlabel="class", ylabel="class")
        return self


gram = short_form("gram", GramDisplay.from_matrix, "ax_")


def as_square(K: ArrayLike, name: str, example: str) -> FloatArray:
    """Return K as a square matrix of finite numbers, or say what it is instead."""
    try:
        values: FloatArray = np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"`{name}` must be a square matrix of numbers; got {type(K).__name__}. Pass {example}."
        ) from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise InvalidParameterError(f"`{name}` must be a square matrix, such as {example}; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InvalidParameterError(f"`{name}` must hold finite numbers.")
    return values


def _limits(K: FloatArray) -> tuple[float, float, str]:
    """Return the ends of the colours, and which of them values exceed ('neither', 'min', 'max' or 'both')."""
    low, high = float(K.min()), float(K.max())
    if low >= 0.0 and 0.5 < high <= 1.0:
        return 0.0, 1.0, "neither"
    # An unnormalised kernel may have a diagonal, or a few entries, that dwarf all others.
    others = K[~np.eye(len(K), dtype=bool)] if len(K) > 1 else K
    bottom, top = np.percentile(others, [1.0, 99.0])
    reach = FAR * (top - bottom)
    cut_low, cut_high = reach > 0 and low < bottom - reach, reach > 0 and high > top + reach
    extend = ("neither", "min", "max", "both")[bool(cut_low) + 2 * bool(cut_high)]
    return float(bottom) if cut_low else low, float(top) if cut_high else high, extend


@dataclass(eq=False, repr=False)
class SpectrumDisplay(Display):
    """The eigenvalues of a Gram matrix, the largest first, and whether it is positive definite.

    Both signs have a logarithmic scale; the grey band holds what may be zero, of either sign (``tolerance``).

    Parameters
    ----------
    spectrum : kermes.definiteness.Spectrum

    Examples
    --------
    >>> from kermes import datasets, divergences, kernels, plot
    >>> X = datasets.load_digits()[:50].measures()
    >>> display = plot.SpectrumDisplay.from_measures(X, kernels.Exponential(divergences.Wasserstein(p=1), 20.0))
    >>> display.spectrum.verdict
    'indefinite'
    """

    spectrum: Spectrum

    @classmethod
    def from_matrix(cls, K: ArrayLike, ax: Any = None) -> SpectrumDisplay:
        """Draw the spectrum of a symmetric matrix, such as ``kernel(X)``."""
        return cls(spectrum(as_square(K, "K", "kernel(X)"))).plot(ax)

    @classmethod
    def from_measures(cls, X: Any, kernel: Any, ax: Any = None) -> SpectrumDisplay:
        """Draw the spectrum of ``kernel(X)``."""
        return cls.from_matrix(np.asarray(kernel(X)), ax)

    def plot(self, ax: Any = None) -> SpectrumDisplay:
        """Draw, on given axes or on a new figure."""
        ax = self._open(ax, 5.6, 3.8)
        found = self.spectrum
        values = found.eigenvalues[::-1]
        places = np.arange(1, len(values) + 1)
        zero = found.tolerance or 1e-16
        kinds = ((values > zero, PALETTE[0], "positive"), (np.abs(values) <= zero, "0.35", "0, to rounding"),
                 (values < -zero, PALETTE[1], "negative"))  # fmt: skip
        for chosen, colour, name in kinds:
            if chosen.any():
                ax.plot(places[chosen], values[chosen], "o", color=colour, markersize=3.5, label=name)
        ax.axhspan(-zero, zero, color="0.88", zorder=0, linewidth=0)
        ax.set_yscale("symlog", linthresh=zero, linscale=0.5)
        _ticks(ax, values, zero)
        ax.set(xlabel="number", ylabel="eigenvalue", xlim=(0.0, len(values) + 1))
        ax.set_title(f"{found.verdict}\nleast {found.min:.2g}, negative mass {found.negative_mass:.2%}", fontsize=10)
        ax.legend(frameon=False, fontsize=9)
        return self


def _ticks(ax: Any, values: Any, zero: float) -> None:
    """Mark a few decades on either side of zero; matplotlib would write every one of them, over each other."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    top = max(float(np.abs(values).max()), 10.0 * zero)
    low, high = int(np.ceil(np.log10(zero))) + 1, int(np.floor(np.log10(top)))
    step = max(1, -(-(high - low) // 5))
    powers = np.arange(high, low, -step)[::-1]
    positive = 10.0 ** powers.astype(float)
    negative = -positive[(positive <= 10.0 * -values.min())] if values.min() < -zero else np.zeros(0)
    ticks = np.concatenate([negative[::-1], [0.0], positive])
    ax.set_yticks(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    margin = 10.0**0.7
    ax.set_ylim(min(values.min() * margin, -10.0 * zero) if values.min() < -zero else -3.0 * zero, top * margin)


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
        """
        if hasattr(distances, "fit"):
            return cls.from_estimator(distances, labels, order, clusters, ax)
        values = as_square(distances, "distances", "pairwise(X, divergence=...)")
        n = len(values)
        if isinstance(order, str) and order == "tree":
            order = HierarchicalClustering("precomputed", n_clusters=1).fit(values).leaves_
        groups = None if clusters is None else as_labels(clusters, "clusters", n)[1]
        classes = None if labels is None else as_labels(labels, "labels", n)
        if order is None:
            order = np.arange(n) if groups is None else np.argsort(groups, kind="stable")
        rows = np.asarray(order)
        if not np.array_equal(np.sort(rows, axis=None), np.arange(n)) or rows.ndim != 1:
            raise InvalidParameterError(
                f"`order` must hold each of the numbers 0 to {n - 1} once, such as `leaves_`; got shape {rows.shape}."
            )
        return cls(values, rows.astype(np.int64), groups, classes).plot(ax)

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

        The parameters are those of :class:`~kermes.clustering.HierarchicalClustering` and of :meth:`from_distances`.
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
