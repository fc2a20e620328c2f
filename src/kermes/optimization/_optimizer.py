"""Bayesian optimisation of a function of a probability vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._checks import flag, integer
from .._linalg import few_threads
from .._typing import FloatArray
from .._values import as_floats
from ..exceptions import EvaluationError, InvalidParameterError
from ._acquisition import Acquisition, ExpectedImprovement
from ._ascent import ascend, check_weights
from ._surrogate import Posterior, Surrogate, WassersteinSurrogate

#: Two probability vectors closer than this, as the sum of differences, are the same question.
SAME = 1e-6
#: Values beyond it are refused: gradients of the surrogate, many times larger, must be numbers too.
LARGEST = 1e100
#: Random points of which the best few, and as many others, start the search for the next question.
N_RANDOM, N_CLIMBS = 256, 10
#: Mirror steps from each start, then projected ones.
N_MIRROR, N_PROJECTED = 25, 15


@dataclass(frozen=True)
class SimplexResult:
    """What a search has found.

    Parameters
    ----------
    weights : ndarray of shape (m,)
        The best evaluated probability vector: of the least value, or with noise of the least mean.
    value : float
        The value there; with noise the mean.
    history : ndarray of shape (n, m)
        All evaluated vectors, in order.
    values : ndarray of shape (n,)
        Their values.
    surrogate : Posterior or None
        The process fitted to all of them; None before the second.
    """

    weights: FloatArray
    value: float
    history: FloatArray
    values: FloatArray
    surrogate: Posterior | None

    @cached_property
    def best_so_far(self) -> FloatArray:
        """The least value among the first 1, 2, ..., n."""
        return np.minimum.accumulate(self.values)

    def __repr__(self) -> str:
        return f"SimplexResult({self.value:.6g} at {self.weights.round(4).tolist()}, {len(self.values)} evaluations)"


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; ``result`` has all evaluations before it, or is None if there was none."""

    def __init__(self, result: SimplexResult | None) -> None:
        super().__init__("the search was interrupted; `result` of this exception has the evaluations before it")
        self.result = result


class SimplexOptimizer:
    """Bayesian optimisation over the probability simplex, one question at a time.

    Parameters
    ----------
    support : int or array of shape (m,) or (m, d)
        How many weights there are, or the points that carry them. Costs that are not uniform need the points.
    surrogate : Surrogate, optional
        The process that predicts the function; :class:`WassersteinSurrogate` under the binary cost by default.
    acquisition : Acquisition, optional
        What is asked next; :class:`ExpectedImprovement` by default.
    n_initial : int, optional
        Questions drawn from the uniform distribution on the simplex, before the surrogate is used; m + 2 by default.
    noise : bool
        The function has noise of unknown variance.
    random_state : int, RandomState or None
        Seed: one seed, one sequence of questions.

    Notes
    -----
    *Minimises.* For a maximum minimise the negative.

    *The next question* is the maximiser of the acquisition, found by mirror steps (exponentiated gradients), then by
    projected ones that reach the faces, from the best of random points, the best evaluated point and the vertices, all
    at once. Gradients are analytic; at the kinks of a transport cost they are subgradients.

    *No question twice*: a vector within 1e-6 (sum of absolute differences) of one that was evaluated or asked is passed
    over for the next best end of a climb, and if there is none for a random one. ``tell`` may repeat a vector; two
    values for it are refused unless ``noise``.

    *Several questions at once*: a question without an answer is taken to have the predicted mean as its value. So one
    whose evaluation failed is not asked again.

    *Cost* of a question: a fit, O(n^3) a step of its search, and some 45 predictions of batches, each by one distance
    matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import optimization
    >>> optimizer = optimization.SimplexOptimizer(3, random_state=0)
    >>> for _ in range(20):
    ...     weights = optimizer.ask()
    ...     optimizer.tell(weights, np.sum((weights - [0.2, 0.3, 0.5]) ** 2))
    >>> bool(optimizer.result().value < 0.002)
    True
    """

    def __init__(
        self,
        support: Any,
        surrogate: Surrogate | None = None,
        acquisition: Acquisition | None = None,
        n_initial: int | None = None,
        noise: bool = False,
        random_state: Any = None,
    ) -> None:
        self.points, self.n_weights = _support(support)
        self.surrogate = WassersteinSurrogate() if surrogate is None else surrogate
        self.acquisition = ExpectedImprovement() if acquisition is None else acquisition
        self.n_initial = self.n_weights + 2 if n_initial is None else integer(n_initial, "n_initial", low=2)
        self.noise = flag(noise, "noise")
        for value, kind in ((self.surrogate, Surrogate), (self.acquisition, Acquisition)):
            if not isinstance(value, kind):
                name = kind.__name__
                raise InvalidParameterError(
                    f"`{name.lower()}` must be one of kermes.optimization, a kind of {name}; got {value!r}."
                )
        self.surrogate.check(self.points, self.n_weights)
        self._random = check_random_state(random_state)
        self._asked: list[FloatArray] = []  # questions without an answer
        self._weights: list[FloatArray] = []
        self._values: list[float] = []

    def ask(self) -> FloatArray:
        """Return the next probability vector to evaluate, (m,)."""
        if len(self._weights) + len(self._asked) < self.n_initial or len(self._values) < 2:
            question = self._new(np.empty((0, self.n_weights)))
        else:
            with few_threads(len(self._weights)):
                question = self._new(self._candidates(self._posterior(believe=True)))
        self._asked.append(question)
        return question.copy()

    def tell(self, weights: Any, value: Any) -> None:
        """Take the value of the function at a probability vector, asked or not.

        Parameters
        ----------
        weights : array of shape (m,)
            Non-negative, adding up to 1.
        value : float
            Finite, at most 1e100 in size.
        """
        a = check_weights(weights, self.n_weights)
        number = _value(value, f" at {a.tolist()}")
        for known, other in zip(self._weights, self._values, strict=True):
            if not self.noise and np.array_equal(known, a) and other != number:
                raise InvalidParameterError(
                    f"`value` at {a.tolist()} was {other!r} before and is {number!r} now; a function whose values "
                    "change needs noise=True."
                )
        self._asked = [question for question in self._asked if not np.array_equal(question, a)]
        self._weights.append(a)
        self._values.append(number)

    def run(self, function: Callable[[FloatArray], Any], n_calls: int) -> SimplexResult:
        """Ask, evaluate and tell ``n_calls`` times; go on from what was told before.

        Parameters
        ----------
        function : callable
            Takes a probability vector (m,), returns a number.
        n_calls : int
            Evaluations.

        Raises
        ------
        EvaluationError
            The function failed, or its value is not a finite number. The error has the ``weights`` where that was
            and the ``result`` so far, and :meth:`run` can be called again: it goes on elsewhere.
        SearchInterrupted
            Ctrl-C, a ``KeyboardInterrupt`` with the ``result`` so far; :meth:`run` can be called again.
        """
        n_calls = integer(n_calls, "n_calls", low=1)
        try:
            for _ in range(n_calls):
                weights = self.ask()
                self.tell(weights, self._evaluate(function, weights))
            return self.result()
        except KeyboardInterrupt:
            raise SearchInterrupted(self._result_so_far()) from None

    def result(self) -> SimplexResult:
        """Return the best of what was told so far."""
        if not self._values:
            raise InvalidParameterError("there is no result yet; tell the optimiser a value first.")
        history, values = np.array(self._weights), np.array(self._values)
        posterior = self._posterior() if len(values) > 1 else None
        means = posterior.predict(history)[0] if self.noise and posterior is not None else values
        best = int(np.argmin(means))
        return SimplexResult(history[best].copy(), float(means[best]), history, values, posterior)

    def _evaluate(self, function: Callable[[FloatArray], Any], weights: FloatArray) -> float:
        try:
            return _value(function(weights.copy()))
        except Exception as error:
            reason = str(error).rstrip(". ") or type(error).__name__
            raise EvaluationError(
                f"evaluation {len(self._values) + 1} failed, at {weights.tolist()}: {reason}. The `result` of this "
                "error has the evaluations before it.",
                weights,
                self._result_so_far(),
            ) from error

    def _result_so_far(self) -> SimplexResult | None:
        return self.result() if self._values else None

    def _posterior(self, believe: bool = False) -> Posterior:
        """Return the surrogate of the evaluations; with ``believe`` open questions have the values it predicts."""
        A, y = np.array(self._weights), np.array(self._values)
        # The seed depends on the number of evaluations alone: looking at a result does not change the next question.
        posterior = self.surrogate.fit(A, y, self.points, self.noise, len(y))
        if not (believe and self._asked):
            return posterior
        open_questions = np.array(self._asked)
        y = np.concatenate([y, posterior.predict(open_questions)[0]])
        return self.surrogate.fit(np.concatenate([A, open_questions]), y, self.points, self.noise, len(y))

    def _candidates(self, posterior: Posterior) -> FloatArray:
        """Return the ends of climbs over the acquisition, the best first."""
        best = posterior.best

        def score(A: FloatArray) -> tuple[FloatArray, FloatArray]:
            at = posterior.predict_with_gradients(A)
            worth = self.acquisition.worth(at.mean, at.std, best)
            return worth.score, worth.by_mean[:, None] * at.mean_gradient + worth.by_std[:, None] * at.std_gradient

        drawn = self._uniform(N_RANDOM)
        promising = np.argsort(-self.acquisition.worth(*posterior.predict(drawn), best).score)[:N_CLIMBS]
        incumbent = posterior.evaluated[[int(np.argmin(posterior.predict(posterior.evaluated)[0]))]]
        # The best of many random points crowd on one hill: as many others look for another.
        starts = np.concatenate([drawn[promising], drawn[:N_CLIMBS], incumbent, np.eye(self.n_weights)])
        inner, _ = ascend(score, starts, N_MIRROR, "mirror")
        ends, scores = ascend(score, inner, N_PROJECTED, "projected")
        return ends[np.argsort(-scores, kind="stable")]

    def _new(self, candidates: FloatArray) -> FloatArray:
        """Return the first candidate that was not asked before, or a random vector."""
        known = np.array([*self._weights, *self._asked]).reshape(-1, self.n_weights)
        drawn = (self._uniform(1)[0] for _ in count())  # a random vector is new with probability 1
        tried = chain(candidates / candidates.sum(axis=1, keepdims=True), drawn)
        return np.asarray(next(a for a in tried if (np.abs(known - a).sum(axis=1) > SAME).all()))

    def _uniform(self, n: int) -> FloatArray:
        return np.asarray(self._random.dirichlet(np.ones(self.n_weights), size=n))


def minimize_on_simplex(
    function: Callable[[FloatArray], Any],
    support: Any,
    n_calls: int = 25,
    *,
    surrogate: Surrogate | None = None,
    acquisition: Acquisition | None = None,
    n_initial: int | None = None,
    noise: bool = False,
    random_state: Any = None,
) -> SimplexResult:
    """Minimise a function of a probability vector in few evaluations.

    Parameters
    ----------
    function : callable
        Takes a probability vector (m,), returns a number.
    support : int or array of shape (m,) or (m, d)
        How many weights there are, or the points that carry them.
    n_calls : int
        Evaluations, the initial ones included.
    surrogate, acquisition, n_initial, noise, random_state
        Those of :class:`SimplexOptimizer`, whose notes say how the search proceeds.

    Returns
    -------
    SimplexResult

    Raises
    ------
    EvaluationError
        The function failed; the error has the ``result`` so far.
    SearchInterrupted
        Ctrl-C; a ``KeyboardInterrupt`` that has the ``result`` so far.

    Examples
    --------
    >>> from kermes import optimization
    >>> found = optimization.minimize_on_simplex(lambda a: (a[0] - 0.3) ** 2, 2, n_calls=15, random_state=0)
    >>> bool(abs(found.weights[0] - 0.3) < 0.01)
    True
    """
    optimizer = SimplexOptimizer(support, surrogate, acquisition, n_initial, noise, random_state)
    return optimizer.run(function, n_calls)


def _support(support: Any) -> tuple[FloatArray | None, int]:
    """Return the points, if given, and their number."""
    if np.ndim(support) == 0:
        return None, integer(support, "support", low=2, remedy="Pass the number of weights, or their points.")
    points = as_floats(support, "support")
    points = points[:, None] if points.ndim == 1 else points
    valid = points.ndim == 2 and len(points) > 1 and np.isfinite(points).all()
    if not valid or len(np.unique(points, axis=0)) < len(points):
        raise InvalidParameterError(
            f"`support` must be two or more distinct finite points, (m,) or (m, d), or their number; got {support!r}."
        )
    return points, len(points)


def _value(value: Any, where: str = "") -> float:
    """Return the value of a function as a number that is not too large; arrays of one entry count as such."""
    try:
        array = np.asarray(value)
        numeric = array.size == 1 and array.dtype.kind in "biufO" and not isinstance(array.item(), str)
        number = float(array.item()) if numeric else np.nan
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InvalidParameterError(f"`value` must be one finite number; got {value!r}{where}.")
    if abs(number) > LARGEST:
        raise InvalidParameterError(
            f"`value` must be at most {LARGEST:g} in size; got {number!r}{where}. Divide the function by its scale."
        )
    return number
