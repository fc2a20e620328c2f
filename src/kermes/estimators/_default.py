"""The distance and the kernel of an estimator that was given none."""

from __future__ import annotations

import numpy as np

from .._scales import median_distance
from ..divergences import SlicedWasserstein
from ..engine import pairwise
from ..kernels import Exponential
from ..measures import Measures

__all__ = ["default_divergence", "default_kernel"]


def default_divergence() -> SlicedWasserstein:
    """Return the sliced Wasserstein distance: it takes measures of any dimension and is of negative type."""
    return SlicedWasserstein()


def default_kernel(X: Measures) -> Exponential:
    """Return the squared-exponential kernel of the sliced Wasserstein distance, at the median distance in X.

    The kernel is positive definite. The median is over distinct positive distances, so that repeating a sample does
    not change the kernel; 1 if all measures are equal.
    """
    divergence = default_divergence()
    return Exponential(divergence, length_scale=median_distance(np.unique(pairwise(X, divergence=divergence))))
