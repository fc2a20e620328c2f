"""Right within the bound, refused by an error that says why, or reported by a status; all else is a wrong number."""

import inspect
import itertools
import os
import secrets
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture import providers
from mpmath import mp, mpf

from kermes import Engine, pairwise
from kermes.exceptions import ConvergenceWarning, KermesError

from .oracles.numbers import long

ENGINE = Engine("serial", memo=False)
#: A few times the smallest number.
GRAIN = mpf(2) ** -1071
#: Cases of each truth, and how many random ones are wanted instead; where a test has fewer, in proportion.
CASES, WANTED = 200, os.environ.get("KERMES_CASES")
#: Of random cases; None: always the same ones.
SEED = int(os.environ.get("KERMES_SEED") or secrets.randbits(32)) if WANTED else None


@cache
def drawn(strategy, number):
    """Return so many cases of a strategy.

    They are drawn once for all tests that share a strategy: Hypothesis takes longer to draw a pair than kermes to
    compare it. Nothing is shrunk: measures have few atoms.
    """
    found = []

    @settings(max_examples=number, derandomize=SEED is None, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def draw(case):
        found.append(case)

    with _without_numbers_of_modules():
        (draw if SEED is None else seed(SEED)(draw))()
    return found


@contextmanager
def _without_numbers_of_modules():
    """Keep Hypothesis from drawing numbers that it finds in imported modules: other tests must not change the cases."""
    if not hasattr(providers, "_get_local_constants"):  # Hypothesis of old
        yield
        return
    with (
        mock.patch.object(providers, "_get_local_constants", providers.Constants),
        mock.patch.object(providers, "CONSTANTS_CACHE", type(providers.CONSTANTS_CACHE)(1024)),
    ):
        yield


def drawn_together(strategies, number):
    """Return tuples of cases: of each strategy by itself, as often as it takes, all but the first in random order."""
    random, columns = Random(SEED or 0), []
    for strategy in strategies:
        column = list(itertools.islice(itertools.cycle(drawn(strategy, number)), number))
        if columns:
            random.shuffle(column)
        columns.append(column)
    return list(zip(*columns, strict=True))


def for_cases(test, *strategies, number=CASES):
    """Run a test on ``number`` cases; a failure says which case it was and how to run it alone (``KERMES_CASE``)."""
    number = max(1, number * int(WANTED or CASES) // CASES)
    only = os.environ.get("KERMES_CASE")
    cases = drawn_together(strategies, number)
    for k in range(number) if only is None else [int(only)]:
        try:
            test(*cases[k])
        except BaseException as error:
            random = f"KERMES_CASES={WANTED} KERMES_SEED={SEED} " if WANTED else ""
            with np.printoptions(precision=17):
                error.add_note(f"{random}KERMES_CASE={k} runs this case alone: {cases[k]!r}")
            raise


def over(*strategies, number=CASES):
    """Return a decorator: the last arguments of a test are drawn from these strategies, ``number`` times."""

    def decorate(test):
        signature = inspect.signature(test)
        given = list(signature.parameters.values())[: -len(strategies)]

        def run(**arguments):
            for_cases(partial(test, *(arguments[p.name] for p in given)), *strategies, number=number)

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        run.__signature__ = signature.replace(parameters=given)
        return run

    return decorate


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


def judge_all(truth, number=CASES):
    """Compare values of kermes with the truth for ``number`` of its pairs."""
    for_cases(partial(judge, truth), truth.pairs, number=number)


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
    with mp.workdps(40):
        answer = truth.of(pair)
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
