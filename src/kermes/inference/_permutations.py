"""Which rearrangements of the rows of a study are equally likely under the null hypothesis: random ones, or all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import integer
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError

#: Two values of a statistic that differ by less than this part of its scale are tied: their difference is rounding.
TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permutations of n rows within blocks: all distinct ones other than the observed order, or a random sample.

    Two permutations are the same arrangement if they bring equal rows of the design to equal places, so that 3 + 3
    measures in two groups have 20 arrangements, not 720.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Rows of the design by number; equal rows have equal numbers.
    blocks : ndarray of shape (n,)
        Rows move within their block only.
    wanted : int
        Permutations drawn at random; if there are no more distinct ones, all of them are used.
    rng : numpy Generator
    """

    codes: IndexArray
    blocks: IndexArray
    wanted: int
    rng: np.random.Generator

    @property
    def distinct(self) -> int:
        """Distinct arrangements, the observed one included: the product of the multinomial numbers of the blocks."""
        return math.prod(_arrangements(self.codes[rows]) for rows in self.members)

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
        return self.distinct - 1 if self.exhaustive else self.wanted

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


def _arrangements(codes: IndexArray) -> int:
    """Return n! / (n_1! n_2! ...)."""
    _, counts = np.unique(codes, return_counts=True)
    return math.factorial(len(codes)) // math.prod(math.factorial(int(count)) for count in counts)


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


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from None, a seed, a Generator, or a RandomState, which is advanced."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return np.random.default_rng(integer(random_state, "random_state", low=0))
    raise InvalidParameterError(
        f"`random_state` must be None, an integer of at least 0 or a numpy Generator; got {random_state!r}."
    )
