"""The search of one candidate on matrices: settings are chosen on inner folds of the training rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._linalg import few_threads
from .._typing import AnyArray, FloatArray, IndexArray
from ..divergences import Divergence
from ..exceptions import NumericalError
from ._candidate import Plan
from ._folds import Score, Split
from ._views import QUANTILES, length_scales, matrix

__all__ = ["Fitted", "Setting", "block", "finite_score", "n_settings", "predict", "tune"]


class Setting(NamedTuple):
    """A point of the search: which source, which of its length scales, which parameters of the learner."""

    source: int
    level: int
    length_scale: float | None
    params: dict[str, Any]


class Fitted(NamedTuple):
    """The chosen setting, its score on the inner folds (None if there was no choice), and the fitted learner."""

    setting: Setting
    score: float | None
    learner: Any


def tune(plan: Plan, views: list[FloatArray], y: AnyArray, inner: list[Split], score: Score, seed: int) -> Fitted:
    """Choose the setting with the best mean score on the inner folds, the first of equals, and fit it to all rows.

    ``views`` holds, for each source of the plan, squared distances or kernel values between the training rows.
    """
    learner = _seeded(plan.learner.estimator, seed)
    with few_threads(len(y)):
        settings = _settings(plan, views, min(len(train) for train, _ in inner))
        best, best_score = settings[0], None
        if len(settings) > 1:
            scores, reason = _scores(plan, learner, settings, views, y, inner, score)
            if not np.isfinite(scores).any():
                raise NumericalError(f"every setting of the search failed: {reason}")
            best, best_score = settings[int(np.argmax(scores))], float(np.max(scores))
        whole = matrix(views[best.source], best.length_scale, plan.learner.matrix)
        return Fitted(best, best_score, clone(learner).set_params(**best.params).fit(whole, y))


def predict(plan: Plan, fitted: Fitted, values: FloatArray) -> AnyArray:
    """Return predictions from the squared distances or kernel values of new rows to the training rows."""
    return _predictions(fitted.learner, matrix(values, fitted.setting.length_scale, plan.learner.matrix))


def finite_score(value: float) -> float:
    """Return a score; refuse one that is no number, which would compare with nothing."""
    if not np.isfinite(value):
        raise NumericalError(f"the score or its deviation is {value}. If the values of `y` are huge, rescale them.")
    return value


def _predictions(learner: Any, values: FloatArray) -> AnyArray:
    """Return the predictions of a fitted learner; refuse those that are no numbers."""
    found = np.asarray(learner.predict(values))
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise NumericalError(f"{type(learner).__name__} predicted values that are not finite.")
    return found


def _settings(plan: Plan, views: list[FloatArray], n_fit: int) -> list[Setting]:
    """Return all settings, smooth ones first; neighbours are at most the ``n_fit`` rows there are."""
    grid = dict(plan.learner.grid)
    if "n_neighbors" in grid:
        grid["n_neighbors"] = [k for k in grid["n_neighbors"] if k <= n_fit] or [1]
    found = []
    for i, values in enumerate(views):
        scales: list[float | None] = [None]
        if plan.learner.matrix == "kernel":
            scales = length_scales(plan.sources[i], values, plan.length_scales)
        for level, scale in enumerate(scales):
            found += [Setting(i, level, scale, params) for params in ParameterGrid(grid)]
    return found


def n_settings(plan: Plan) -> int:
    """Return how many settings a search tries, at most."""
    scales = len(plan.length_scales or QUANTILES) if plan.learner.matrix == "kernel" else 1
    matrices = sum(scales if isinstance(source, Divergence) else 1 for source in plan.sources)
    return max(1, matrices) * len(ParameterGrid(plan.learner.grid))


def _scores(
    plan: Plan,
    learner: Any,
    settings: list[Setting],
    views: list[FloatArray],
    y: AnyArray,
    inner: list[Split],
    score: Score,
) -> tuple[FloatArray, str]:
    """Return the mean score of each setting, minus infinity where there is none, and why the last of those failed."""
    scores, reason = np.zeros(len(settings)), ""
    seen: tuple[int, int] | None = None
    for k, setting in enumerate(settings):
        if seen != (setting.source, setting.level):  # settings that share a matrix follow each other
            whole = matrix(views[setting.source], setting.length_scale, plan.learner.matrix)
            kind = plan.learner.matrix
            blocks = [(block(whole, train, train, kind), block(whole, test, train, kind)) for train, test in inner]
            seen = setting.source, setting.level
        for (fit_on, test_on), (train, test) in zip(blocks, inner, strict=True):
            try:
                machine = clone(learner).set_params(**setting.params).fit(fit_on, y[train])
                scores[k] += finite_score(score.search(y[test], _predictions(machine, test_on))) / len(inner)
            except NumericalError as error:
                scores[k], reason = -np.inf, str(error)
    return scores, reason


def block(whole: FloatArray, rows: IndexArray, cols: IndexArray, kind: str) -> FloatArray:
    """Return the entries of rows and columns; of a learner that looks at nothing there is one column."""
    return whole[rows] if kind == "nothing" else whole[np.ix_(rows, cols)]


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a copy whose random states that are None are set."""
    params = estimator.get_params()
    unset = {name: seed for name, value in params.items() if name.split("__")[-1] == "random_state" and value is None}
    return clone(estimator).set_params(**unset)
