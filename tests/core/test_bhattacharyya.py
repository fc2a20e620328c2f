"""The elimination behind the Bhattacharyya distances, against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes.core.bhattacharyya import eliminate


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 13])
def test_eliminates_a_matrix_and_right_hand_sides(n):
    rng = np.random.default_rng(n)
    F, R = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    N = np.eye(n) + F @ F.T
    M = np.hstack([np.triu(N), R])  # the lower triangle is not read
    log_det = eliminate(M)
    L = np.linalg.cholesky(N)
    assert_allclose(log_det, np.linalg.slogdet(N)[1], rtol=1e-12)
    assert_allclose(np.triu(M[:, :n]), L.T, atol=1e-12)
    assert_allclose(M[:, n:], np.linalg.solve(L, R), atol=1e-11)


def test_says_when_rounding_has_won():
    assert np.isnan(eliminate(np.array([[1.0, 1.0], [1.0, 1.0]])))
    assert np.isnan(eliminate(np.array([[np.nan]])))
