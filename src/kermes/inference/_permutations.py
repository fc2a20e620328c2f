"""Which rearrangements of the rows of a study are equally likely under the null hypothesis, and what a test found."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._checks import integer
from .._typing import FloatArray, IndexArray
from ..exceptions import DegenerateDataWarning, InvalidParameterError

#: Two values of a statistic that differ by less than this part of its scale are tied: their difference is rounding.
TOLERANCE = 1e-10
#: What to ask of groups that no permutation tells apart.
DISTANCES = "Are all distances equal, or equal within blocks?"


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permutations of n rows within blocks: all distinct ones other than the observed order, or a random sample.

    Two permutations are the same arrangement if they bring equal rows of the design to equal places, so that 3 + 3
    measures in two groups have 20 arrangements, not 720.
    """

    codes: IndexArray  # (n,), rows of the design by number; equal rows have equal numbers
    blocks: IndexArray  # (n,), rows move within their block only
    wanted: int  # permutations drawn at random; if there are no more distinct ones, all of them are used
    rng: np.random.Generator

    @property
    def distinct(self) -> int:
        """Distinct arrangements, the observed one included: the product of the multinomial numbers of the blocks."""
        counts = [np.unique(self.codes[rows], return_counts=True)[1].tolist() for rows in self.members]
        return math.prod(math.factorial(sum(n)) // math.prod(map(math.factorial, n)) for n in counts)

    @property
    def members(self) -> list[IndexArray]:
        """The rows of each block."""
        order = np.argsort(self.blocks, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.blocks[order])) + 1)

    @property
    def exhaustive(self) -> bool:
        """Whether all arrangements are used."""
        return self.distinct - 1 <= self.wanted

    @property
    def number(self) -> int:
        """Permutations used, without the observed order."""
        return min(self.distinct - 1, self.wanted)

    def batches(self, size: int) -> Iterator[IndexArray]:
        """Yield index arrays (at most size, n); row i of the rearranged design is row ``index[i]`` of the observed."""
        if self.exhaustive:
            everything = self._all()
            for start in range(0, len(everything), size):
                yield everything[start : start + size]
            return
        members = self.members
        for start in range(0, self.wanted, size):
            rows = np.tile(np.arange(len(self.codes)), (min(size, self.wanted - start), 1))
            for block in members:
                if len(block) == len(self.codes):
                    self.rng.permuted(rows, axis=1, out=rows)
                elif len(block) > 1:
                    rows[:, block] = self.rng.permuted(rows[:, block], axis=1)
            yield rows

    def _all(self) -> IndexArray:
        """Return every distinct arrangement but the observed one, (distinct - 1, n)."""
        rows = np.arange(len(self.codes))[None]
        for block in self.members:
            inside = block[_arranged(self.codes[block])]
            repeated = np.repeat(rows, len(inside), axis=0)
            repeated[:, block] = np.tile(inside, (len(rows), 1))
            rows = repeated
        return np.asarray(rows[(self.codes[rows] != self.codes).any(axis=1)])


def _arranged(codes: IndexArray) -> IndexArray:
    """Return indices (arrangements, n) that bring the codes into each of their distinct orders once."""
    counts = np.unique(codes, return_counts=True)[1]
    left, orders = counts[None], np.empty((1, 0), dtype=np.int64)
    for _ in codes:  # extend each beginning by each code that is left
        begun, following = np.nonzero(left)
        orders = np.column_stack([orders[begun], following])
        left = left[begun]
        left[np.arange(len(left)), following] -= 1
    places = np.argsort(orders, axis=1, kind="stable")
    index = np.empty_like(orders)
    np.put_along_axis(index, places, np.tile(np.argsort(codes, kind="stable"), (len(orders), 1)), axis=1)
    return index


def p_value(observed: float, permuted: FloatArray, tolerance: float) -> float:
    """Return (b + 1) / (m + 1), b of m permuted values being as large as the observed one or tied with it.

    The observed order is one of the equally likely ones and is counted, so that the value is never 0 and the test is
    exact (Phipson and Smyth 2010, https://doi.org/10.2202/1544-6115.1585).
    """
    return float(1 + np.count_nonzero(permuted >= observed - tolerance)) / (1 + len(permuted))


def warn_alike(name: str, question: str, stacklevel: int) -> None:
    """Warn that no permutation changes the statistic: the data say nothing."""
    message = f"{name}: every permutation gives the same statistic, so that p = 1. {question}"
    warnings.warn(message, DegenerateDataWarning, stacklevel=stacklevel)


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from None, a seed, a Generator, or a RandomState, which is advanced."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return np.random.default_rng(integer(random_state, "random_state", low=0))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise InvalidParameterError(
        f"`random_state` must be None, an integer of at least 0 or a numpy Generator; got {random_state!r}."
    )


@dataclass(frozen=True)
class Term:
    """One factor of a model.

    Parameters
    ----------
    name : str
    df : int
        Degrees of freedom.
    statistic, p_value : float
        Pseudo-F and its permutation p-value.
    effect_size : float
        Share of the total sum of squares, R^2.
    partial_effect_size : float
        Share of what the other terms (sequential sums: those before it) leave unexplained.
    """

    name: str
    df: int
    statistic: float
    p_value: float
    effect_size: float
    partial_effect_size: float


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTest:
    """The result of a permutation test.

    Parameters
    ----------
    test : str
        What was tested, and how.
    statistic : float
        Larger values speak against the null hypothesis.
    p_value : float
        (b + 1) / (m + 1), with b of m permutations at least as extreme.
    n_permutations : int
        The number m.
    exhaustive : bool
        Whether these are all distinct rearrangements beside the observed one: the p-value has no Monte Carlo error.
    effect_size : float or None
        R^2, the share of the total sum of squares.
    df : tuple of int or None
        Degrees of freedom of the effect and of the residuals.
    terms : tuple of Term
        Each factor, if there are several.
    groups : mapping
        What was found about each group, by its label.
    distribution : ndarray of shape (m,) or None
        The permuted values of the statistic, if they were asked for.
    """

    test: str
    statistic: float
    p_value: float
    n_permutations: int
    exhaustive: bool
    effect_size: float | None = None
    df: tuple[int, int] | None = None
    terms: tuple[Term, ...] = ()
    groups: Mapping[Any, float] = field(default_factory=dict)
    distribution: FloatArray | None = None

    def __repr__(self) -> str:
        of = "" if self.df is None else f"({self.df[0]}, {self.df[1]})"
        size = "" if self.effect_size is None else f", R^2 = {self.effect_size:.3f}"
        how = "all" if self.exhaustive else "random"
        lines = [
            f"{self.test}: statistic{of} = {self.statistic:.4g}{size}, p = {self.p_value:.4g} "
            f"({self.n_permutations} {how} permutations)"
        ]
        lines += [
            f"  {t.name}: F({t.df}) = {t.statistic:.4g}, R^2 = {t.effect_size:.3f}, p = {t.p_value:.4g}"
            for t in self.terms
        ]
        lines += [f"  {name}: {value:.4g}" for name, value in self.groups.items()]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseTests:
    """Tests of every pair of groups.

    Parameters
    ----------
    pairs : tuple of pairs of labels
    tests : tuple of PermutationTest
        In the order of the pairs.
    p_values : tuple of float
        Adjusted by Holm's method: judged at 5 %, the chance of rejecting any true null hypothesis is at most 5 %.
    """

    pairs: tuple[tuple[Any, Any], ...]
    tests: tuple[PermutationTest, ...]
    p_values: tuple[float, ...]

    def __repr__(self) -> str:
        rows = zip(self.pairs, self.tests, self.p_values, strict=True)
        return "\n".join(
            ["pairs of groups, p-values adjusted by Holm's method"]
            + [f"  {a} - {b}: statistic = {t.statistic:.4g}, p = {p:.4g}" for (a, b), t, p in rows]
        )
