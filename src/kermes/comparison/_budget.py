"""Time limits: reading them, and estimating what a candidate takes."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from .._checks import positive
from ..engine import Engine
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._search import evaluate

_UNITS = {"h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0}
_PART = r"(\d+(?:\.\d+)?)\s*(h|min|m|s)"


def read_budget(budget: Any) -> float | None:
    """Return seconds from a number of them or a string such as '90s', '5min' or '1h 30min'."""
    if budget is None:
        return None
    if not isinstance(budget, str):
        return positive(budget, "budget", remedy="Or a string such as '5min'.")
    string = budget.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", string):
        return positive(float(string), "budget")
    if not re.fullmatch(rf"({_PART}\s*)+", string):
        raise InvalidParameterError(
            f"`budget` must be a number of seconds, or a string such as '30s', '5min' or '1h 30min'; got {budget!r}."
        )
    return positive(sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, string)), "budget")


def duration(seconds: float) -> str:
    """Return seconds in a form that people read."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


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
    *,
    enough: float = 0.05,
    most_measures: int = 64,
    long: float = 0.5,
) -> float:
    """Return the seconds that all pairs will take, from the time of a sample of them.

    Time is taken as a + b * pairs: a, what is done once (tables of a shared support), must not be counted per pair.
    Compilation is paid for here and not counted. Errors are left for the run itself to meet: the estimate is then 0.
    A sample says enough about all pairs after ``enough`` seconds or with ``most_measures``; one of ``long`` seconds is
    not taken twice.
    """
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
        while seconds - first < enough and m < min(len(X), most_measures):
            m = min(2 * m, len(X))
            seconds = sample(m)
    except Exception:
        return 0.0
    per_pair = max(0.0, seconds - first) / max(1, _pairs(m) - 1)
    once = max(0.0, first - per_pair)
    return once + per_pair * _pairs(len(X)) / engine.n_threads


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
