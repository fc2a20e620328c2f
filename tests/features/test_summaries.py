"""The baselines: moments and shares of clusters against plain loops."""

import numpy as np
import pytest
from mpmath import mp, mpf
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


@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1e-150, 1.0, 1e150, 1e170, 1e300])
def test_standard_deviations_at_any_scale(scale):
    """Each measure in units of its own: one of spread 1 beside it does not matter."""
    beside = Measures.from_samples([*(scale * sample for sample in SAMPLES), SAMPLES[2]], [*WEIGHTS, WEIGHTS[2]])
    found = MomentFeatures(2).fit_transform(beside)[: len(SAMPLES)]
    with mp.workdps(60):
        for row, mu in zip(found, beside, strict=False):
            weights = [mpf(w) for w in mu.weights.tolist()]
            for k, values in enumerate(mu.points.T.tolist()):
                mean = sum(w * mpf(x) for w, x in zip(weights, values, strict=True)) / sum(weights)
                square = sum(w * (mpf(x) - mean) ** 2 for w, x in zip(weights, values, strict=True)) / sum(weights)
                grain = 3 * mpf(2) ** -1074
                size = max(abs(mpf(x)) for x in values)
                assert abs(mpf(row[k]) - mean) <= 1e-15 * size + len(values) * grain
                assert abs(mpf(row[3 + k]) - mp.sqrt(square)) <= 1e-14 * mp.sqrt(square) + len(values) * grain


def test_coincident_points_far_from_the_origin_do_not_spread():
    where = Measures.from_samples([np.full((7, 1), 1e8 / 3)], [RNG.uniform(size=7)])
    assert MomentFeatures(2).fit_transform(where)[0, 1] < 1e-20


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
