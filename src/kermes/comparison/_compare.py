"""``compare``: all candidates on the same folds, every pair of measures paid for once."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._checks import choice, integer
from .._typing import AnyArray, FloatArray
from ..engine import Engine
from ..engine._progress import Progress
from ..exceptions import InvalidParameterError
from ..measures import Measures, as_measures
from ._auto import auto_candidates
from ._budget import Clock, duration, estimate, read_budget
from ._candidate import Candidate, Plan, plan
from ._folds import Fold, Score, as_score, outer_folds, read_groups, read_target
from ._learners import DistanceGP
from ._result import Comparison, ComparisonInterrupted, Row
from ._search import Fitted, block, finite_score, n_settings, predict, tune
from ._views import definiteness, evaluate

__all__ = ["compare"]


def compare(
    X: Any,
    y: Any,
    task: str = "classification",
    candidates: str | Iterable[Candidate] = "auto",
    cv: Any = 5,
    budget: float | str | None = None,
    random_state: int = 0,
    engine: Engine | None = None,
    progress: bool | str = "auto",
    *,
    scoring: str | None = None,
    inner_cv: int = 3,
    groups: Any = None,
) -> Comparison:
    r"""Compare kernels and distances on labelled measures by nested cross-validation.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    y : array of shape (n,)
        Labels (numbers or texts), or values for regression.
    task : 'classification' or 'regression'
    candidates : 'auto' or list of Candidate
        What to compare; 'auto' takes :func:`~kermes.comparison.auto_candidates`.
    cv : int, splitter or iterable of (train, test)
        Outer folds, by which candidates are judged; a number means shuffled folds, stratified by class. Fewer, with a
        warning, where a class has fewer samples.
    budget : float or str, optional
        Seconds, or a text such as '30s', '5min', '1h'. The cheapest candidate runs next: distances not yet computed, by
        a sample of pairs, and fits, by those of the same learner so far. One whose estimate exceeds what is left is
        skipped, and one that is still running at the end stops after its fold.
    random_state : int
        Seed of folds, slices and learners.
    engine : Engine, optional
        How distances are computed and remembered. By default a new one that remembers up to 1 GiB.
    progress : 'auto', True or False
        Bars on stderr; 'auto' shows them on terminals only.
    scoring : str, optional
        'accuracy' (default), 'balanced_accuracy', 'f1_macro'; 'r2' (default), 'neg_mean_absolute_error',
        'neg_root_mean_squared_error'.
    inner_cv : int
        Folds of the searches within training sets.
    groups : array of shape (n,), optional
        Samples of one group (a patient) are never on both sides of a split.

    Returns
    -------
    Comparison
        ``table``, ``best_`` (an estimator on measures, fitted to all of X), ``out_of_fold(name)``, ``distances(name)``,
        ``report(path)``. It prints as a leaderboard.

    Raises
    ------
    ComparisonInterrupted
        On Ctrl-C, a ``KeyboardInterrupt``; its ``comparison`` holds what was finished.

    Notes
    -----
    *Scores are honest*: for each outer fold, length scales (quantiles of the training distances) and parameters are
    chosen on inner folds of its training rows; the test rows only judge. All candidates have the same folds.
    The parameters of the distances themselves, in 'auto', come from all points of X, without labels. The mean of
    the best of many rows is a little optimistic, as the best of many always is.

    *A candidate that fails* is a row with the message, and the others go on. Warnings are kept in ``rows``.
    *Deterministic* for a seed, but for times and for what a budget leaves out. *Cost*: the distances once per
    divergence, then about ``cv * inner_cv`` times the number of settings fits of each candidate, on submatrices.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, compare, divergences
    >>> from kermes.comparison import Candidate
    >>> rng = np.random.default_rng(0)
    >>> wide = np.repeat([1, 2], 20)
    >>> X = Measures.from_samples([rng.normal(0, s, size=30) for s in wide])
    >>> two = [Candidate("W2", divergences.Wasserstein(p=2)), Candidate("nothing", learner="dummy")]
    >>> result = compare(X, wide, candidates=two)
    >>> [(row["rank"], row["candidate"], round(row["mean"], 2)) for row in result.table]
    [(1, 'W2', 0.95), (2, 'nothing', 0.5)]
    >>> result.best_.predict(Measures.from_samples([[-4.0, 0.1, 3.5]]))
    array([2])
    """
    measures = as_measures(X)
    target = read_target(y, len(measures), task)
    seed = integer(random_state, "random_state", low=0)
    if engine is not None and not isinstance(engine, Engine):
        raise InvalidParameterError(f"`engine` must be an Engine, such as Engine('serial'); got {engine!r}.")
    if not isinstance(progress, bool):
        choice(progress, "progress", ["auto"])
    grouped = read_groups(groups, len(measures))
    score, clock = as_score(scoring, task), Clock(read_budget(budget))
    folds = outer_folds(target, task, cv, inner_cv, grouped, seed)
    if score.name == "r2" and min(len(fold.test) for fold in folds) < 2:
        raise InvalidParameterError("R^2 needs two samples in every test fold; use scoring='neg_mean_absolute_error'.")
    plans = _plans(candidates, measures, task, seed)
    engine = Engine(progress=progress) if engine is None else engine
    run = _Run(measures, target, folds, score, seed, engine, progress, clock, plans)
    empty = Comparison(
        (), measures, target, task, score.name, tuple(folds), engine, seed, inner_cv, grouped, finished=False
    )
    rows: list[Row] = []
    try:
        for number in run.order():
            rows.append(run.row(number))
        return _refitted(replace(empty, rows=_ranked(rows, plans), finished=True))
    except KeyboardInterrupt:
        raise ComparisonInterrupted(replace(empty, rows=_ranked(rows, plans))) from None


def _plans(candidates: Any, X: Measures, task: str, seed: int) -> list[tuple[Candidate, Plan]]:
    """Return the candidates, checked before anything is computed."""
    if isinstance(candidates, str):
        choice(candidates, "candidates", ["auto"])
        listed = auto_candidates(X, task, seed)
    else:
        listed = [candidates] if isinstance(candidates, Candidate) else list(candidates)
    strangers = [item for item in listed if not isinstance(item, Candidate)]
    if strangers or not listed:
        got = repr(strangers[0]) if strangers else "none"
        raise InvalidParameterError(f"`candidates` must be 'auto' or a list of Candidate; got {got}.")
    repeated = [name for name, count in Counter(item.name for item in listed).items() if count > 1]
    if repeated:
        raise InvalidParameterError(f"`candidates` must have different names; {repeated[0]!r} occurs twice.")
    return [(item, plan(item, task)) for item in listed]


class _OutOfTime(Exception):
    """The budget is used up; says when."""


class _Run:
    """One comparison under way: the matrices in use, the times seen so far."""

    def __init__(
        self,
        X: Measures,
        y: AnyArray,
        folds: list[Fold],
        score: Score,
        seed: int,
        engine: Engine,
        progress: bool | str,
        clock: Clock,
        plans: list[tuple[Candidate, Plan]],
    ) -> None:
        self.X, self.y, self.folds, self.score, self.seed = X, y, folds, score, seed
        self.engine, self.progress, self.clock, self.plans = engine, progress, clock, plans
        self._matrices: dict[Any, tuple[FloatArray, float]] = {}
        self._uses = Counter(_key(source) for _, p in plans for source in p.sources)
        self._estimates: dict[Any, float] = {}  # seconds of the matrix of a source
        self._fit_seconds: dict[str, float] = {}  # seconds per setting of a kind of learner

    def order(self) -> Iterator[int]:
        """Yield the numbers of the candidates: as given, or with a budget the cheapest first, by what is known then."""
        waiting = list(range(len(self.plans)))
        if self.clock.budget is None:
            yield from waiting
            return
        for source in (source for _, p in self.plans for source in p.sources):
            if _key(source) not in self._estimates:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the run itself will tell
                    self._estimates[_key(source)] = estimate(source, self.X, self.engine, self.seed)
        while waiting:
            cheapest = min(waiting, key=lambda number: self._needed(self.plans[number][1]))
            waiting.remove(cheapest)
            yield cheapest

    def _needed(self, p: Plan) -> float:
        """Return the seconds a candidate will take: matrices not at hand, and fits like those of its learner so far."""
        missing = {_key(source) for source in p.sources} - set(self._matrices)
        fits = n_settings(p) * self._fit_seconds.get(_kind(p), 0.0)
        return sum(self._estimates.get(key, 0.0) for key in missing) + fits

    def row(self, number: int) -> Row:
        """Run one candidate; whatever goes wrong is its row."""
        candidate, p = self.plans[number]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self._judge(number, candidate, p)
            except _OutOfTime as reason:
                found = Row(candidate, "skipped", message=str(reason))
            except Exception as error:  # one candidate must not cost the others
                found = Row(candidate, "failed", message=f"{type(error).__name__}: {error}")
            finally:
                self._release(p)
        told = dict.fromkeys(f"{note.category.__name__}: {note.message}" for note in caught)
        return replace(found, warnings=tuple(told))

    def _judge(self, number: int, candidate: Candidate, p: Plan) -> Row:
        self._check_time(p)
        views, distance_seconds = self._views(p)
        started = time.perf_counter()
        scores, found, predicted = [], [], []
        with Progress(len(self.folds), self.progress, f"{number + 1}/{len(self.plans)} {p.name}", "folds") as bar:
            for done, fold in enumerate(self.folds):
                if self.clock.left < 0:
                    raise _OutOfTime(f"stopped after {done} of {len(self.folds)} folds, at the end of the budget")
                kind = p.learner.matrix
                training = [block(values, fold.train, fold.train, kind) for values in views]
                fitted = tune(p, training, self.y[fold.train], fold.inner, self.score, self.seed)
                s = fitted.setting
                new = block(views[s.source], fold.test, fold.train, kind)
                predicted.append(predict(p, fitted, new))
                scores.append(finite_score(self.score.function(self.y[fold.test], predicted[-1])))
                found.append(fitted)
                bar.advance(1)
        finite_score(float(np.std(scores)))  # squares of finite scores may overflow
        fit_seconds = time.perf_counter() - started
        self._fit_seconds[_kind(p)] = fit_seconds / n_settings(p)
        return Row(
            candidate,
            "ok",
            tuple(scores),
            distance_seconds,
            fit_seconds,
            self._definiteness(p, views, found),
            chosen=tuple(self._described(p, fitted.setting) for fitted in found),
            predicted=tuple(predicted),
        )

    def _views(self, p: Plan) -> tuple[list[FloatArray], float]:
        """Return the matrices of a candidate and the seconds they took, now or when first needed."""
        if not p.sources:
            return [np.zeros((len(self.y), 1))], 0.0
        found = []
        for source in p.sources:
            if _key(source) not in self._matrices:
                started = time.perf_counter()
                values = evaluate(source, self.X, None, self.engine)
                self._matrices[_key(source)] = values, time.perf_counter() - started
            found.append(self._matrices[_key(source)])
        return [values for values, _ in found], sum(seconds for _, seconds in found)

    def _release(self, p: Plan) -> None:
        """Forget the matrices that no later candidate needs; the engine may remember their distances."""
        for source in p.sources:
            self._uses[_key(source)] -= 1
            if not self._uses[_key(source)]:
                self._matrices.pop(_key(source), None)

    def _check_time(self, p: Plan) -> None:
        if self.clock.budget is None:
            return
        needed, left = self._needed(p), self.clock.left
        if needed > left:
            raise _OutOfTime(f"would take about {duration(needed)}, {duration(max(left, 0.0))} left of the budget")

    def _described(self, p: Plan, s: Any) -> dict[str, Any]:
        source = {"source": p.sources[s.source]} if p.sources else {}
        scale = {} if s.length_scale is None else {"length_scale": s.length_scale}
        return {**source, **scale, **s.params}

    def _definiteness(self, p: Plan, views: list[FloatArray], found: list[Fitted]) -> str:
        """Judge the kernel of the setting chosen most often, on all samples."""
        gaussian_process = isinstance(p.learner.estimator, DistanceGP)
        if p.learner.matrix != "kernel" and not gaussian_process:
            return ""
        places = [(fitted.setting.source, fitted.setting.level) for fitted in found]
        often = found[places.index(max(places, key=places.count))]
        source, scale = often.setting.source, often.setting.length_scale
        if gaussian_process:  # it takes distances, and finds the length scale of its kernel by itself
            scale = often.learner.length_scale_
        return definiteness(p.sources[source], views[source], scale, self.X.dim)


def _key(source: Any) -> Any:
    """Return what equal divergences have in common; kernels, which have no hash, stand for themselves."""
    try:
        hash(source)
    except TypeError:
        return id(source)
    return source


def _kind(p: Plan) -> str:
    return type(p.learner.estimator).__name__


def _ranked(rows: list[Row], plans: list[tuple[Candidate, Plan]]) -> tuple[Row, ...]:
    """Return rows from the best score to the worst, equals in the order of the candidates; then those without."""
    place = {candidate.name: number for number, (candidate, _) in enumerate(plans)}
    last = {"ok": 0, "failed": 1, "skipped": 2}
    return tuple(sorted(rows, key=lambda r: (last[r.status], -(r.mean or 0.0), place[r.name])))


def _refitted(found: Comparison) -> Comparison:
    """Return the comparison with its best candidate fitted to all samples; one that cannot be is a failed row."""
    for row in found.rows:
        if row.status != "ok":
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are those of the folds
                return replace(found, _best=found.fit(row.name))
        except Exception as error:
            failed = replace(row, status="failed", message=f"fit to all samples: {type(error).__name__}: {error}")
            found = replace(found, rows=(*(r for r in found.rows if r is not row), failed))
    return found
