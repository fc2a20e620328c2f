"""Hierarchical clustering against merging by hand, and its laws."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.oracles.clusters import agglomerate

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.clustering import HierarchicalClustering
from kermes.clustering._hierarchical import LINKAGES
from kermes.exceptions import InvalidParameterError

W = divergences.Wasserstein()
BLOCKS = {"single": np.min, "complete": np.max, "average": np.mean}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return Measures.from_samples([rng.normal(size=rng.integers(1, 6)) + 4 * (i % 3) for i in range(17)])


@pytest.mark.parametrize("method", BLOCKS)
def test_merges_are_those_made_by_hand(X, method):
    model = HierarchicalClustering(W, linkage=method).fit(X)
    heights, partitions = agglomerate(pairwise(X, divergence=W), BLOCKS[method])
    assert_allclose(model.linkage_[:, 2], heights)
    for k in range(1, 17):
        labels = model.cut(k)
        found = {tuple(np.flatnonzero(labels == i).tolist()) for i in range(k)}
        assert found == partitions[16 - k]


def test_ward_is_minimum_variance_for_distances_of_negative_type(X):
    """The linear MMD is the distance of means: heights**2 / 2 add up to the sum of squares around the mean."""
    divergence = divergences.MMD(ground.Linear())
    assert divergence.claims(1).negative_type >= 2
    model = HierarchicalClustering(divergence, linkage="ward").fit(X)
    means = np.array([np.average(m.points[:, 0], weights=m.weights) for m in X])
    growth = model.linkage_[:, 2] ** 2 / 2
    assert_allclose(growth.sum(), ((means - means.mean()) ** 2).sum(), rtol=1e-8)
    labels = model.cut(3)
    within = sum(((means[labels == i] - means[labels == i].mean()) ** 2).sum() for i in range(3))
    assert_allclose(growth[:-2].sum(), within, rtol=1e-7)


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("optimal", [False, True])
def test_leaves_keep_clusters_together(X, method, optimal):
    model = HierarchicalClustering(W, 4, method, optimal_ordering=optimal).fit(X)
    assert_array_equal(np.sort(model.leaves_), np.arange(17))
    assert np.count_nonzero(np.diff(model.labels_[model.leaves_])) == 3
    assert model.linkage_.shape == (16, 4)
    assert_array_equal(model.distances_, pairwise(X, divergence=W))
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()
    assert_array_equal(model.labels_, model.cut(4))


def test_precomputed_default_and_order_of_measures(X):
    D = pairwise(X, divergence=W)
    direct = HierarchicalClustering(W, 3).fit(X)
    table = HierarchicalClustering("precomputed", 3).fit(D)
    assert_array_equal(direct.labels_, table.labels_)
    assert direct.divergence_ == W
    assert HierarchicalClustering().fit(X).divergence_ == divergences.SlicedWasserstein()
    shuffled = np.random.default_rng(1).permutation(17)
    again = HierarchicalClustering(W, 3).fit_predict(X[shuffled])
    assert len({*zip(direct.labels_[shuffled].tolist(), again.tolist(), strict=True)}) == 3


def test_cut_computes_no_distances(X):
    engine = Engine("serial", memo=False)
    model = clone(HierarchicalClustering(W, engine=engine)).fit(X)
    restored = pickle.loads(pickle.dumps(model))
    restored.divergence = restored.divergence_ = None
    assert_array_equal(restored.cut(5), model.cut(5))


def test_equal_measures_and_one_measure():
    same = Measures.from_samples([[1.0, 2.0]] * 5 + [[30.0]])
    for method in LINKAGES:
        model = HierarchicalClustering(W, 2, method).fit(same)
        assert_array_equal(model.labels_, [0, 0, 0, 0, 0, 1])
        assert_array_equal(np.unique(model.cut(4)), np.arange(4))
    alone = HierarchicalClustering(W, 1).fit(same[:1])
    assert alone.linkage_.shape == (0, 4)
    assert alone.labels_.tolist() == alone.leaves_.tolist() == [0]


def test_what_is_refused(X):
    for parameters, message in [
        ({"linkage": "avrage"}, "`linkage` must be one of .* Did you mean 'average'"),
        ({"n_clusters": 0}, "`n_clusters` must be an integer of at least 1; got 0"),
        ({"n_clusters": 2.5}, "`n_clusters` must be an integer"),
        ({"n_clusters": 18}, "at most the number of measures, n_samples = 17; got 18"),
        ({"divergence": "euclidean"}, "`divergence` must be a divergence such as"),
        ({"divergence": "precomputed"}, "`X` must be distances"),
        ({"engine": 3}, "`engine` must be an Engine"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            HierarchicalClustering(**parameters).fit(X)
    table = HierarchicalClustering("precomputed")
    for wrong, message in [
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric"),
        ([[1.0, 0.5], [0.5, 1.0]], "zero on the diagonal"),
        ([[0.0, -1.0], [-1.0, 0.0]], "at least 0"),
        (np.zeros((2, 3)), "square"),
    ]:
        with pytest.raises(InvalidParameterError, match=message):
            table.fit(wrong)


@pytest.mark.parametrize("linkage", ["average", "ward", "centroid"])
@pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
def test_trees_do_not_depend_on_the_unit(linkage, scale):
    points = np.random.default_rng(0).normal(size=(12, 2))
    D = np.linalg.norm(points[:, None] - points, axis=-1)
    tree, scaled = (HierarchicalClustering("precomputed", 3, linkage).fit(s * D) for s in (1.0, scale))
    assert_array_equal(scaled.labels_, tree.labels_)  # squares underflowed: other clusters
    assert_array_equal(scaled.linkage_[:, 2], scale * tree.linkage_[:, 2])
