"""Functions of a probability vector: the five test problems of the paper `gpm`, for regression and optimisation.

The formulas are those the authors computed with. The printed ones differ in two places: problem 13 has 0.989 where the
paper prints 0.889 (the original domain is [0.001, 0.99]), and Bird has (1 - sin x_1)^2 and (1 - cos x_2)^2 in the
exponents, as the standard function, where the paper prints 1 - sin^2 x_1 and 1 - cos^2 x_2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...exceptions import InvalidParameterError
from .._paper import FloatArray


@dataclass(frozen=True)
class SimplexProblem:
    """A function of probability vectors of ``n_weights`` entries, least at ``argmin``; rows to values.

    Examples
    --------
    >>> from kermes.papers.gpm.problems import simplex_problem
    >>> problem = simplex_problem("xiong")
    >>> problem([[0.25, 0.75], [0.5, 0.5]]).round(3)
    array([-0.417, -0.522])
    >>> round(problem.minimum, 4)
    -0.6093
    """

    name: str
    n_weights: int
    function: Callable[[FloatArray], FloatArray]
    argmin: tuple[float, ...]

    def __call__(self, weights: FloatArray) -> FloatArray:
        """Return the values at the rows of ``weights``."""
        return self.function(np.atleast_2d(np.asarray(weights, dtype=float)))

    @property
    def minimum(self) -> float:
        """The least value on the simplex."""
        return float(self(np.asarray(self.argmin))[0])


def simplex_problem(name: str) -> SimplexProblem:
    """Return a test problem by its name: four functions of a_1 on the segment, and Bird of (a_1, a_2)."""
    if name not in _PROBLEMS:
        raise InvalidParameterError(f"`name` must be one of {', '.join(SIMPLEX_PROBLEMS)}; got {name!r}.")
    return _PROBLEMS[name]


def _problem02(a: FloatArray) -> FloatArray:
    x = 4.8 * a[:, 0] + 2.7
    return np.sin(x) + np.sin(10 * x / 3)


def _problem13(a: FloatArray) -> FloatArray:
    x = 0.989 * a[:, 0] + 0.001
    return -np.cbrt(x**2) - np.cbrt(1 - x**2)


def _problem15(a: FloatArray) -> FloatArray:
    x = 10 * a[:, 0] - 5
    return (x**2 - 5 * x + 6) / (x**2 + 1)


def _xiong(a: FloatArray) -> FloatArray:
    x = a[:, 0]
    return -0.5 * (np.sin(40 * (x - 0.85) ** 4) * np.cos(2.5 * (x - 0.95)) + (x - 0.9) / 2 + 1)


def _bird(a: FloatArray) -> FloatArray:
    x, y = 4 * np.pi * a[:, 0] - 2 * np.pi, 4 * np.pi * a[:, 1] - 2 * np.pi
    waves = np.cos(y) * np.exp((1 - np.sin(x)) ** 2) + np.sin(x) * np.exp((1 - np.cos(y)) ** 2)
    return np.asarray((x - y) ** 2 + waves)


_PROBLEMS = {
    "problem02": SimplexProblem("problem02", 2, _problem02, (0.50952819, 0.49047181)),
    "problem13": SimplexProblem("problem13", 2, _problem13, (0.71396036, 0.28603964)),
    "problem15": SimplexProblem("problem15", 2, _problem15, (0.74142136, 0.25857864)),
    "xiong": SimplexProblem("xiong", 2, _xiong, (0.03899813, 0.96100187)),
    "bird": SimplexProblem("bird", 3, _bird, (0.37409713, 0.25090287, 0.375)),
}
#: The names ``simplex_problem`` takes.
SIMPLEX_PROBLEMS = tuple(_PROBLEMS)
