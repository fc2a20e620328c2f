"""Optimisation: the process of Theorem 4 as a surrogate, and the regret, how far the best value so far is above the
known minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import EquivalentWassersteinGP, Measures
from ...exceptions import InvalidParameterError
from ...optimization import (
    Acquisition,
    EuclideanSurrogate,
    ExpectedImprovement,
    LowerConfidenceBound,
    Posterior,
    SimplexOptimizer,
    Surrogate,
    WassersteinSurrogate,
)
from .._paper import FloatArray, panels

#: Regrets below this are drawn here: the axis is logarithmic.
LEAST = 1e-8

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
    """Simple regrets by method, (n_seeds, n_calls): the best value so far minus the minimum, one row per seed.

    All methods share ``n_initial`` evaluations at the start, drawn at random.
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
) -> RegretCurves:
    """Run each method from the seeds 0, 1, ... and return the simple regrets; negative ones are set to 0.

    ``function`` takes a probability vector and returns a number without noise. ``methods`` map names to pairs of a
    surrogate and an acquisition, or to None: uniform random search on the simplex. With one seed all have the same
    start. The other parameters are those of :class:`kermes.optimization.SimplexOptimizer`.

    Examples
    --------
    >>> from kermes.papers.gpm.data import simplex_problem
    >>> from kermes.papers.gpm.regret import regret_curves
    >>> problem = simplex_problem("xiong")
    >>> curves = regret_curves(problem, problem.minimum, 2, methods={"random": None}, n_calls=8, n_seeds=3)
    >>> curves.regrets["random"].shape
    (3, 8)
    """
    if not np.isfinite(minimum):
        raise InvalidParameterError(f"`minimum` must be a finite number; got {minimum!r}.")
    compared = METHODS if methods is None else methods
    if not compared:
        raise InvalidParameterError("`methods` must name one method or more; got none.")
    start = SimplexOptimizer(support).n_initial

    def run(method: Method, seed: int) -> FloatArray:
        surrogate, acquisition = (None, None) if method is None else method
        first = max(n_calls, 2) if method is None else start  # a start without end is random search
        optimizer = SimplexOptimizer(support, surrogate, acquisition, first, random_state=seed)
        return np.maximum(optimizer.run(function, n_calls).best_so_far - minimum, 0.0)

    regrets = {name: np.array([run(method, s) for s in range(n_seeds)]) for name, method in compared.items()}
    return RegretCurves(regrets, start)


def draw_regrets(curves: Mapping[str, Mapping[str, FloatArray]]) -> Any:
    """Draw the regrets of each problem, in a panel of its own: medians over runs, bands from quartile to quartile."""
    if not curves or not all(curves.values()):
        raise InvalidParameterError("`curves` must hold one problem or more, each with one method or more.")
    methods = list(dict.fromkeys(method for group in curves.values() for method in group))
    figure, axes = panels(1, len(curves))
    for axis, (problem, group) in zip(axes[0], curves.items(), strict=True):
        for method, values in group.items():
            colour = f"C{methods.index(method)}"
            low, middle, high = np.maximum(np.quantile(np.atleast_2d(values), [0.25, 0.5, 0.75], axis=0), LEAST)
            calls = np.arange(1, len(middle) + 1)
            axis.fill_between(calls, low, high, color=colour, alpha=0.2, linewidth=0)
            axis.plot(calls, middle, color=colour, label=method)
        axis.set_title(problem, fontsize=10)
        axis.set(yscale="log", xlabel="evaluations")
    axes[0, 0].set_ylabel("simple regret")
    axes[0, -1].legend(fontsize=8)
    return figure


@dataclass(frozen=True)
class EquivalentSurrogate(Surrogate):
    """The equivalent Wasserstein process of Theorem 4 of `gpm`, :class:`kermes.EquivalentWassersteinGP`.

    The kernel is the squared exponential of the weights, value for value, so that *the search does not depend on the
    cost*; with one length scale it is :class:`kermes.optimization.EuclideanSurrogate` under another name.
    """

    cost: Any = "binary"
    isotropic: bool | None = None
    n_restarts: int = 1

    def regress(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Fit the process of the estimator."""
        support = np.arange(float(A.shape[1])) if points is None else points
        process = EquivalentWassersteinGP(self.cost, self.isotropic, noise, self.n_restarts, random_state=seed)
        return Posterior.of_weights(A, process.fit(Measures.from_histograms(A, support), y).gp_)
