"""What is compared: a distance or a kernel with a learner, or an estimator on measures; and what to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._checks import positive, real
from ..divergences import Divergence
from ..engine import Engine
from ..exceptions import InvalidParameterError
from ..kernels._base import takes_measures
from ._learners import KernelGP, Learner, as_learner, is_dummy

#: Learners of candidates that name none.
DEFAULT = {"classification": "svc", "regression": "ridge"}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A row of a comparison: how two measures are compared and what learns from it, or an estimator on measures.

    Parameters
    ----------
    name : str
        What the leaderboard calls it.
    divergence : Divergence or sequence of them, optional
        The distance d. Learners of kernels see exp(-(d / l)^h / 2), with the largest power h up to 2 for which that is
        proved positive definite, and with h = 2 if it is proved for none. Of several divergences, the search chooses
        one: the same distance with other parameters, such as ``MMD`` with several sigmas.
    kernel : kernel on measures, optional
        In place of a divergence, for learners of kernels: ``kernels.IGV(...)``, sums and products.
    learner : str or scikit-learn estimator, optional
        For classification 'svc' (the default), 'lssvm', 'gp', 'knn' or 'dummy'; for regression 'ridge' (kernel ridge
        with an intercept, the default), 'svr', 'gp', 'knn' or 'dummy'. Or an estimator with ``kernel='precomputed'`` or
        ``metric='precomputed'``, also inside a pipeline. Or, without divergence and kernel, any estimator that takes
        measures, such as a pipeline of a feature map and a linear model.
    grid : dict, optional
        Values to try: of parameters of the learner, of parameters of the kernel, or of 'length_scale' and 'power', the
        l and h above. By default l is looked for at quantiles of the distances between training measures.
    preprocessing : transformer, optional
        From measures to measures, such as ``MapPoints(StandardScaler())``; fitted to every training set anew.

    Examples
    --------
    >>> from kermes import divergences
    >>> from kermes.comparison import Candidate
    >>> Candidate("W1, 3 neighbours", divergences.Wasserstein(p=1), learner="knn", grid={"n_neighbors": [3]}).name
    'W1, 3 neighbours'
    """

    name: str
    divergence: Divergence | Sequence[Divergence] | None = None
    kernel: Any = None
    learner: Any = None
    grid: Mapping[str, Sequence[Any]] | None = None
    preprocessing: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidParameterError(f"`name` must be a string that is not empty; got {self.name!r}.")
        if self.divergence is not None and self.kernel is not None:
            raise InvalidParameterError(f"candidate {self.name!r} must have a divergence or a kernel, not both.")
        if isinstance(self.divergence, Sequence):
            object.__setattr__(self, "divergence", tuple(self.divergence))
        wrong = [d for d in self.divergences if not isinstance(d, Divergence)]
        if wrong or (self.divergence is not None and not self.divergences):
            raise InvalidParameterError(
                f"`divergence` of candidate {self.name!r} must be a divergence such as divergences.Wasserstein(), or "
                f"several of them; got {(wrong or [self.divergence])[0]!r}."
            )
        if self.kernel is not None and not takes_measures(self.kernel):
            raise InvalidParameterError(
                f"`kernel` of candidate {self.name!r} must be a kernel on measures such as kernels.IGV(eta=0.1); got "
                f"{self.kernel!r}."
            )
        bare = self.divergence is None and self.kernel is None
        if is_dummy(self.learner) != bare and (is_dummy(self.learner) or isinstance(self.learner, str | None)):
            raise InvalidParameterError(
                f"candidate {self.name!r} must have a divergence or a kernel, unless its learner takes measures, as "
                "'dummy' and estimators on measures do: those have none."
            )
        step = self.preprocessing
        if step is not None and (isinstance(step, type) or not hasattr(step, "transform")):
            raise InvalidParameterError(
                f"`preprocessing` of candidate {self.name!r} must be a transformer of measures such as "
                f"MapPoints(StandardScaler()); got {self.preprocessing!r}."
            )
        for key, values in (self.grid or {}).items():
            if isinstance(values, str) or not isinstance(key, str) or not (hasattr(values, "__len__") and len(values)):
                raise InvalidParameterError(
                    f"`grid` of candidate {self.name!r} must map names of parameters to lists of values; got "
                    f"{key!r}: {values!r}."
                )

    @property
    def divergences(self) -> tuple[Any, ...]:
        """The divergences to choose from."""
        if self.divergence is None:
            return ()
        return self.divergence if isinstance(self.divergence, tuple) else (self.divergence,)

    def __sklearn_clone__(self) -> Candidate:
        return self


class Trial(NamedTuple):
    """A checked candidate: divergences or kernels to choose from, the learner, length scales and powers if given."""

    sources: list[Any]
    learner: Learner
    length_scales: list[float] | None
    powers: list[float] | None


def as_trial(candidate: Candidate, task: str, engine: Engine) -> Trial:
    """Return a candidate ready to run, or say what does not fit together."""
    grid, sources = dict(candidate.grid or {}), list(candidate.divergences)
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
        raise InvalidParameterError(f"candidate {candidate.name!r}: {error}") from None
    if isinstance(learner.estimator, KernelGP):
        learner.estimator.set_params(source=sources[0], engine=engine)
        learner.grid["source"] = sources
    elif sources and learner.takes == "measures":
        raise InvalidParameterError(
            f"candidate {candidate.name!r}: `learner` must take a matrix: give {type(learner.estimator).__name__} the "
            "parameter kernel='precomputed' or metric='precomputed', or leave out the divergence or kernel."
        )
    if learner.takes == "distance" and candidate.kernel is not None:
        raise InvalidParameterError(f"candidate {candidate.name!r} has a kernel, but its learner takes distances.")
    if learner.takes != "measures" and not sources:
        raise InvalidParameterError(
            f"candidate {candidate.name!r} must have a divergence or a kernel: its learner takes a matrix."
        )
    if (scales or powers) and learner.takes != "kernel":
        raise InvalidParameterError(
            f"candidate {candidate.name!r} has a '{'length_scale' if scales else 'power'}', but its learner has no "
            "kernel that is searched."
        )
    return Trial(sources, learner, scales, powers)
