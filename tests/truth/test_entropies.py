"""Histograms and densities of exponential families against sums and determinants in fractions and mpmath."""

from hypothesis import given
from hypothesis import strategies as st
from tests.truth import truths
from tests.truth.judge import cases, each, judge


@each([*truths.HISTOGRAMS, *truths.FAMILIES])
@cases(200)
@given(st.data())
def test_entropies(truth, data):
    judge(truth, data.draw(truth.pairs))
