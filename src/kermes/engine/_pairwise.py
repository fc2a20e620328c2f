"""``pairwise``: the distances between all measures of two collections; ``precompute``: for other processes too.

``true_distances`` are for methods that need distances: ``pairwise`` also returns values below 0 where they are meant.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast, overload

import numpy as np

from .._typing import FloatArray
from .._values import column_names
from ..divergences import Divergence, Tile
from ..exceptions import InvalidParameterError
from ..measures import Measures, as_measures
from ._engine import Engine, as_engine
from ._info import Info
from ._job import Scale, require_divergence
from ._shared import publish
from ._stored import StoredDistances


@overload
def pairwise(
    X: Any, Y: Any = ..., *, divergence: Divergence, engine: Engine | None = ..., squared: bool = ...,
    return_info: Literal[False] = ...,
) -> FloatArray: ...  # fmt: skip
@overload
def pairwise(
    X: Any, Y: Any = ..., *, divergence: Divergence, engine: Engine | None = ..., squared: bool = ...,
    return_info: Literal[True],
) -> tuple[FloatArray, Info]: ...  # fmt: skip
def pairwise(
    X: Any,
    Y: Any = None,
    *,
    divergence: Divergence | None = None,
    engine: Engine | None = None,
    squared: bool = False,
    return_info: bool = False,
) -> FloatArray | tuple[FloatArray, Info]:
    """Return the distances between all measures of X and Y.

    Parameters
    ----------
    X, Y : Measures, or anything ``as_measures`` takes
        Y is X by default; then each pair is computed once and the diagonal is 0.
    divergence : Divergence
        Which distance, such as ``divergences.Wasserstein(p=2)``.
    engine : Engine, optional
        How to compute it.
    squared : bool
        Return squared distances.
    return_info : bool
        Also return an :class:`Info`: status of each pair, pairs evaluated, seconds, and estimated errors where values
        are integrals.

    Returns
    -------
    ndarray of shape (len(X), len(Y)), a fresh array
        :class:`~kermes.engine.StoredDistances`, which stay on disk, if the engine has a store.
        With ``return_info``, a tuple of it and the info.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[0.0, 2.0], [1.0, 3.0]])
    >>> pairwise(X, divergence=divergences.Wasserstein(p=2))
    array([[0., 1.],
           [1., 0.]])
    """
    for name, given in (("X", X), ("Y", Y)):
        if isinstance(given, Divergence):
            raise InvalidParameterError(f"`{name}` must be measures; got {given!r}. Write pairwise(X, divergence=...).")
    engine = as_engine(engine)
    divergence = require_divergence(divergence)
    names, others = column_names(X), column_names(Y)
    if names is not None and others is not None and names != others:
        raise InvalidParameterError(
            f"`X` and `Y` must have the same columns, in the same order; got {', '.join(names)} and "
            f"{', '.join(others)}. Arrays, such as frame.to_numpy(), are taken as they are."
        )
    left = as_measures(X, "X")
    right = left if Y is None or Y is X else as_measures(Y, "Y")
    finish = partial(Scale.of(divergence).distances, squared=squared)
    distances, info = engine.evaluate(divergence, left, right, with_error=return_info, finish=finish)
    if isinstance(distances, StoredDistances):  # for the type checker an array: it is indexed and converted like one
        distances = cast(FloatArray, distances.squared if squared else distances)
    return (distances, info) if return_info else distances


def true_distances(X: Any, Y: Any = None, *, divergence: Divergence, engine: Engine | None = None) -> FloatArray:
    """Return the array of ``pairwise``, and refuse negative values: their squares would make near measures far."""
    distances = np.asarray(pairwise(X, Y, divergence=divergence, engine=engine))
    scale = Scale.of(divergence)
    if scale.signed:
        scale.refuse_negative(distances)
    return distances


def precompute(X: Any, divergence: Divergence, engine: Engine | None = None) -> Measures:
    """Compute all distances of a collection now, for this process and the ones it starts.

    Parameters
    ----------
    X, divergence
        As in :func:`pairwise`.
    engine : Engine, optional
        How to compute it. What it remembers already is not computed again.

    Returns
    -------
    Measures
        X itself, to be passed on.

    Notes
    -----
    Not needed for searches with ``n_jobs``: their processes share what they compute. It is for distances that
    were computed before the search, for a look at them or for a median, and that the processes should know too.
    Distances are kept in a memory-mapped file in the system's temporary folder until the end of this process.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise, precompute
    >>> X = precompute(Measures.from_samples([[0.0], [1.0], [4.0]]), divergences.Wasserstein())
    >>> pairwise(X, divergence=divergences.Wasserstein(), return_info=True)[1].n_evaluated
    0
    """
    require_divergence(divergence)
    engine = as_engine(engine)
    if engine.store is not None:
        raise InvalidParameterError(
            "`engine` has a store, whose distances every process can read: pairwise(X, ...) fills it."
        )
    measures = as_measures(X, "X")
    values, info = engine.evaluate(divergence, measures, measures)
    publish(divergence, measures, Tile(values, np.asarray(info.status), cast(Any, info.error)))
    return measures
