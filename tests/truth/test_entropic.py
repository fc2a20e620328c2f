"""Entropic transport against the dual solved in mpmath; beyond its reach, against bounds by the exact value."""

from tests.truth import truths
from tests.truth.judge import each, judge_all


@each(truths.SINKHORN)
def test_sinkhorn(truth):
    judge_all(truth)
