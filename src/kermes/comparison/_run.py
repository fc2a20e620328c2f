"""``Run``: one comparison under way, candidate after candidate, as time allows."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._quantities import as_seconds, duration
from .._typing import AnyArray
from ..divergences import Divergence
from ..engine import Engine
from ..engine._progress import Progress
from ..measures import Measures
from ._auto import all_work
from ._candidate import Candidate
from ._folds import Fold, Score
from ._result import Row
from ._search import Memory, Trial, block, evaluate, finite_score, hashable, predictions, preprocess

#: Share of the time left up to which a candidate is run before others are estimated.
CHEAP = 0.1


class Clock:
    """Time since the start of a run, and what is left of the budget: seconds, or a string such as '1h 30min'.

    Seconds in which code is compiled, while :meth:`running`, and those of baselines do not count.
    """

    def __init__(self, budget: Any) -> None:
        self.budget = None if budget is None else as_seconds(budget, "budget")
        self._started = time.perf_counter()
        self._free: list[float] = []

    @property
    def left(self) -> float:
        """Seconds left; infinite without a budget."""
        return np.inf if self.budget is None else self.budget - self._counted

    @property
    def _counted(self) -> float:
        return time.perf_counter() - self._started - sum(self._free)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Leave out the seconds in which code is compiled."""
        from ..core.jit import compilation

        with compilation() as self._free:
            yield

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Leave out all that is done meanwhile."""
        before = self._counted
        try:
            yield
        finally:
            self._free.append(self._counted - before)


class _OutOfTime(Exception):
    """The budget is used up; the message says when."""


@dataclass
class Run:
    """One comparison under way: the matrices in use, the times seen so far, the leader."""

    X: Measures
    y: AnyArray
    folds: list[Fold]
    score: Score
    seed: int
    engine: Engine
    progress: bool | str
    clock: Clock
    trials: list[tuple[Candidate, Trial]]
    leader: tuple[str, Trial, list[Any]] | None = None  # the best so far, and its matrices: its last fit needs them
    _first: tuple[Any, ...] = ()
    _matrices: dict[Any, tuple[Any, float]] = field(default_factory=dict)
    _preprocessed: Memory = field(default_factory=dict)
    _estimates: dict[Any, float] = field(default_factory=dict)  # seconds of the matrix of a source
    _step_seconds: dict[int, float] = field(default_factory=dict)  # of a preprocessing, fitted to all measures
    _used_steps: set[int] = field(default_factory=set)
    _fit_seconds: dict[str, float] = field(default_factory=dict)  # seconds per setting of a kind of learner

    def __post_init__(self) -> None:
        self._uses = Counter(_key(source) for _, trial in self.trials for source in trial.sources)

    def order(self) -> Iterator[int]:
        """Yield the numbers of the candidates: as given, or with a budget the cheapest first, by what is known then.

        Candidates without distances, the baselines, come first and always run. Then what is cheap is run before the
        next estimate is made, so that estimates never use up the budget.
        """
        waiting = list(range(len(self.trials)))
        if self.clock.budget is None:
            yield from waiting
            return
        yield from (number for number in waiting if not self.trials[number][1].sources)
        waiting = [number for number in waiting if self.trials[number][1].sources]
        while waiting:
            known = [number for number in waiting if self._is_known(number)]
            unknown = [number for number in waiting if number not in known]
            cheapest = min(known, key=self._needed, default=None)
            if cheapest is None or (unknown and self._needed(cheapest) > CHEAP * self.clock.left):
                self._estimate(min(unknown, key=self._work))
                continue
            waiting.remove(cheapest)
            yield cheapest

    def _is_known(self, number: int) -> bool:
        """Whether the sources of a candidate have estimates, or there is no time left to make them."""
        step, trial = self.trials[number][0].preprocessing, self.trials[number][1]
        return self.clock.left <= 0 or all(_key(source, step) in self._estimates for source in trial.sources)

    def _work(self, number: int) -> float:
        """Return the operations of all pairs of a candidate, without computing or compiling any; 0 if unknown."""
        candidate, trial = self.trials[number]
        X = self._seen_by(candidate)
        return sum(all_work(source, X) for source in trial.sources if isinstance(source, Divergence))

    def _seen_by(self, candidate: Candidate) -> Measures:
        """Return the measures after the preprocessing of a candidate, fitted to all; its time is noted."""
        started = time.perf_counter()
        found = preprocess(candidate.preprocessing, self.X, self.y, memory=self._preprocessed)[1]
        self._step_seconds.setdefault(id(candidate.preprocessing), time.perf_counter() - started)
        return found

    def _estimate(self, number: int) -> None:
        """Estimate the matrices of a candidate."""
        candidate, trial = self.trials[number]
        X = self._seen_by(candidate)
        for source in trial.sources:
            key = _key(source, candidate.preprocessing)
            if key not in self._estimates:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the run itself will say
                    self._estimates[key] = estimate(source, X, self.engine, self.seed, self.clock.left)

    def _needed(self, number: int) -> float:
        """Return the seconds a candidate will take: matrices not at hand, and fits like those of its learner so far."""
        candidate, trial = self.trials[number]
        step = candidate.preprocessing
        fits = trial.n_settings * self._fit_seconds.get(trial.kind, 0.0)
        needed = {_key(source, step) for source in trial.sources}
        if step is None:
            return sum(self._estimates.get(key, 0.0) for key in needed - set(self._matrices)) + fits
        # Other measures in every fold, and in every fold of its search.
        searched = (len(fold.inner) * (len(fold.train) / len(self.X)) ** 2 for fold in self.folds)
        matrices = len(self.folds) + (sum(searched) if trial.n_settings > 1 else 0.0)
        shared = id(step) in {key[0] for key in self._preprocessed} and id(step) in self._used_steps
        step_seconds = 0.0 if shared else self._step_seconds.get(id(step), 0.0)
        return matrices * (step_seconds + sum(self._estimates.get(key, 0.0) for key in needed)) + fits

    def row(self, number: int) -> Row:
        """Run one candidate; whatever goes wrong is its row."""
        candidate, trial = self.trials[number]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with nullcontext() if trial.sources else self.clock.stopped():
                    found = self._judge(number)
            except _OutOfTime as reason:
                found = Row(candidate, "skipped", message=str(reason))
            except Exception as error:  # one candidate must not cost the others
                found = Row(candidate, "failed", message=f"{type(error).__name__}: {error}", error=error)
            finally:
                for key in map(_key, trial.sources):  # forget matrices that no later candidate needs
                    self._uses[key] -= 1
                    if not self._uses[key]:
                        self._matrices.pop(key, None)
        said = dict.fromkeys(f"{note.category.__name__}: {note.message}" for note in caught)
        return replace(found, warnings=tuple(said))

    def _judge(self, number: int) -> Row:
        from ..core.jit import compilation

        candidate, trial = self.trials[number]
        expected = self._check_time(number)
        step, Z, matrices, distance_seconds = candidate.preprocessing, self.X, [None] * len(trial.sources), 0.0
        if step is None:
            matrices, distance_seconds = self._evaluated(trial)
        trial = trial.with_memory(self.X, self.engine, matrices)
        found, predicted = [], []
        started = time.perf_counter()
        label = f"{number + 1}/{len(self.trials)} {candidate.name}"
        with Progress(len(self.folds), self.progress, label, "folds") as bar:
            for done, fold in enumerate(self.folds):
                if self.clock.left < 0 and trial.sources:
                    raise _OutOfTime(f"stopped after {done} of {len(self.folds)} folds, at the end of the budget")
                entered = time.perf_counter()
                with compilation() as compiling:
                    if step is not None:
                        Z = preprocess(step, self.X, self.y, fold.train, self._preprocessed)[1]
                        matrices = trial.matrices(Z, self.engine)
                    views = trial.views(Z, matrices)
                    own = [block(view, fold.train, fold.train) for view in views]
                    X, y = self.X[fold.train], self.y[fold.train]
                    rows = trial.training(step, own, X, y, fold.inner, self.engine, Z.dim, self._preprocessed)
                spent = 0.0 if step is None else time.perf_counter() - entered
                distance_seconds, started = distance_seconds + max(spent - sum(compiling), 0.0), started + spent
                fitted = trial.tune(rows, self.score, self.seed)
                new = block(views[fitted.setting.view], fold.test, fold.train)
                predicted.append(predictions(fitted.learner, trial.seen(fitted.setting, new)))
                found.append(fitted)
                bar.advance(1)
        fit_seconds = time.perf_counter() - started
        self._fit_seconds[trial.kind] = fit_seconds / trial.n_settings
        self._used_steps.add(id(step))
        truths = [self.y[fold.test] for fold in self.folds]
        scores = [finite_score(self.score.function(*pair)) for pair in zip(truths, predicted, strict=True)]
        finite_score(float(np.std(scores)))  # squares of finite scores may overflow
        place = (-float(np.mean(scores)), number)
        if step is None and (self.leader is None or place < self._first):
            self.leader, self._first = (candidate.name, trial, matrices), place
        verdict = trial.definiteness(found, matrices, Z, self.engine)
        chosen = tuple(trial.described(fitted) for fitted in found)
        row = Row(candidate, "ok", tuple(scores), distance_seconds, fit_seconds, verdict, expected_seconds=expected)
        return replace(row, chosen=chosen, predicted=tuple(predicted))

    def _evaluated(self, trial: Trial) -> tuple[list[Any], float]:
        """Return the matrices of a candidate and the seconds they took, now or when first needed."""
        from ..core.jit import compilation

        for source in trial.sources:
            if _key(source) not in self._matrices:
                started = time.perf_counter()
                with compilation() as compiling:
                    values = evaluate(source, self.X, self.engine)
                seconds = time.perf_counter() - started - sum(compiling)
                self._matrices[_key(source)] = values, max(seconds, 0.0)
        found = [self._matrices[_key(source)] for source in trial.sources]
        return [values for values, _ in found], sum(seconds for _, seconds in found)

    def _check_time(self, number: int) -> float | None:
        """Return the seconds a candidate is expected to take; refuse it if the budget has not so many left."""
        if self.clock.budget is None or not self.trials[number][1].sources:
            return None
        left = self.clock.left
        if left <= 0:
            raise _OutOfTime("the budget was used up before")
        needed = self._needed(number)
        if needed > left:
            raise _OutOfTime(f"would take about {duration(needed)}, {duration(left)} left of the budget")
        return needed

    def ranked(self, rows: list[Row]) -> tuple[Row, ...]:
        """Return rows from the best score to the worst, equals in the order of the candidates; then those without."""
        place = {candidate.name: number for number, (candidate, _) in enumerate(self.trials)}
        last = {"ok": 0, "failed": 1, "skipped": 2}
        return tuple(sorted(rows, key=lambda r: (last[r.status], -(r.mean or 0.0), place[r.name])))


def _key(source: Any, step: Any = None) -> Any:
    """Return what equal divergences after the same step have in common; kernels stand for themselves: no hash."""
    return source if hashable(source) else id(source), id(step)


def estimate(source: Any, X: Measures, engine: Engine, seed: int, left: float = np.inf, long: float = 0.5) -> float:
    """Return the seconds that all pairs will take, from the time of a sample of them.

    Time is taken as a + b * pairs: a, what is done once (tables of a shared support), must not be counted per pair.
    Compilation is paid for here and not counted. Errors are left for the run itself to meet: the estimate is then 0.
    A sample says enough about all pairs after 0.05 s or with 64 measures; one of ``long`` seconds is not taken twice,
    and a tenth of what is ``left`` of a budget is enough in any case.
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
        while seconds - first < 0.05 and m < min(len(X), 64) and time.perf_counter() < most:
            m = min(2 * m, len(X))
            seconds = sample(m)
    except Exception:
        return 0.0
    per_pair = max(0.0, seconds - first) / max(1, math.comb(m, 2) - 1)
    once = max(0.0, first - per_pair)
    return once + per_pair * math.comb(len(X), 2) / engine.n_threads
