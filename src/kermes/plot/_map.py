"""Maps of data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import as_labels
from .._typing import AnyArray, ArrayLike, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import InvalidParameterError
from ..inspection import DataMap, data_map
from ..measures import Measures, as_measures
from ._display import Display, class_colours, class_legend, colours

#: Side of a thumbnail, as a part of the wider side of the map.
THUMBNAIL = 0.055
#: A map is at least this high or wide to either side of its middle, in its wider sides.
FLAT = 0.2


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
        """Compute a map of measures and draw it.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        divergence, method
            Those of :func:`kermes.inspection.data_map`.
        labels : array of shape (n,), optional
            Classes.
        thumbnails : bool
            Draw measures that come from images as images.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        measures = as_measures(X)
        found = data_map(measures, divergence, method)
        return cls.from_map(found, labels, _thumbnails(measures) if thumbnails else None, ax)

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
        ax.set_title(self._title(), fontsize=10)
        if self.classes is not None:
            class_legend(ax, self.classes[0], loc="center left", bbox_to_anchor=(1.01, 0.5))
        return self

    def _title(self) -> str:
        share = "" if self.map.explained is None else f", {self.map.explained:.0%} of the spectrum explained"
        name = {"mds": "classical scaling", "kernel_pca": "kernel PCA"}.get(self.map.method, self.map.method)
        return f"{name}: stress {self.map.stress:.2f}{share}"


def _thumbnails(X: Measures) -> FloatArray | None:
    """Return the images that measures on pixels came from, (n, h, w), or None."""
    if X.support is None or X.support.shape is None or X.atoms is None:
        return None
    images = np.zeros((len(X), len(X.support.points)))
    images[ragged.owners(X.offsets), X.atoms] = X.weights
    return images.reshape(len(X), *X.support.shape)


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
