import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

from kermes import divergences, ground
from kermes.exceptions import InvalidParameterError
from kermes.ground._costs import _SCIPY

rng = np.random.default_rng(0)
x, y = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))


def torus(a, b):
    gap = np.abs(a[:, None] - b[None]) % 1.5
    return np.linalg.norm(np.minimum(gap, 1.5 - gap), axis=-1)


GROUNDS = [
    (ground.Euclidean(), cdist),
    (ground.SqEuclidean(), lambda a, b: cdist(a, b, "sqeuclidean")),
    (ground.Binary(2.5), lambda a, b: 2.5 * (cdist(a, b) > 0)),
    (ground.Torus(1.5), torus),
    (ground.Metric("chebyshev"), lambda a, b: cdist(a, b, "chebyshev")),
    (ground.Linear(), linear_kernel),
    (ground.Gaussian(gamma=0.3), lambda a, b: rbf_kernel(a, b, gamma=0.3)),
    (ground.Gaussian(sigma=2.0), lambda a, b: rbf_kernel(a, b, gamma=1 / 8)),
    (ground.Polynomial(3, 0.5, 0.2), lambda a, b: polynomial_kernel(a, b, 3, 0.2, 0.5)),
    (ground.Laplacian(0.4), lambda a, b: laplacian_kernel(a, b, 0.4)),
]
each = pytest.mark.parametrize(("geometry", "peer"), GROUNDS, ids=lambda g: repr(g) if hasattr(g, "code") else "")


@each
def test_agrees_with_scipy_and_scikit_learn(geometry, peer):
    both = np.vstack([x, y[:2]])  # some points in common
    assert_allclose(geometry(both, y), peer(both, y), rtol=1e-12, atol=1e-14)
    assert_allclose(geometry(x), peer(x, x), rtol=1e-12, atol=1e-14)
    assert_allclose(geometry(x[:, 0], y[:, 0]), peer(x[:, :1], y[:, :1]), rtol=1e-12, atol=1e-14)


@each
def test_is_a_value(geometry, peer):
    assert clone(geometry) is geometry
    assert pickle.loads(pickle.dumps(geometry)) == geometry
    assert eval(repr(geometry), vars(ground)) == geometry


def test_costs_by_name_and_table():
    assert ground.as_cost("euclidean") == ground.Euclidean()
    assert ground.as_cost(ground.Torus(2.0)) == ground.Torus(2.0)
    table = cdist(x, x)
    table = (table + table.T) / 2
    np.fill_diagonal(table, 0)
    matrix = ground.as_cost(table)
    assert matrix == ground.Matrix(table.copy())
    assert hash(matrix) == hash(ground.Matrix(table.copy()))
    assert matrix != ground.Matrix(2 * table)
    assert repr(matrix) == "Matrix(values=<7 x 7>)"
    assert_allclose(np.asarray(matrix.values), table)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ground.Gaussian(), "exactly one of `sigma`"),
        (lambda: ground.Gaussian(sigma=1.0, gamma=1.0), "exactly one of `sigma`"),
        (lambda: ground.Gaussian(sigma=0.0), "`sigma` must be a finite number greater than 0"),
        (lambda: ground.Gaussian(gamma=np.inf), "`gamma` must be a finite number"),
        (lambda: ground.Gaussian(sigma="1"), "`sigma` must be a finite number"),
        (lambda: ground.Polynomial(degree=0), "`degree` must be an integer of at least 1"),
        (lambda: ground.Polynomial(coef0=-1.0), "indefinite"),
        (lambda: ground.Laplacian(-1.0), "`gamma`"),
        (lambda: ground.Torus(0), "`period`"),
        (lambda: ground.Binary(True), "`scale`"),
        (lambda: ground.as_cost("sqeuclidian"), "Did you mean 'sqeuclidean'"),
        (lambda: ground.as_cost(3), "`cost` must be one of"),
        (lambda: ground.Matrix(np.ones((2, 3))), r"`cost matrix` must be a square array; got shape \(2, 3\)"),
        (lambda: ground.Matrix([[0, -1], [-1, 0]]), r"entry \(0, 1\) is -1"),
        (lambda: ground.Matrix([[0, 1], [2, 0]]), "symmetric"),
        (lambda: ground.Euclidean()(x, y[:, :2]), "`x` has dimension 3, `y` dimension 2"),
        (lambda: ground.Euclidean()(np.ones((1, 1, 1))), r"points of shape \(n, d\)"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


def cosine(x, y):
    return 1.0 - (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))


@njit
def pairwise_manhattan(x, y):
    return np.abs(x - y).sum()


@dataclass(frozen=True)
class Weighted(ground.Cost):
    factor: float = 2.0

    def between(self, x, y):
        return self.factor * cdist(x, y)


@dataclass(frozen=True)
class Rational(ground.PointKernel):
    characteristic = True

    def between(self, x, y):
        return 1.0 / (1.0 + cdist(x, y, "sqeuclidean"))


def test_costs_of_ones_own():
    assert_allclose(ground.as_cost(cosine)(x, y), cdist(x, y, "cosine"), atol=1e-14)
    assert_allclose(ground.as_cost("cityblock")(x, y), cdist(x, y, "cityblock"))
    assert_allclose(ground.as_cost(pairwise_manhattan)(x, y), cdist(x, y, "cityblock"))
    assert_allclose(Weighted(3.0)(x), 3.0 * cdist(x, x))
    assert ground.as_cost(cosine) == ground.CostFunction(cosine)
    assert hash(ground.as_cost(cosine)) == hash(ground.CostFunction(cosine))
    assert Weighted().with_params(factor=3.0) == Weighted(3.0)
    table = ground.as_cost("cosine").table(x)
    assert_array_equal(table, table.T)
    assert not np.diagonal(table).any()


def test_point_kernels_of_ones_own():
    expected = 1.0 / (1.0 + cdist(x, y) ** 2)
    assert_allclose(Rational()(x, y), expected)
    assert_allclose(ground.as_point_kernel(Rational().between)(x, y), expected)
    assert_allclose(Rational().diagonal(np.repeat(x, 40, axis=0)), np.ones(280))
    assert ground.as_point_kernel(Rational()) == Rational()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: ground.as_cost(lambda x, y: 1.0)(x, y),
            r"shape \(n, m\).*7 and 4 points its shape is \(\).*numba.njit",
        ),
        (lambda: ground.as_cost(lambda x, y: -cdist(x, y))(x, y), "must be at least 0; between x"),
        (lambda: ground.as_cost(lambda x, y: np.full((7, 4), np.nan))(x, y), "finite numbers; between"),
        (lambda: ground.as_cost(lambda x, y: 1.0 + cdist(x, y)).table(x), "must be 0 between equal points"),
        (lambda: ground.as_cost(lambda x, y: np.maximum(x[:, :1] - y[:, 0], 0)).table(x), "must be symmetric"),
        (lambda: ground.Matrix(1 - np.eye(2))(x), "between the bins of a support, not between points"),
        (lambda: ground.as_cost(ground.Linear()), "`cost` must be one of"),
        (lambda: ground.as_cost("mahalanobis"), "`cost` must be one of"),
        (lambda: ground.as_point_kernel("gaussian"), "`ground` must be a point kernel"),
        (lambda: ground.as_point_kernel(ground.Euclidean()), "`ground` must be a point kernel"),
        (lambda: ground.as_point_kernel(lambda x, y: x @ (2 * y).T + x[:, :1]).table(x), "must be symmetric"),
    ],
)
def test_what_is_wrong_with_a_function_is_said(use, message):
    with pytest.raises(InvalidParameterError, match=message):
        use()


def test_a_ground_without_a_formula_says_what_to_define():
    class Empty(ground.Cost):
        pass

    with pytest.raises(TypeError, match=r"Empty must define between\(x, y\)"):
        Empty()(x, y)


def test_a_name_and_its_cost_make_equal_divergences():
    for make in (divergences.Wasserstein, lambda **k: divergences.Sinkhorn(1.0, **k)):
        by_name, by_value = make(cost="euclidean"), make(cost=ground.Euclidean())
        assert by_name == by_value
        assert hash(by_name) == hash(by_value)
    assert divergences.Wasserstein(cost="torus").with_params(cost__period=24.0).cost == ground.Torus(24.0)
    assert divergences.Wasserstein().with_params(cost="binary") == divergences.Wasserstein(cost=ground.Binary())


def test_largest_cost_on_a_torus_is_no_rounding():
    """The corners of a box of whole periods are one point."""
    low, high = np.zeros(2), np.full(2, 2.0)
    assert ground.Torus(1.0).largest(low, high) == np.sqrt(0.5)
    assert ground.Euclidean().largest(low, high) == np.sqrt(8.0)
    assert ground.Matrix(3 * (1 - np.eye(2))).largest(low, high) == 3.0


@pytest.mark.parametrize("sigma", [1e160, 1e-165])
def test_a_sigma_whose_square_is_no_number_is_refused(sigma):
    with pytest.raises(InvalidParameterError, match=r"`sigma` must be a finite number in \[1e-150, 1e\+150\]"):
        ground.Gaussian(sigma=sigma)


#: Points x, y, z by name for which SciPy's distance breaks d(x, z) <= d(x, y) + d(y, z), or d(x, y) > 0.
NO_METRICS = {
    "cosine": [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
    "correlation": [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
    "braycurtis": [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
    "jensenshannon": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 2.0, 1.0]],
}


@pytest.mark.parametrize("name", _SCIPY)
def test_which_distances_of_scipy_are_metrics(name):
    """That of Jensen and Shannon was said to be one: SciPy divides vectors by their sums."""
    found = ground.Metric(name).metric
    assert found is (name not in NO_METRICS)
    assert divergences.Wasserstein(1, name).claims(3).metric is (found or None)
    if not found:
        D = cdist(NO_METRICS[name], NO_METRICS[name], name)
        assert D[0, 2] > D[0, 1] + D[1, 2] + 1e-3 or D[0, 1] < 1e-9
        return
    random = np.random.default_rng(0)
    parts = random.normal(size=(40, 3)), random.integers(-1, 2, size=(30, 3)), random.gamma(0.5, size=(30, 3))
    points = np.unique(np.vstack(parts), axis=0)
    D = cdist(points, points, name)
    assert (D[:, None] <= D[:, :, None] + D[None] + 1e-12).all()
    assert (D[~np.eye(len(D), dtype=bool)] > 0).all()


@pytest.mark.parametrize("base", [ground.Euclidean, ground.SqEuclidean, ground.Torus, ground.Linear, ground.Gaussian])
@pytest.mark.parametrize("method", ["between", "diagonal", "pick"])
def test_values_of_compiled_grounds_cannot_be_replaced(base, method):
    """Cores know them by their code, and would go on with the values of the base."""
    with pytest.raises(TypeError, match=f"Own defines {method}, but compiled code knows the values of {base.__name__}"):
        type("Own", (base,), {method: lambda self, *points: 0.0})
    assert type("Named", (base,), {"nickname": "mine"}).code == base.code


@pytest.mark.parametrize("base", [divergences.MMD, divergences.Wasserstein, divergences.Sinkhorn])
def test_tiles_that_would_not_be_called_are_refused(base):
    with pytest.raises(TypeError, match=f"Own defines tile, but {base.__name__} computes pairs by what its method"):
        type("Own", (base,), {"tile": lambda self, *arguments: None})
    assert issubclass(type("Counted", (base,), {"route": base.route, "work": base.work}), base)
