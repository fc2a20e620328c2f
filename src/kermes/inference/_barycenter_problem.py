"""What all barycentres share: the measures and their weights, the options, the answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray
from ..exceptions import NumericalError
from ..measures import Measures, Support


class BarycenterInfo(NamedTuple):
    """How a barycentre was found: iterations made, the last error, and whether that is within the tolerance."""

    n_iter: int
    error: float
    converged: bool


#: Of a closed form.
EXACT = BarycenterInfo(0, 0.0, True)


class Problem(NamedTuple):
    """Measures, their weights (n,) that are positive and sum to 1, and the options given, None if not."""

    X: Measures
    weights: FloatArray
    n_atoms: int | None = None
    support: FloatArray | None = None
    init: Measures | None = None
    rng: Any = None
    max_iter: int | None = None
    tol: float | None = None


def on_support(support: Support, mass: FloatArray) -> Measures:
    """Return the measure with the masses (m,) at the points of a support; it shares the support."""
    if support.shape is None:
        return Measures.from_histograms(mass[None], support.points)
    return Measures.from_images(mass.reshape(1, *support.shape), spacing=float(support.spacing))


def cloud(points: FloatArray, weights: FloatArray | None = None) -> Measures:
    """Return the measure with these atoms (m, d), equally heavy by default."""
    if not np.isfinite(points).all():
        raise NumericalError("the barycentre has coordinates that are not finite. Scale the points.")
    weights = np.full(len(points), 1.0 / len(points)) if weights is None else weights
    return Measures.from_samples([points], [weights])


def unit(X: Measures) -> tuple[FloatArray, float]:
    """Return a centre (d,) and a length, in whose units all coordinates are within [-1, 1]."""
    low, high = X.points.min(axis=0), X.points.max(axis=0)
    centre = 0.5 * low + 0.5 * high
    return centre, float(np.abs(X.points - centre).max()) or 1.0
