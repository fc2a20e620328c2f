"""The mean of two measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import InvalidParameterError, UnsuitableDataError
from ._collection import Measures
from ._measure import Measure


def mean_measure(mu: Measure, nu: Measure) -> Measure:
    r"""Return :math:`(\mu + \nu) / 2`, both normalised to mass 1; atoms at the same point are merged.

    Parameters
    ----------
    mu, nu : Measure
        Members of collections, such as ``X[0]`` and ``Y[3]``.

    Examples
    --------
    >>> from kermes import Measures
    >>> from kermes.measures import mean_measure
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0]])
    >>> mean = mean_measure(X[0], X[1])
    >>> mean.points.ravel(), mean.weights
    (array([0., 1.]), array([0.25, 0.75]))
    """
    mu, nu = single(mu, "mu"), single(nu, "nu")
    if mu.dim != nu.dim:
        raise UnsuitableDataError(
            f"`mu` has points of dimension {mu.dim}, `nu` of dimension {nu.dim}; a mean needs one common dimension."
        )
    pooled = np.concatenate([mu.points, nu.points])
    weights = np.concatenate([mu.weights / mu.mass, nu.weights / nu.mass]) / 2
    points, inverse = np.unique(pooled, axis=0, return_inverse=True)
    return Measures.from_samples([points], [np.bincount(inverse.ravel(), weights=weights)])[0]


def single(measure: Any, name: str = "measure") -> Measure:
    """Return a measure, or the only one of a collection."""
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, Measures) and len(measure) == 1:
        return measure[0]
    raise InvalidParameterError(f"`{name}` must be one measure, such as X[0] for Measures X; got {measure!r}.")
