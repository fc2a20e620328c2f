"""The measured errors: the surface and the curve of Figure 2, and the RBF kernel on pixels."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import _figures
from .._digits import Sample, against_points, igv_grams, protocol, surface
from .._paper import FloatArray, Numbers, Result, Run

__all__ = ["figure2a", "figure2b", "rbf"]


def figure2a(run: Run) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = surface(run, "figure2a", protocol(run, "figure2a", "images", "etas", "sigmas"))
    return found, partial(_figures.surface, found)


def figure2b(run: Run) -> Result:
    """Measure k-IGV for each number of sampled points."""
    sizes = protocol(run, "figure2b", "images")

    def grams(drawn: Sample) -> dict[str, FloatArray]:
        return igv_grams(drawn.measures, sizes["eta"], sizes["sigma"])

    found = against_points(run, "figure2b", sizes, grams)
    return found, partial(_figures.curves, found)


def rbf(run: Run) -> Result:
    """Measure the RBF kernel on binary images, as printed and with the square of the norm."""
    sizes = protocol(run, "rbf", "images", "sigmas")
    return against_points(run, "rbf", sizes, partial(_rbf_grams, sizes)), None


def _rbf_grams(sizes: Numbers, drawn: Sample) -> dict[str, FloatArray]:
    counts = drawn.pixels.sum(axis=1)
    squared = counts[:, None] + counts[None] - 2.0 * drawn.pixels @ drawn.pixels.T  # pixels that differ: exact integers
    forms = {"RBF": np.sqrt(squared), "RBF squared": squared}
    scales = {sigma: sizes["points"][0] * 2.0 * sigma**2 for sigma in sizes["sigmas"]}
    return {
        f"{name}, sigma {sigma:g}": np.exp(-distance / scale)
        for name, distance in forms.items()
        for sigma, scale in scales.items()
    }
