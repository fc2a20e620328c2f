"""``compare``: all candidates on the same folds, every pair of measures paid for once."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from .._checks import choice, integer
from .._typing import AnyArray
from ..divergences import Divergence
from ..engine import Engine
from ..engine._engine import as_engine
from ..engine._progress import Progress
from ..exceptions import InvalidParameterError
from ..measures import Measures, as_measures
from ._auto import all_work, auto_candidates
from ._budget import Clock, duration, estimate, read_budget
from ._candidate import Candidate, Trial, as_trial
from ._covariates import with_covariates
from ._folds import Fold, Score, as_score, outer_folds, read_groups, read_target
from ._result import Comparison, ComparisonInterrupted, Row
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
    preprocessing: Any = None,
    covariates: Any = None,
) -> Comparison:
    r"""Compare kernels and distances on labelled measures by nested cross-validation.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    y : array of shape (n,)
        Labels (numbers or strings), or values for regression.
    task : 'classification', 'regression' or 'auto'
        'auto' takes strings and up to twenty distinct whole numbers for classes.
    candidates : 'auto' or list of Candidate
        What to compare; 'auto' takes :func:`~kermes.comparison.auto_candidates`.
    cv : int, splitter or iterable of (train, test)
        Outer folds, by which candidates are judged; a number means shuffled folds, stratified by class. Fewer, with a
        warning, where a class has fewer samples.
    budget : float or str, optional
        Seconds, or a string such as '30s', '5min', '1h'. The cheapest candidate runs next: distances not yet computed,
        by a sample of pairs, and fits, by those of the same learner so far. One whose estimate exceeds what is left is
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
    preprocessing : transformer, optional
        First step of all candidates that have none of their own: from measures to measures, such as
        ``MapPoints(StandardScaler())``. It is fitted to each training set, those of the searches within included, so
        that distances are computed for each fold and for each fold of its search: about three times as many.
    covariates : data frame, optional
        What else is known of each measure (age, sex, batch), a row for each. Adds three candidates, a linear model
        each: 'covariates alone', 'measures alone, linear' (features of the sliced Wasserstein kernel) and 'measures and
        covariates'. The latter predicts for a frame with the column 'measures' and those of the covariates.

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
    if covariates is not None:
        measures = Measures(measures._packed)  # whose rows are those of the covariates
    target, task = read_target(y, len(measures), task)
    seed = integer(random_state, "random_state", low=0)
    as_engine(engine)
    if not isinstance(progress, bool):
        choice(progress, "progress", ["auto"])
    grouped = read_groups(groups, len(measures))
    score, clock = as_score(scoring, task), Clock(read_budget(budget))
    folds = outer_folds(target, task, cv, inner_cv, grouped, seed)
    if score.name == "r2" and min(len(fold.test) for fold in folds) < 2:
        raise InvalidParameterError("R^2 needs two samples in every test fold; use scoring='neg_mean_absolute_error'.")
    engine = Engine(progress=progress) if engine is None else engine
    listed = _listed(candidates, measures, target, task, seed, preprocessing)
    if covariates is not None:
        listed += with_covariates(covariates, measures, task, preprocessing)
    trials = _trials(listed, task, engine)
    run = _Run(measures, target, folds, score, seed, engine, progress, clock, trials)
    empty = Comparison(
        (), measures, target, task, score.name, tuple(folds), engine, seed, inner_cv, grouped, finished=False
    )
    rows: list[Row] = []
    try:
        for number in run.order():
            rows.append(run.row(number))
        return _refitted(replace(empty, rows=run.ranked(rows), finished=True), run.leader)
    except KeyboardInterrupt:
        raise ComparisonInterrupted(replace(empty, rows=run.ranked(rows))) from None


def _listed(candidates: Any, X: Measures, y: AnyArray, task: str, seed: int, preprocessing: Any) -> list[Candidate]:
    """Return the candidates, each with its preprocessing."""
    if isinstance(candidates, str):
        choice(candidates, "candidates", ["auto"])
        listed = auto_candidates(preprocess(preprocessing, X, y)[1], task, seed)
    else:
        listed = [candidates] if isinstance(candidates, Candidate) else list(candidates)
    strangers = [item for item in listed if not isinstance(item, Candidate)]
    if strangers or not listed:
        got = repr(strangers[0]) if strangers else "none"
        raise InvalidParameterError(f"`candidates` must be 'auto' or a list of Candidate; got {got}.")
    if preprocessing is None:
        return listed
    steps: dict[int, Any] = {}  # candidates that share a step go on sharing it
    for step in (item.preprocessing for item in listed):
        both = step is not None and isinstance(candidates, str)  # codebooks of 'auto' follow what was asked for
        steps[id(step)] = make_pipeline(preprocessing, step) if both else preprocessing if step is None else step
    return [replace(item, preprocessing=steps[id(item.preprocessing)]) for item in listed]


def _trials(listed: list[Candidate], task: str, engine: Engine) -> list[tuple[Candidate, Trial]]:
    """Return the candidates, checked before anything is computed."""
    repeated = [name for name, count in Counter(item.name for item in listed).items() if count > 1]
    if repeated:
        raise InvalidParameterError(f"`candidates` must have different names; {repeated[0]!r} occurs twice.")
    return [(item, as_trial(item, task, engine)) for item in listed]


#: Share of the time left up to which a candidate is run before others are estimated.
CHEAP = 0.1


class _OutOfTime(Exception):
    """The budget is used up; the message says when."""


@dataclass
class _Run:
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
                if step is not None:
                    Z = preprocess(step, self.X, self.y, fold.train, self._preprocessed)[1]
                    matrices = matrices_of(trial, Z, self.engine)
                views = views_of(trial, Z, matrices)
                rows = self._training(trial, step, fold, views, Z.dim)
                spent = 0.0 if step is None else time.perf_counter() - entered
                distance_seconds, started = distance_seconds + spent, started + spent
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


def _refitted(found: Comparison, leader: tuple[str, Trial, list[Any]] | None) -> Comparison:
    """Return the comparison with its best candidate fitted to all samples; one that cannot be is a failed row."""
    for row in found.rows:
        if row.status != "ok":
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are those of the folds
                model = found._unfitted(row.name)
                known = leader[1:] if leader is not None and leader[0] == row.name else None
                matrix = model._fit(found.X, found.y, found.groups, known)
                return replace(found, _best=model, _matrix=matrix)
        except Exception as error:
            message = f"fit to all samples: {type(error).__name__}: {error}"
            failed = replace(row, status="failed", message=message, error=error)
            found = replace(found, rows=(*(r for r in found.rows if r is not row), failed))
    return found
