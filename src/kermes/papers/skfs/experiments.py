"""The measured errors: the surface and the curve of Figure 2, and the RBF kernel on pixels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._typing import FloatArray
from .. import _digits, _figures
from .._common import Store
from .._digits import Sample, Say, plan_of

__all__ = ["figure2a", "figure2b", "rbf"]

Settings = dict[str, Any]
#: Numbers, and a function that draws them.
Result = tuple[dict[str, Any], Callable[[], Any]]


def figure2a(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = _digits.surface("figure2a", plan_of(settings, sizes, "images", "etas", "sigmas"), store, say)
    return found, partial(_figures.surface, found)


def figure2b(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Measure k-IGV for each number of sampled points."""
    plan = plan_of(settings, sizes, "images")

    def grams(drawn: Sample) -> dict[str, FloatArray]:
        return _digits.igv_grams(drawn.measures, plan["eta"], plan["sigma"])

    found = _digits.against_points("figure2b", plan, grams, store, say)
    return found, partial(_figures.curves, found)


def rbf(settings: Settings, sizes: Settings, store: Store, say: Say) -> tuple[dict[str, Any], None]:
    """Measure the RBF kernel on binary images, as printed and with the square of the norm."""
    plan = plan_of(settings, sizes, "images", "sigmas")
    return _digits.against_points("rbf", plan, partial(_rbf_grams, plan), store, say), None


def _rbf_grams(plan: Settings, drawn: Sample) -> dict[str, FloatArray]:
    sizes = drawn.pixels.sum(axis=1)
    squared = sizes[:, None] + sizes[None] - 2.0 * drawn.pixels @ drawn.pixels.T  # pixels that differ: exact integers
    forms = {"RBF": np.sqrt(squared), "RBF squared": squared}
    scales = {sigma: plan["points"][0] * 2.0 * sigma**2 for sigma in plan["sigmas"]}
    return {
        f"{name}, sigma {sigma:g}": np.exp(-distance / scale)
        for name, distance in forms.items()
        for sigma, scale in scales.items()
    }
