"""Graphs of neighbours from a store: scikit-learn's learners without the whole matrix."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import DBSCAN
from sklearn.neighbors import KNeighborsClassifier

from kermes import Engine, Measures, divergences, pairwise

pytest.importorskip("zarr")
W = divergences.Wasserstein(p=2)


def test_learners_on_the_graph_are_those_on_the_matrix(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = Measures.from_samples([rng.normal(4 * label, 1, size=5) for label in y])
    whole = pairwise(X, divergence=W)
    D = pairwise(X[:30], divergence=W, engine=Engine(store=tmp_path / "d.zarr"))
    graph = D.kneighbors_graph(9)
    assert graph.shape == (30, 30)
    assert (np.diff(graph.indptr) == 10).all()
    assert_array_equal(graph.toarray()[0, graph.indices[1:10]], np.sort(whole[0, 1:30])[:9])
    on_graph = DBSCAN(eps=0.8, min_samples=3, metric="precomputed").fit_predict(graph)
    assert_array_equal(on_graph, DBSCAN(eps=0.8, min_samples=3, metric="precomputed").fit_predict(whole[:30, :30]))

    new = pairwise(X[30:], X[:30], divergence=W, engine=Engine(store=tmp_path / "new.zarr"))
    assert new.kneighbors_graph(5).shape == (10, 30)
    model = KNeighborsClassifier(5, metric="precomputed").fit(graph, y[:30])
    expected = KNeighborsClassifier(5, metric="precomputed").fit(whole[:30, :30], y[:30]).predict(whole[30:, :30])
    assert_array_equal(model.predict(new.kneighbors_graph(5)), expected)
