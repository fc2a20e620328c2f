"""K-medoids against all sets of medoids, and its laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles.clusters import best_exchange, best_medoids

from kermes import Measures, divergences, pairwise
from kermes.clustering import KMedoids, _k_medoids
from kermes.exceptions import ConvergenceWarning, InvalidParameterError, UnsuitableDataError

W = divergences.Wasserstein()
INITS = ["build", "random", "k-medoids++"]


def table(n, seed):
    """Return distances without any structure: many local minima."""
    D = np.triu(np.random.default_rng(seed).uniform(0.5, 3.0, (n, n)), 1)
    return D + D.T


def groups(n, seed=0):
    rng = np.random.default_rng(seed)
    return Measures.from_samples([10.0 * (i % 3) + rng.normal(size=rng.integers(1, 5)) for i in range(n)])


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_separated_groups_give_the_best_medoids(init, k):
    D = pairwise(groups(15), divergence=W)
    model = KMedoids("precomputed", k, init, random_state=0).fit(D)
    assert_allclose(model.inertia_, best_medoids(D, k), rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_no_exchange_lowers_the_sum(seed, k):
    """And the best of a few starts is the best of all sets."""
    D = table(11, seed)
    starts = [KMedoids("precomputed", k, "random", random_state=i).fit(D) for i in range(15)]
    for model in starts:
        assert best_exchange(D, model.medoid_indices_.tolist()) >= model.inertia_ * (1 - 1e-12)
    assert_allclose(min(model.inertia_ for model in starts), best_medoids(D, k), rtol=1e-12)


@pytest.mark.parametrize("block", [1, 90, 1 << 17])
def test_changes_are_those_of_the_sums(block):
    """The predicted change of every exchange is the change of the sum; small blocks end in a minimum too."""
    D = table(30, 3)
    medoids = np.array([4, 9, 17])
    current = _k_medoids.partition(D, medoids)
    changes = _k_medoids._changes(D, current)
    for i in range(3):
        for c in range(30):
            changed = medoids.copy()
            changed[i] = c
            assert_allclose(changes[c, i], D[changed].min(axis=0).sum() - current.loss, atol=1e-12)
    found, _, converged = _k_medoids.swap(D, medoids, 100, block)
    assert converged
    assert best_exchange(D, found.tolist()) >= D[found].min(axis=0).sum() * (1 - 1e-12)


def test_every_pass_lowers_the_sum():
    D = table(200, 1)
    start = np.arange(12)
    sums = [D[start].min(axis=0).sum()]
    for passes in range(1, 100):
        medoids, _, converged = _k_medoids.swap(D, start, passes)
        sums.append(D[medoids].min(axis=0).sum())
        if converged:
            break
    assert converged
    assert len(sums) > 4
    assert (np.diff(sums[:-1]) < 0).all()
    assert sums[-1] == sums[-2]
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = KMedoids("precomputed", 12, "random", max_iter=1, random_state=0).fit(D)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("init", INITS)
def test_deterministic_with_a_seed(init):
    D = table(60, 2)
    one, two = (KMedoids("precomputed", 6, init, random_state=3).fit(D) for _ in range(2))
    assert_array_equal(one.medoid_indices_, two.medoid_indices_)
    other = [KMedoids("precomputed", 6, init, random_state=i).fit(D).medoid_indices_ for i in range(5)]
    assert (len({tuple(sorted(m)) for m in other}) == 1) == (init == "build")


def test_attributes_predict_and_transform():
    X, new = groups(20), groups(9, seed=5)
    model = KMedoids(W, 3).fit(X)
    centers = model.cluster_centers_
    assert isinstance(centers, Measures)
    assert_array_equal(model.labels_[model.medoid_indices_], [0, 1, 2])
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()
    assert_allclose(model.transform(new), pairwise(new, X[model.medoid_indices_], divergence=W))
    assert_array_equal(model.predict(new), model.transform(new).argmin(axis=1))
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.transform(X).min(axis=1).sum(), model.inertia_)
    assert_array_equal(model.get_feature_names_out(), ["kmedoids0", "kmedoids1", "kmedoids2"])
    D = pairwise(X, divergence=W)
    precomputed = KMedoids("precomputed", 3).fit(D)
    assert precomputed.cluster_centers_ is None
    assert_array_equal(precomputed.predict(pairwise(new, X, divergence=W)), model.predict(new))
    with pytest.raises(UnsuitableDataError, match="dimension 2"):
        model.predict(Measures.from_samples([[[0.0, 1.0]]]))


@pytest.mark.parametrize("init", INITS)
def test_fewer_distinct_measures_than_clusters(init):
    X = Measures.from_samples([[0.0, 1.0]] * 4 + [[5.0]] * 2)
    model = KMedoids(W, 4, init, random_state=0).fit(X)
    assert len(np.unique(model.medoid_indices_)) == 4
    assert_array_equal(np.unique(model.labels_), np.arange(4))
    assert model.inertia_ == 0
    everyone = KMedoids(W, 6, init, random_state=0).fit(X)
    assert_array_equal(np.sort(everyone.medoid_indices_), np.arange(6))
    assert KMedoids(W, 1, init, random_state=0).fit(X[:1]).labels_.tolist() == [0]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_scales(scale):
    D = table(20, 4)
    expected = KMedoids("precomputed", 3).fit(D)
    model = KMedoids("precomputed", 3).fit(scale * D)
    assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert_allclose(model.inertia_ / scale, expected.inertia_)


def test_what_is_refused():
    X = groups(5)
    for parameters, message in [
        (
            {"n_clusters": 6},
            r"`n_clusters` \(--clusters\) must be at most the number of measures, n_samples = 5; got 6",
        ),
        ({"n_clusters": 0}, "`n_clusters` must be an integer of at least 1"),
        ({"init": "k-medoids+"}, "`init` must be one of .* Did you mean 'k-medoids"),
        ({"max_iter": 0}, "`max_iter` must be an integer of at least 1"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            KMedoids(**parameters).fit(X)
