"""The kernel of an estimator that was given none."""

from __future__ import annotations

import numpy as np

from ..divergences import MMD
from ..engine import pairwise
from ..ground import Linear
from ..kernels import Exponential
from ..measures import Measures

__all__ = ["default_kernel"]


def default_kernel(X: Measures) -> Exponential:
    """Return a squared-exponential kernel with the median distance in X as length scale.

    The median is over distinct positive distances, so that repeating a sample does not change the kernel; 1 if all
    measures are equal.
    """
    divergence = MMD(Linear())
    distances = pairwise(X, divergence=divergence)
    distinct = np.unique(distances[distances > 0])
    return Exponential(divergence, length_scale=float(np.median(distinct)) if len(distinct) else 1.0)
