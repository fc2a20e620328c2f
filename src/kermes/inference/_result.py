"""What a test found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._typing import FloatArray


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
        Share of what the other terms leave unexplained.
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
        Adjusted by Holm's method: judged at 5 %, no true null hypothesis among all is rejected with more than 5 %
        probability.
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
