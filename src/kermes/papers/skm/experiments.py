"""The measured errors: Table 1, Figures 6 and 7."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import divergences, ground, kernels
from ..._typing import FloatArray
from .. import _digits, _figures
from .._common import Store
from .._digits import Sample, Say, plan_of

__all__ = ["figure6", "figure7", "table1"]

Settings = dict[str, Any]
#: Numbers, and a function that draws them.
Result = tuple[dict[str, Any], Callable[[], Any]]


def table1(settings: Settings, sizes: Settings, store: Store, say: Say) -> tuple[dict[str, Any], None]:
    """Measure all kernels for each number of sampled points."""
    plan = plan_of(settings, sizes, "eta", "sigma", "polynomial") | {"rbf_sigmas": settings["rbf_sigmas"]["table1"]}
    return _digits.against_points("table1", plan, partial(_all_grams, plan), store, say), None


def figure6(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = _digits.surface("figure6", plan_of(settings, sizes, "etas", "sigmas"), store, say)
    return found, partial(_figures.surface, found)


def figure7(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Measure k-IGV and an RBF kernel for many numbers of sampled points."""
    first, last, count = (sizes["points"][key] for key in ("first", "last", "count"))
    plan = plan_of(settings, sizes, "eta", "sigma") | {
        "points": np.linspace(first, last, count).round().astype(int).tolist(),
        "rbf_sigmas": settings["rbf_sigmas"]["figure7"],
    }
    found = _digits.against_points("figure7", plan, partial(_igv_and_rbf, plan), store, say)
    return found, partial(_figures.curves, found, 17.5, "RBF in the paper at 200 points")


def _igv_and_rbf(plan: Settings, drawn: Sample) -> dict[str, FloatArray]:
    """RBF is on binary images whose pixels add up to 1: the vectors of weights of the measures."""
    X = drawn.measures
    rbf = {
        f"RBF, sigma {sigma:g}": np.asarray(kernels.Exponential(divergences.Euclidean(), length_scale=sigma)(X))
        for sigma in plan["rbf_sigmas"]
    }
    return {**_digits.igv_grams(X, plan["eta"], plan["sigma"]), **rbf}


def _all_grams(plan: Settings, drawn: Sample) -> dict[str, FloatArray]:
    bhattacharyya = kernels.Bhattacharyya(ground.Gaussian(sigma=plan["sigma"]), plan["eta"])
    overlap = drawn.pixels @ drawn.pixels.T  # z . z' of binary images
    polynomial = plan["polynomial"]
    return {
        "k-B": np.asarray(bhattacharyya(drawn.measures)),
        "polynomial": (overlap + polynomial["constant"]) ** polynomial["degree"],
        **_igv_and_rbf(plan, drawn),
    }
