"""Histograms and densities of exponential families against sums and determinants in fractions and mpmath."""

from tests.truth import truths
from tests.truth.judge import each, judge_all


@each([*truths.HISTOGRAMS, *truths.FAMILIES])
def test_entropies(truth):
    judge_all(truth)
