"""Plans and potentials: marginals, optimality by the exact value, and the cost they claim."""

import warnings
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf
from numpy.testing import assert_allclose
from tests.strategies import pairs
from tests.truth.judge import guarded, over
from tests.truth.oracles import entropic, exact, transport
from tests.truth.oracles.numbers import long

from kermes import divergences, ground
from kermes.divergences._plans import transport as solve

#: Of an atom: what rounding of the probabilities leaves of its row.
ROUNDING = 1e-14


def both(pair):
    X, Y = pair.collections()
    return X[0], Y[0]


def has_marginals(plan, mu, nu, tol=0.0):
    assert (plan >= 0).all()
    a, b = mu.weights / mu.mass, nu.weights / nu.mass
    assert_allclose(plan.sum(axis=1), a, rtol=1e-12, atol=ROUNDING + tol)
    assert_allclose(plan.sum(axis=0), b, rtol=1e-12, atol=ROUNDING + tol)


def _merged(masses, mu):
    """Return the masses at distinct points."""
    _, where = np.unique(mu.points, axis=0, return_inverse=True)
    return np.bincount(where.ravel(), weights=masses)


def is_optimal(pair, p, divergence, distance, rest=1e-30):
    """``rest`` of the mass may be missing from the rows of lighter atoms."""
    mu, nu = both(pair)
    plan = guarded(lambda: divergence.plan(mu, nu))
    if isinstance(plan, str):
        return
    has_marginals(plan, mu, nu)
    first, second = (exact(x, w) for x, w in zip(pair.points, pair.weights, strict=True))
    with mp.workdps(40):
        true = long(transport.program(first, second, distance, p))
        spread = long(transport.independent(first, second, distance, p))
        costs = guarded(lambda: divergence.plan_costs(mu, nu))  # squares below the smallest number are refused
        if not isinstance(costs, str) and np.isfinite(costs).all():
            cost = sum(mpf(float(c)) * mpf(float(t)) for c, t in zip(costs.ravel(), plan.ravel(), strict=True))
            assert abs(cost - true) <= 1e-12 * true + mpf(2e-14) * spread + mpf(1e-300)
    assert_allclose(_merged(plan.sum(axis=1), mu), _merged(mu.weights / mu.mass, mu), rtol=1e-13, atol=rest)
    assert_allclose(_merged(plan.sum(axis=0), nu), _merged(nu.weights / nu.mass, nu), rtol=1e-13, atol=rest)


PLANNED = {"kinds": ("coarse", "plain", "whole", "offset", "outlier", "scaled"), "company": False}


@over(pairs(1, **PLANNED))
def test_plan_on_the_line(pair):
    is_optimal(pair, 2, divergences.Wasserstein(2), transport.euclidean)


@over(pairs(2, **PLANNED))
def test_plan_in_the_plane(pair):
    is_optimal(pair, 2, divergences.Wasserstein(2), transport.euclidean, rest=1e-15)


@over(pairs(2, **PLANNED))
def test_plan_under_the_binary_cost(pair):
    is_optimal(pair, 1, divergences.Wasserstein(1, ground.Binary(1.5)), transport.binary(1.5))


@over(pairs(2, **PLANNED))
def test_potentials_prove_the_value(pair):
    mu, nu = (m for m in both(pair))
    C = divergences.Wasserstein(1).plan_costs(mu, nu)
    a, b = mu.weights / mu.mass, nu.weights / nu.mass
    plan, value, u, v, _ = solve(a, b, C)
    size = np.abs(C).max() + np.abs(u).max() + np.abs(v).max()
    assert (u[:, None] + v[None] <= C + 1e-15 * size).all()
    assert_allclose((C - u[:, None] - v[None])[plan > 0], 0.0, atol=1e-15 * size)
    assert_allclose(a @ u + b @ v, value, rtol=1e-12, atol=1e-14 * size)


@over(pairs(2, kinds=("coarse", "plain", "whole"), weights=("equal", "plain", "counts"), most=3, company=False))
def test_entropic_plan(pair):
    mu, nu = both(pair)
    epsilon, tol = 0.5, 1e-9
    with warnings.catch_warnings(record=True) as reports:
        warnings.simplefilter("always")
        plan = divergences.Sinkhorn(epsilon, tol=tol).plan(mu, nu)
    if reports:  # it says by how much its columns are off
        return
    has_marginals(plan, mu, nu, tol)
    with mp.workdps(150):
        (x, a), (y, b) = (_atoms(m) for m in (mu, nu))
        C = [[long(transport.squared(s, t)) for t in y] for s in x]
        P, _, _ = entropic.plan(a, b, C, mpf(epsilon))
        expected = np.array([[float(p) for p in row] for row in P])
    assert np.abs(plan - expected).sum() <= 1e4 * tol


def _atoms(mu):
    """Return points and probabilities; unlike ``exact`` with one of each for every atom."""
    weights = [Fraction(w) for w in mu.weights.tolist()]
    return [tuple(map(Fraction, x)) for x in mu.points.tolist()], [long(w / sum(weights)) for w in weights]
