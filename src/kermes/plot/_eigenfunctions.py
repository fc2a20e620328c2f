"""Panels of eigenfunctions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import integer
from ..ground import PointKernel
from ..inspection import CovarianceSpectrum, covariance_spectrum
from ._axes import Frame, frame, names, panels, plane_measures
from ._display import Display, short_form


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
