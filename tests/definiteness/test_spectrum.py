"""spectrum: the report and its verdicts."""

import numpy as np
import pytest

from kermes import definiteness


def matrix_with(values, seed=0):
    vectors, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    return (vectors * values) @ vectors.T


def test_report_gives_the_eigenvalues_back():
    values = np.array([-1.0, 0.5, 2.0, 4.0])
    report = definiteness.spectrum(matrix_with(values))
    np.testing.assert_allclose(report.eigenvalues, values)
    assert (report.min, report.max) == (pytest.approx(-1.0), pytest.approx(4.0))
    assert report.negative_mass == pytest.approx(1.0 / 7.5)
    assert report.condition == pytest.approx(8.0)
    assert not report.eigenvalues.flags.writeable


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1e-3, 1.0, 5.0], "positive definite"),
        ([0.0, 0.0, 5.0], "positive semidefinite (to rounding)"),
        ([-1e-9, 1.0, 5.0], "indefinite"),
        ([0.0, 0.0], "positive semidefinite (to rounding)"),
    ],
)
def test_verdict(values, verdict):
    report = definiteness.spectrum(matrix_with(values))
    assert report.verdict == verdict
    assert verdict in repr(report)


def test_singular_matrix_has_infinite_condition():
    report = definiteness.spectrum(np.zeros((3, 3)))
    assert report.condition == np.inf
    assert report.negative_mass == 0.0


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"`K` must be a square Gram matrix; got shape \(2, 3\)"),
        (np.ones(3), "must be a square Gram matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"entry \(0, 1\) is nan"),
        ([[1.0, 0.5], [0.4, 1.0]], "must be symmetric; entries .* differ by 0.1"),
    ],
)
def test_bad_matrices(K, message):
    with pytest.raises(ValueError, match=message):
        definiteness.spectrum(K)
