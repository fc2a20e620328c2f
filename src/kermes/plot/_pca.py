"""Measures with their principal axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inspection
from ..measures import Measure
from ._axes import Frame, across_and_up, frame, names, plane_measures, wrapped
from ._classes import PALETTE
from ._display import Display, short_form

ATOMS, AXES = PALETTE[:2]
#: Area of the heaviest atom of a panel in square points.
LARGEST = 60.0


@dataclass(eq=False, repr=False)
class WeightedPCADisplay(Display):
    """Measures on the plane with their mean and principal axes, and the variances below.

    Dots have areas in proportion to the weights. Lines reach one standard deviation to either side of the mean, the
    first axis drawn bold. Figure 2 of "Semigroup kernels on measures" shows two digits and their mean this way: the
    linear IGV kernel sees of each only the product of its two variances.

    Parameters
    ----------
    measures : list of Measure
    titles : list of str

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        One per measure, five in a row.
    figure_ : matplotlib figure

    See Also
    --------
    kermes.inspection.weighted_pca : the numbers.

    Examples
    --------
    >>> from kermes import datasets, plot
    >>> from kermes.measures import mean_measure
    >>> one, zero = datasets.load_digits().measures(spacing="unit")[[1, 0]]
    >>> shown = [one, zero, mean_measure(one, zero)]
    >>> display = plot.WeightedPCADisplay.from_measures(shown, ["one", "zero", "mean"])
    """

    measures: list[Measure]
    titles: list[str]

    @classmethod
    def from_measures(cls, measures: Any, titles: Sequence[str] | None = None, axes: Any = None) -> WeightedPCADisplay:
        """Draw measures.

        Parameters
        ----------
        measures : Measure, list of Measure or Measures
            Images are drawn with rows downwards; other measures with (x, y) to the right and upwards.
        titles : list of str, optional
            Names of the measures.
        axes : array of matplotlib axes, optional
            One per measure; a new figure by default.
        """
        drawn = plane_measures(measures)
        return cls(drawn, names(titles, drawn)).plot(axes)

    def plot(self, axes: Any = None) -> WeightedPCADisplay:
        """Draw, on given axes or on a new figure."""
        box = frame(self.measures, 1)
        self.figure_, self.axes_ = wrapped(len(self.measures), axes, box.ratio, margin=0.8)
        for cell, measure, heading in zip(self.axes_, self.measures, self.titles, strict=True):
            _panel(cell, measure, box)
            cell.set_title(heading, fontsize=10)
        return self


weighted_pca = short_form("weighted_pca", WeightedPCADisplay.from_measures, "figure_")


def _panel(cell: Any, measure: Measure, box: Frame) -> None:
    pca = inspection.weighted_pca(measure)
    x, y = across_and_up(measure.points, box.pixels).T
    areas = LARGEST * measure.weights / measure.weights.max()
    cell.scatter(x, y, s=areas, color=ATOMS, alpha=0.55, linewidths=0)
    for k, (variance, axis) in enumerate(zip(pca.variances, pca.axes, strict=True)):
        ends = across_and_up(pca.mean + np.sqrt(variance) * np.outer([-1.0, 1.0], axis), box.pixels)
        cell.plot(*ends.T, color=AXES, linewidth=3.0 if k == 0 else 1.2, solid_capstyle="butt")
    cell.plot(*across_and_up(pca.mean, box.pixels), "o", color="white", markeredgecolor=AXES, markersize=6)
    left, right, bottom, top = box.extent
    cell.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    cell.set_xlabel("variances\n" + ", ".join(f"{variance:.3g}" for variance in pca.variances), fontsize=9)
