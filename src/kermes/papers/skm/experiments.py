"""The measured errors: Table 1, Figures 6 and 7."""

from __future__ import annotations

from functools import partial

import numpy as np

from ... import divergences, ground, kernels
from .. import _figures
from .._digits import Sample, against_points, igv_grams, protocol, surface
from .._paper import FloatArray, Numbers, Result, Run

__all__ = ["figure6", "figure7", "table1"]


def table1(run: Run) -> Result:
    """Measure all kernels for each number of sampled points."""
    sizes = protocol(run, "table1", "eta", "sigma", "polynomial")
    sizes |= {"rbf_sigmas": run.settings["rbf_sigmas"]["table1"]}
    return against_points(run, "table1", sizes, partial(_all_grams, sizes)), None


def figure6(run: Run) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = surface(run, "figure6", protocol(run, "figure6", "etas", "sigmas"))
    return found, partial(_figures.surface, found)


def figure7(run: Run) -> Result:
    """Measure k-IGV and an RBF kernel for many numbers of sampled points."""
    sizes = protocol(run, "figure7", "eta", "sigma")
    first, last, count = (sizes["points"][key] for key in ("first", "last", "count"))
    sizes |= {
        "points": np.linspace(first, last, count).round().astype(int).tolist(),
        "rbf_sigmas": run.settings["rbf_sigmas"]["figure7"],
    }
    found = against_points(run, "figure7", sizes, partial(_igv_and_rbf, sizes))
    return found, partial(_figures.curves, found, 17.5, "RBF in the paper at 200 points")


def _igv_and_rbf(sizes: Numbers, drawn: Sample) -> dict[str, FloatArray]:
    """RBF is on binary images whose pixels add up to 1: the vectors of weights of the measures."""
    X = drawn.measures
    rbf = {
        f"RBF, sigma {sigma:g}": np.asarray(kernels.Exponential(divergences.Euclidean(), length_scale=sigma)(X))
        for sigma in sizes["rbf_sigmas"]
    }
    return {**igv_grams(X, sizes["eta"], sizes["sigma"]), **rbf}


def _all_grams(sizes: Numbers, drawn: Sample) -> dict[str, FloatArray]:
    bhattacharyya = kernels.Bhattacharyya(ground.Gaussian(sigma=sizes["sigma"]), sizes["eta"])
    overlap = drawn.pixels @ drawn.pixels.T  # z . z' of binary images
    polynomial = sizes["polynomial"]
    return {
        "k-B": np.asarray(bhattacharyya(drawn.measures)),
        "polynomial": (overlap + polynomial["constant"]) ** polynomial["degree"],
        **_igv_and_rbf(sizes, drawn),
    }
