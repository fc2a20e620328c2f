"""What a comparison will take, candidate by candidate, before anything is computed."""

from __future__ import annotations

from typing import Any

from .._typing import AnyArray
from ..engine import Engine, Estimate
from ..exceptions import KermesError
from ..measures import Measures
from ._compare import _listed


def plan(
    X: Measures, y: AnyArray, task: str, candidates: Any, seed: int, preprocessing: Any = None
) -> dict[str, Estimate]:
    """Return the pairs, time and memory of the distances of each candidate; learners come on top of them.

    A candidate without a distance, or one that does not suit the data, has none.
    """
    engine, found = Engine(), {}
    for candidate in _listed(candidates, X, y, task, seed, preprocessing):
        distances = candidate.divergences or (getattr(candidate.kernel, "divergence", None),)
        try:
            parts = [engine.estimate(X, divergence=d) for d in distances if d is not None]
        except KermesError:
            continue
        if parts:
            pairs, seconds = (sum(getattr(part, name) for part in parts) for name in ("pairs", "seconds"))
            found[candidate.name] = Estimate(int(pairs), float(seconds), max(part.bytes for part in parts))
    return found
