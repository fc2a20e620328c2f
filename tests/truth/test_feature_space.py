"""Means and Gaussians in feature space against inner products in mpmath."""

from hypothesis import given
from hypothesis import strategies as st
from tests.truth import truths
from tests.truth.judge import cases, each, judge


@each(truths.FEATURE_SPACE)
@cases(120)
@given(st.data())
def test_feature_space(truth, data):
    judge(truth, data.draw(truth.pairs))
