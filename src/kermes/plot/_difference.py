"""Where two groups of measures differ: a picture for pixels, bars for bins, coloured points for clouds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inspection import Difference, difference
from ._display import PALETTE, Display, across_and_up, pyplot

__all__ = ["DifferenceDisplay"]

#: Ratio of the ranges of two coordinates up to which a unit is as long across as up; beyond, units differ.
LONGEST = 5.0


@dataclass(eq=False, repr=False)
class DifferenceDisplay(Display):
    """Scores of a difference between two groups, and the band of chance; what stays inside is pale.

    Parameters
    ----------
    difference : kermes.inspection.Difference
    names : sequence of str, optional
        Names of the coordinates; their numbers by default.

    Examples
    --------
    >>> from kermes import datasets, plot
    >>> digits = datasets.load_digits()
    >>> digits = digits[(digits.target == 3) | (digits.target == 8)][:60]
    >>> display = plot.DifferenceDisplay.from_measures(digits.measures(), digits.target, random_state=0)
    """

    difference: Difference
    names: Sequence[str] | None = None

    @classmethod
    def from_measures(cls, X: Any, y: Any, ax: Any = None, **options: Any) -> DifferenceDisplay:
        """Compute and draw the difference.

        Parameters
        ----------
        X, y
            Measures and the labels of two groups.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        **options
            Of :func:`kermes.inspection.difference`.
        """
        return cls(difference(X, y, **options)).plot(ax)

    def plot(self, ax: Any = None) -> DifferenceDisplay:
        """Draw, on given axes or on a new figure."""
        found = self.difference
        if found.shape is not None:
            self._pixels(ax)
        elif found.points.shape[1] == 1 and found.ground is None:
            self._bars(ax)
        elif found.points.shape[1] <= 2:
            self._points(ax)
        else:
            self._coordinates(ax)
        first, second = found.groups
        self.ax_.set_title(f"{second} minus {first}: p = {found.p_value:.3g}", fontsize=10)
        return self

    def _colours(self) -> tuple[Any, Any]:
        """Return a colour for each score, pale inside the band, and the scale."""
        plt, found = pyplot(), self.difference
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        top = float(np.abs(found.scores).max()) or 1.0
        scale = ScalarMappable(Normalize(-top, top), plt.get_cmap("RdBu_r"))
        colours = scale.to_rgba(found.scores)
        colours[~found.significant, 3] = 0.25
        return colours, scale

    def _pixels(self, ax: Any) -> None:
        found = self.difference
        assert found.shape is not None
        h, w = found.shape
        ax = self._open(ax, 4.4, 3.6 * h / w + 0.5)
        colours, scale = self._colours()
        ax.imshow(colours.reshape(h, w, 4), interpolation="nearest")
        outside = found.significant.reshape(h, w)
        for axis, shift in ((0, (0, 1)), (1, (1, 0))):  # the border of what leaves the band
            padded = np.pad(outside, 1).astype(int)
            rows, cols = np.nonzero(np.diff(padded, axis=axis))
            for row, col in zip(rows, cols, strict=True):
                start = (col - 1.5, row - 0.5) if axis == 0 else (col - 0.5, row - 1.5)
                ax.plot(
                    [start[0], start[0] + shift[1]], [start[1], start[1] + shift[0]], color="0.1", linewidth=1.0,
                    solid_capstyle="projecting",
                )  # fmt: skip
        ax.set(xticks=[], yticks=[], xlim=(-0.6, w - 0.4), ylim=(h - 0.4, -0.6))
        self._scale(ax, scale, "mass")

    def _bars(self, ax: Any) -> None:
        found = self.difference
        x = found.points[:, 0]
        order = np.argsort(x)
        width = 0.8 * float(np.diff(np.sort(x)).min()) if len(x) > 1 else 0.8
        ax = self._open(ax, 6.0, 3.2)
        colours = [PALETTE[1] if score > 0 else PALETTE[0] for score in found.scores]
        alphas = np.where(found.significant, 1.0, 0.3)
        for place, score, colour, alpha in zip(x, found.scores, colours, alphas, strict=True):
            ax.bar(place, score, width, color=colour, alpha=alpha)
        ax.fill_between(x[order], -found.bands[order], found.bands[order], step="mid", color="0.6", alpha=0.3, lw=0)
        ax.axhline(0.0, color="0.3", linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlabel="bin", ylabel="difference of mass")

    def _points(self, ax: Any) -> None:
        found = self.difference
        colours, scale = self._colours()
        order = np.argsort(np.abs(found.scores))
        if found.points.shape[1] == 1:
            ax = self._open(ax, 6.0, 3.2)
            x = np.argsort(found.points[:, 0])
            places = found.points[x, 0]
            ax.fill_between(places, -found.bands[x], found.bands[x], color="0.6", alpha=0.3, lw=0)
            ax.plot(places, found.scores[x], color=PALETTE[0], linewidth=1.5)
            ax.axhline(0.0, color="0.3", linewidth=0.8)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set(xlabel=self._names()[0], ylabel="witness function")
            return
        ax = self._open(ax, 5.0, 4.2)
        places = across_and_up(found.points, False)
        ax.scatter(*places[order].T, c=colours[order], s=14, linewidths=0)
        across, up = self._names()
        ax.set(xlabel=across, ylabel=up)
        reach = np.ptp(found.points, axis=0)
        if reach.max() <= LONGEST * reach.min():
            ax.set_aspect("equal", adjustable="datalim")
        self._scale(ax, scale, "witness function")

    def _coordinates(self, ax: Any) -> None:
        part = self.difference.coordinates
        ax = self._open(ax, 6.0, 0.3 * len(part.scores) + 1.3)
        places = np.arange(len(part.scores))[::-1]
        # Coordinates have units of their own: in units of the band, 1 is what chance reaches.
        lengths = part.scores / np.where(part.bands > 0, part.bands, 1.0)
        colours = [PALETTE[1] if shift > 0 else PALETTE[0] for shift in part.shifts]
        for place, length, colour in zip(places, lengths, colours, strict=True):
            ax.barh(place, length, 0.7, color=colour, alpha=1.0 if length > 1 else 0.3)
        ax.axvline(1.0, color="0.3", linewidth=0.8, linestyle="--")
        ax.set_yticks(places, self._names())
        ax.tick_params(axis="y", length=0, labelsize=9)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.set_xlabel("distance of the groups over what chance reaches")

    def _names(self) -> list[str]:
        return list(self.names or [f"coordinate {j}" for j in range(self.difference.points.shape[1])])

    def _scale(self, ax: Any, scale: Any, name: str) -> None:
        first, second = self.difference.groups
        bar = ax.figure.colorbar(scale, ax=ax, shrink=0.8)
        bar.set_label(f"{name}: more in {second} (red), in {first} (blue)", fontsize=8)
        bar.ax.tick_params(labelsize=8)
