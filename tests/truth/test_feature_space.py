"""Means and Gaussians in feature space against inner products in mpmath."""

from tests.truth import truths
from tests.truth.judge import each, judge_all


@each(truths.FEATURE_SPACE)
def test_feature_space(truth):
    judge_all(truth)
