"""Time limits: reading them, and estimating what a candidate takes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._quantities import as_seconds
from ..engine import Engine
from ..measures import Measures
from ._search import evaluate


def read_budget(budget: Any) -> float | None:
    """Return seconds from a number of them or a string such as '90s', '5min' or '1h 30min'."""
    return None if budget is None else as_seconds(budget, "budget")


class Clock:
    """Time since the start of a run, and what is left of the budget."""

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self._started = time.perf_counter()

    @property
    def left(self) -> float:
        """Seconds left; infinite without a budget."""
        return np.inf if self.budget is None else self.budget - (time.perf_counter() - self._started)


def estimate(
    source: Any,
    X: Measures,
    engine: Engine,
    seed: int,
    left: float = np.inf,
    *,
    enough: float = 0.05,
    most_measures: int = 64,
    long: float = 0.5,
) -> float:
    """Return the seconds that all pairs will take, from the time of a sample of them.

    Time is taken as a + b * pairs: a, what is done once (tables of a shared support), must not be counted per pair.
    Compilation is paid for here and not counted. Errors are left for the run itself to meet: the estimate is then 0.
    A sample says enough about all pairs after ``enough`` seconds or with ``most_measures``; one of ``long`` seconds is
    not taken twice, and a tenth of what is ``left`` of a budget is enough in any case.
    """
    most = time.perf_counter() + 0.1 * left
    rows = np.random.default_rng(seed).permutation(len(X))
    sampler = Engine("serial", memo=False, progress=False)

    def sample(m: int) -> float:
        """Return the seconds of the pairs of m measures, the better of two: a pause in one is no cost of pairs."""
        part = X[np.sort(rows[:m])]
        times: list[float] = []
        while len(times) < 2 and sum(times) < long:
            started = time.perf_counter()
            evaluate(source, part, sampler)
            times.append(time.perf_counter() - started)
        return min(times)

    m, seconds = 2, 0.0
    try:
        evaluate(source, X[np.sort(rows[:2])], sampler)
        first = sample(2)
        while seconds - first < enough and m < min(len(X), most_measures) and time.perf_counter() < most:
            m = min(2 * m, len(X))
            seconds = sample(m)
    except Exception:
        return 0.0
    per_pair = max(0.0, seconds - first) / max(1, _pairs(m) - 1)
    once = max(0.0, first - per_pair)
    return once + per_pair * _pairs(len(X)) / engine.n_threads


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
