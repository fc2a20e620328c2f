"""``compare``: all candidates on the same folds, every pair of measures paid for once."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.pipeline import make_pipeline

from .._checks import choice, integer, require_order
from .._typing import AnyArray
from ..engine import Engine, Estimate
from ..engine._engine import as_engine
from ..exceptions import InvalidParameterError, KermesError
from ..measures import Measures, as_measures
from ._auto import auto_candidates, with_covariates
from ._candidate import Candidate
from ._folds import as_score, outer_folds, read_groups, read_target
from ._result import Comparison, ComparisonInterrupted, Row
from ._run import Clock, Run
from ._search import Trial, as_trial, preprocess


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
        Labels (numbers or strings), or values for regression, which differ by 1e-150 to 1e150.
    task : 'classification', 'regression' or 'auto'
        'auto' takes strings and up to twenty distinct whole numbers for classes.
    candidates : 'auto' or list of Candidate
        What to compare; 'auto' takes :func:`~kermes.comparison.auto_candidates`.
    cv : int, splitter or iterable of (train, test)
        Outer folds, by which candidates are judged; a number means shuffled folds, stratified by class. Fewer, with a
        warning, where a class has fewer samples. Rows of other folds are distinct whole numbers from 0 to n - 1.
    budget : float or str, optional
        Seconds, or a string such as '30s', '5min', '1h'. The cheapest candidate runs next: distances not yet computed,
        by a sample of pairs, and fits, by those of the same learner so far. One whose estimate exceeds what is left is
        skipped, and one that is still running at the end stops after its fold. Baselines, which have no distances,
        always run; they, compilation at first use and the fit of the best candidate to all of X come on top.
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
        Samples of one group (a patient) are never on both sides of a split; a ``cv`` that parts them is refused.
    preprocessing : transformer, optional
        First step of all candidates that have none of their own: from measures to measures, such as
        ``MapPoints(StandardScaler())``. It is fitted to each training set, those of the searches within included, so
        that distances are computed for each fold and for each fold of its search: about three times as many.
    covariates : data frame, optional
        What else is known of each measure (age, sex, batch), a row for each: numbers, or labels, which everything else
        is but dates and durations, which are refused. Adds three candidates, a linear model
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
    require_order(X, y=y, groups=groups, covariates=covariates)
    target, task = read_target(y, len(measures), task)
    seed = integer(random_state, "random_state", low=0)
    as_engine(engine)
    if not isinstance(progress, bool):
        choice(progress, "progress", ["auto"])
    grouped = read_groups(groups, len(measures))
    score, clock = as_score(scoring, task), Clock(budget)
    folds = outer_folds(target, task, cv, inner_cv, groups, seed)
    if score.name == "r2" and min(len(fold.test) for fold in folds) < 2:
        raise InvalidParameterError("R^2 needs two samples in every test fold; use scoring='neg_mean_absolute_error'.")
    engine = Engine(progress=progress) if engine is None else engine
    listed = _listed(candidates, measures, target, task, seed, preprocessing)
    if covariates is not None:
        listed += with_covariates(covariates, measures, task, preprocessing)
    repeated = [name for name, count in Counter(item.name for item in listed).items() if count > 1]
    if repeated:
        raise InvalidParameterError(f"`candidates` must have different names; {repeated[0]!r} occurs twice.")
    trials = [(item, as_trial(item, task, engine)) for item in listed]  # checked before anything is computed
    run = Run(measures, target, folds, score, seed, engine, progress, clock, trials)
    empty = Comparison(
        (), measures, target, task, score.name, tuple(folds), engine, seed, inner_cv, grouped, finished=False
    )
    rows: list[Row] = []
    try:
        with clock.running():
            for number in run.order():
                rows.append(run.row(number))
        return _refitted(replace(empty, rows=run.ranked(rows), finished=True), run.leader)
    except KeyboardInterrupt:
        raise ComparisonInterrupted(replace(empty, rows=run.ranked(rows))) from None


def estimates(
    X: Measures, y: AnyArray, task: str, candidates: Any, seed: int, preprocessing: Any = None
) -> dict[str, Estimate]:
    """Return the pairs, time and memory of the distances of each candidate; learners come on top of them.

    A candidate without a distance, or one that does not suit the data, has none.
    """
    engine, found = Engine(), {}
    for candidate in _listed(candidates, X, y, task, seed, preprocessing):
        distances = candidate.divergences or (getattr(candidate.kernel, "divergence", None),)
        try:
            parts = [engine.estimate(X, divergence=d) for d in distances if d is not None]
        except KermesError:
            continue
        if parts:
            pairs, seconds = (sum(getattr(part, name) for part in parts) for name in ("pairs", "seconds"))
            found[candidate.name] = Estimate(int(pairs), float(seconds), max(part.bytes for part in parts))
    return found


def _listed(candidates: Any, X: Measures, y: AnyArray, task: str, seed: int, preprocessing: Any) -> list[Candidate]:
    """Return the candidates, each with its preprocessing."""
    if isinstance(candidates, str) and candidates == "auto":
        listed = auto_candidates(preprocess(preprocessing, X, y)[1], task, seed)
    else:
        several = isinstance(candidates, Iterable) and not isinstance(candidates, str)
        listed = list(candidates) if several else [candidates]
    strangers = [item for item in listed if not isinstance(item, Candidate)]
    if strangers or not listed:
        got = repr(strangers[0]) if strangers else "none"
        remedy = "" if not strangers else " Write Candidate('name', divergence), or Candidate('name', kernel=...)."
        raise InvalidParameterError(f"`candidates` must be 'auto' or a list of Candidate; got {got}.{remedy}")
    if preprocessing is None:
        return listed
    steps: dict[int, Any] = {}  # candidates that share a step go on sharing it
    for step in (item.preprocessing for item in listed):
        both = step is not None and isinstance(candidates, str)  # codebooks of 'auto' follow what was asked for
        steps[id(step)] = make_pipeline(preprocessing, step) if both else preprocessing if step is None else step
    return [replace(item, preprocessing=steps[id(item.preprocessing)]) for item in listed]


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
