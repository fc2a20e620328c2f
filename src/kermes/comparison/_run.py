"""``Run``: one comparison under way, candidate after candidate, as time allows."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._quantities import duration
from .._typing import AnyArray
from ..divergences import Divergence
from ..engine import Engine
from ..engine._progress import Progress
from ..measures import Measures
from ._auto import all_work
from ._budget import Clock, estimate
from ._candidate import Candidate, Trial
from ._folds import Fold, Score
from ._result import Row
from ._search import (
    Fitted,
    Memory,
    Training,
    View,
    block,
    definiteness,
    evaluate,
    finite_score,
    gram_of,
    hashable,
    kernel_of,
    matrices_of,
    n_settings,
    predictions,
    preprocess,
    seen,
    source_number,
    training,
    tune,
    views_of,
    with_memory,
)

#: Share of the time left up to which a candidate is run before others are estimated.
CHEAP = 0.1


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
    leader: tuple[str, Trial, list[Any]] | None = None  # the best candidate so far, and its matrices
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
        baselines = [number for number in waiting if not self.trials[number][1].sources]
        yield from baselines
        waiting = [number for number in waiting if number not in baselines]
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
        fits = n_settings(trial) * self._fit_seconds.get(_kind(trial), 0.0)
        needed = {_key(source, step) for source in trial.sources}
        if step is None:
            return sum(self._estimates.get(key, 0.0) for key in needed - set(self._matrices)) + fits
        # Other measures in every fold, and in every fold of its search.
        searched = (len(fold.inner) * (len(fold.train) / len(self.X)) ** 2 for fold in self.folds)
        matrices = len(self.folds) + (sum(searched) if n_settings(trial) > 1 else 0.0)
        shared = id(step) in {key[0] for key in self._preprocessed} and id(step) in self._used_steps
        step_seconds = 0.0 if shared else self._step_seconds.get(id(step), 0.0)
        return matrices * (step_seconds + sum(self._estimates.get(key, 0.0) for key in needed)) + fits

    def row(self, number: int) -> Row:
        """Run one candidate; whatever goes wrong is its row."""
        candidate, trial = self.trials[number]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self._judge(number)
            except _OutOfTime as reason:
                found = Row(candidate, "skipped", message=str(reason))
            except Exception as error:  # one candidate must not cost the others
                found = Row(candidate, "failed", message=f"{type(error).__name__}: {error}", error=error)
            finally:
                self._release(trial)
        said = dict.fromkeys(f"{note.category.__name__}: {note.message}" for note in caught)
        return replace(found, warnings=tuple(said))

    def _judge(self, number: int) -> Row:
        from ..core.jit import compilation

        candidate, trial = self.trials[number]
        expected = self._check_time(number)
        step, Z, matrices, distance_seconds = candidate.preprocessing, self.X, [None] * len(trial.sources), 0.0
        if step is None:
            matrices, distance_seconds = self._evaluated(trial)
        trial = with_memory(trial, self.X, self.engine, matrices)
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
                        matrices = matrices_of(trial, Z, self.engine)
                    views = views_of(trial, Z, matrices)
                    rows = self._training(trial, step, fold, views, Z.dim)
                spent = 0.0 if step is None else time.perf_counter() - entered
                distance_seconds, started = distance_seconds + max(spent - sum(compiling), 0.0), started + spent
                fitted = tune(trial, rows, self.score, self.seed)
                new = block(views[fitted.setting.view], fold.test, fold.train)
                predicted.append(predictions(fitted.learner, seen(trial, fitted.setting, new)))
                found.append(fitted)
                bar.advance(1)
        fit_seconds = time.perf_counter() - started
        self._fit_seconds[_kind(trial)] = fit_seconds / n_settings(trial)
        self._used_steps.add(id(step))
        truths = [self.y[fold.test] for fold in self.folds]
        scores = [finite_score(self.score.function(*pair)) for pair in zip(truths, predicted, strict=True)]
        finite_score(float(np.std(scores)))  # squares of finite scores may overflow
        if step is None:
            self._follow(number, float(np.mean(scores)), trial, matrices)
        return Row(
            candidate,
            "ok",
            tuple(scores),
            distance_seconds,
            fit_seconds,
            self._definiteness(trial, matrices, found, Z),
            chosen=tuple(_described(trial, fitted) for fitted in found),
            predicted=tuple(predicted),
            expected_seconds=expected,
        )

    def _training(self, trial: Trial, step: Any, fold: Fold, views: list[View], dim: int) -> Training:
        """Return what the search of a fold sees of its training rows."""
        own = [block(view, fold.train, fold.train) for view in views]
        X, y = self.X[fold.train], self.y[fold.train]
        return training(trial, step, own, X, y, fold.inner, self.engine, dim, self._preprocessed)

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

    def _follow(self, number: int, mean: float, trial: Trial, matrices: list[Any]) -> None:
        """Keep the matrices of the candidate that leads: its fit to all samples and the report need them."""
        place = (-mean, number)
        if self.leader is None or place < self._first:
            self.leader, self._first = (self.trials[number][0].name, trial, matrices), place

    def _release(self, trial: Trial) -> None:
        """Forget the matrices that no later candidate needs; the engine may remember their distances."""
        for source in trial.sources:
            self._uses[_key(source)] -= 1
            if not self._uses[_key(source)]:
                self._matrices.pop(_key(source), None)

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

    def _definiteness(self, trial: Trial, matrices: list[Any], found: list[Fitted], X: Measures) -> str:
        """Judge the kernel of the setting chosen most often, on all samples."""
        shapes = [fitted.setting[:3] for fitted in found]
        often = found[shapes.index(max(shapes, key=shapes.count))]
        kernel, number = kernel_of(trial, often, self.engine), source_number(trial, often)
        if kernel is None or number is None:
            return ""
        return definiteness(kernel, lambda: gram_of(kernel, trial.sources[number], matrices[number], X), X.dim)

    def ranked(self, rows: list[Row]) -> tuple[Row, ...]:
        """Return rows from the best score to the worst, equals in the order of the candidates; then those without."""
        place = {candidate.name: number for number, (candidate, _) in enumerate(self.trials)}
        last = {"ok": 0, "failed": 1, "skipped": 2}
        return tuple(sorted(rows, key=lambda r: (last[r.status], -(r.mean or 0.0), place[r.name])))


def _described(trial: Trial, fitted: Fitted) -> dict[str, Any]:
    """Return the setting of a fold by names."""
    s = fitted.setting
    source = {} if trial.learner.takes == "measures" else {"source": trial.sources[s.view]}
    shape = {} if s.length_scale is None else {"length_scale": s.length_scale, "power": s.power}
    return {**source, **shape, **s.params}


def _key(source: Any, step: Any = None) -> Any:
    """Return what equal divergences after the same step have in common; kernels stand for themselves: no hash."""
    return source if hashable(source) else id(source), id(step)


def _kind(trial: Trial) -> str:
    return type(trial.learner.estimator).__name__
