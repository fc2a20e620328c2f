"""Panels of eigenfunctions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._checks import integer
from ..diagnostics import covariance_spectrum
from ..ground import PointKernel
from ._axes import frame, names, panels, plane_measures

__all__ = ["eigenfunctions"]


def eigenfunctions(
    measures: Any,
    ground: PointKernel,
    n_components: int = 4,
    titles: Sequence[str] | None = None,
    resolution: int = 64,
    axes: Any = None,
) -> Any:
    """Draw the leading eigenfunctions of the covariance operators of measures on the plane.

    One column per measure, one row per eigenfunction, its eigenvalue above it; one colour scale for all panels.
    Figures 4 and 5 of "Semigroup kernels on measures" show two digits and their mean this way.

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

    Returns
    -------
    matplotlib.figure.Figure

    See Also
    --------
    kermes.diagnostics.covariance_spectrum : the numbers.

    Examples
    --------
    >>> from kermes import datasets, diagnostics, ground, plot
    >>> one, zero = datasets.load_digits().measures(spacing="unit")[[1, 0]]
    >>> figure = plot.eigenfunctions([one, zero, diagnostics.mean_measure(one, zero)], ground.Gaussian(sigma=0.1))
    """
    drawn = plane_measures(measures)
    n_components = integer(n_components, "n_components", low=1)
    grid = frame(drawn, integer(resolution, "resolution", low=1))
    headings = names(titles, drawn)
    spectra = [covariance_spectrum(m, ground, n_components) for m in drawn]
    images = [spectrum.evaluate(grid.points).reshape(-1, *grid.shape) for spectrum in spectra]
    limit = max((float(np.abs(image).max()) for image in images if image.size), default=1.0)
    figure, cells = panels(n_components, len(drawn), axes, grid.ratio, text=0.3)
    shown = None
    for j, (spectrum, image) in enumerate(zip(spectra, images, strict=True)):
        for i, cell in enumerate(cells[:, j]):
            if i >= len(spectrum):
                cell.set_axis_off()
                continue
            shown = cell.imshow(image[i], extent=grid.extent, cmap="RdBu_r", vmin=-limit, vmax=limit)
            eigenvalue = rf"$\lambda_{{{i + 1}}}$ = {spectrum.eigenvalues[i]:.3g}"
            cell.set_title(f"{headings[j]}\n{eigenvalue}" if i == 0 and headings[j] else eigenvalue, fontsize=9)
            cell.set(xticks=[], yticks=[])
    if shown is not None:
        figure.colorbar(shown, ax=list(cells.flat), shrink=0.6, label="eigenfunction")
    return figure
