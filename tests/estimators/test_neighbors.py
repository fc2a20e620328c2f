"""NearestMeasures against brute force: all distances, then a stable sort."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from tests.estimators.cases import clouds as labelled_clouds

from kermes import Engine, Measures, NearestMeasures, datasets, divergences, ground, pairwise
from kermes.exceptions import ConvergenceWarning, InvalidParameterError, NumericalError, UnsuitableDataError

FRESH = Engine(memo=False)


def brute(Y, X, divergence, k, own=False):
    D = pairwise(Y, X, divergence=divergence, engine=FRESH)
    if own:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


def spread(n, dim, seed=0):
    rng = np.random.default_rng(seed)
    return Measures.from_samples([3 * rng.normal(size=dim) + rng.normal(size=(6, dim)) for _ in range(n)])


@pytest.mark.parametrize("engine", [None, Engine("serial"), Engine(workers=2)])
@pytest.mark.parametrize("p", [1, 2, 2.5])
def test_same_as_brute_force_with_fewer_problems(p, engine):
    X, Y = spread(60, 2), spread(12, 2, seed=1)
    W = divergences.Wasserstein(p)
    search = NearestMeasures(W, n_neighbors=4, engine=engine).fit(X)
    distances, indices, info = search.kneighbors(Y, return_info=True)
    expected, order = brute(Y, X, W, 4)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(distances, expected)
    assert info.n_pairs == 12 * 60
    assert info.n_evaluated < info.n_pairs / 3


@pytest.mark.parametrize("k", [1, 7, 60])
def test_any_number_of_neighbours(k):
    X, Y = spread(60, 3), spread(3, 3, seed=1)
    W = divergences.Wasserstein()
    distances, indices, info = NearestMeasures(W).fit(X).kneighbors(Y, k, return_info=True)
    expected, order = brute(Y, X, W, k)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(distances, expected)
    assert k <= info.n_evaluated // 3 <= 60


def test_ties_go_to_the_first():
    """Copies of a few images: many equal distances, of which brute force takes the first ones."""
    images = np.random.default_rng(0).random((5, 4, 4)).round(1)
    X = Measures.from_images(images[np.random.default_rng(1).integers(0, 5, size=60)])
    Y = Measures.from_images(images + 0.1)
    W = divergences.Wasserstein()
    for k in (1, 8, 30):
        distances, indices = NearestMeasures(W).fit(X).kneighbors(Y, k)
        expected, order = brute(Y, X, W, k)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(distances, expected)


def test_images(clouds):
    X = datasets.load_digits().measures()
    W = divergences.Wasserstein()
    search = NearestMeasures(W, n_neighbors=5).fit(X[:80])
    distances, indices, info = search.kneighbors(X[80:84], return_info=True)
    expected, order = brute(X[80:84], X[:80], W, 5)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    assert info.n_evaluated < info.n_pairs / 2


@pytest.mark.parametrize("divergence", [divergences.Wasserstein(), divergences.MMD(ground.Gaussian(sigma=1.0))])
def test_no_measure_is_its_own_neighbour(divergence):
    X = spread(30, 2)
    distances, indices, info = NearestMeasures(divergence).fit(X).kneighbors(n_neighbors=3, return_info=True)
    expected, order = brute(X, X, divergence, 3, own=True)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    assert info.n_pairs == 30 * 29


@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
def test_entropic_neighbours(cost):
    X, Y = spread(60, 2), spread(8, 2, seed=1)
    S = divergences.Sinkhorn(2.0, cost=cost, tol=1e-6)
    distances, indices, info = NearestMeasures(S, n_neighbors=4).fit(X).kneighbors(Y, return_info=True)
    expected, order = brute(Y, X, S, 4)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-5)
    assert info.n_evaluated < info.n_pairs / 2


@pytest.mark.parametrize(("divergence", "dim"), [(divergences.SlicedWasserstein(), 2), (divergences.Wasserstein(), 1)])
def test_brute_force_where_there_are_no_bounds(divergence, dim):
    X, Y = spread(20, dim), spread(9, dim, seed=1)
    search = NearestMeasures(divergence, engine=FRESH).fit(X)
    search._block = 50
    distances, indices, info = search.kneighbors(Y, return_info=True)
    expected, order = brute(Y, X, divergence, 5)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    assert info.n_evaluated == info.n_pairs == 180


def test_blocks_of_queries_change_nothing():
    X, Y = spread(20, 2), spread(9, 2, seed=1)
    search = NearestMeasures(divergences.Wasserstein(), n_neighbors=2).fit(X)
    distances, indices = search.kneighbors(Y)
    own = search.kneighbors()
    search._block = 50
    np.testing.assert_array_equal(search.kneighbors(Y)[0], distances)
    np.testing.assert_array_equal(search.kneighbors(Y, return_distance=False), indices)
    np.testing.assert_array_equal(search.kneighbors()[1], own[1])


def test_graph_and_scikit_learn():
    X, y = labelled_clouds(60)
    W = divergences.Wasserstein()
    search = NearestMeasures(W, n_neighbors=3).fit(X[:40])
    graph = search.kneighbors_graph(X[40:])
    distances, indices = search.kneighbors(X[40:])
    assert graph.shape == (20, 40)
    assert (graph.sum(axis=1) == 3).all()
    weighted = search.kneighbors_graph(X[40:], mode="distance").toarray()
    np.testing.assert_array_equal(np.take_along_axis(weighted, indices, axis=1), distances)
    model = make_pipeline(NearestMeasures(W, n_neighbors=3), KNeighborsClassifier(3, metric="precomputed"))
    D = pairwise(X, divergence=W)
    peer = KNeighborsClassifier(3, metric="precomputed").fit(D[:40, :40], y[:40])
    np.testing.assert_array_equal(model.fit(X[:40], y[:40]).predict(X[40:]), peer.predict(D[40:, :40]))
    theirs = NearestNeighbors(n_neighbors=3, metric="precomputed").fit(D[:40, :40]).kneighbors()[1]
    np.testing.assert_array_equal(search.kneighbors()[1], theirs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: NearestMeasures(n_neighbors=0).fit(X), "`n_neighbors` must be an integer of at least 1"),
        (lambda X: NearestMeasures(engine="serial").fit(X), "`engine` must be an Engine"),
        (lambda X: NearestMeasures("w").fit(X), "`divergence` must be a divergence such as .* or None; got 'w'"),
        (
            lambda X: NearestMeasures().fit(X).kneighbors(X, 7),
            "`n_neighbors` must be at most 6, the number of",
        ),
        (lambda X: NearestMeasures().fit(X).kneighbors(n_neighbors=6), "`n_neighbors` must be at most 5"),
        (lambda X: NearestMeasures().fit(X).kneighbors_graph(X, mode="nearest"), "`mode` must be one of"),
    ],
)
def test_bad_parameters(call, message):
    data = spread(6, 2)
    with pytest.raises(InvalidParameterError, match=message):
        call(data)


def test_queries_of_another_dimension_are_refused():
    with pytest.raises(UnsuitableDataError, match="`X` has points of dimension 3"):
        NearestMeasures(divergences.Wasserstein()).fit(spread(6, 2)).kneighbors(spread(6, 3))


def test_unconverged_distances_are_reported():
    X = spread(20, 2)
    S = divergences.Sinkhorn(0.5, max_iter=2, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"\d+ distances of Sinkhorn.* did not reach their tolerance"):
        NearestMeasures(S).fit(X).kneighbors()


def test_copies_are_at_distance_zero_for_entropic_transport():
    X = spread(20, 2)
    copies = Measures.from_samples([m.points for m in X], [3.0 * m.weights for m in X])
    distances, indices = NearestMeasures(divergences.Sinkhorn(2.0), n_neighbors=1).fit(X).kneighbors(copies)
    np.testing.assert_array_equal(distances, 0.0)
    np.testing.assert_array_equal(indices[:, 0], np.arange(20))


@pytest.mark.parametrize("dim", [2, 3])
def test_numbers_too_large_are_an_error(dim):
    X = Measures.from_samples([1e200 * m.points for m in spread(5, dim)])
    with pytest.raises(NumericalError, match="found no finite value for"):
        NearestMeasures(divergences.Wasserstein(), n_neighbors=2).fit(X).kneighbors()


def test_a_bound_that_has_no_number_is_left_out():
    """Squares of coordinates of 1e-100 leave no covariance beside light atoms; W_2 itself is a normal number."""
    points = 1e-100 * np.array([[[-2, -1, 1], [1, -2, 2.0]], [[-1, 2, -1], [-1, 0, -2.0]]])
    X = Measures.from_samples(list(points), [[1e-48, 1.0], [1.0, 1e-176]])
    D = pairwise(X, divergence=divergences.Wasserstein())
    distances, indices = NearestMeasures(divergences.Wasserstein()).fit(X).kneighbors(X[:1], 2)
    np.testing.assert_array_equal(indices, [[0, 1]])
    np.testing.assert_allclose(distances, D[:1], rtol=1e-14)
