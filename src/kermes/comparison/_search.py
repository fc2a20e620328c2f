"""The search of one candidate: settings are chosen on inner folds of the training rows.

What a learner takes of a collection is a *view*: the measures themselves, or a matrix of squared distances or kernel
values between all of them. Folds are blocks of views.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._linalg import few_threads
from .._typing import AnyArray, FloatArray, IndexArray
from ..core import profiles
from ..definiteness import spectrum
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import NumericalError
from ..kernels import Exponential
from ..measures import Measures
from ._candidate import Trial
from ._folds import Score, Split
from ._learners import KernelGP, definite_power

__all__ = [
    "Fitted",
    "Setting",
    "View",
    "block",
    "definiteness",
    "evaluate",
    "finite_score",
    "kernel_of",
    "length_scales",
    "n_settings",
    "predictions",
    "profile",
    "roots",
    "seen",
    "tune",
    "views_of",
]

View = FloatArray | Measures

#: Length scales that are tried: fractions of quantiles of the distances between training measures, wide ones first.
QUANTILES = ((0.5, 2.0), (0.5, 1.0), (0.1, 1.0), (0.1, 0.7), (0.1, 0.5))
#: Measures on which a spectrum is looked at; a Gram matrix is indefinite if a part of it is.
LARGEST_SPECTRUM = 1000


class Setting(NamedTuple):
    """A point of the search: which view, the length scale and power of its kernel, parameters of the learner."""

    view: int
    length_scale: float | None
    power: float | None
    params: dict[str, Any]


class Fitted(NamedTuple):
    """The chosen setting, its score on the inner folds (None if there was no choice), and the fitted learner."""

    setting: Setting
    score: float | None
    learner: Any


def evaluate(source: Any, X: Measures, engine: Engine) -> FloatArray:
    """Return squared distances of a divergence, or values of a kernel."""
    if isinstance(source, Divergence):
        return pairwise(X, divergence=source, engine=engine, squared=True)
    return np.asarray(source(X))


def views_of(trial: Trial, X: Measures, engine: Engine) -> list[View]:
    """Return what the learner may take of X: the measures, or a matrix for each source."""
    return [X] if trial.learner.takes == "measures" else [evaluate(source, X, engine) for source in trial.sources]


def block(view: View, rows: IndexArray, cols: IndexArray) -> View:
    """Return the part of a view that holds ``rows``, seen from ``cols``."""
    return view[rows] if isinstance(view, Measures) else view[np.ix_(rows, cols)]


def seen(trial: Trial, setting: Setting, view: View) -> View:
    """Return what the learner takes: measures as they are, distances, or kernel values."""
    if isinstance(view, Measures):
        return view
    if trial.learner.takes == "distance":
        return roots(view)
    if setting.length_scale is None or setting.power is None:
        return np.array(view)
    return profile(view, setting.length_scale, setting.power)


def profile(squares: FloatArray, length_scale: float, power: float) -> FloatArray:
    """Return exp(-(d / l)^h / 2) from squared distances, with the bits of ``Exponential``."""
    if power == 2.0:
        return profiles.exponential(profiles.squared_exponent(squares, length_scale))
    return profiles.exponential((roots(squares) / length_scale) ** power)


def roots(squares: FloatArray) -> FloatArray:
    """Return distances from their squares, none of which may be negative."""
    if (squares < 0).any():
        raise NumericalError("some squared distances are negative, which no distance is; use a learner of kernels.")
    return np.sqrt(squares)


def tune(trial: Trial, views: list[View], dim: int, y: AnyArray, inner: list[Split], score: Score, seed: int) -> Fitted:
    """Choose the setting with the best mean score on the inner folds, the first of equals, and fit it to all rows.

    ``views`` holds what there is of the training rows; ``dim`` is the dimension of their points.
    """
    learner = _seeded(trial.learner.estimator, seed)
    with few_threads(len(y)):
        settings = _settings(trial, views, dim, min(len(train) for train, _ in inner))
        best, best_score = settings[0], None
        if len(settings) > 1:
            scores, reason = _scores(trial, learner, settings, views, y, inner, score)
            if not np.isfinite(scores).any():
                raise NumericalError(f"every setting of the search failed: {reason}")
            best, best_score = settings[int(np.argmax(scores))], float(np.max(scores))
        whole = seen(trial, best, views[best.view])
        return Fitted(best, best_score, clone(learner).set_params(**best.params).fit(whole, y))


def predictions(learner: Any, samples: View) -> AnyArray:
    """Return the predictions of a fitted learner; refuse those that are no numbers."""
    found = np.asarray(learner.predict(samples))
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise NumericalError(f"{type(learner).__name__} predicted values that are not finite.")
    return found


def finite_score(value: float) -> float:
    """Return a score; refuse one that is no number, which would compare with nothing."""
    if not np.isfinite(value):
        raise NumericalError(
            f"the score or its standard deviation is {value}. If the values of `y` are huge, rescale them."
        )
    return value


def n_settings(trial: Trial) -> int:
    """Return how many settings a search tries, at most."""
    grid = len(ParameterGrid(trial.learner.grid))
    if trial.learner.takes == "measures":
        return grid
    kernels = len(trial.length_scales or QUANTILES) * len(trial.powers or [2.0])
    searched = isinstance(trial.sources[0], Divergence) and trial.learner.takes == "kernel"
    return len(trial.sources) * (kernels if searched else 1) * grid


def kernel_of(trial: Trial, fitted: Fitted, engine: Any) -> Any:
    """Return the kernel on measures that a fitted learner uses, without variance and noise; None if there is none."""
    if isinstance(fitted.learner, KernelGP):
        found = fitted.learner.gp_.kernel_
        parts = getattr(found, "kernels", [found])  # classification into several classes: a kernel for each
        kernel = (parts[0].k1 if fitted.learner.task == "regression" else parts[0]).k2
        plain = isinstance(kernel, Exponential)
        return Exponential(kernel.divergence, kernel.length_scale, kernel.power, engine=engine) if plain else kernel
    if trial.learner.takes != "kernel":
        return None
    source, setting = trial.sources[fitted.setting.view], fitted.setting
    if setting.length_scale is None or setting.power is None:
        return source
    return Exponential(source, setting.length_scale, setting.power, engine=engine)


def definiteness(kernel: Any, gram: FloatArray, dim: int) -> str:
    """Return 'proved', or what the spectrum of the Gram matrix says; with the power of the kernel unless it is 2."""
    at = f", power {kernel.power:g}" if isinstance(kernel, Exponential) and kernel.power != 2.0 else ""
    claim = getattr(kernel, "is_positive_definite", None)
    if claim is not None and claim(dim):
        return f"proved{at}"
    found = spectrum(gram[:LARGEST_SPECTRUM, :LARGEST_SPECTRUM])
    if found.verdict == "indefinite":
        share = found.negative_mass
        return f"indefinite, {share:.1%}{at}" if share >= 0.001 else f"indefinite, < 0.1%{at}"
    return f"positive here{at}"


def _settings(trial: Trial, views: list[View], dim: int, n_fit: int) -> list[Setting]:
    """Return all settings, smooth ones first; neighbours are at most the ``n_fit`` rows there are."""
    grid = dict(trial.learner.grid)
    if "n_neighbors" in grid:
        grid["n_neighbors"] = [k for k in grid["n_neighbors"] if k <= n_fit] or [1]
    found = []
    for i, view in enumerate(views):
        shapes: list[tuple[float | None, float | None]] = [(None, None)]
        source = trial.sources[i] if trial.learner.takes == "kernel" else None
        if isinstance(source, Divergence):
            scales = trial.length_scales or length_scales(np.asarray(view))
            shapes = [(scale, h) for h in trial.powers or [definite_power(source, dim)] for scale in scales]
        found += [Setting(i, *shape, params) for shape in shapes for params in ParameterGrid(grid)]
    return found


def length_scales(squares: FloatArray) -> list[float]:
    """Return the length scales to try, from the squared distances of the training measures."""
    above = np.sqrt(squares[squares > 0])
    return [factor * float(np.quantile(above, q)) for q, factor in QUANTILES] if len(above) else [1.0]


def _scores(
    trial: Trial,
    learner: Any,
    settings: list[Setting],
    views: list[View],
    y: AnyArray,
    inner: list[Split],
    score: Score,
) -> tuple[FloatArray, str]:
    """Return the mean score of each setting, minus infinity where there is none, and why the last of those failed."""
    scores, reason = np.zeros(len(settings)), ""
    shape: tuple[Any, ...] | None = None
    for k, setting in enumerate(settings):
        if shape != setting[:3]:  # settings that share a matrix follow each other
            whole = seen(trial, setting, views[setting.view])
            blocks = [(block(whole, train, train), block(whole, test, train)) for train, test in inner]
            shape = setting[:3]
        for (fit_on, test_on), (train, test) in zip(blocks, inner, strict=True):
            try:
                machine = clone(learner).set_params(**setting.params).fit(fit_on, y[train])
                scores[k] += finite_score(score.search(y[test], predictions(machine, test_on))) / len(inner)
            except NumericalError as error:
                scores[k], reason = -np.inf, str(error)
    return scores, reason


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a copy whose random states that are None are set."""
    params = estimator.get_params()
    unset = {name: seed for name, value in params.items() if name.split("__")[-1] == "random_state" and value is None}
    return clone(estimator).set_params(**unset)
