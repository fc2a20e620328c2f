"""Routes of MMD: each has the accuracy it claims and says so, and pairs do not depend on what else is in the call."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.core.mmd import gaussian_inners
from kermes.core.points import Atoms
from kermes.divergences._embeddings import ByAxes, ByFeatures, ByProducts, OnAtoms, OnSupport
from kermes.divergences._features import KernelSource, pivoted_cholesky
from kermes.divergences._support import common_support, fewest_points

ENGINE = Engine("serial", memo=False)


def clouds(n, size, dim, scale=1.0, seed=0):
    return Measures.from_samples(scale * np.random.default_rng(seed).normal(size=(n, size, dim)))


def truth(X, kernel, pairs):
    """Return MMD^2 in extended precision."""
    gamma = np.longdouble(kernel.params[0])

    def inner(mu, nu):
        gaps = mu.points.astype(np.longdouble)[:, None] - nu.points.astype(np.longdouble)[None]
        separation = np.abs(gaps).sum(axis=2) if isinstance(kernel, ground.Laplacian) else (gaps**2).sum(axis=2)
        a, b = (m.weights.astype(np.longdouble) / m.weights.astype(np.longdouble).sum() for m in (mu, nu))
        return a @ np.exp(-gamma * separation) @ b

    return np.array([inner(X[i], X[i]) + inner(X[j], X[j]) - 2 * inner(X[i], X[j]) for i, j in pairs], dtype=np.float64)


def answers(route, X):
    A, rows = route.prepare(X), np.arange(len(X))
    return route.tile(A, A, rows, rows, False)


WORDS = np.random.default_rng(7).normal(size=(40, 30))
DOCUMENTS = Measures.from_samples([WORDS[np.random.default_rng(i).integers(0, 40, size=25)] for i in range(120)])
GRID = np.random.default_rng(1).integers(0, 3, size=(5, 9, 7)) + np.eye(9, 7, dtype=int)
CASES = {
    "line": (clouds(400, 60, 1), ground.Gaussian(sigma=0.7), ByAxes),
    "plane": (clouds(200, 40, 2), ground.Gaussian(sigma=1.0), ByAxes),
    "space": (clouds(80, 120, 3, 0.5), ground.Gaussian(sigma=2.0), ByAxes),
    "flat": (clouds(100, 60, 5, 0.005), ground.Gaussian(sigma=1.0), ByFeatures),
    "many dimensions": (clouds(5, 30, 40), ground.Gaussian(sigma=6.0), ByProducts),
    "words": (DOCUMENTS, ground.Laplacian(0.05), OnSupport),
    "grid": (Measures.from_images(GRID), ground.Gaussian(sigma=1.5), OnSupport),
    "grid, Laplacian": (Measures.from_images(GRID), ground.Laplacian(0.4), OnSupport),
    "histograms": (
        Measures.from_histograms(GRID.reshape(5, -1), np.random.default_rng(2).normal(size=(63, 2))),
        ground.Laplacian(0.4), OnSupport,
    ),
    "atoms": (clouds(6, 5, 2), ground.Gaussian(sigma=1.0), OnAtoms),
}  # fmt: skip


@pytest.mark.parametrize(("X", "kernel", "kind"), CASES.values(), ids=list(CASES))
def test_routes_are_as_accurate_as_they_say(X, kernel, kind):
    route = divergences.MMD(kernel).route(X, X)
    assert isinstance(route, kind)
    D, info = pairwise(X, divergence=divergences.MMD(kernel), engine=ENGINE, squared=True, return_info=True)
    pairs = [(0, 1), (1, 3), (2, 4), (0, len(X) - 1)]
    found, error = (np.array([table[pair] for pair in pairs]) for table in (D, np.asarray(info.error)))
    assert (np.abs(found - truth(X, kernel, pairs)) <= error).all()
    assert error.max() <= 2e-13
    assert route.work(X, X) > 0


@pytest.mark.parametrize("name", ["plane", "flat", "many dimensions", "words", "grid"])
def test_a_pair_does_not_depend_on_the_others(name):
    X, kernel, _ = CASES[name]
    D = divergences.MMD(kernel)
    many = pairwise(X, divergence=D, engine=ENGINE, squared=True)
    assert_allclose(pairwise(X[:2], divergence=D, engine=ENGINE, squared=True)[0, 1], many[0, 1], atol=1e-13)
    far = Measures.from_samples(
        [*(m.points for m in X[:3]), X[0].points + 1e6], [*(m.weights for m in X[:3]), X[0].weights]
    )
    assert_allclose(pairwise(far, divergence=D, engine=ENGINE, squared=True)[:3, :3], many[:3, :3], atol=1e-13)


def test_what_features_miss_is_computed_from_atoms():
    X, kernel = clouds(6, 30, 2), ground.Gaussian(sigma=1.0)
    near = X.points[(X.points**2).sum(axis=1) < 1.0]
    route = ByFeatures(KernelSource(kernel), pivoted_cholesky(kernel, near, 1e-14, 400))
    A = route.prepare(X)
    assert A.core.missed.any()
    tile, atoms = answers(route, X), answers(OnAtoms(KernelSource(kernel)), X)
    above = np.triu_indices(6, 1)
    assert (np.abs(tile.values - atoms.values)[above] <= tile.error[above]).all()
    assert_allclose(tile.values[above], atoms.values[above], atol=1e-13)


def test_long_measures_are_checked_point_by_point(monkeypatch):
    X, kernel = clouds(4, 50, 2, 0.3), ground.Gaussian(sigma=1.0)
    route = ByFeatures(KernelSource(kernel), pivoted_cholesky(kernel, X.points, 5e-15, 200))
    short = answers(route, X)
    monkeypatch.setattr("kermes.divergences._embeddings.LONG", 20)
    long = answers(route, X)
    assert_array_equal(long.values, short.values)
    assert (long.error >= np.abs(long.values - answers(OnAtoms(KernelSource(kernel)), X).values)).all()


def test_close_measures_keep_their_digits():
    """Differences of potentials and of features do not cancel as those of norms do."""
    rng = np.random.default_rng(0)
    H = np.ones((2, 50)) + 1e-6 * rng.normal(size=(2, 50))
    X, kernel = Measures.from_histograms(H, rng.normal(size=(50, 2))), ground.Laplacian(1.0)
    found = answers(OnSupport.of(kernel, X, common_support(X, X)), X).values[0, 1]
    points, weights = X.support.points.astype(np.longdouble), H.astype(np.longdouble)
    difference = np.subtract(*weights / weights.sum(axis=1, keepdims=True))
    K = np.exp(-np.longdouble(kernel.params[0]) * np.abs(points[:, None] - points[None]).sum(axis=2))
    assert_allclose(found, float(difference @ K @ difference), rtol=2e-9)  # 4e-14: that of norms is rounding


def test_columns_in_any_order():
    X, kernel, _ = CASES["many dimensions"]
    route = divergences.MMD(kernel).route(X, X)
    A, cols = route.prepare(X), np.array([3, 0, 4])
    whole = route.tile(A, A, np.arange(5), np.arange(5), False).values
    assert_allclose(route.tile(A, A, np.array([2, 1]), cols, False).values, whole[np.ix_([2, 1], cols)], atol=1e-15)
    upper = route.tile(A, A, np.arange(5), np.arange(5), True).values
    assert_allclose(np.triu(upper, 1), np.triu(whole, 1), atol=1e-15)


def test_far_points_leave_products_to_differences():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(3, 30, 40)) + 1e3 * np.arange(3)[:, None, None])
    assert isinstance(divergences.MMD(ground.Gaussian(sigma=6.0)).route(X, X), OnAtoms)


def test_exact_embeddings_estimate_no_error():
    X = clouds(3, 5, 2)
    for kernel in (ground.Linear(), ground.Polynomial(2)):
        assert pairwise(X, divergence=divergences.MMD(kernel), engine=ENGINE, return_info=True)[1].error is None


def test_the_work_of_huge_clouds_says_so():
    """A million points of full rank are no matter of minutes; in the plane they are."""
    X = clouds(2, 3000, 10)
    assert divergences.MMD(ground.Gaussian(sigma=3.0)).route(X, X).work(X, X) >= 3000**2
    Y = clouds(2, 3000, 2)
    assert divergences.MMD(ground.Gaussian(sigma=1.0)).route(Y, Y).work(Y, Y) < 2000


def test_equal_points_are_counted_once():
    """The count decides whether sorting all points can pay; more than there are would hide a shared support."""
    X = Measures.from_samples([[[0.0, 1.0], [2.0, 3.0]], [[-0.0, 1.0], [2.0, 3.5]]])
    assert fewest_points(X, X) == 3
    assert fewest_points(X, X[:1]) == 3


def test_estimates_of_routes_grow_with_the_work():
    """Which route is taken changes no value, only the time: more pairs or points never look cheaper."""
    rng = np.random.default_rng(0)
    X, Y = (Measures.from_histograms(rng.random((4, m)), rng.normal(size=(m, 2))) for m in (20, 40))
    mmd = divergences.MMD(ground.Gaussian(sigma=1.0))
    estimates = [mmd._support(Z, Z, n_pairs, 1e9)[1] for Z in (X, Y) for n_pairs in (10.0, 1e4, 1e6)]
    assert estimates[:3] == sorted(estimates[:3])
    assert len(set(estimates)) == 6
    assert all(small < large for small, large in zip(estimates[:3], estimates[3:], strict=True))
    assert estimates[2] > 100 * estimates[0]
    claims = mmd.claims(2)
    assert claims.negative_type == 2.0
    assert claims.metric


@pytest.mark.parametrize("same", [True, False])
def test_inner_products_of_a_kernel_whose_diagonal_is_not_1(same):
    """By all atoms, against plain sums: each pair of atoms of one measure is computed once."""
    kernel, rng = ground.Polynomial(3, 0.5, 0.7), np.random.default_rng(0)
    X = Measures.from_samples([rng.normal(size=(n, 2)) for n in (1, 4, 6)], [rng.random(n) + 0.1 for n in (1, 4, 6)])
    Y = X if same else Measures.from_samples([rng.normal(size=(3, 2)), rng.normal(size=(5, 2))])
    route = OnAtoms(KernelSource(kernel))
    A, B = route.prepare(X), route.prepare(Y)
    values = route.tile(A, B, np.arange(len(X)), np.arange(len(Y)), False).values
    for i, mu in enumerate(X):
        for j, nu in enumerate(Y):
            x, y, a, b = mu.points, nu.points, mu.weights / mu.mass, nu.weights / nu.mass
            wanted = a @ kernel(x, x) @ a + b @ kernel(y, y) @ b - 2 * a @ kernel(x, y) @ b
            assert_allclose(values[i, j], wanted, atol=1e-12)


def test_features_of_the_mean_are_sums_over_all_atoms():
    rng = np.random.default_rng(0)
    X = Measures.from_samples([rng.normal(size=(n, 2)) for n in (1, 4, 6)])
    kernel = ground.Gaussian(sigma=2.0)
    route = ByFeatures(KernelSource(kernel), pivoted_cholesky(kernel, X.points, 1e-14, 50))
    exact, _ = pairwise(X, divergence=divergences.MMD(kernel), squared=True, return_info=True)
    assert_allclose(answers(route, X).values, exact, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 8, 11, 256, 261, 600])
def test_inner_products_of_gaussians_at_any_size(size):
    """Atoms go through in fours, in lanes and in chunks, and each pair of one measure counts once."""
    rng = np.random.default_rng(size)
    x, y, gamma = rng.normal(size=(3, size)), 1e8 + rng.normal(size=(3, 13)), 0.3
    y[:, :5] = x[:, :1] + 0.1
    a, b, once = rng.random(size), rng.random(13), np.zeros(1, dtype=np.int64)
    A, B = (Atoms(*side, np.array([0, len(side[1])]), once) for side in ((x, a), (y, b)))
    for Z, w, same in ((A, a, True), (B, b, False)):
        K = np.exp(-gamma * ((Z.coordinates[:, :, None] - x[:, None]) ** 2).sum(axis=0))
        found = np.empty(1)
        gaussian_inners(gamma, Z, once, A, once, same, found)
        assert_allclose(found, w @ K @ a, rtol=1e-14)
