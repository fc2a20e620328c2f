"""Exact and sliced transport against quantiles and linear programs in fractions."""

from hypothesis import given
from hypothesis import strategies as st
from tests.truth import truths
from tests.truth.judge import cases, each, judge


@each([*truths.LINE, *truths.PLANE])
@cases(200)
@given(st.data())
def test_wasserstein(truth, data):
    judge(truth, data.draw(truth.pairs))


@each(truths.MANY)
@cases(2)
@given(st.data())
def test_thousands_of_atoms_against_one(truth, data):
    judge(truth, data.draw(truth.pairs))


@each(truths.SLICED)
@cases(200)
@given(st.data())
def test_sliced(truth, data):
    judge(truth, data.draw(truth.pairs))
