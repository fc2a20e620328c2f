"""Learners, neighbours and clusterings against plain loops, over hostile collections."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats
from tests.strategies import MILD, SEEDS, collections
from tests.truth.judge import ENGINE, guarded, over

from kermes import (
    LSSVMClassifier,
    LSSVMRegressor,
    MeasureGPRegressor,
    Measures,
    NearestMeasures,
    clustering,
    divergences,
    kernels,
    pairwise,
)
from kermes.estimators._neighbors import bounds_of
from kermes.exceptions import ConvergenceWarning, InvalidParameterError

SLICED = divergences.SlicedWasserstein(n_slices=5)


def kernel_on(X):
    """Return a definite kernel whose length is the largest distance in X, and its Gram matrix."""
    D = pairwise(X, divergence=SLICED, engine=ENGINE)
    kernel = kernels.Exponential(SLICED, float(D.max()) or 1.0, engine=ENGINE)
    return kernel, kernel(X)


def machine(K, y, ridge):
    """Return alpha and b of the bordered system in sixty digits."""
    n = len(y)
    with mp.workdps(60):
        A = mp.ones(n + 1)
        for i in range(n):
            for j in range(n):
                A[i, j] = mp.mpf(float(K[i, j])) + (mp.mpf(float(ridge[i])) if i == j else 0)
        A[n, n] = 0
        solved = mp.lu_solve(A, mp.matrix([*map(float, y), 0]))
        return np.array([float(v) for v in solved[:n]]), float(solved[n])


@over(
    collections(2, least=3, most=6),
    st.lists(st.floats(-3, 3), min_size=6, max_size=6),
    st.sampled_from([0.1, 10.0, 1e4]),
)
def test_least_squares_regression_solves_its_system(drawn, y, gamma):
    X, y = Measures.from_samples(*drawn), np.array(y[: len(drawn[0])])
    found = guarded(lambda: kernel_on(X))
    if isinstance(found, str):
        return
    kernel, K = found
    if 0.0 < np.ptp(y) < 1e-150:  # as documented
        with pytest.raises(InvalidParameterError, match="the values of `y` reach"):
            LSSVMRegressor(kernel, gamma).fit(X, y)
        return
    model = LSSVMRegressor(kernel, gamma).fit(X, y)
    alpha, b = machine(K, y, np.full(len(y), 1 / gamma))
    scale = np.abs(y).max() * (1 + gamma * 1e-16 * len(y))
    np.testing.assert_allclose(model.predict(X), K @ alpha + b, atol=1e-10 * scale * max(1.0, gamma / 1e2))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        alpha, b = machine(K[np.ix_(rest, rest)], y[rest], np.full(len(rest), 1 / gamma))
        left_out = K[i, rest] @ alpha + b
        assert model.loo_predict()[i] == pytest.approx(left_out, abs=1e-9 * scale * max(1.0, gamma / 1e2))


@over(
    collections(2, least=4, most=7),
    st.lists(st.integers(0, 2), min_size=7, max_size=7),
    st.sampled_from(["ovo", "ovr"]),
)
def test_least_squares_classes_are_those_of_binary_machines(drawn, labels, multiclass):
    X, y = Measures.from_samples(*drawn), np.array(labels[: len(drawn[0])])
    y[:3] = [0, 1, 2]
    found = guarded(lambda: kernel_on(X))
    if isinstance(found, str):
        return
    kernel, K = found
    outputs = LSSVMClassifier(kernel, 3.0, multiclass=multiclass).fit(X, y).binary_decisions(X)
    problems = combinations(range(3), 2) if multiclass == "ovo" else [(None, c) for c in range(3)]
    for k, (negative, positive) in enumerate(problems):
        rows = np.flatnonzero((y == positive) | ((y == negative) if negative is not None else True))
        alpha, b = machine(K[np.ix_(rows, rows)], np.where(y[rows] == positive, 1.0, -1.0), np.full(len(rows), 1 / 3))
        np.testing.assert_allclose(outputs[:, k], K[:, rows] @ alpha + b, atol=1e-10)


@over(collections(2, least=3, most=6), st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_gaussian_processes_are_conditional_normal_laws(drawn, y):
    X, y = Measures.from_samples(*drawn), np.array(y[: len(drawn[0])]) + 0.1 * np.arange(len(drawn[0]))
    found = guarded(lambda: kernel_on(X))
    if isinstance(found, str):
        return
    kernel, _ = found
    model = MeasureGPRegressor(kernel, alpha=0.1, optimizer=None).fit(X[1:], y[1:])
    # Projections may be rounded otherwise beside other measures, at 1e8 by 1e-8: the matrices that the model sees.
    A, k = kernel(X[1:]) + 0.1 * np.eye(len(y) - 1), kernel(X[:1], X[1:])[0]
    mean, std = model.predict(X[:1], return_std=True)
    assert mean[0] == pytest.approx(k @ np.linalg.solve(A, y[1:]), abs=1e-10)
    assert std[0] ** 2 == pytest.approx(1.0 - k @ np.linalg.solve(A, k), abs=1e-10)
    expected = stats.multivariate_normal(np.zeros(len(A)), A).logpdf(y[1:])
    assert model.log_marginal_likelihood(model.kernel_.theta) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@over(
    st.integers(2, 3).flatmap(lambda dim: collections(dim, least=2, most=8)),
    st.sampled_from([divergences.Wasserstein(p) for p in (1, 1.5, 2, 3)]),
    st.integers(1, 3),
)
def test_neighbours_are_those_of_brute_force(drawn, divergence, k):
    X = Measures.from_samples(*drawn)
    search = NearestMeasures(divergence, engine=ENGINE).fit(X)
    found = guarded(lambda: pairwise(X, divergence=divergence, engine=ENGINE, return_info=True))
    if isinstance(found, str) or found[1].n_unconverged:  # refused, or reported
        return
    found = found[0]
    assert (bounds_of(divergence, X)(X) <= found).all()
    k = min(k, len(X) - 1)
    try:  # a pair may be solved in one order, and reported in the other
        D = pairwise(X[:1], X[1:], divergence=divergence, engine=ENGINE)[0]
        distances, indices = NearestMeasures(divergence, engine=ENGINE).fit(X[1:]).kneighbors(X[:1], k)
        own, rows = search.kneighbors(n_neighbors=k)
    except ConvergenceWarning:
        return
    scale, p = found.max() or 1.0, divergence.p

    def agree(a, b):
        """The last digits of W_p^p depend on the order of a pair and on the measures beside it."""
        np.testing.assert_allclose((a / scale) ** p, (b / scale) ** p, rtol=1e-12, atol=1e-14)

    agree(distances[0], np.sort(D)[:k])
    agree(distances[0], D[indices[0]])
    for i in range(len(X)):
        assert i not in rows[i]
        agree(own[i], np.sort(np.delete(found[i], i))[:k])


@over(
    st.integers(1, 3).flatmap(lambda dim: collections(dim, kinds=MILD, least=2, most=5)),
    st.sampled_from(["euclidean", "sqeuclidean"]),
    st.sampled_from([0.5, 10.0]),
)
def test_bounds_are_below_entropic_transport(drawn, cost, epsilon):
    X = Measures.from_samples(*drawn)
    divergence = divergences.Sinkhorn(epsilon, cost=cost)
    found = guarded(lambda: pairwise(X, divergence=divergence, engine=ENGINE, return_info=True))
    if isinstance(found, str):
        return
    D, info = found
    below = bounds_of(divergence, X)(X) <= D
    assert (below | (info.status != 0)).all()


@over(collections(2, least=2, most=8), st.integers(1, 3), st.sampled_from(["build", "random", "k-medoids++"]))
def test_medoids_are_a_local_minimum(drawn, k, init):
    X = Measures.from_samples(*drawn)
    k = min(k, len(X))
    D = guarded(lambda: pairwise(X, divergence=SLICED, engine=ENGINE))
    if isinstance(D, str):
        return
    model = clustering.KMedoids(SLICED, k, init, random_state=0, engine=ENGINE).fit(X)
    medoids = list(model.medoid_indices_)

    def loss(chosen):
        return D[list(chosen)].min(axis=0).sum()

    assert len(set(medoids)) == k
    assert model.inertia_ == pytest.approx(loss(medoids), rel=1e-12)
    np.testing.assert_array_equal(model.labels_[medoids], np.arange(k))
    np.testing.assert_array_equal(D[np.array(medoids)[model.labels_], np.arange(len(X))], D[medoids].min(axis=0))
    assert (np.diff(np.bincount(model.labels_, minlength=k)) <= 0).all()
    for i in range(k):
        for other in set(range(len(X))) - set(medoids):
            swapped = [*medoids[:i], other, *medoids[i + 1 :]]
            assert loss(swapped) >= loss(medoids) * (1 - 1e-11)
    near = model.transform(X)
    np.testing.assert_array_equal(near, D[:, medoids])


@over(collections(2, least=2, most=8), st.sampled_from(["single", "complete", "average"]), st.integers(1, 4))
def test_trees_merge_the_nearest_clusters(drawn, linkage, k):
    X = Measures.from_samples(*drawn)
    D = guarded(lambda: pairwise(X, divergence=SLICED, engine=ENGINE))
    if isinstance(D, str):
        return
    k = min(k, len(X))
    tree = clustering.HierarchicalClustering(SLICED, k, linkage, engine=ENGINE).fit(X)
    between = {"single": np.min, "complete": np.max, "average": np.mean}[linkage]
    clusters = {i: [i] for i in range(len(X))}
    for number, (a, b, height, _) in enumerate(tree.linkage_):
        gaps = {(i, j): between(D[np.ix_(clusters[i], clusters[j])]) for i, j in combinations(sorted(clusters), 2)}
        assert height == pytest.approx(min(gaps.values()), rel=1e-10, abs=1e-300)
        clusters[len(X) + number] = clusters.pop(int(a)) + clusters.pop(int(b))
    assert len(np.unique(tree.labels_)) == k


@over(collections(2, least=4, most=7), SEEDS)
def test_learners_do_not_depend_on_the_order_of_samples_and_atoms(drawn, seed):
    random = Random(seed)
    points, weights = drawn
    X, n = Measures.from_samples(points, weights), len(points)
    found = guarded(lambda: kernel_on(X))
    if isinstance(found, str):
        return
    order = np.array(random.sample(range(n), n))
    atoms = [random.sample(range(len(x)), len(x)) for x in points]
    Z = Measures.from_samples([x[a] for x, a in zip(points, atoms, strict=True)],
                              [w[a] for w, a in zip(weights, atoms, strict=True)])  # fmt: skip
    y = np.arange(n) * 0.5
    for model in (
        LSSVMRegressor(found[0], 10.0),
        LSSVMClassifier(found[0], 10.0),
        MeasureGPRegressor(found[0], alpha=0.1, optimizer=None),
    ):
        target = np.arange(n) % 2 if isinstance(model, LSSVMClassifier) else y
        outputs = [
            getattr(model.fit(A, t), "decision_function", model.predict)(X)
            for A, t in ((X, target), (Z[order], target[order]))
        ]
        np.testing.assert_allclose(outputs[1], outputs[0], atol=1e-6)
