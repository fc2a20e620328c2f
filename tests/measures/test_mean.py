"""The mean of two measures."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Measures
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.measures import mean_measure


def test_mean_measure():
    X = Measures.from_samples([[0.0, 1.0], [1.0, 5.0]], [[1.0, 3.0], [2.0, 2.0]])
    mean = mean_measure(X[0], X[1])
    assert_array_equal(mean.points.ravel(), [0.0, 1.0, 5.0])
    assert_allclose(mean.weights, [0.125, 0.625, 0.25])


def test_what_is_refused():
    X = Measures.from_samples([[0.0], [1.0]])
    with pytest.raises(InvalidParameterError, match="`mu` must be one measure"):
        mean_measure([0.0], X[0])
    with pytest.raises(UnsuitableDataError, match="dimension"):
        mean_measure(X[0], Measures.from_samples([[[0.0, 1.0]]])[0])
