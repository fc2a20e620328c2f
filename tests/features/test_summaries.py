"""The baselines: moments and shares of clusters against plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Measures
from kermes.exceptions import InvalidParameterError
from kermes.features import ClusterShares, MomentFeatures

RNG = np.random.default_rng(0)
SAMPLES = [RNG.normal(i, 1.0, size=(n, 3)) for i, n in enumerate((1, 5, 40, 7))]
WEIGHTS = [RNG.uniform(0.1, 3.0, size=len(sample)) for sample in SAMPLES]
X = Measures.from_samples(SAMPLES, WEIGHTS)


@pytest.mark.parametrize("n_moments", [1, 2])
def test_moments_are_weighted_means_and_standard_deviations(n_moments):
    found = MomentFeatures(n_moments).fit_transform(X)
    for row, sample, weights in zip(found, SAMPLES, WEIGHTS, strict=True):
        mean = np.average(sample, axis=0, weights=weights)
        std = np.sqrt(np.average((sample - mean) ** 2, axis=0, weights=weights))
        assert_allclose(row, np.concatenate([mean, std])[: 3 * n_moments], rtol=1e-12, atol=1e-15)


def test_standard_deviations_keep_their_digits_far_from_the_origin():
    far = X.map_points(lambda points: points + 1e8)
    assert_allclose(MomentFeatures(2).fit_transform(far)[:, 3:], MomentFeatures(2).fit_transform(X)[:, 3:], rtol=1e-6)


def test_shares_are_masses_near_each_centre():
    shares = ClusterShares(n_clusters=4, random_state=0).fit(X)
    centres = shares.codebook_.atoms_
    for row, sample, weights in zip(shares.transform(X), SAMPLES, WEIGHTS, strict=True):
        nearest = np.linalg.norm(sample[:, None] - centres[None], axis=2).argmin(axis=1)
        assert_allclose(row, np.bincount(nearest, weights, 4) / weights.sum(), rtol=1e-12, atol=1e-15)
    assert_allclose(shares.transform(X).sum(axis=1), 1.0)


def test_there_are_no_more_clusters_than_points():
    shares = ClusterShares(n_clusters=20, random_state=0)
    assert_array_equal(shares.fit_transform(Measures.from_samples([[0.0], [0.0, 1.0]])), [[1.0, 0.0], [0.5, 0.5]])


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidParameterError, match="`n_moments` must be 1 or 2; got 3"):
        MomentFeatures(3).fit(X)
    with pytest.raises(InvalidParameterError, match="`n_clusters`"):
        ClusterShares(0).fit(X)
