"""What is compared: a distance or a kernel, a learner, and what to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._checks import positive
from ..divergences import Divergence
from ..exceptions import InvalidParameterError
from ..kernels._base import takes_measures
from ._learners import Learner, as_learner, is_dummy

__all__ = ["Candidate", "Plan", "plan"]

#: Learners of candidates that name none.
DEFAULT = {"classification": "svc", "regression": "ridge"}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A row of a comparison: how two measures are compared, and what learns from it.

    Parameters
    ----------
    name : str
        What the leaderboard calls it.
    divergence : Divergence or sequence of them, optional
        The distance d. Learners of kernels see exp(-d^2 / 2 l^2). Of several, the search chooses one: the same distance
        with other parameters, such as ``MMD`` with several sigmas.
    kernel : kernel on measures, optional
        In place of a divergence, for learners of kernels: ``kernels.IGV(...)``, sums and products.
    learner : str or scikit-learn estimator, optional
        For classification 'svc' (the default), 'lssvm', 'knn' or 'dummy'; for regression 'ridge' (kernel ridge with
        an intercept, the default), 'gp', 'knn' or 'dummy'. Or an estimator with ``kernel='precomputed'`` or
        ``metric='precomputed'``, also inside a pipeline.
    grid : dict, optional
        Values to try: of parameters of the learner, of parameters of the kernel, or of 'length_scale', the l above.
        By default l is looked for at quantiles of the distances between training measures.

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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidParameterError(f"`name` must be a text that is not empty; got {self.name!r}.")
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
        if is_dummy(self.learner) != (self.divergence is None and self.kernel is None):
            raise InvalidParameterError(
                f"candidate {self.name!r} must have a divergence or a kernel, unless its learner is 'dummy', which "
                "looks at neither."
            )
        for key, values in (self.grid or {}).items():
            if isinstance(values, str) or not isinstance(key, str) or not _filled(values):
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


class Plan(NamedTuple):
    """A checked candidate: the divergences or kernels to choose from, the learner, and length scales if given."""

    name: str
    sources: list[Any]
    learner: Learner
    length_scales: list[float] | None


def plan(candidate: Candidate, task: str) -> Plan:
    """Return a candidate ready to run, or say what does not fit together."""
    grid = dict(candidate.grid or {})
    sources, scales = list(candidate.divergences), None
    others: dict[str, list[str]] = {}
    if candidate.kernel is not None:
        others = {type(candidate.kernel).__name__: list(candidate.kernel.get_params())}
        own = {name: list(grid.pop(name)) for name in list(grid) if name in candidate.kernel.get_params()}
        sources = [clone(candidate.kernel).set_params(**values) for values in ParameterGrid(own)]
    elif "length_scale" in grid:
        scales = [positive(value, "length_scale") for value in grid.pop("length_scale")]
    try:
        learner = as_learner(DEFAULT[task] if candidate.learner is None else candidate.learner, grid, task, others)
    except InvalidParameterError as error:
        raise InvalidParameterError(f"candidate {candidate.name!r}: {error}") from None
    if learner.matrix == "distance" and candidate.kernel is not None:
        raise InvalidParameterError(f"candidate {candidate.name!r} has a kernel, but its learner takes distances.")
    if scales is not None and learner.matrix != "kernel":
        raise InvalidParameterError(
            f"candidate {candidate.name!r} has a 'length_scale', but its learner has no kernel."
        )
    return Plan(candidate.name, sources, learner, scales)


def _filled(values: Any) -> bool:
    return hasattr(values, "__len__") and len(values) > 0
