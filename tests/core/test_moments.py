"""Log-determinants of covariances of means."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes.core.moments import Marginals, Moments, half_log_det_means, half_log_dets, log_variance_gaps


def moments(n, d, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, d, d + 2))
    return rng.normal(size=(n, d)), factors @ factors.transpose(0, 2, 1)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_half_log_det_of_means(d):
    means, C = moments(5, d)
    other_means, D = moments(4, d, seed=1)
    A = Moments(means, 0 * means, C, np.zeros(5), scale=1.0, ridge=0.5)
    B = Moments(other_means, 0 * other_means, D, np.zeros(4), scale=1.0, ridge=0.5)
    rows, cols = np.array([3, 0, 4]), np.array([1, 2, 0])
    expected = np.zeros((3, 3))
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            gap = means[row] - other_means[col]
            expected[i, j] = 0.5 * np.linalg.slogdet((C[row] + D[col]) / 2 + np.outer(gap, gap) / 4 + np.eye(d) / 2)[1]
    skipped = np.zeros((3, 3), dtype=bool)
    skipped[0, 2] = True
    for triangle in (False, True):
        out = np.zeros((3, 3))
        half_log_det_means(A, rows, B, cols, triangle, skipped, out)
        wanted = np.where(skipped, 0.0, expected)
        assert_allclose(out, np.triu(wanted, 1) if triangle else wanted, rtol=1e-12)


def test_half_log_dets_leave_the_input_alone():
    C = moments(3, 4)[1]
    before, out = C.copy(), np.empty(3)
    half_log_dets(C, 0.0, out)
    assert_array_equal(C, before)
    assert_allclose(out, 0.5 * np.linalg.slogdet(C)[1], rtol=1e-12)


def test_indefinite_is_nan():
    out = np.empty(3)
    half_log_dets(np.array([[[1.0, 2.0], [2.0, 1.0]], [[np.nan, 0.0], [0.0, 1.0]], np.eye(2)]), 0.0, out)
    assert_array_equal(np.isnan(out), [True, True, False])


def test_log_variance_gaps_of_nearly_equal_measures():
    """To second order in the gap e of the means, ln(1 + e^2 / 4); a difference of logarithms would give 0."""
    zero, one, e = np.zeros((1, 1)), np.ones((1, 1)), 1e-9
    out, first = np.zeros((1, 1)), np.array([0])
    A, B = Marginals(zero, zero, one, first.astype(float)), Marginals(zero + e, zero, one, first.astype(float))
    log_variance_gaps(A, first, B, first, False, out)
    assert_allclose(out, e**2 / 4, rtol=1e-12)
