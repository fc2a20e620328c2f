"""Transport plans of single pairs, and uniform cost matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles.entropic import plan as entropic_plan

from kermes import Measures, divergences, ground, pairwise
from kermes.divergences import _plans
from kermes.exceptions import ConvergenceWarning, NumericalError, UnsuitableDataError
from kermes.ground import as_cost

COSTS = ["euclidean", ground.Binary(1.5), ground.Torus(2.0)]


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_plans_reach_the_distance(cost, p, dim, clouds):
    X = clouds(7, dim)  # ragged, weighted, with repeated atoms
    W = divergences.Wasserstein(p=p, cost=cost)
    D = pairwise(X, divergence=W) ** p
    function = ground.Euclidean() if cost == "euclidean" else cost
    for i, mu in enumerate(X):
        for j, nu in enumerate(X):
            plan = W.plan(mu, nu)
            assert (plan >= 0).all()
            assert_allclose(plan.sum(axis=1), mu.weights / mu.mass, atol=1e-14)
            assert_allclose(plan.sum(axis=0), nu.weights / nu.mass, atol=1e-14)
            assert_allclose((plan * function(mu.points, nu.points) ** p).sum(), D[i, j], atol=1e-12)


def test_hostile_measures():
    tiny = Measures.from_samples(
        [[0.0], [5.0, 5.0, 5.0], [0.0, 1.0, 2.0], [1e9, -1e9]], [[1e-300], [1, 2, 3], [1e-20, 1.0, 1e20], [1.0, 1e-12]]
    )
    for cost in ("euclidean", "binary"):
        W = divergences.Wasserstein(p=2, cost=cost)
        for mu in tiny:
            for nu in tiny:
                plan = W.plan(mu, nu)
                assert_allclose(plan.sum(axis=1), mu.weights / mu.mass, atol=1e-14)
                assert_allclose(plan.sum(axis=0), nu.weights / nu.mass, atol=1e-14)


@pytest.mark.parametrize("least", [1e-16, 1e-30, 1e-300])
@pytest.mark.parametrize("cost", ["line", "binary", "plane"])
def test_marginals_of_light_atoms(cost, least):
    """Where there is a closed form, each atom keeps its mass up to rounding; elsewhere up to 1e-15 of the total."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        sizes = rng.integers(1, 40, 2)
        x, y = (rng.integers(0, 9, (n, 1 if cost == "line" else 2)).astype(float) for n in sizes)
        a, b = (
            np.where(rng.random(n) < 0.5, least, rng.random(n)) if seed % 2 else least ** rng.random(n) for n in sizes
        )
        X = Measures.from_samples([x, y], [a, b])
        W = divergences.Wasserstein(cost="binary" if cost == "binary" else "euclidean")
        plan = W.plan(X[0], X[1])
        absolute = 1e-15 if cost == "plane" else 0.0
        assert (plan >= 0.0).all()
        assert_allclose(plan.sum(axis=1), a / a.sum(), rtol=1e-12, atol=absolute)
        assert_allclose(plan.sum(axis=0), b / b.sum(), rtol=1e-12, atol=absolute)


@pytest.mark.parametrize("p", [1, 2, 3, 40])
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_plans_do_not_depend_on_the_scale(p, scale):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, 2)), rng.normal(size=(6, 2))
    near, far = (Measures.from_samples([factor * x, factor * y]) for factor in (1.0, scale))
    W = divergences.Wasserstein(p)
    assert_allclose(W.plan(far[0], far[1]), W.plan(near[0], near[1]), atol=1e-12)


def test_plan_under_a_matrix_numbers_the_bins():
    H = [[0.0, 0.5, 0.5], [0.25, 0.0, 0.75]]
    X = Measures.from_histograms(H, [3.0, 1.0, 2.0])
    W = divergences.Wasserstein(p=1, cost=np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]]))
    assert_allclose(W.plan(X[0], X[1]), [[0.25, 0.25], [0.0, 0.5]], atol=1e-15)


def test_a_uniform_matrix_is_the_binary_cost():
    rng = np.random.default_rng(0)
    X = Measures.from_histograms(rng.dirichlet(np.ones(6), 9) * (rng.random((9, 6)) < 0.7) + np.eye(9, 6), np.arange(6))
    matrix = divergences.Wasserstein(p=2, cost=1.5 * (1 - np.eye(6)))
    binary = divergences.Wasserstein(p=2, cost=ground.Binary(1.5))
    assert type(matrix.route(X, X)) is type(binary.route(X, X))
    assert_array_equal(pairwise(X, divergence=matrix), pairwise(X, divergence=binary))
    assert_array_equal(matrix.plan(X[0], X[1]), binary.plan(X[0], X[1]))
    assert matrix.claims(3) == binary.claims(3)
    other = Measures.from_histograms(np.ones((1, 6)), np.arange(6) + 0.5)
    with pytest.raises(UnsuitableDataError, match="must share the support of the cost matrix"):
        pairwise(X, other, divergence=matrix)
    assert ground.Matrix(np.zeros((2, 2))).uniform is None
    assert ground.Matrix(np.zeros((1, 1))).uniform is None


@pytest.mark.parametrize("light", [1e-10, 1e-17, 1e-30])
def test_what_moves_is_weighed_against_what_moves(light):
    """Not against the mass that stays, beside which it would be rounding."""
    ids = np.arange(2)
    plan = _plans.in_place(ids, np.array([1.0 - light, light]), ids, np.array([1.0 - 3 * light, 3 * light]))
    assert_allclose(plan[:, 1], [2 * light, light])
    assert plan[1, 0] == 0.0


def test_infinite_costs_have_no_entropic_plan():
    half, options = np.full(2, 0.5), divergences.Sinkhorn(0.1)._options(0.0)
    with pytest.raises(NumericalError, match="no finite entropic plan"):
        _plans.entropic(half, half, np.array([[0.0, np.inf], [1.0, 0.0]]), options)


def test_range_over_all_optimal_plans():
    """p = 1 on the line: two plans of equal cost, S = (.5, .5, 0) or (1, 0, 0)."""
    z = np.arange(3.0)
    C = np.abs(z[:, None] - z)
    a, b, w = np.array([0.5, 0.5]), np.array([0.5, 0.5]), np.array([1.0, 3.0])
    assert_allclose(_plans.weighted_cost_range(a, b, C[:2, 1:], w), (1.0, 2.0))
    assert_allclose(_plans.weighted_cost_range(a, b, C[:2, 1:] ** 2, w), (2.0, 2.0))  # p = 2: only one


def test_bad_input(clouds):
    X, Y = clouds(2, 1), clouds(2, 2)
    with pytest.raises(UnsuitableDataError, match="one common dimension"):
        divergences.Wasserstein().plan(X[0], Y[0])
    with pytest.raises(UnsuitableDataError, match="needs measures on a shared support"):
        divergences.Wasserstein(cost=np.zeros((2, 2))).plan(X[0], X[1])


@pytest.mark.parametrize("cost", ["sqeuclidean", "euclidean"])
def test_entropic_plan_is_the_oracles(clouds, cost):
    X = clouds(4, 2, seed=3)
    entropic = divergences.Sinkhorn(epsilon=0.3, cost=cost, tol=1e-10)
    for mu, nu in ((X[0], X[1]), (X[2], X[3])):
        C = as_cost(cost)(mu.points, nu.points)
        expected = entropic_plan(mu.weights / mu.mass, nu.weights / nu.mass, C, 0.3)
        assert_allclose(entropic.plan(mu, nu), expected, atol=1e-9)
        assert_allclose(entropic.plan_costs(mu, nu), C)


def test_entropic_plan_of_histograms_and_its_value():
    C = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    X = Measures.from_histograms([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0]], [0.0, 1.0, 2.0])
    entropic = divergences.Sinkhorn(epsilon=0.2, cost=C, tol=1e-9)
    plan = entropic.plan(X[0], X[1])
    assert_allclose(plan.sum(axis=1), [1 / 3, 2 / 3], atol=1e-12)
    assert_allclose(plan.sum(axis=0), [0.2, 0.8], atol=1e-8)
    value = pairwise(X, divergence=entropic)[0, 1]
    assert_allclose((plan * entropic.plan_costs(X[0], X[1])).sum(), value, rtol=1e-6)


def test_entropic_plan_tells_when_it_gives_up():
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(2, 9, 2)))
    with pytest.warns(ConvergenceWarning, match="did not reach its tolerance"):
        divergences.Sinkhorn(epsilon=0.05, tol=1e-6, max_iter=2).plan(X[0], X[1])
    with pytest.raises(UnsuitableDataError, match="shared support"):
        divergences.Sinkhorn(epsilon=0.1, cost=np.zeros((2, 2))).plan(X[0], X[1])


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("cost", ["euclidean", "binary", "cityblock"])
@pytest.mark.parametrize("dim", [1, 2])
def test_potentials_are_feasible_and_attain_the_cost(p, cost, dim):
    """Weak duality bounds every feasible pair from above: equality shows that both sides are optimal."""
    rng = np.random.default_rng(dim)
    points = [rng.integers(0, 4, (n, dim)).astype(float) for n in (1, 6, 9)]  # atoms repeat, and both share points
    X = Measures.from_samples(points, weights=[rng.random(len(x)) + 0.1 for x in points])
    W = divergences.Wasserstein(p=p, cost=cost)
    D = pairwise(X, divergence=W)
    for i in range(3):
        for j in range(3):
            u, v = W.potentials(X[i], X[j])
            costs, plan = W.plan_costs(X[i], X[j]), W.plan(X[i], X[j])
            slack = costs - u[:, None] - v[None]
            top = costs.max() or 1.0
            assert slack.min() >= -1e-14 * top
            assert np.abs(slack[plan > 1e-15]).max() <= 1e-14 * top
            a, b = (X[k].weights / X[k].mass for k in (i, j))
            np.testing.assert_allclose(a @ u + b @ v, D[i, j] ** p, rtol=1e-13, atol=1e-14 * top)
            np.testing.assert_allclose(a @ u, b @ v, rtol=0, atol=1e-14 * top)


@pytest.mark.parametrize(
    ("p", "gap", "what"), [(2, 1e200, "overflow"), (2, 1e-200, "underflow"), (40, 1e-9, "underflow")]
)
@pytest.mark.parametrize("dim", [1, 2])
def test_costs_whose_powers_are_no_numbers_are_refused(p, gap, what, dim):
    W = divergences.Wasserstein(p=p)
    X = Measures.from_samples([np.zeros((2, dim)), np.full((1, dim), gap)])
    for ask in (W.potentials, W.plan_costs):
        with pytest.raises(NumericalError, match=rf"costs to the power p = {p} {what}"):
            ask(X[0], X[1])
        assert not np.any(ask(X[0], X[0]))
