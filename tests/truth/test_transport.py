"""Exact and sliced transport against quantiles and linear programs in fractions."""

from tests.truth import truths
from tests.truth.judge import each, judge_all


@each([*truths.LINE, *truths.PLANE])
def test_wasserstein(truth):
    judge_all(truth)


@each(truths.MANY)
def test_thousands_of_atoms_against_one(truth):
    judge_all(truth, number=50)  # 20 ms and 50 kB each


@each(truths.SLICED)
def test_sliced(truth):
    judge_all(truth)
