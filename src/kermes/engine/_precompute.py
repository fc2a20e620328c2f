"""``precompute``: distances for this process and those it will start."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..divergences import Divergence, Tile
from ..exceptions import InvalidParameterError
from ..measures import Measures, as_measures
from ._engine import DEFAULT, Engine
from ._pairwise import require_divergence
from ._shared import publish

__all__ = ["precompute"]


def precompute(X: Any, divergence: Divergence, engine: Engine | None = None) -> Measures:
    """Compute all distances of a collection now, for this process and the ones it starts.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    divergence : Divergence
        Which distance.
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
    if engine is not None and engine.store is not None:
        raise InvalidParameterError(
            "`engine` has a store, whose distances every process can read: pairwise(X, ...) fills it."
        )
    measures = as_measures(X, "X")
    values, info = (engine or DEFAULT).evaluate(divergence, measures, measures)
    publish(divergence, measures, Tile(values, np.asarray(info.status), cast(Any, info.error)))
    return measures
