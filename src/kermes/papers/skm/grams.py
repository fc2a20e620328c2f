"""Gram matrices of Table 1: k-IGV, k-B, and kernels on vectors."""

from __future__ import annotations

import numpy as np

from ... import divergences, ground, kernels
from .. import _digits
from .._paper import FloatArray, Numbers


def igv_and_rbf(sizes: Numbers, drawn: _digits.Sample) -> dict[str, FloatArray]:
    """Return those of k-IGV and RBF, which is on binary images whose pixels add up to 1: weights of the measures."""
    X = drawn.measures
    rbf = {
        f"RBF, sigma {sigma:g}": np.asarray(kernels.Exponential(divergences.Euclidean(), length_scale=sigma)(X))
        for sigma in sizes["rbf_sigmas"]
    }
    return {**_digits.igv_grams(X, sizes["eta"], sizes["sigma"]), **rbf}


def polynomial(parameters: Numbers, drawn: _digits.Sample) -> FloatArray:
    """Return the polynomial kernel of the binary images."""
    return np.asarray((drawn.pixels @ drawn.pixels.T + parameters["constant"]) ** parameters["degree"])


def all_grams(sizes: Numbers, drawn: _digits.Sample) -> dict[str, FloatArray]:
    """Return those of all rows of Table 1."""
    bhattacharyya = kernels.Bhattacharyya(ground.Gaussian(sigma=sizes["sigma"]), sizes["eta"])
    return {
        "k-B": np.asarray(bhattacharyya(drawn.measures)),
        "polynomial": polynomial(sizes["polynomial"], drawn),
        **igv_and_rbf(sizes, drawn),
    }
