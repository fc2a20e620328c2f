"""The five test problems, inputs of the experiments as the authors draw them, by the random numbers of R, and as they
should be drawn; published results.

The formulas are those the authors computed with. The printed ones differ in two places: problem 13 has 0.989 where the
paper prints 0.889 (the original domain is [0.001, 0.99]), and Bird has (1 - sin x_1)^2 and (1 - cos x_2)^2 in the
exponents, as the standard function, where the paper prints 1 - sin^2 x_1 and 1 - cos^2 x_2.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ... import datasets
from ...exceptions import InvalidParameterError
from .._paper import AnyArray, FloatArray

#: The four problems on the segment.
LINE = ("problem02", "problem13", "problem15", "xiong")
#: Names of all problems, and in the published table.
NAMES = {
    "problem02": "test problem 02",
    "problem13": "test problem 13",
    "problem15": "test problem 15",
    "xiong": "modified Xiong",
    "bird": "Bird",
}
#: Samples of a run, and numbers drawn for them: rounded to two digits some of them are equal.
SAMPLES, DRAWN = 20, 40
#: Values of a_1 on which predictions are tested, and of each weight on the triangle.
GRID = 50
#: Weights 0 and 1 are moved to these.
INNER = (0.01, 0.99)
#: The linear congruence that spreads a seed over the state.
FACTOR, MODULUS = 69069, 2**32
#: Steps before the state is filled, and its words, the first of which R overwrites with the position.
WARM_UP, WORDS = 50, 625
#: R multiplies by this rather than by 2^-32.
UNIT = 2.3283064365386963e-10


def authors_inputs(run: int) -> tuple[FloatArray, RRandom]:
    """Return the twenty weight vectors of a run (1 to 500) on the segment, and the generator behind them.

    Rounded to two digits, each value once, the ends moved inwards. Since they are moved last, 0 and 0.01 (1 and 0.99)
    become equal inputs where both were drawn.
    """
    random = RRandom(run)
    values = random.uniform(DRAWN).round(2)
    first = np.sort(np.unique(values, return_index=True)[1])
    return _segment(values[first][:SAMPLES]), random


def seven_points() -> FloatArray:
    """Return the seven weight vectors of Figures 6 to 8: drawn from seventy, seed 1."""
    random = RRandom(1)
    values = random.uniform(70)
    a = values[random.sample(70, 7)]
    return np.column_stack([a, 1 - a])


def bird_inputs(run: int) -> FloatArray:
    """Return twenty weight vectors drawn uniformly from the triangle, which the authors meant to do."""
    return np.random.default_rng(run).dirichlet(np.ones(3), SAMPLES)


def test_inputs(problem: str) -> FloatArray:
    """Return the regular grid on which the authors test: 50 points of the segment, 1275 of the triangle."""
    values = np.linspace(0, 1, GRID).round(2)
    if simplex_problem(problem).n_weights == 2:
        return _segment(values)
    pairs = np.array([(x, y) for x in values for y in values if x + y <= 1.0 + 1e-9])
    return np.column_stack([pairs, np.maximum(1.0 - pairs.sum(axis=1), 0.0)])


def read_reference(column: str, samples: list[int]) -> dict[str, dict[str, list[float | None]]]:
    """Return published results, as ``failed_percent`` or ``rmse_mean``, by problem and kernel at numbers of samples.

    They are None where there is none; empty without the file ``gp_on_measures/reference.csv`` in the data folder.
    """
    folder = datasets.find_folder("gp_on_measures", "reference.csv")
    if folder is None:
        return {}
    with (folder / "reference.csv").open() as file:
        table = {(row["problem"], row["method"], int(row["dataset_size"])): row[column] for row in csv.DictReader(file)}
    methods, known = {"SE": "se_theorem4", "WSE": "wse_mle"}, {title for title, _, _ in table}
    return {
        name: {
            kernel: [float(value) if value else None for value in (table[title, method, n] for n in samples)]
            for kernel, method in methods.items()
        }
        for name, title in NAMES.items()
        if title in known
    }


def _segment(a: FloatArray) -> FloatArray:
    a = np.where(a == 0.0, INNER[0], np.where(a == 1.0, INNER[1], a))
    return np.column_stack([a, 1 - a])


class RRandom:
    """Numbers as R draws them after ``set.seed(seed)``, by default kinds of R 3.6 and later.

    Examples
    --------
    >>> from kermes.papers.gpm.data import RRandom
    >>> RRandom(1).uniform(3).round(7)
    array([0.2655087, 0.3721239, 0.5728534])
    >>> RRandom(42).sample(10, 4)
    array([0, 4, 9, 7])
    """

    def __init__(self, seed: int) -> None:
        words = []
        for step in range(WARM_UP + WORDS):
            seed = (FACTOR * seed + 1) % MODULUS
            if step >= WARM_UP:
                words.append(seed)
        self._bits = np.random.MT19937()
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(words[1:], dtype=np.uint32), "pos": WORDS - 1},
        }

    def uniform(self, count: int, low: float = 0.0, high: float = 1.0) -> FloatArray:
        """Return ``runif(count, low, high)``."""
        return np.asarray(low + (high - low) * (UNIT * self._bits.random_raw(count)), dtype=np.float64)

    def sample(self, n: int, count: int) -> AnyArray:
        """Return ``sample(n, count) - 1``: rows drawn without replacement, by rejection."""
        left = list(range(n))
        drawn = []
        for _ in range(count):
            place = self._below(len(left))
            drawn.append(left[place])
            left[place] = left[-1]
            left.pop()
        return np.array(drawn)

    def _below(self, n: int) -> int:
        """Return an integer below n: as many bits as it has, in draws of 16, until they are below."""
        bits = (n - 1).bit_length()
        while True:
            value = 0
            for _ in range(0, bits + 1, 16):
                value = 65536 * value + int(self.uniform(1)[0] * 65536)
            value %= 1 << bits
            if value < n:
                return value


@dataclass(frozen=True)
class SimplexProblem:
    """A function of probability vectors of ``n_weights`` entries, least at ``argmin``; rows to values.

    Examples
    --------
    >>> from kermes.papers.gpm.data import simplex_problem
    >>> problem = simplex_problem("xiong")
    >>> problem([[0.25, 0.75], [0.5, 0.5]]).round(3)
    array([-0.417, -0.522])
    >>> round(problem.minimum, 4)
    -0.6093
    """

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
        raise InvalidParameterError(f"`name` must be one of {', '.join(_PROBLEMS)}; got {name!r}.")
    return _PROBLEMS[name]


def _problem02(a: FloatArray) -> FloatArray:
    x = 4.8 * a[:, 0] + 2.7
    return np.sin(x) + np.sin(10 * x / 3)


def problem13(a: FloatArray, width: float = 0.989) -> FloatArray:
    """Return -x^(2/3) - (1 - x^2)^(1/3), with x in a domain of a width; the paper prints 0.889."""
    x = width * a[:, 0] + 0.001
    return -np.cbrt(x**2) - np.cbrt(1 - x**2)


def _problem15(a: FloatArray) -> FloatArray:
    x = 10 * a[:, 0] - 5
    return (x**2 - 5 * x + 6) / (x**2 + 1)


def _xiong(a: FloatArray) -> FloatArray:
    x = a[:, 0]
    return -0.5 * (np.sin(40 * (x - 0.85) ** 4) * np.cos(2.5 * (x - 0.95)) + (x - 0.9) / 2 + 1)


def bird(a: FloatArray, exponent: Callable[[FloatArray], FloatArray] = lambda wave: (1 - wave) ** 2) -> FloatArray:
    """Return the function of Bird; the paper prints 1 - sin^2 and 1 - cos^2 in the exponents."""
    x, y = 4 * np.pi * a[:, 0] - 2 * np.pi, 4 * np.pi * a[:, 1] - 2 * np.pi
    waves = np.cos(y) * np.exp(exponent(np.sin(x))) + np.sin(x) * np.exp(exponent(np.cos(y)))
    return np.asarray((x - y) ** 2 + waves)


_PROBLEMS = {
    "problem02": SimplexProblem(2, _problem02, (0.50952819, 0.49047181)),
    "problem13": SimplexProblem(2, problem13, (0.71396036, 0.28603964)),
    "problem15": SimplexProblem(2, _problem15, (0.74142136, 0.25857864)),
    "xiong": SimplexProblem(2, _xiong, (0.03899813, 0.96100187)),
    "bird": SimplexProblem(3, bird, (0.37409713, 0.25090287, 0.375)),
}
#: The names ``simplex_problem`` takes.
SIMPLEX_PROBLEMS = tuple(_PROBLEMS)
