"""How a row is measured and shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Contest:
    """The same work done twice.

    ``ours`` and ``theirs`` return arrays that must agree within ``tolerance`` (relative to the largest);
    they do ``our_units`` and ``their_units`` pieces of work (pairs).
    """

    name: str
    peer: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    our_units: int
    their_units: int
    floor: float
    tolerance: float
    compare: Callable[[Any, Any], float]
    repeats: int = 5

    def run(self) -> Row:
        """Alternate both, keep the best times, and compare what they computed."""
        mine, yours = [], []
        result = expected = None
        self.ours()  # compiles or loads the compiled code
        for _ in range(self.repeats):
            seconds, result = timed(self.ours)
            mine.append(seconds / self.our_units)
            seconds, expected = timed(self.theirs)
            yours.append(seconds / self.their_units)
        difference = self.compare(result, expected)
        ratio = min(yours) / min(mine)
        passed = ratio >= self.floor and difference <= self.tolerance
        return Row(
            self.name, self.peer, f"{1e6 * min(mine):.3g} us", f"{1e6 * min(yours):.3g} us",
            f"{ratio:.0f} x" if ratio >= 10 else f"{ratio:.1f} x", f">= {self.floor:g} x", f"{difference:.0e}", passed,
        )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    work: str
    peer: str
    ours: str
    theirs: str
    figure: str
    asked: str
    difference: str
    passed: bool


def relative(result: Any, expected: Any) -> float:
    """Return the largest difference relative to the largest value."""
    return float(np.max(np.abs(np.asarray(result) - expected)) / np.max(np.abs(expected)))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a piece of work, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result
