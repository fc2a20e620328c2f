"""The measures next to one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._checks import integer
from .._estimator import default_divergence
from .._typing import FloatArray, IndexArray
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError
from ..measures import Measure, Measures, as_measures


class Neighbors(NamedTuple):
    """The nearest measures, nearest first: ``indices`` (k,) into the collection and ``distances`` (k,)."""

    indices: IndexArray
    distances: FloatArray


def nearest(
    X: Any, query: int | Measure, divergence: Divergence | None = None, k: int = 5, engine: Engine | None = None
) -> Neighbors:
    """Return the k measures of a collection that are nearest to one.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    query : int or Measure
        A row of X, or any measure, such as ``X_test[3]``. A member of X is not its own neighbour, whether it is given
        as ``i`` or as ``X[i]``; other measures equal to it are.
    divergence : Divergence, optional
        Sliced Wasserstein by default.
    k : int
        How many; all others if there are fewer.
    engine : Engine, optional
        How distances are computed and remembered.

    Returns
    -------
    Neighbours
        ``indices`` and ``distances``; measures at one distance are in their order in X.

    Notes
    -----
    *Cost*: ``len(X)`` distances, those that the engine knows already for free.

    Examples
    --------
    >>> from kermes import Measures, divergences, inspection
    >>> X = Measures.from_samples([[0.0, 1.0], [5.0], [0.5], [0.0, 2.0]])
    >>> inspection.nearest(X, 0, divergences.Wasserstein(p=1), k=2)
    Neighbors(indices=array([2, 3]), distances=array([0.5, 0.5]))
    """
    measures = as_measures(X)
    wanted = integer(k, "k", low=1)
    others, asked = _split(measures, query)
    if not len(others):
        raise InvalidParameterError("`X` must hold a measure other than `query`; it holds none.")
    distances = pairwise(asked, measures[others], divergence=default_divergence(divergence), engine=engine)[0]
    order = np.argsort(distances, kind="stable")[:wanted]
    return Neighbors(others[order], distances[order])


def _split(X: Measures, query: int | Measure) -> tuple[IndexArray, Measures]:
    """Return the rows of X that are not the query, and the query as a collection."""
    everyone = np.arange(len(X))
    if isinstance(query, Measure):
        same = X._root is query._root
        return everyone[X.rows != query._row] if same else everyone, as_measures([query], "query")
    if not isinstance(query, (int, np.integer)) or isinstance(query, bool):
        raise InvalidParameterError(f"`query` must be a row of `X` or a measure, such as X[0]; got {query!r}.")
    if not -len(X) <= query < len(X):
        raise InvalidParameterError(f"`query` must be a row of `X`, which has {len(X)}; got {query}.")
    return np.delete(everyone, query), X[[int(query)]]
