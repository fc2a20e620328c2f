"""Clenshaw-Curtis grids and maximum likelihood on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes.core import clenshaw_curtis, log_partition, status


@pytest.mark.parametrize("n", [4, 8, 20])
def test_rule_is_exact_for_polynomials(n):
    x, w = clenshaw_curtis.rule(n)
    assert len(x) == n + 1
    assert (w > 0).all()
    for k in range(n + 1):
        assert_allclose(w @ x**k, (1 + (-1) ** k) / (k + 1), atol=1e-14)


def test_box_and_its_coarser_rule():
    points, weights = clenshaw_curtis.box(np.array([0.0, -1.0]), np.array([2.0, 3.0]), 8)
    assert points.shape == (81, 2)
    assert_allclose(weights.T @ (points[:, 0] * points[:, 1] ** 2), 2 * 28 / 3)
    assert np.count_nonzero(weights[:, 1]) == 25


def interval(n=128):
    points, weights = clenshaw_curtis.box(np.array([-1.0]), np.array([1.0]), n)
    return log_partition.grid(np.hstack([points, points**2]), weights)


def test_normal_densities():
    mean, sigma = np.array([0.0, 0.3, -0.2]), np.array([0.05, 0.07, 0.1])
    moments = np.stack([mean, mean**2 + sigma**2], axis=1)
    cold = log_partition.fit(interval(), moments, np.zeros((3, 2)))
    assert_allclose(cold.entropy, np.log(sigma) + 0.5 * np.log(2 * np.pi * np.e), atol=1e-10)
    assert (cold.status == status.OK).all()
    assert (cold.error < 1e-4).all()
    # Any start gives the same, a useless one too; batches of one row as well.
    for start in (cold.theta, cold.theta[::-1], np.full((3, 2), 1e4)):
        assert_allclose(log_partition.fit(interval(), moments, start).entropy, cold.entropy, atol=1e-11)
    for i in range(3):
        alone = log_partition.fit(interval(), moments[i : i + 1], np.zeros((1, 2)))
        assert_allclose(alone.entropy, cold.entropy[i], atol=1e-13)


def test_batches_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    mean, sigma = rng.uniform(-0.3, 0.3, 20), rng.uniform(0.1, 0.2, 20)
    moments = np.stack([mean, mean**2 + sigma**2], axis=1)
    whole = log_partition.fit(interval(), moments, np.zeros((20, 2)))
    monkeypatch.setattr(log_partition, "BATCH", 300)
    assert_allclose(log_partition.fit(interval(), moments, np.zeros((20, 2))).entropy, whole.entropy, atol=1e-12)


@pytest.mark.parametrize(("mean", "second"), [(0.3, 0.09), (0.3, 0.08), (0.3, 2.0), (1.0, 1.0), (0.0, 0.0), (1.5, 3.0)])
def test_moments_of_no_density_are_reported(mean, second):
    """On the boundary of the moments that densities have, and beyond it."""
    fit = log_partition.fit(interval(), np.array([[mean, second]]), np.zeros((1, 2)))
    assert fit.status[0] != status.OK or fit.error[0] > 0.1
