"""Acquisitions: against integrals, differences and limits."""

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose
from scipy import integrate, stats

from kermes.exceptions import InvalidParameterError
from kermes.optimization import ExpectedImprovement, LowerConfidenceBound

MEAN, STD = np.array([0.3, -1.0, 2.0, 5.0]), np.array([0.5, 0.1, 1.5, 0.2])


@pytest.mark.parametrize("xi", [0.0, 0.4])
def test_expected_improvement_is_the_integral(xi):
    for mean, std in zip(MEAN, STD, strict=True):
        value, _ = integrate.quad(
            lambda f, m=mean, s=std: (0.2 - xi - f) * stats.norm.pdf(f, m, s), mean - 12 * std - 3, 0.2 - xi, limit=200
        )
        got = ExpectedImprovement(xi)(np.array([mean]), np.array([std]), 0.2)
        assert_allclose(got, max(value, 0.0), rtol=1e-6, atol=1e-14)


def test_expected_improvement_of_what_is_known_is_the_gain():
    mean, std = np.array([-2.0, 0.0, 1.0, -2.0, -1e10]), np.array([0.0, 0.0, 0.0, 1e-300, 1e-300])
    assert_allclose(ExpectedImprovement()(mean, std, 0.0), [2.0, 0.0, 0.0, 2.0, 1e10], rtol=1e-15)
    assert_allclose(ExpectedImprovement(0.5)(mean[:1], std[:1], 0.0), [1.5], rtol=1e-15)


def test_expected_improvement_has_a_gradient_where_it_underflows():
    """z = -40, -1e3, -1e6: the logarithm keeps its order and stays finite."""
    std = np.full(5, 1.0)
    mean = np.array([-10.0, 40.0, 1e3, 9.999e3, 1e6])
    worth = ExpectedImprovement().worth(mean, std, 0.0)
    assert np.isfinite(np.concatenate(worth)).all()
    assert (np.diff(worth.score) < 0).all()
    assert (worth.by_mean < 0).all()
    assert_allclose(
        worth.score[1:], -0.5 * mean[1:] ** 2 - np.log(np.sqrt(2 * np.pi)) - 2 * np.log(mean[1:]), rtol=1e-5
    )


def test_the_tail_joins():
    around = np.array([1e4 - 1e-3, 1e4 + 1e-3])
    score = ExpectedImprovement().worth(around, np.ones(2), 0.0).score
    assert_allclose(np.diff(score), -2e-3 * 1e4, rtol=1e-3)


@pytest.mark.parametrize("acquisition", [ExpectedImprovement(), ExpectedImprovement(0.3), LowerConfidenceBound(1.5)])
def test_derivatives(acquisition):
    h = 1e-6
    worth = acquisition.worth(MEAN, STD, 0.2)
    by_mean = (acquisition.worth(MEAN + h, STD, 0.2).score - acquisition.worth(MEAN - h, STD, 0.2).score) / (2 * h)
    by_std = (acquisition.worth(MEAN, STD + h, 0.2).score - acquisition.worth(MEAN, STD - h, 0.2).score) / (2 * h)
    assert_allclose(worth.by_mean, by_mean, rtol=1e-5)
    assert_allclose(worth.by_std, by_std, rtol=1e-5, atol=1e-9)
    assert (worth.by_mean < 0).all()
    assert (worth.by_std > 0).all()


def test_the_lower_bound_with_its_sign_turned():
    """Of two equal means the less certain one is asked; of two equal standard deviations the lower mean."""
    score = LowerConfidenceBound(2.0)(np.array([1.0, 1.0, 0.0]), np.array([0.1, 0.5, 0.1]))
    assert_allclose(score, [-0.8, 0.0, 0.2], atol=1e-12)


def test_parameters():
    with pytest.raises(InvalidParameterError, match="`xi` must be a finite number of at least 0"):
        ExpectedImprovement(-1.0)
    with pytest.raises(InvalidParameterError, match="`kappa` must be a finite number of at least 0"):
        LowerConfidenceBound(float("nan"))


@pytest.mark.parametrize("z", [-1e150, -1e12, -3e7, -1e4, -101.0, -99.0, -10.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 8.0, 40.0])
def test_log_improvement_and_its_gradient_have_their_digits_at_any_z(z):
    with mp.workdps(340):
        x = mpf(z)
        if z < -1e5:  # h = phi (1 / x^2 - 3 / x^4 + ...), Phi = phi (1 / x - 1 / x^3 + ...)
            h, Phi = 1 / x**2 - 3 / x**4, -1 / x + 1 / x**3
            log_h = mp.log(h) - x**2 / 2 - mp.log(2 * mp.pi) / 2
            rise, fall = Phi / h, 1 / h
        else:
            phi, Phi = mp.npdf(x), mp.erfc(-x / mp.sqrt(2)) / 2
            h = phi + x * Phi
            log_h, rise, fall = mp.log(h), Phi / h, phi / h
        expected = [float(log_h), float(-rise), float(fall)]
    found = ExpectedImprovement().worth(np.array([-z]), np.ones(1), 0.0)
    assert_allclose(np.concatenate(found), expected, rtol=2e-11, atol=1e-15)
