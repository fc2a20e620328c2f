"""The theorems of `gpm` on random points of the simplex, many of them on its faces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles.transport import transport_cost

from kermes import Measures, divergences, ground, pairwise
from kermes.exceptions import InvalidMeasureError, InvalidParameterError, NumericalError, UnsuitableDataError
from kermes.kernels import inverse_squared_rho
from kermes.papers.gpm import equivalence

SIZES = (2, 3, 5, 10)


def simplex_points(n, m, seed=0):
    """Random weights; half of them have zeros, one is a vertex, and two pairs of coordinates agree."""
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.ones(m), size=n)
    A[::2] *= rng.random((len(A[::2]), m)) < 0.6
    A[A.sum(axis=1) == 0] = np.eye(m)[0]
    return A / A.sum(axis=1, keepdims=True)


def pairs(m, n=60, seed=0):
    A, B = simplex_points(n, m, seed), simplex_points(n, m, seed + 1)
    B[0] = A[0]
    B[1] = np.eye(m)[0]
    if m > 2:  # some coordinates agree, the others do not
        B[2:6] = A[2:6]
        B[2:6, :2] = A[2:6, 1::-1]
    return list(zip(A, B, strict=True))


def uniform(m, c=4.0):
    return c * (1 - np.eye(m))


def line(m):
    z = np.sort(np.random.default_rng(m).uniform(0, 3, m))
    return (z[:, None] - z[None]) ** 2


COSTS = {"uniform": uniform, "line": line}
each = pytest.mark.parametrize("m", SIZES)
both_costs = pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS.keys())


@each
@both_costs
def test_plans_are_optimal_and_have_their_marginals(m, cost):
    C = cost(m)
    for a, b in pairs(m, n=15):
        T = equivalence.optimal_plan(a, b, C)
        assert (T >= 0).all()
        assert_allclose(T.sum(axis=1), a, atol=1e-14)
        assert_allclose(T.sum(axis=0), b, atol=1e-14)
        assert_allclose((C * T).sum(), transport_cost(a, b, C), atol=1e-10)


@each
def test_row_costs_under_the_uniform_cost(m):
    for a, b in pairs(m):
        S = equivalence.row_costs(uniform(m), equivalence.optimal_plan(a, b, uniform(m)))
        assert_allclose(S, 4 * np.maximum(a - b, 0), atol=1e-14)
        assert_array_equal(S == 0, a <= b)


@each
@both_costs
def test_theorem_1(m, cost):
    C = cost(m)
    for a, b in pairs(m):
        T = equivalence.optimal_plan(a, b, C)
        modified = equivalence.modified_costs(a, b, C)
        assert_allclose((modified * T).sum(), ((a - b) ** 2).sum(), atol=1e-12)
        assert_array_equal(equivalence.modified_costs(a, b, C, T), modified)
        assert (equivalence.row_factors(a, b, C, free=7.0)[(C * T).sum(axis=1) == 0] == 7.0).all()


@pytest.mark.parametrize("free", [0.0, 1.0, 50.0])
def test_theorem_1_is_about_a_distance_for_the_uniform_cost_only(free):
    worst = 0.0
    for a, b in pairs(5, n=15):
        squared = ((a - b) ** 2).sum()
        assert_allclose(
            transport_cost(a, b, equivalence.modified_costs(a, b, uniform(5), free=free)), squared, atol=1e-10
        )
        worst = max(worst, squared - transport_cost(a, b, equivalence.modified_costs(a, b, line(5), free=free)))
    assert worst > 0.01  # another plan is cheaper: the docstring says so


@each
@both_costs
def test_theorem_2(m, cost):
    C = cost(m)
    for a, b in pairs(m):
        squared = (C * equivalence.optimal_plan(a, b, C)).sum()
        for rho in (0.1, 1.0, 8.0):
            scales = equivalence.se_length_scales(a, b, squared, rho)
            assert (scales > 0).all()
            assert_allclose(equivalence.squared_exponential(a, b, scales), np.exp(-squared / (2 * rho**2)), atol=1e-12)


@each
@both_costs
def test_theorem_4(m, cost):
    C = cost(m)
    scales = np.random.default_rng(m).uniform(0.1, 2.0, m)
    for a, b in pairs(m):
        S = equivalence.row_costs(C, equivalence.optimal_plan(a, b, C))
        for length_scales in (scales, 0.3):
            w = inverse_squared_rho(a, b, S, length_scales, free=3.0)
            assert np.isfinite(w).all()
            assert (w >= 0).all()
            assert (w[S == 0] == 3.0).all()
            assert_allclose(
                equivalence.directional(S, w), equivalence.squared_exponential(a, b, length_scales), atol=1e-12
            )


@each
def test_corollary_1_2(m):
    for c in (1.0, 4.0):
        for a, b in pairs(m):
            C = uniform(m, c)
            S = equivalence.row_costs(C, equivalence.optimal_plan(a, b, C))
            factors = equivalence.row_factors(a, b, C)
            with np.errstate(invalid="ignore", divide="ignore"):
                cancelled = np.where(factors > 0, factors / factors, 0.0)  # xi_i / rho_i^2 with rho_i^2 = xi_i
            assert_allclose(equivalence.directional(S, cancelled), equivalence.laplacian(a, b, c), atol=1e-12)


@pytest.mark.parametrize("m", [2, 5])
def test_equal_weights_are_a_case_of_their_own(m):
    a = simplex_points(1, m)[0]
    T = equivalence.optimal_plan(a, a, uniform(m))
    assert_allclose(T, np.diag(a), atol=0)
    S = equivalence.row_costs(uniform(m), T)
    assert_array_equal(inverse_squared_rho(a, a, S, 0.5, free=2.0), np.full(m, 2.0))
    assert_array_equal(equivalence.se_length_scales(a, a, 0.0, 1.0, free=2.0), np.full(m, 2.0))
    assert_array_equal(equivalence.row_factors(a, a, uniform(m), free=0.0), np.zeros(m))
    assert equivalence.directional(S, np.ones(m)) == equivalence.squared_exponential(a, a, 1.0) == 1.0


def test_some_rows_ship_without_a_change():
    """On the line a point may pass mass on: w_i = 0 there when no other row needs accounting for."""
    a, b, C = [0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    S = equivalence.row_costs(C, equivalence.optimal_plan(a, b, C))
    assert_allclose(S, [0.5, 0.5, 0.0], atol=1e-15)
    w = inverse_squared_rho(a, b, S, [1.0, 1.0, 1e9])
    assert w[1] < 1e-15
    assert_allclose(equivalence.directional(S, w), np.exp(-0.125))


def test_costs_and_distances_agree_with_the_library():
    """W_2^2 = <C, T> for C already raised, through `from_costs`, `from_cost` and plain distances."""
    A = simplex_points(8, 4)
    X = Measures.from_histograms(A, np.arange(4.0))
    routes = {
        "uniform": (
            uniform(4),
            [ground.Binary.from_cost(4.0), ground.Binary(2.0), ground.Matrix.from_costs(uniform(4))],
        ),
        "line": ((np.arange(4.0)[:, None] - np.arange(4.0)) ** 2, ["euclidean"]),
    }
    routes["line"][1].append(ground.Matrix.from_costs(routes["line"][0]))
    for C, costs in routes.values():
        expected = [[(C * equivalence.optimal_plan(a, b, C)).sum() for b in A] for a in A]
        for cost in costs:
            W = divergences.Wasserstein(p=2, cost=cost)
            assert_allclose(pairwise(X, divergence=W, squared=True), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("a", "b", "C", "error", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], uniform(2), InvalidMeasureError, "`a` must be a vector.*that add up to 1"),
        ([0.5, 0.5], [1.2, -0.2], uniform(2), InvalidMeasureError, "`b` must be a vector of weights of at least 0"),
        ([0.5, np.nan], [0.5, 0.5], uniform(2), InvalidMeasureError, "`a` must be a vector of weights"),
        ([0.5, 0.5], [0.2, 0.3, 0.5], uniform(2), UnsuitableDataError, "`a` has 2 weights, `b` 3"),
        ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2], uniform(2), UnsuitableDataError, r"shape \(2, 2\); for 3 weights"),
        ([0.5, 0.5], [0.2, 0.8], np.eye(2), InvalidParameterError, "`C` must hold finite costs.*similarity"),
        ([[0.5, 0.5]], [0.2, 0.8], uniform(2), InvalidMeasureError, "`a` must be a vector of weights"),
        ([0.5, 0.5], [0.2, 0.8], np.zeros((2, 2)), UnsuitableDataError, "moving one to the other costs nothing"),
    ],
)
def test_bad_weights_and_costs(a, b, C, error, message):
    with pytest.raises(error, match=message):
        equivalence.modified_costs(a, b, C)


def test_bad_plans_and_parameters():
    a, b = [0.5, 0.5], [0.2, 0.8]
    with pytest.raises(UnsuitableDataError, match=r"does not have the marginal `b`, which it misses by 0\.3"):
        equivalence.row_factors(a, b, uniform(2), plan=np.diag(a))
    with pytest.raises(InvalidParameterError, match=r"`plan` must hold masses of at least 0, \(2, 2\)"):
        equivalence.row_factors(a, b, uniform(2), plan=[[0.5, 0.5]])
    with pytest.raises(InvalidParameterError, match="`plan` must hold masses of at least 0"):
        equivalence.row_factors(a, b, uniform(2), plan=[[0.2, 0.3], [-0.1, 0.6]])
    with pytest.raises(UnsuitableDataError, match=r"the cost matrix has shape \(2, 2\); for 3 weights"):
        equivalence.row_costs(uniform(2), np.eye(3) / 3)
    with pytest.raises(InvalidParameterError, match="`length_scales` must be a finite number greater than 0, or 2"):
        inverse_squared_rho(a, b, [1.0, 0.0], [1.0, 0.0])
    with pytest.raises(InvalidParameterError, match="`S` must hold 2 finite numbers"):
        inverse_squared_rho(a, b, [1.0, 0.0, 0.0], 1.0)
    with pytest.raises(InvalidParameterError, match="at distance 0 have no finite length scale"):
        equivalence.se_length_scales(a, b, 0.0, 1.0)
    with pytest.raises(InvalidParameterError, match="`free` must be"):
        equivalence.row_factors(a, b, uniform(2), free=-1.0)
    with pytest.raises(NumericalError, match="is too small to divide by"):
        inverse_squared_rho(a, b, [1e-320, 0.0], 1e-3)
