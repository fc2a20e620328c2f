"""Clenshaw-Curtis grids and maximum likelihood on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes.core import exponential_family, status


@pytest.mark.parametrize("n", [4, 8, 20])
def test_rule_is_exact_for_polynomials(n):
    x, w = exponential_family.clenshaw_curtis(n)
    assert len(x) == n + 1
    assert (w > 0).all()
    for k in range(n + 1):
        assert_allclose(w @ x**k, (1 + (-1) ** k) / (k + 1), atol=1e-14)


def test_box_and_its_coarser_rule():
    points, weights = exponential_family.box(np.array([0.0, -1.0]), np.array([2.0, 3.0]), 8)
    assert points.shape == (81, 2)
    assert_allclose(weights.T @ (points[:, 0] * points[:, 1] ** 2), 2 * 28 / 3)
    assert np.count_nonzero(weights[:, 1]) == 25


def interval(n=128):
    points, weights = exponential_family.box(np.array([-1.0]), np.array([1.0]), n)
    return exponential_family.grid(np.hstack([points, points**2]), weights)


def test_normal_densities():
    mean, sigma = np.array([0.0, 0.3, -0.2]), np.array([0.05, 0.07, 0.1])
    moments = np.stack([mean, mean**2 + sigma**2], axis=1)
    cold = exponential_family.fit(interval(), moments, np.zeros((3, 2)))
    assert_allclose(cold.entropy, np.log(sigma) + 0.5 * np.log(2 * np.pi * np.e), atol=1e-10)
    assert (cold.status == status.OK).all()
    assert (cold.error < 1e-4).all()
    # Any start gives the same, a useless one too; batches of one row as well.
    for start in (cold.theta, cold.theta[::-1], np.full((3, 2), 1e4)):
        assert_allclose(exponential_family.fit(interval(), moments, start).entropy, cold.entropy, atol=1e-11)
    for i in range(3):
        alone = exponential_family.fit(interval(), moments[i : i + 1], np.zeros((1, 2)))
        assert_allclose(alone.entropy, cold.entropy[i], atol=1e-13)


def test_batches_do_not_matter():
    rng = np.random.default_rng(0)
    mean, sigma = rng.uniform(-0.3, 0.3, 20), rng.uniform(0.1, 0.2, 20)
    moments = np.stack([mean, mean**2 + sigma**2], axis=1)
    whole = exponential_family.fit(interval(), moments, np.zeros((20, 2)))
    parts = exponential_family.fit(interval(), moments, np.zeros((20, 2)), batch=300)
    assert_allclose(parts.entropy, whole.entropy, atol=1e-12)


@pytest.mark.parametrize(("mean", "second"), [(0.3, 0.09), (0.3, 0.08), (0.3, 2.0), (1.0, 1.0), (0.0, 0.0), (1.5, 3.0)])
def test_moments_of_no_density_are_reported(mean, second):
    """On the boundary of the moments that densities have, and beyond it."""
    fit = exponential_family.fit(interval(), np.array([[mean, second]]), np.zeros((1, 2)))
    assert fit.status[0] != status.OK or fit.error[0] > 0.1
