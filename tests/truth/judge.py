"""Right within the bound, refused by an error that says why, or reported by a status; all else is a wrong number."""

import os
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from mpmath import mp, mpf

from kermes import Engine, pairwise
from kermes.exceptions import ConvergenceWarning, KermesError

from .oracles import exact
from .oracles.numbers import long

ENGINE = Engine("serial", memo=False)
#: A few times the smallest number.
GRAIN = mpf(2) ** -1071


def cases(default):
    """Return Hypothesis settings: ``default`` cases, always the same, or as many random ones as KERMES_CASES says."""
    given = os.environ.get("KERMES_CASES")
    return settings(
        max_examples=int(given) if given else default,
        derandomize=not given,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def each(truths):
    """Return a parametrisation over truths, by their names."""
    return pytest.mark.parametrize("truth", truths, ids=lambda truth: truth.name)


@dataclass
class Record:
    """What became of the cases of one name."""

    cases: int = 0
    refused: Counter = field(default_factory=Counter)
    reported: int = 0
    #: Largest |error| / bound, and largest relative error where the value is more than a thousand bounds.
    share: float = 0.0
    relative: float = 0.0

    @property
    def refusals(self):
        return sum(self.refused.values())

    def add(self, value, true, bound):
        error = abs(value - true)
        self.share = max(self.share, float(error / bound) if bound else float(error > 0))
        if abs(true) > 1000 * bound:
            self.relative = max(self.relative, float(error / abs(true)))


RECORDS = {}


def judge(truth, pair):
    """Compare a value of kermes with the truth; both are d**power."""
    record = RECORDS.setdefault(truth.name, Record())
    record.cases += 1
    divergence = truth.divergence if pair.support is None else truth.on(len(pair.support))
    found = evaluate(divergence, pair, truth.power == 2.0)
    if isinstance(found, str):
        record.refused[found] += 1
        return
    value, reported = found
    first, second = (exact(x, w) for x, w in zip(pair.points, pair.weights, strict=True))
    with mp.workdps(40):
        answer = truth.answer(first, second, pair)
        value = mpf(float(value)) ** (1 if truth.power == 2.0 else mpf(truth.power))
        check(record, value, _grained(answer, truth.power), reported, truth.name)


def _grained(answer, power):
    """Return the answer with a bound that allows for the last bits of the smallest distances."""
    if answer is None:
        return answer
    *ends, bound = (long(x) for x in answer)
    size = abs(ends[-1])
    return *ends, bound + (size ** (1 / mpf(power)) + GRAIN) ** power - size


def check(record, value, answer, reported, name):
    """Assert that a value is within the bound of the truth, one number or two ends, or reported as uncertain."""
    if answer is None:
        raise AssertionError(f"{name} has no value, and kermes returned {mp.nstr(value, 17)}")
    if reported:
        record.reported += 1
        return
    low, *high, bound = (long(x) for x in answer)
    true = min(max(value, low), high[0]) if high else low
    record.add(value, true, bound)
    assert abs(value - true) <= bound, (
        f"{name}: {mp.nstr(value, 17)} for {mp.nstr(true, 17)}, off by {mp.nstr(abs(value - true), 3)}, "
        f"{mp.nstr(abs(value - true) / true if true else mpf(1), 3)} of it; the bound is {mp.nstr(bound, 3)}"
    )


def evaluate(divergence, pair, squared):
    """Return the distance and whether its status is not OK; or the kind of the error that refuses the pair."""
    X, Y = pair.collections()
    return guarded(
        lambda: _status(pairwise(X, Y, divergence=divergence, engine=ENGINE, squared=squared, return_info=True))
    )


def _status(answer):
    values, info = answer
    assert np.isfinite(values).all()
    return values[0, 0], bool(info.status[0, 0])


def guarded(call):
    """Return what a call returns, or the kind and first words of the error that refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return call()
    except KermesError as error:
        return f"{type(error).__name__}: {str(error)[:60]}"
