"""What learners see: matrices of squared distances or kernel values, and what becomes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import FloatArray
from ..core import profiles
from ..definiteness import spectrum
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import NumericalError
from ..kernels import Exponential
from ..measures import Measures

__all__ = ["QUANTILES", "definiteness", "evaluate", "length_scales", "matrix"]

#: Length scales that are tried: fractions of quantiles of the distances between training measures, wide ones first.
QUANTILES = ((0.5, 2.0), (0.5, 1.0), (0.1, 1.0), (0.1, 0.7), (0.1, 0.5))
#: Measures on which a spectrum is looked at; a Gram matrix is indefinite if a part of it is.
LARGEST_SPECTRUM = 1000


def evaluate(source: Any, X: Measures, Y: Measures | None, engine: Engine) -> FloatArray:
    """Return squared distances of a divergence, or values of a kernel."""
    if isinstance(source, Divergence):
        return pairwise(X, Y, divergence=source, engine=engine, squared=True)
    return np.asarray(source(X) if Y is None else source(X, Y))


def length_scales(source: Any, values: FloatArray, given: list[float] | None) -> list[float | None]:
    """Return the length scales to try, from the squared distances of the training measures; [None] for a kernel."""
    if not isinstance(source, Divergence):
        return [None]
    if given is not None:
        return list(given)
    above = np.sqrt(values[values > 0])
    if not len(above):
        return [1.0]
    return [factor * float(np.quantile(above, q)) for q, factor in QUANTILES]


def matrix(values: FloatArray, length_scale: float | None, kind: str) -> FloatArray:
    """Return what a learner takes: kernel values, distances, or a column of zeros for one that looks at nothing."""
    if kind == "nothing":
        return np.zeros((len(values), 1))
    if kind == "distance":
        if (values < 0).any():
            raise NumericalError("some squared distances are negative, which no distance is; use a learner of kernels.")
        return np.sqrt(values)
    return np.array(values) if length_scale is None else profiles.exponential(values / length_scale**2)


def definiteness(source: Any, values: FloatArray, length_scale: float | None, dim: int) -> str:
    """Return 'proved', or what the spectrum of the Gram matrix says."""
    kernel = source if length_scale is None else Exponential(source, length_scale)
    claim = getattr(kernel, "is_positive_definite", None)
    if claim is not None and claim(dim):
        return "proved"
    part = values[:LARGEST_SPECTRUM, :LARGEST_SPECTRUM]
    found = spectrum(matrix(part, length_scale, "kernel"))
    if found.verdict == "indefinite":
        share = found.negative_mass
        return f"indefinite, {share:.1%}" if share >= 0.001 else "indefinite, < 0.1%"
    return "positive here"
