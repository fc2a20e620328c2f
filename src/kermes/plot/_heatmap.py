"""Distances in the order of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._clusters import as_labels
from .._typing import ArrayLike, IndexArray
from ..exceptions import InvalidParameterError
from ._axes import pyplot
from ._classes import class_bar
from ._gram import as_square

__all__ = ["heatmap"]


def heatmap(
    distances: Any,
    order: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    ax: Any = None,
) -> Any:
    """Draw a matrix of distances in the order of a tree, with borders of clusters and a bar of known classes.

    Parameters
    ----------
    distances : array of shape (n, n), or fitted HierarchicalClustering
        Of a clustering, its distances, its leaves and its clusters are drawn.
    order : array of shape (n,), optional
        The measures from left to right, such as ``leaves_``; by default cluster by cluster, or as they are.
    labels : array of shape (n,), optional
        Known classes.
    clusters : array of shape (n,), optional
        Clusters, such as ``labels_``: lines separate neighbours of different clusters.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Figure 2a of "Kernel Wasserstein distance" is such a picture, with the first measure below.

    Examples
    --------
    >>> from kermes import clustering, datasets, divergences, plot
    >>> digits = datasets.load_digits()[:40]
    >>> tree = clustering.HierarchicalClustering(divergences.SlicedWasserstein()).fit(digits.measures())
    >>> axes = plot.heatmap(tree, labels=digits.target)
    """
    if hasattr(distances, "distances_"):
        order = distances.leaves_ if order is None else order
        clusters = distances.labels_ if clusters is None else clusters
        distances = distances.distances_
    elif hasattr(distances, "fit"):
        raise InvalidParameterError(
            f"`distances` must be a matrix or a fitted HierarchicalClustering; {distances!r} has no distances."
        )
    values = as_square(distances, "distances", "pairwise(X, divergence=...)")
    n = len(values)
    groups = None if clusters is None else as_labels(clusters, "clusters", n)[1]
    classes = None if labels is None else as_labels(labels, "labels", n)
    rows = _order(order, groups, n)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(5.2, 4.8), layout="constrained")
    image = ax.imshow(values[np.ix_(rows, rows)], cmap="viridis")  # averages where many measures share a pixel
    ax.figure.colorbar(image, ax=ax, shrink=0.85, label="distance")
    ax.set(xticks=[], yticks=[], ylabel=f"{n} measures")
    if groups is not None:
        for border in np.flatnonzero(np.diff(groups[rows])) + 0.5:
            ax.axhline(border, color="white", linewidth=1.2)
            ax.axvline(border, color="white", linewidth=1.2)
    if classes is not None:
        class_bar(ax, classes[0], classes[1][rows], (-0.5, n - 0.5))
    return ax


def _order(order: ArrayLike | None, groups: IndexArray | None, n: int) -> IndexArray:
    if order is None:
        return np.arange(n) if groups is None else np.argsort(groups, kind="stable")
    rows = np.asarray(order)
    if not np.array_equal(np.sort(rows, axis=None), np.arange(n)) or rows.ndim != 1:
        raise InvalidParameterError(
            f"`order` must hold each of the numbers 0 to {n - 1} once, such as `leaves_`; got shape {rows.shape}."
        )
    return rows.astype(np.int64)
