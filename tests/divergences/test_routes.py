"""A divergence may take several routes to the same number; they agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.core import vectors
from kermes.divergences import _embeddings as embeddings
from kermes.divergences import _euclidean as euclidean_module
from kermes.divergences import _wasserstein_routes as wasserstein_routes
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.ground import as_cost

ENGINE = Engine("serial", memo=False)


def all_pairs(route, X):
    A, rows = route.prepare(X), np.arange(len(X))
    return route.tile(A, A, rows, rows, False).values


def test_equal_uniform_measures_are_vectors_of_quantiles():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(6, 7))
    fast = Measures.from_samples(samples)
    merged = Measures.from_samples(samples, [np.full(7, 0.3)] * 5 + [np.r_[np.full(6, 0.3), 0.3 + 1e-15]])
    for p in (1, 2, 2.5):
        W = divergences.Wasserstein(p=p)
        assert isinstance(W.route(fast, fast), wasserstein_routes.AlignedLine)
        assert type(W.route(merged, merged)) is wasserstein_routes.Line
        assert_allclose(
            pairwise(fast, divergence=W, engine=ENGINE), pairwise(merged, divergence=W, engine=ENGINE), rtol=1e-12
        )


def test_mmd_on_a_grid_equals_mmd_on_points():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 3, size=(6, 5, 4))
    X = Measures.from_images(images)
    free = Measures.from_samples([m.points for m in X], [m.weights for m in X])
    for kernel in (ground.Gaussian(sigma=2.0), ground.Laplacian(0.3)):
        D = divergences.MMD(kernel)
        assert isinstance(D.route(X, X), embeddings.OnSupport)
        assert isinstance(D.route(free, free), embeddings.OnAtoms)
        assert_allclose(
            pairwise(X, divergence=D, engine=ENGINE), pairwise(free, divergence=D, engine=ENGINE), atol=1e-8
        )


def test_euclidean_dense_equals_sparse():
    rng = np.random.default_rng(0)
    histograms = rng.integers(0, 2, size=(6, 30)) + np.eye(6, 30)
    D = divergences.Euclidean()
    X, wide = (Measures.from_histograms(np.pad(histograms, ((0, 0), (0, n))), np.arange(30 + n)) for n in (0, 1000))
    dense, sparse = D.route(X, X), D.route(wide, wide)
    assert isinstance(dense, euclidean_module._Dense)
    assert isinstance(sparse, euclidean_module._Sparse)
    assert_allclose(all_pairs(sparse, wide), all_pairs(dense, X), rtol=1e-14)


def test_euclidean_is_the_distance_of_normalised_pixels():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 4, size=(5, 6, 6)) + 1
    flat = images.reshape(5, -1) / images.sum(axis=(1, 2))[:, None]
    expected = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    X = Measures.from_images(images)
    assert_allclose(pairwise(X, divergence=divergences.Euclidean(), engine=ENGINE), expected, atol=1e-15)


def test_precomputed_looks_up():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=-1)
    rows = np.array([[4], [0], [5]])
    divergence = divergences.Precomputed(D)
    assert_allclose(pairwise(rows, divergence=divergence), D[np.ix_([4, 0, 5], [4, 0, 5])])
    assert divergence == divergences.Precomputed(D.copy())
    assert hash(divergence) == hash(divergences.Precomputed(D.copy()))
    assert divergence != divergences.Precomputed(D + 1 - np.eye(6))


def test_sliced_routes_agree():
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(6, 5, 3))
    aligned = Measures.from_samples(clouds)
    # One extra cloud of another size, or of other weights, moves all of them to the next route.
    uniform = Measures.from_samples([*clouds, np.zeros((2, 3))])
    weighted = Measures.from_samples([*clouds, np.zeros((2, 3))], [*np.ones((6, 5)), [1, 2]])
    S = divergences.SlicedWasserstein(n_slices=30)
    routes = [type(S.route(X, X)).__name__ for X in (aligned, uniform, weighted)]
    assert routes == ["_Aligned", "_Uniform", "_Weighted"]
    expected = pairwise(aligned, divergence=S, engine=ENGINE)
    for X in (uniform, weighted):
        assert_allclose(pairwise(X, divergence=S, engine=ENGINE)[:6, :6], expected, rtol=1e-12)


def test_wide_vectors_keep_their_accuracy():
    """The matrix product cancels for close vectors; they are computed again by differences."""
    rng = np.random.default_rng(0)
    a = 100.0 + rng.normal(size=(5, 500))
    a[1] = a[0] + 1e-9 * rng.normal(size=500)
    rows = np.arange(5)
    expected = ((a[:, None] - a[None]) ** 2).sum(axis=-1)
    assert_allclose(vectors.squared_tile(a, rows, a, rows, False), expected, rtol=1e-11)
    assert_allclose(vectors.squared_tile(a, rows[::2], a, rows[::-1], False), expected[::2, ::-1], rtol=1e-11)


def test_cost_matrix_equals_the_cost_it_tabulates():
    rng = np.random.default_rng(0)
    support = rng.normal(size=(6, 2))
    X = Measures.from_histograms(rng.integers(0, 3, size=(5, 6)) + np.eye(5, 6), support)
    table = ground.Euclidean()(support)
    for p in (1, 2):
        given = pairwise(X, divergence=divergences.Wasserstein(p=p, cost=table), engine=ENGINE)
        direct = pairwise(X, divergence=divergences.Wasserstein(p=p), engine=ENGINE)
        assert_allclose(given, direct, atol=1e-7)


def test_exact_transport_with_and_without_a_table_of_costs():
    """Costs are tabulated where pairs share points, and an entry of the table is used more than once."""
    rng = np.random.default_rng(0)
    X = Measures.from_samples([rng.integers(0, 3, size=(8, 2)) for _ in range(6)])
    for p in (1.0, 2.0):
        tabulated, computed = (
            wasserstein_routes.NetworkSimplex.of(ground.Euclidean(), p, X, X, largest) for largest in (100, 0)
        )
        assert tabulated.table is not None
        assert computed.table is None
        apart = Measures.from_samples(rng.normal(size=(6, 8, 2)))
        assert wasserstein_routes.NetworkSimplex.of(ground.Euclidean(), p, apart, apart).table is None
        assert_allclose(all_pairs(computed, X), all_pairs(tabulated, X), atol=1e-12)


def outlier(rng):
    """Clouds with one common point so far away that its costs swamp those of the others in double precision."""
    far = [[1e8, 1e8]]
    return [np.vstack([rng.normal(size=(20, 2)), far]) for _ in range(2)]


@pytest.mark.parametrize(("p", "make"), [(2.0, outlier), (40.0, lambda rng: list(rng.normal(size=(2, 20, 2))))])
def test_exact_transport_is_exact_when_costs_span_many_digits(p, make):
    x, y = make(np.random.default_rng(0))
    costs = cdist(x, y) ** p
    expected = costs[linear_sum_assignment(costs)].mean() ** (1 / p)
    found = pairwise(Measures.from_samples([x, y]), divergence=divergences.Wasserstein(p), engine=ENGINE)[0, 1]
    assert_allclose(found, expected, rtol=1e-12)


def test_common_mass_moves_where_the_costs_are_no_metric():
    X = Measures.from_histograms([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], support=[0.0, 1.0, 2.0])
    costs = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    assert pairwise(X, divergence=divergences.Wasserstein(1, costs), engine=ENGINE)[0, 1] == 1.0


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_exact_transport_scales(scale, clouds):
    X = clouds(4, 2)
    large = X.map_points(lambda points: scale * points)
    for p in (1.0, 2.0):
        W = divergences.Wasserstein(p)
        expected = scale * pairwise(X, divergence=W, engine=ENGINE)
        assert_allclose(pairwise(large, divergence=W, engine=ENGINE), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: divergences.Wasserstein(p=0.5), "`p` must be a finite number of at least 1"),
        (lambda: divergences.Wasserstein(p=np.nan), "`p` must be a finite number"),
        (lambda: divergences.Wasserstein(cost="euclidian"), "Did you mean 'euclidean'"),
        (lambda: divergences.Wasserstein(cost="sqeuclidean"), "Use cost='euclidean' with p=2"),
        (lambda: divergences.SlicedWasserstein(n_slices=0), "`n_slices` must be an integer of at least 1"),
        (lambda: divergences.SlicedWasserstein(p=0.9), "`p` must be a finite number of at least 1"),
        (lambda: divergences.MMD("gaussian"), "`ground` must be a point kernel"),
        (lambda: divergences.Precomputed(np.ones((2, 3))), "square"),
        (lambda: divergences.Precomputed([[0, np.nan], [np.nan, 0]]), r"entry \(0, 1\) is nan"),
        (lambda: divergences.Precomputed([[0, 1], [2, 0]]), "must be symmetric"),
        (lambda: divergences.Precomputed(np.ones((2, 2))), r"entry \(0, 0\) is 1.0. Is it a similarity"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


@pytest.mark.parametrize(
    ("X", "divergence", "message"),
    [
        (np.eye(2), divergences.Wasserstein(cost=1 - np.eye(2)), "needs measures on a shared support"),
        (
            Measures.from_histograms(np.eye(3), np.arange(3)),
            divergences.Wasserstein(cost=1 - np.eye(2)),
            "cost matrix is 2 x 2, but the measures share a support of 3 points",
        ),
        (np.array([[0.5]]), divergences.Precomputed(np.zeros((2, 2))), "row numbers"),
        (np.array([[0], [2]]), divergences.Precomputed(np.zeros((2, 2))), "measure 1 is row 2"),
    ],
)
def test_unsuitable_data(X, divergence, message):
    with pytest.raises(UnsuitableDataError, match=message):
        pairwise(X, divergence=divergence, engine=ENGINE)


def test_dimensions_must_agree():
    with pytest.raises(UnsuitableDataError, match="`X` has points of dimension 2, `Y` of dimension 3"):
        pairwise(np.eye(2), np.eye(3), divergence=divergences.Euclidean())


def test_equal_measures_up_to_rounding_have_nothing_to_transport():
    """One weight differs in its last bit: for p = 1 some mass is left over on one side only."""
    points = np.eye(3)
    weights = np.array([0.1, 0.2, 0.7])
    rounded = weights.copy()
    rounded[0] = np.nextafter(0.1, 1.0)
    X = Measures.from_samples([points, points], [weights, rounded])
    difference = X.probabilities[:3] - X.probabilities[3:]
    assert (difference <= 0).all() or (difference >= 0).all()
    assert difference.any()
    for Y in (X, Measures.from_samples([points, points], [rounded, weights])):
        D = pairwise(Y, divergence=divergences.Wasserstein(p=1), engine=ENGINE)
        assert_allclose(D, 0.0, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-3, 1e-7, 1e-30, 1e-100, 1e40])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_exact_transport_scales_with_the_points(p, scale):
    """The solver's tolerance is absolute: points 1e-7 apart were once matched at random."""
    rng = np.random.default_rng(3)
    clouds = [rng.normal(size=(rng.integers(5, 30), 2)) for _ in range(8)]
    W = divergences.Wasserstein(p=p)
    expected = pairwise(Measures.from_samples(clouds), divergence=W)
    found = pairwise(Measures.from_samples([scale * cloud for cloud in clouds]), divergence=W)
    assert_allclose(found / scale, expected, rtol=1e-12)


def doubled(x, y):
    return 2.0 * np.linalg.norm(x[:, None] - y[None], axis=-1)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("p", [1, 2])
def test_transport_under_a_cost_of_ones_own(p, dim, clouds):
    X = clouds(5, dim)
    own = divergences.Wasserstein(p=p, cost=doubled)
    built_in = divergences.Wasserstein(p=p)
    assert_allclose(pairwise(X, divergence=own), 2.0 * pairwise(X, divergence=built_in), atol=1e-7)
    assert_allclose(own.plan_costs(X[0], X[1]), 2.0**p * built_in.plan_costs(X[0], X[1]))
    cityblock = divergences.Wasserstein(p=p, cost="cityblock")
    assert_allclose(
        pairwise(X, divergence=cityblock),
        pairwise(X, divergence=divergences.Wasserstein(p=p, cost=lambda x, y: np.abs(x[:, None] - y).sum(axis=2))),
        atol=1e-7,
    )


def test_entropic_transport_under_a_cost_of_ones_own(clouds):
    X = clouds(5, 2)
    for value in ("transport", "debiased"):
        own = divergences.Sinkhorn(1.0, cost=doubled, value=value)
        built_in = divergences.Sinkhorn(0.5, cost="euclidean", value=value)
        assert_allclose(pairwise(X, divergence=own), 2.0 * pairwise(X, divergence=built_in), rtol=1e-5, atol=1e-9)
    many = Measures.from_samples(np.random.default_rng(0).normal(size=(3, 700, 2)))
    with pytest.raises(UnsuitableDataError, match=r"not compiled.*2100 different points.*Wasserstein"):
        pairwise(many, divergence=divergences.Sinkhorn(1.0, cost=doubled))


def test_common_mass_moves_if_the_cost_is_no_metric():
    """Two short steps cost less than one long one: the mass at 1 is pushed on, not jumped over."""
    support = np.arange(3.0)
    X = Measures.from_histograms([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], support)
    squares = (support[:, None] - support) ** 2
    W = divergences.Wasserstein(p=1, cost=squares)
    assert_allclose(pairwise(X, divergence=W)[0, 1], 1.0)
    assert_allclose((W.plan(X[0], X[1]) * W.plan_costs(X[0], X[1])).sum(), 1.0)


def smooth(x, y):
    return np.exp(-0.5 * ((x[:, None] - y[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize(
    "make",
    [
        divergences.MMD,
        divergences.GaussianWasserstein,
        divergences.GaussianKL,
        lambda k: divergences.GeneralizedVariance(0.1, k),
        lambda k: divergences.Bhattacharyya(k, 0.1),
    ],
)
def test_point_kernels_of_ones_own(make, clouds):
    own, built_in = make(smooth), make(ground.Gaussian(sigma=1.0))
    assert own == make(ground.KernelFunction(smooth))
    X = clouds(6, 2)
    histograms = Measures.from_images(np.random.default_rng(0).integers(0, 3, size=(4, 3, 3)) + 1)
    for Y in (X, histograms):
        assert_allclose(
            pairwise(Y, divergence=own, engine=ENGINE), pairwise(Y, divergence=built_in, engine=ENGINE), atol=1e-6
        )


def test_too_many_points_for_a_table_of_ones_own_kernel():
    many = Measures.from_samples(np.random.default_rng(0).normal(size=(3, 700, 2)))
    with pytest.raises(UnsuitableDataError, match="not compiled: its values are tabulated"):
        pairwise(many, divergence=divergences.MMD(smooth), engine=ENGINE)


def test_a_cost_of_ones_own_without_a_table():
    """Pair by pair, each entry of a tile: that of the same cost in compiled code."""
    rng = np.random.default_rng(0)
    X, Y = (Measures.from_samples(rng.normal(size=(n, 4, 2))) for n in (3, 4))
    cost = as_cost(lambda x, y: cdist(x, y))
    for p in (1.0, 2.0):
        route = wasserstein_routes.NetworkSimplex.of(cost, p, X, Y, largest=0)
        assert route.table is None
        A, B = route.prepare(X), route.prepare(Y)
        found = route.tile(A, B, np.arange(3), np.arange(4), False).values
        assert_allclose(found, pairwise(X, Y, divergence=divergences.Wasserstein(p), engine=ENGINE) ** p, rtol=1e-12)
