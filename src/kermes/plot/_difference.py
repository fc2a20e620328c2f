"""Where two groups of measures differ: a picture for pixels, bars for bins, coloured points for clouds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray
from ..inspection import Difference, difference
from ._display import PALETTE, Display, colours, pyplot

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
        """Compute :func:`kermes.inspection.difference`, whose parameters these are, and draw it."""
        return cls(difference(X, y, **options)).plot(ax)

    def plot(self, ax: Any = None) -> DifferenceDisplay:
        """Draw, on given axes or on a new figure."""
        found = self.difference
        if found.shape is not None:
            self._pixels(ax)
        elif found.points.shape[1] == 1:
            self._line(ax)
        elif found.points.shape[1] == 2:
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
        shades = scale.to_rgba(found.scores)
        shades[~found.significant, 3] = 0.25
        return shades, scale

    def _pixels(self, ax: Any) -> None:
        found = self.difference
        assert found.shape is not None
        h, w = found.shape
        ax = self._open(ax, 4.4, 3.6 * h / w + 0.5)
        shades, scale = self._colours()
        ax.imshow(shades.reshape(h, w, 4), interpolation="nearest")
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

    def _line(self, ax: Any) -> None:
        found = self.difference
        order = np.argsort(found.points[:, 0])
        x, scores, bands = found.points[order, 0], found.scores[order], found.bands[order]
        ax = self._open(ax, 6.0, 3.2)
        if found.ground is None:
            width = 0.8 * float(np.diff(x).min()) if len(x) > 1 else 0.8
            ax.bar(x, scores, width, color=_signed(scores, found.significant[order]))
            ax.set(xlabel="bin", ylabel="difference of mass")
        else:
            ax.plot(x, scores, color=PALETTE[0], linewidth=1.5)
            ax.set(xlabel=self._names()[0], ylabel="witness function")
        step: Any = "mid" if found.ground is None else None
        ax.fill_between(x, -bands, bands, step=step, color="0.6", alpha=0.3, lw=0)
        ax.axhline(0.0, color="0.3", linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)

    def _points(self, ax: Any) -> None:
        found = self.difference
        shades, scale = self._colours()
        order = np.argsort(np.abs(found.scores))
        ax = self._open(ax, 5.0, 4.2)
        ax.scatter(*found.points[order].T, c=shades[order], s=14, linewidths=0)
        across, up = self._names()
        ax.set(xlabel=across, ylabel=up)
        reach = np.ptp(found.points, axis=0)
        if reach.max() <= LONGEST * reach.min():
            ax.set_aspect("equal", adjustable="datalim")
        self._scale(ax, scale, "witness function")

    def _coordinates(self, ax: Any) -> None:
        part = self.difference.coordinates
        # Coordinates have units of their own: in units of the band, 1 is what chance reaches.
        lengths = part.scores / np.where(part.bands > 0, part.bands, 1.0)
        self._bars(ax, lengths, self._names(), _signed(part.shifts, lengths > 1))
        self.ax_.axvline(1.0, color="0.3", linewidth=0.8, linestyle="--")
        self.ax_.set_xlabel("distance of the groups over what chance reaches")

    def _names(self) -> list[str]:
        return list(self.names or [f"coordinate {j}" for j in range(self.difference.points.shape[1])])

    def _scale(self, ax: Any, scale: Any, name: str) -> None:
        first, second = self.difference.groups
        bar = ax.figure.colorbar(scale, ax=ax, shrink=0.8)
        bar.set_label(f"{name}: more in {second} (red), in {first} (blue)", fontsize=8)
        bar.ax.tick_params(labelsize=8)


def _signed(values: AnyArray, clear: AnyArray) -> AnyArray:
    """Return the second colour for positive values, the first for others; pale unless they are clear."""
    shades: AnyArray = colours(2)[(values > 0).astype(int)]
    shades[:, 3] = np.where(clear, 1.0, 0.3)
    return shades
