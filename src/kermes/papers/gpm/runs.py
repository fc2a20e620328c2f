"""Many runs of an experiment: in two processes, kept in blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from joblib import Parallel, delayed

from .._paper import Numbers, Run

__all__ = ["many"]


def many(run: Run, name: str, function: Callable[..., Any], count: int, **arguments: Any) -> list[Any]:
    """Return ``function(run=..., **arguments)`` of the runs 1 to ``count``; each block of them is a file.

    The settings have the number of ``workers`` and the runs in a ``block``.
    """
    settings: Numbers = run.settings
    found: list[Any] = []
    with Parallel(n_jobs=settings["workers"]) as workers:
        for first in range(1, count + 1, settings["block"]):
            runs = range(first, min(first + settings["block"], count + 1))

            def compute(runs: range = runs) -> list[Any]:
                started = time.perf_counter()
                results = list(workers(delayed(function)(run=number, **arguments) for number in runs))
                run.say(f"{name}: runs {runs[0]} to {runs[-1]} of {count}, {time.perf_counter() - started:.0f} s")
                return results

            found += run.keep(f"{name}-{first}", {"runs": [*runs], **arguments}, compute)
    return found
