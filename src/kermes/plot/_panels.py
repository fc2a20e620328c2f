"""Panels of measures on the plane: with their principal axes, and their eigenfunctions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import inspection
from .._checks import integer
from ..ground import PointKernel
from ..inspection import CovarianceSpectrum, covariance_spectrum
from ..measures import Measure
from ._display import PALETTE, Display, Frame, across_and_up, frame, names, panels, plane_measures, short_form, wrapped

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


@dataclass(eq=False, repr=False)
class EigenfunctionsDisplay(Display):
    """The leading eigenfunctions of the covariance operators of measures on the plane.

    One column per measure, one row per eigenfunction, its eigenvalue above it; one colour scale for all panels.
    Figures 4 and 5 of "Semigroup kernels on measures" show two digits and their mean this way.

    Parameters
    ----------
    spectra : list of CovarianceSpectrum
    grid : Frame
        Where they are evaluated.
    titles : list of str
    n_components : int
        Number of rows.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes, (n_components, n_measures)
    figure_ : matplotlib figure

    See Also
    --------
    kermes.inspection.covariance_spectrum : the numbers.

    Examples
    --------
    >>> from kermes import datasets, ground, plot
    >>> X = datasets.load_digits().measures(spacing="unit")
    >>> display = plot.EigenfunctionsDisplay.from_measures(X[:2], ground.Gaussian(sigma=0.1), n_components=2)
    """

    spectra: list[CovarianceSpectrum]
    grid: Frame
    titles: list[str]
    n_components: int

    @classmethod
    def from_measures(
        cls,
        measures: Any,
        ground: PointKernel,
        n_components: int = 4,
        titles: Sequence[str] | None = None,
        resolution: int = 64,
        axes: Any = None,
    ) -> EigenfunctionsDisplay:
        """Draw the eigenfunctions of measures.

        Parameters
        ----------
        measures : Measure, list of Measure or Measures
            Images are drawn on their pixels, with rows downwards; other measures with (x, y) to the right and upwards.
        ground : PointKernel
            The point kernel, such as ``ground.Gaussian(sigma=0.1)``.
        n_components : int
            Number of rows; panels stay empty where a measure has fewer eigenfunctions.
        titles : list of str, optional
            Names of the measures.
        resolution : int
            Cells along the wider side, if no measure comes from images.
        axes : array of matplotlib axes, optional
            ``n_components`` times ``len(measures)`` axes to draw on; a new figure by default.
        """
        drawn = plane_measures(measures)
        n_components = integer(n_components, "n_components", low=1)
        grid = frame(drawn, integer(resolution, "resolution", low=1))
        headings = names(titles, drawn)
        spectra = [covariance_spectrum(m, ground, n_components) for m in drawn]
        return cls(spectra, grid, headings, n_components).plot(axes)

    def plot(self, axes: Any = None) -> EigenfunctionsDisplay:
        """Draw, on given axes or on a new figure."""
        grid = self.grid
        images = [spectrum.evaluate(grid.points).reshape(-1, *grid.shape) for spectrum in self.spectra]
        limit = max((float(np.abs(image).max()) for image in images if image.size), default=1.0)
        self.figure_, self.axes_ = panels(self.n_components, len(images), axes, grid.ratio, margin=0.3)
        shown = None
        for j, (spectrum, image) in enumerate(zip(self.spectra, images, strict=True)):
            for i, cell in enumerate(self.axes_[:, j]):
                if i >= len(spectrum):
                    cell.set_axis_off()
                    continue
                shown = cell.imshow(image[i], extent=grid.extent, cmap="RdBu_r", vmin=-limit, vmax=limit)
                eigenvalue = rf"$\lambda_{{{i + 1}}}$ = {spectrum.eigenvalues[i]:.3g}"
                heading = f"{self.titles[j]}\n{eigenvalue}" if i == 0 and self.titles[j] else eigenvalue
                cell.set_title(heading, fontsize=9)
                cell.set(xticks=[], yticks=[])
        if shown is not None:
            self.figure_.colorbar(shown, ax=list(self.axes_.flat), shrink=0.6, label="eigenfunction")
        return self


eigenfunctions = short_form("eigenfunctions", EigenfunctionsDisplay.from_measures, "figure_")
