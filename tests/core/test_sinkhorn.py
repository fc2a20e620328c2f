"""Every Sinkhorn route on problems small enough to be interpreted; tests/divergences has the large ones."""

from functools import cache

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from tests.oracles import entropic

from kermes.core import ground_codes
from kermes.core.points import TABLE, Atoms, CoreGround
from kermes.core.sinkhorn import grid, newton, points, self_terms, stabilised, table
from kermes.core.sinkhorn.structs import REGULARIZED, TRANSPORT, Answers, Bounds, Images, Options, no_trees
from kermes.core.status import FAILED, OK, RETRY, UNCONVERGED

rng = np.random.default_rng(0)
EPS, TOL, MOST = 1.0, 1e-6, 5000
#: Three 4 x 4 images, the last of two pixels only.
IMAGES = rng.random((3, 4, 4))
IMAGES[2] = 0.0
IMAGES[2, 1, 0], IMAGES[2, 3, 2] = 0.3, 0.7
IMAGES /= IMAGES.sum(axis=(1, 2), keepdims=True)
POINTS = np.indices((4, 4)).reshape(2, -1).T.astype(float)
COST = ((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=-1)
OWNER, IDS = map(np.ascontiguousarray, np.nonzero(IMAGES.reshape(3, -1)))  # as the routes pass them
WEIGHTS = IMAGES.reshape(3, -1)[OWNER, IDS]
OFFSETS = np.concatenate([[0], np.cumsum(np.bincount(OWNER))]).astype(np.int64)
ROWS, COLS = np.array([0, 1]), np.array([1, 2])


@cache
def expected(i, j, code):
    a, b = (WEIGHTS[OFFSETS[k] : OFFSETS[k + 1]] for k in (i, j))
    C = COST[np.ix_(IDS[OFFSETS[i] : OFFSETS[i + 1]], IDS[OFFSETS[j] : OFFSETS[j + 1]])]
    return (entropic.plan(a, b, C, EPS) * C).sum() if code == TRANSPORT else entropic.relative(a, b, C, EPS)


def stable_value(C, a, b, options):
    return stabilised.stable_value(*stabilised.solve_stable(C, a, b, options), options)


def unsolved(wanted=((True, True), (True, True))):
    return Answers(np.zeros((2, 2)), np.where(wanted, RETRY, OK))


def check(code, out):
    assert (out.status == OK).all()
    assert_allclose(out.values, [[expected(i, j, code) for j in COLS] for i in ROWS], rtol=1e-5)


both = pytest.mark.parametrize("code", [TRANSPORT, REGULARIZED])
ATOMS = Atoms(np.ascontiguousarray(POINTS[IDS].T), WEIGHTS, OFFSETS, IDS)
SQUARED = CoreGround(ground_codes.SQEUCLIDEAN, np.zeros(1), np.empty((0, 0)))
TABULATED = CoreGround(TABLE, np.zeros(1), COST)


@both
def test_table(code):
    out = unsolved()
    gibbs = table.gibbs_table(COST, EPS, np.float64)
    table.tile_table(gibbs, ATOMS, ROWS, ATOMS, COLS, Options(EPS, TOL, MOST, code), out)
    check(code, out)


@both
def test_coordinates(code):
    out = unsolved()
    points.tile_points(SQUARED, np.empty(0), ATOMS, ROWS, ATOMS, COLS, Options(EPS, TOL, MOST, code), out)
    check(code, out)


@both
def test_grid(code):
    out = unsolved()
    axis = grid.axis_kernel(np.arange(4.0), EPS, np.float64)
    side = Images(IMAGES, grid.bounding_boxes(IMAGES))
    grid.tile_grid((axis, axis), side, ROWS, side, COLS, Options(EPS, TOL, MOST, code), out)
    check(code, out)


@both
@pytest.mark.parametrize("ground", [TABULATED, SQUARED])
def test_stabilised(code, ground):
    out = unsolved()
    stabilised.retry(ground, ATOMS, ROWS, ATOMS, COLS, Options(EPS, TOL, MOST, code), out)
    check(code, out)


@pytest.mark.parametrize("ground", [TABULATED, SQUARED])
def test_self_terms(ground):
    out = Answers(np.zeros(3), np.zeros(3, dtype=np.uint8))
    trees = no_trees(3, len(WEIGHTS))
    self_terms.self_values(ground, ATOMS, np.arange(3), Options(EPS, 1e-9, MOST, REGULARIZED), out, True, trees)
    assert_allclose(out.values, [expected(i, i, REGULARIZED) for i in range(3)], rtol=1e-6)
    assert (out.status == OK).all()


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("route", ["table", "coordinates", "stabilised", "grid"])
def test_the_bound_of_what_a_dual_value_lacks_holds(route, tol):
    """Measures of one group each: the bound is above what is left, and of the order of the tolerance."""
    trees, own = no_trees(3, len(WEIGHTS)), Answers(np.zeros(3), np.zeros(3, dtype=np.uint8))
    options = Options(EPS, tol, MOST, REGULARIZED)
    self_terms.self_values(SQUARED, ATOMS, np.arange(3), options, own, True, trees)
    assert_allclose(trees.links[:, 0], [1.0, 1.0, np.sqrt(8.0)])
    asked = np.array([[True, True], [False, True]]) & (route != "grid")
    unknown = np.full((2, 2, 2), np.inf)
    out = unsolved()._replace(bounds=Bounds(*unknown, asked, (trees, trees), COST.max() / EPS))
    if route == "table":
        table.tile_table(table.gibbs_table(COST, EPS, np.float64), ATOMS, ROWS, ATOMS, COLS, options, out)
    elif route == "coordinates":
        points.tile_points(SQUARED, np.empty(0), ATOMS, ROWS, ATOMS, COLS, options, out)
    elif route == "grid":
        axis, side = grid.axis_kernel(np.arange(4.0), EPS, np.float64), Images(IMAGES, grid.bounding_boxes(IMAGES))
        grid.tile_grid((axis, axis), side, ROWS, side, COLS, options, out)
    else:
        stabilised.retry(SQUARED, ATOMS, ROWS, ATOMS, COLS, options, out)
    lacking = (np.array([[expected(i, j, REGULARIZED) for j in COLS] for i in ROWS]) - out.values) / EPS
    assert (lacking <= np.where(asked, out.bounds.gaps, 10.0 * out.bounds.missed) + 1e-9).all()  # an estimate
    assert (out.bounds.missed <= 5.0 * tol).all()
    assert (out.bounds.gaps[asked] <= 5.0 * tol).all()
    assert np.isinf(out.bounds.gaps[~asked]).all()


def test_pairs_that_are_done_are_left_alone():
    options = Options(EPS, TOL, MOST, TRANSPORT)
    out = unsolved(wanted=[[False, True], [False, False]])
    table.tile_table(table.gibbs_table(COST, EPS, np.float64), ATOMS, ROWS, ATOMS, ROWS, options, out)
    assert (out.status == OK).all()
    assert_allclose(out.values, [[0.0, expected(0, 1, TRANSPORT)], [0.0, 0.0]], rtol=1e-5)


def test_log_domain_survives_what_underflows():
    C = np.array([[0.0, 1e6], [1e6, 0.0]])
    value, status = stable_value(C, np.array([0.5, 0.5]), np.array([0.25, 0.75]), Options(1.0, 1e-8, 1000, TRANSPORT))
    assert status == OK
    assert_allclose(value, 0.25e6, rtol=1e-8)


def test_costs_that_are_not_finite_fail_at_once():
    half = np.array([0.5, 0.5])
    for bad in (np.inf, np.nan):
        _, status = stable_value(np.array([[0.0, bad], [1.0, 0.0]]), half, half, Options(1.0, 1e-8, 10, TRANSPORT))
        assert status == FAILED


@both
def test_stabilised_values_belong_to_the_plan_that_is_returned(code):
    """One column: P = a is forced, whatever the rounding of (f + g - C) / epsilon."""
    C, a, options = np.array([[4.1], [9.3]]), np.array([0.25, 0.75]), Options(1e-15, 1e-3, 100, code)
    value, status = stable_value(C, a, np.ones(1), options)
    plan = np.empty((2, 1))
    assert stabilised.fill_plan(C, a, np.ones(1), options, plan) == status == OK
    assert_allclose(plan[:, 0], a)
    assert_allclose(value, a @ C[:, 0])


@pytest.mark.parametrize("equal", [True, False])
def test_small_epsilon_converges_by_newton(equal):
    """Equal weights on as many atoms: the plan is nearly a permutation, and plain iterations crawl."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 60, 2))
    C = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    a, b = (np.full(60, 1 / 60) if equal else rng.dirichlet(np.ones(60)) for _ in range(2))
    options = Options(1e-3 * float(np.median(C)), 1e-8, 2000, TRANSPORT)
    plan = np.empty((60, 60))
    assert stabilised.fill_plan(C, a, b, options, plan) == 0
    assert_allclose(plan.sum(axis=1), a, rtol=1e-12)
    assert np.abs(plan.sum(axis=0) - b).sum() <= 1e-8
    if equal:  # the entropy of a plan is at most log(n m), so that its cost is within eps log(n m) of the least
        least = C[linear_sum_assignment(C)].mean()
        assert least - 1e-7 * C.max() <= (plan * C).sum() <= least + options.epsilon * np.log(3600) + 1e-7 * C.max()
    f, g = np.zeros((2, 60))
    assert newton.newton(C, a, b, f, g, 0.05 * C.max(), 1e-10)  # from nothing, at a moderate epsilon
    P = np.exp((f[:, None] + g - C) / (0.05 * C.max()))
    assert_allclose(P.sum(axis=1), a, rtol=1e-12)
    assert np.abs(P.sum(axis=0) - b).sum() <= 1e-10


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="counts calls that are interpreted")
def test_a_stage_makes_as_many_iterations_as_it_is_given(monkeypatch):
    """A step is one, and so is each absorption; the last plan takes one more."""
    calls, stages, run_stage = [], [], stabilised.run_stage
    for name in ("step", "absorb"):
        function = getattr(stabilised, name)
        monkeypatch.setattr(stabilised, name, lambda *args, f=function, n=name: (calls.append(n), f(*args))[1])

    def counting(pair, eps, tol, most):
        calls.clear()
        status = run_stage(pair, eps, tol, most)
        stages.append((status, most, len(calls), calls.count("absorb")))
        return status

    monkeypatch.setattr(stabilised, "run_stage", counting)
    problem = np.random.default_rng(208)  # wide weights: scalings leave their range, and are absorbed 12 times
    n, m = problem.integers(2, 5, 2)
    a, b = (10.0 ** -problem.integers(0, 60, k) for k in (n, m))
    C = 10.0 ** problem.integers(1, 5) * problem.random((n, m))
    with np.errstate(all="ignore"):
        stabilised.solve_stable(C, a / a.sum(), b / b.sum(), Options(1.0, 1e-300, 200, REGULARIZED))
    unfinished = [stage[1:] for stage in stages if stage[0] == UNCONVERGED]
    assert max(absorbed for _, _, absorbed in unfinished) > 1
    assert all(made == most + 1 for most, made, _ in unfinished)


def test_scalings_are_folded_into_potentials_or_dropped():
    potential, scaling = np.array([1.0, -2.0]), np.array([np.e, 0.5, 7.0])  # the last one is padding
    stabilised.fold(scaling, potential, 3.0)
    assert_allclose(potential, [4.0, -2.0 - 3.0 * np.log(2.0)])
    assert_allclose(scaling, [1.0, 1.0, 7.0])
    for bad in (0.0, np.inf, np.nan):
        scaling[:2] = bad, 2.0
        stabilised.fold(scaling, potential, 3.0)
        assert_allclose(potential, [4.0, -2.0 - 3.0 * np.log(2.0)])
        assert_allclose(scaling[:2], 1.0)
