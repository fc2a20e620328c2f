"""Entropic transport against the dual solved in mpmath; beyond its reach, against bounds by the exact value."""

from hypothesis import given
from hypothesis import strategies as st
from tests.truth import truths
from tests.truth.judge import cases, each, judge


@each(truths.SINKHORN)
@cases(30)
@given(st.data())
def test_sinkhorn(truth, data):
    judge(truth, data.draw(truth.pairs))
