"""Values below 0, which regularised entropic transport has: no test, map or clustering takes their squares."""

import numpy as np
import pytest

from kermes import Measures, clustering, divergences, inference, inspection, pairwise
from kermes.exceptions import NumericalError

GROUPS = np.repeat([0, 1], 8)
SIGNED = divergences.Sinkhorn(1.0, cost="euclidean", value="regularized")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return Measures.from_samples([rng.normal(k, 1.0, size=(20, 2)) for k in GROUPS])


def test_pairwise_returns_them(X):
    assert (pairwise(X, divergence=SIGNED)[~np.eye(16, dtype=bool)] < 0).all()


@pytest.mark.parametrize(
    "method",
    [
        lambda X: inference.permanova(X, GROUPS, SIGNED, n_permutations=99),
        lambda X: inference.trend(X, 1.0 * GROUPS, SIGNED, n_permutations=99),
        lambda X: inference.dispersion(X, GROUPS, SIGNED, n_permutations=99),
        lambda X: inference.k_sample(X, GROUPS, SIGNED, n_permutations=99),
        lambda X: inspection.data_map(X, SIGNED),
        lambda X: clustering.KMedoids(SIGNED, 2).fit(X),
        lambda X: clustering.KMeans(SIGNED, 2).fit(X),
        lambda X: clustering.HierarchicalClustering(SIGNED, 2).fit(X),
    ],
)
def test_methods_of_distances_refuse_them(X, method):
    with pytest.raises(NumericalError, match=r"is negative, -\S+, for `X\[\d+\]` and `Y\[\d+\]`, which no distance is"):
        method(X)


def test_what_is_not_negative_is_taken():
    far = Measures.from_samples([[[0.0, 0.0]], [[9.0, 0.0]], [[0.0, 9.0]], [[9.0, 9.0]]])
    assert clustering.KMedoids(SIGNED, 2, random_state=0).fit(far).inertia_ > 0
