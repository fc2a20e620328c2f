"""The search of one candidate: settings are chosen on inner folds of the training rows.

What a learner takes of a collection is a *view*: the measures themselves, or a matrix of squared distances or kernel
values between all of them. Folds are blocks of views.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._checks import positive, real
from .._linalg import few_threads
from .._typing import AnyArray, FloatArray, IndexArray
from ..core import profiles
from ..definiteness import spectrum
from ..divergences import Divergence, Tile
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError, NumericalError
from ..kernels import Exponential
from ..measures import Measures, as_measures
from ._candidate import DEFAULT, Candidate, KernelGP, Learner, as_learner, definite_power
from ._folds import Score, Split

View = FloatArray | Measures
#: Preprocessed measures by step, rows of the collection and rows fitted to.
Memory = dict[tuple[Any, ...], tuple[Any, Measures]]
#: Bytes of the points of preprocessed measures up to which they are kept for other candidates.
SMALL_RESULT = 8_000_000

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


class Training(NamedTuple):
    """What a search sees of its training rows.

    ``views`` are those after a preprocessing fitted to all of them. ``split_views`` has those after one fitted to the
    training rows of each split; without a preprocessing these are the same, and there is one entry for all splits.
    """

    views: list[View]
    dim: int
    y: AnyArray
    splits: list[Split]
    split_views: list[list[View]]


class Fitted(NamedTuple):
    """The chosen setting, its score on the inner folds (None if there was no choice), and the fitted learner."""

    setting: Setting
    score: float | None
    learner: Any


class Trial(NamedTuple):
    """A checked candidate: divergences or kernels to choose from, the learner, length scales and powers if given."""

    sources: list[Any]
    learner: Learner
    length_scales: list[float] | None
    powers: list[float] | None

    @property
    def kind(self) -> str:
        """The class of the learner."""
        return type(self.learner.estimator).__name__

    @property
    def n_settings(self) -> int:
        """How many settings a search tries, at most."""
        grid = len(ParameterGrid(self.learner.grid))
        if self.learner.takes == "measures":
            return grid
        kernels = len(self.length_scales or QUANTILES) * len(self.powers or [2.0])
        searched = isinstance(self.sources[0], Divergence) and self.learner.takes == "kernel"
        return len(self.sources) * (kernels if searched else 1) * grid

    def matrices(self, X: Measures, engine: Engine) -> list[Any]:
        """Return the matrix of each source; None for learners that take measures and look at distances themselves."""
        wanted = self.learner.takes != "measures"
        return [evaluate(source, X, engine) if wanted else None for source in self.sources]

    def views(self, X: Measures, matrices: list[Any]) -> list[View]:
        """Return what the learner may take of X: the measures, or a matrix for each source."""
        return [X] if self.learner.takes == "measures" else list(matrices)

    def training(
        self, step: Any, views: list[View], X: Measures, y: AnyArray, splits: list[Split], engine: Engine, dim: int,
        memory: Memory | None = None,
    ) -> Training:  # fmt: skip
        """Return what a search sees of X: its ``views`` and ``dim``, after the step, and what the splits see of it."""
        if step is None or self.n_settings == 1:
            return Training(views, dim, y, splits, [views])
        refitted = (preprocess(step, X, y, train, memory)[1] for train, _ in splits)
        return Training(views, dim, y, splits, [self.views(Z, self.matrices(Z, engine)) for Z in refitted])

    def with_memory(self, X: Measures, engine: Engine, matrices: list[Any]) -> Trial:
        """Return a Gaussian process on distances with an engine that has room for those of X, whatever the given has.

        ``matrices`` are the squared distances of the sources, or None: what is known is not computed again.
        """
        if not isinstance(self.learner.estimator, KernelGP) or not isinstance(self.sources[0], Divergence):
            return self
        # Value, status and estimated error of each pair; one divergence may take half of what an engine remembers.
        room = 2 * 17 * len(self.sources) * len(X) ** 2
        if (engine._memo is not None and engine._memo.limit >= room) or not all(map(hashable, self.sources)):
            return self
        own = replace(engine, memo=room, store=None)
        for divergence, squares in zip(self.sources, matrices, strict=True):
            if squares is not None:
                keeper = own._keeper(divergence, X, X, symmetric=True)
                status, error = np.zeros(squares.shape, dtype=np.uint8), np.zeros(squares.shape)
                keeper.put(*keeper.slots(X.rows, X.rows), Tile(squares ** (divergence.power / 2), status, error))
        estimator = clone(self.learner.estimator).set_params(engine=own)
        return self._replace(learner=self.learner._replace(estimator=estimator))

    def seen(self, setting: Setting, view: View) -> View:
        """Return what the learner takes: measures as they are, distances, or kernel values."""
        if isinstance(view, Measures):
            return view
        if self.learner.takes == "distance":
            return roots(view)
        if setting.length_scale is None or setting.power is None:
            return np.array(view)
        return profile(view, setting.length_scale, setting.power)

    def tune(self, rows: Training, score: Score, seed: int) -> Fitted:
        """Choose the setting with the best mean score on the splits, the first of equals, and fit it to all rows.

        Random states that are None are set to the seed.
        """
        params = self.learner.estimator.get_params()
        drawing = [name for name, value in params.items() if name.split("__")[-1] == "random_state" and value is None]
        learner = clone(self.learner.estimator).set_params(**dict.fromkeys(drawing, seed))
        with few_threads(len(rows.y)):
            settings = self._settings(rows)
            best, best_score = settings[0], None
            if len(settings) > 1:
                scores, reason = self._scores(learner, settings, rows, score)
                if not np.isfinite(scores).any():
                    raise NumericalError(f"every setting of the search failed: {reason}")
                best, best_score = settings[int(np.argmax(scores))], float(np.max(scores))
            whole = self.seen(best, rows.views[best.view])
            return Fitted(best, best_score, clone(learner).set_params(**best.params).fit(whole, rows.y))

    def _settings(self, rows: Training) -> list[Setting]:
        """Return all settings, smooth ones first; neighbours at most as many as the smallest split learns from."""
        grid = dict(self.learner.grid)
        if "n_neighbors" in grid:
            n_fit = min(len(train) for train, _ in rows.splits)
            grid["n_neighbors"] = [k for k in grid["n_neighbors"] if k <= n_fit] or [1]
        found = []
        for i, view in enumerate(rows.views):
            shapes: list[tuple[float | None, float | None]] = [(None, None)]
            source = self.sources[i] if self.learner.takes == "kernel" else None
            if isinstance(source, Divergence):
                scales = self.length_scales or length_scales(np.asarray(view))
                shapes = [(scale, h) for h in self.powers or [definite_power(source, rows.dim)] for scale in scales]
            found += [Setting(i, *shape, params) for shape in shapes for params in ParameterGrid(grid)]
        return found

    def _scores(self, learner: Any, settings: list[Setting], rows: Training, score: Score) -> tuple[FloatArray, str]:
        """Return the mean score of each setting, minus infinity where there is none, and why the last failed."""
        scores, reason = np.zeros(len(settings)), ""
        shape: tuple[Any, ...] | None = None
        for k, setting in enumerate(settings):
            if shape != setting[:3]:  # settings that share a matrix follow each other
                wholes = [self.seen(setting, views[setting.view]) for views in rows.split_views]
                parts = list(zip(cycle(wholes), rows.splits, strict=False))
                blocks = [(block(whole, train, train), block(whole, test, train)) for whole, (train, test) in parts]
                shape = setting[:3]
            for (fit_on, test_on), (train, test) in zip(blocks, rows.splits, strict=True):
                try:
                    machine = clone(learner).set_params(**setting.params).fit(fit_on, rows.y[train])
                    found = finite_score(score.search(rows.y[test], predictions(machine, test_on)))
                    scores[k] += found / len(rows.splits)
                except NumericalError as error:
                    scores[k], reason = -np.inf, str(error)
        return scores, reason

    def source_number(self, fitted: Fitted) -> int | None:
        """Return which of the sources was chosen; None if the learner has none."""
        if isinstance(fitted.learner, KernelGP):
            return next(i for i, source in enumerate(self.sources) if source is fitted.setting.params["source"])
        return None if self.learner.takes == "measures" else fitted.setting.view

    def kernel(self, fitted: Fitted, engine: Any) -> Any:
        """Return the kernel on measures that a fitted learner uses, without variance and noise; or None."""
        if isinstance(fitted.learner, KernelGP):
            found = fitted.learner.gp_.kernel_
            parts = getattr(found, "kernels", [found])  # classification into several classes: a kernel for each
            kernel = (parts[0].k1 if fitted.learner.task == "regression" else parts[0]).k2
            plain = isinstance(kernel, Exponential)
            return Exponential(kernel.divergence, kernel.length_scale, kernel.power, engine=engine) if plain else kernel
        if self.learner.takes != "kernel":
            return None
        source, setting = self.sources[fitted.setting.view], fitted.setting
        if setting.length_scale is None or setting.power is None:
            return source
        return Exponential(source, setting.length_scale, setting.power, engine=engine)

    def definiteness(self, found: list[Fitted], matrices: list[Any], X: Measures, engine: Engine) -> str:
        """Judge the kernel of the setting chosen most often, on all samples."""
        shapes = [fitted.setting[:3] for fitted in found]
        often = found[shapes.index(max(shapes, key=shapes.count))]
        kernel, number = self.kernel(often, engine), self.source_number(often)
        if kernel is None or number is None:
            return ""
        return definiteness(kernel, lambda: gram_of(kernel, self.sources[number], matrices[number], X), X.dim)

    def described(self, fitted: Fitted) -> dict[str, Any]:
        """Return the setting of a fold by names."""
        s = fitted.setting
        source = {} if self.learner.takes == "measures" else {"source": self.sources[s.view]}
        shape = {} if s.length_scale is None else {"length_scale": s.length_scale, "power": s.power}
        return {**source, **shape, **s.params}


def as_trial(candidate: Candidate, task: str, engine: Engine) -> Trial:
    """Return a candidate ready to run, or say what does not fit together."""
    grid, sources = dict(candidate.grid or {}), list(candidate.divergences)
    who = f"candidate {candidate.name!r}"
    others: dict[str, list[str]] = {}
    scales = powers = None
    if candidate.kernel is not None:
        others = {type(candidate.kernel).__name__: list(candidate.kernel.get_params())}
        own = {name: list(grid.pop(name)) for name in list(grid) if name in candidate.kernel.get_params()}
        sources = [clone(candidate.kernel).set_params(**values) for values in ParameterGrid(own)]
    elif sources:
        scales = [positive(value, "length_scale") for value in grid.pop("length_scale", ())] or None
        if candidate.learner != "gp":  # which has a parameter of this name
            powers = [real(h, "power", low=0.0, high=2.0, open_low=True) for h in grid.pop("power", ())] or None
    try:
        learner = as_learner(DEFAULT[task] if candidate.learner is None else candidate.learner, grid, task, others)
    except InvalidParameterError as error:
        raise InvalidParameterError(f"{who}: {error}") from None
    if isinstance(learner.estimator, KernelGP):
        learner.estimator.set_params(source=sources[0], engine=engine)
        learner.grid["source"] = sources
    elif sources and learner.takes == "measures":
        raise InvalidParameterError(
            f"{who}: `learner` must take a matrix: give {type(learner.estimator).__name__} the "
            "parameter kernel='precomputed' or metric='precomputed', or leave out the divergence or kernel."
        )
    if learner.takes == "distance" and candidate.kernel is not None:
        raise InvalidParameterError(f"{who} has a kernel, but its learner takes distances.")
    if learner.takes != "measures" and not sources:
        raise InvalidParameterError(f"{who} must have a divergence or a kernel: its learner takes a matrix.")
    if (scales or powers) and learner.takes != "kernel":
        raise InvalidParameterError(
            f"{who} has a '{'length_scale' if scales else 'power'}', but its learner has no kernel that is searched."
        )
    return Trial(sources, learner, scales, powers)


def evaluate(source: Any, X: Measures, engine: Engine) -> FloatArray:
    """Return squared distances of a divergence, or values of a kernel."""
    if isinstance(source, Divergence):
        return pairwise(X, divergence=source, engine=engine, squared=True)
    return np.asarray(source(X))


def preprocess(
    step: Any, X: Measures, y: AnyArray, rows: IndexArray | None = None, memory: Memory | None = None
) -> tuple[Any, Measures]:
    """Return the step fitted to X, or to ``rows`` of it, and all of X after it.

    Results that are small, as those of a codebook are, are kept in ``memory`` for other candidates with the same step.
    """
    if step is None:
        return None, X
    key = id(step), X.rows.tobytes(), None if rows is None else rows.tobytes()
    if memory is not None and key in memory:
        return memory[key]
    fitted = clone(step).fit(X, y) if rows is None else clone(step).fit(X[rows], y[rows])
    found = fitted, as_measures(fitted.transform(X))
    if memory is not None and found[1].points.nbytes <= SMALL_RESULT:
        memory[key] = found
    return found


def hashable(source: Any) -> bool:
    """Whether a divergence or kernel can be remembered by its content."""
    try:
        hash(source)
    except TypeError:
        return False
    return True


def block(view: View, rows: IndexArray, cols: IndexArray) -> View:
    """Return the part of a view that holds ``rows``, seen from ``cols``."""
    return view[rows] if isinstance(view, Measures) else view[np.ix_(rows, cols)]


def profile(squares: FloatArray, length_scale: float, power: float) -> FloatArray:
    """Return exp(-(d / l)^h / 2) from squared distances, with the bits of ``Exponential``."""
    D = squares if power == 2.0 else roots(squares)
    return profiles.exponential(profiles.exponent(D, length_scale, power))


def roots(squares: FloatArray) -> FloatArray:
    """Return distances from their squares, none of which may be negative."""
    if (squares < 0).any():
        raise NumericalError("some squared distances are negative; use a learner that takes kernels.")
    return np.sqrt(squares)


def predictions(learner: Any, samples: View) -> AnyArray:
    """Return the predictions of a fitted learner; refuse those that are not finite."""
    found = np.asarray(learner.predict(samples))
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise NumericalError(f"{type(learner).__name__} predicted values that are not finite.")
    return found


def finite_score(value: float) -> float:
    """Return a score; refuse one that is not finite, which would compare with nothing."""
    if not np.isfinite(value):
        raise NumericalError(f"the score or its standard deviation is {value}: predictions are far beyond `y`.")
    return value


def gram_of(kernel: Any, source: Any, matrix: FloatArray | None, X: Measures) -> FloatArray:
    """Return the Gram matrix of a fitted kernel on X, from the matrix of its source if that is known."""
    if matrix is not None and (isinstance(source, Divergence) or kernel is source):
        return matrix if kernel is source else profile(matrix, kernel.length_scale, kernel.power)
    return np.asarray(kernel(X))


def definiteness(kernel: Any, gram: Callable[[], FloatArray], dim: int) -> str:
    """Return 'proved', or what the spectrum of the Gram matrix says; with the power of the kernel unless it is 2."""
    at = f", power {kernel.power:g}" if isinstance(kernel, Exponential) and kernel.power != 2.0 else ""
    claim = getattr(kernel, "is_positive_definite", None)
    if claim is not None and claim(dim):
        return f"proved{at}"
    found = spectrum(gram()[:LARGEST_SPECTRUM, :LARGEST_SPECTRUM])
    if found.verdict == "indefinite":
        share = found.negative_mass
        return f"indefinite, {share:.1%}{at}" if share >= 0.001 else f"indefinite, < 0.1%{at}"
    return f"positive here{at}"


def length_scales(squares: FloatArray) -> list[float]:
    """Return the length scales to try, from the squared distances of the training measures."""
    above = np.sqrt(squares[squares > 0])
    return [factor * float(np.quantile(above, q)) for q, factor in QUANTILES] if len(above) else [1.0]
