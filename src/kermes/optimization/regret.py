"""Regret: how far the best value so far is above the known minimum, for several methods and seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import integer, real
from .._typing import FloatArray
from ..exceptions import InvalidParameterError
from .acquisition import Acquisition, ExpectedImprovement, LowerConfidenceBound
from .optimizer import SimplexOptimizer
from .surrogate import EuclideanSurrogate, Surrogate, WassersteinSurrogate

__all__ = ["METHODS", "RegretCurves", "regret_curves"]

#: A surrogate with an acquisition, or None for random search.
Method = tuple[Surrogate, Acquisition] | None
#: The methods that :func:`regret_curves` compares by default.
METHODS: Mapping[str, Method] = {
    "Wasserstein EI": (WassersteinSurrogate(), ExpectedImprovement()),
    "Wasserstein LCB": (WassersteinSurrogate(), LowerConfidenceBound()),
    "Euclidean EI": (EuclideanSurrogate(), ExpectedImprovement()),
    "random": None,
}


@dataclass(frozen=True)
class RegretCurves:
    """Simple regrets of several methods.

    Parameters
    ----------
    regrets : dict of ndarray of shape (n_seeds, n_calls)
        For each method, the best value among the first 1, 2, ... evaluations minus the minimum, one row per seed.
    n_initial : int
        Evaluations at the start that all methods share, drawn at random.
    """

    regrets: Mapping[str, FloatArray]
    n_initial: int

    def quartiles(self, method: str) -> FloatArray:
        """Return the lower quartile, the median and the upper quartile over seeds, (3, n_calls)."""
        return np.asarray(np.quantile(self.regrets[method], [0.25, 0.5, 0.75], axis=0))


def regret_curves(
    function: Callable[[FloatArray], Any],
    minimum: float,
    support: Any,
    *,
    methods: Mapping[str, Method] | None = None,
    n_calls: int = 25,
    n_seeds: int = 20,
    n_initial: int | None = None,
) -> RegretCurves:
    """Run each method from the seeds 0, 1, ... and return the simple regrets.

    Parameters
    ----------
    function : callable
        Takes a probability vector (m,), returns a number without noise.
    minimum : float
        Its least value.
    support : int or array of shape (m,) or (m, d)
        That of :class:`SimplexOptimizer`.
    methods : dict, optional
        Names to pairs of a surrogate and an acquisition, or to None: uniform random search on the simplex. By default
        ``METHODS``.
    n_calls, n_seeds : int
        Evaluations of a run, and runs.
    n_initial : int, optional
        Random evaluations at the start of a run, the same for all methods with one seed; m + 2 by default.

    Returns
    -------
    RegretCurves

    Notes
    -----
    Regrets are no better known than the minimum; negative ones are set to 0.

    Examples
    --------
    >>> from kermes import datasets, optimization
    >>> problem = datasets.simplex_problem("xiong")
    >>> curves = optimization.regret_curves(problem, problem.minimum, 2, methods={"random": None}, n_calls=8, n_seeds=3)
    >>> curves.regrets["random"].shape
    (3, 8)
    """
    minimum = real(minimum, "minimum")
    compared = METHODS if methods is None else methods
    if not compared:
        raise InvalidParameterError("`methods` must name one method or more; got none.")
    n_calls, n_seeds = integer(n_calls, "n_calls", low=1), integer(n_seeds, "n_seeds", low=1)
    start = SimplexOptimizer(support, n_initial=n_initial).n_initial

    def run(method: Method, seed: int) -> FloatArray:
        surrogate, acquisition = (None, None) if method is None else method
        first = max(n_calls, 2) if method is None else start  # a start without end is random search
        optimizer = SimplexOptimizer(support, surrogate, acquisition, first, random_state=seed)
        return np.maximum(optimizer.run(function, n_calls).best_so_far - minimum, 0.0)

    regrets = {name: np.array([run(method, s) for s in range(n_seeds)]) for name, method in compared.items()}
    return RegretCurves(regrets, start)
