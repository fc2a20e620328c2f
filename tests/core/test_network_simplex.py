"""The exact solver against rational arithmetic, on degenerate and hostile problems above all."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import rational

from kermes.core.transport import certificate, network_simplex


def solve(C, a, b, max_pivots=network_simplex.MAX_PIVOTS):
    """Return cost, gap, pivots, plan and potentials."""
    n, m = C.shape
    T = network_simplex.make_tree(n + m)
    C, a, b = (np.array(x, dtype=np.float64, order="C") for x in (C, a, b))
    value, gap, pivots, _ = network_simplex.transport(C, a, b, T, network_simplex.make_bench(n, m), max_pivots)
    plan = np.zeros((n, m))
    network_simplex.write_plan(T, n, m, plan)
    return value, gap, pivots, plan, T.high[:n], -T.high[n:]


def normalised(weights):
    return weights / weights.sum()


def problem(kind, rng):
    """Return costs and masses of a small problem of a nasty kind."""
    n, m = rng.integers(1, 7, 2)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    a, b, p = rng.random(n) + 1e-3, rng.random(m) + 1e-3, 2.0
    if kind == "outlier":
        x[0] = y[0] = 1e8
    elif kind == "high power":
        p = 40.0
    elif kind == "tiny masses":
        a, b = 10.0 ** rng.uniform(-300, 0, n), 10.0 ** rng.uniform(-300, 0, m)
    elif kind == "equal masses":
        a, b = np.ones(n), np.ones(m)
    elif kind == "ties":
        x, y = np.round(x), np.round(y)
        a, b = rng.integers(1, 3, n).astype(float), rng.integers(1, 3, m).astype(float)
    elif kind == "collinear":
        x[:, 1] = y[:, 1] = 0.0
    elif kind == "all scales":
        x, y = x * 10.0 ** rng.uniform(-70, 70, (n, 1)), y * 10.0 ** rng.uniform(-70, 70, (m, 1))
    gaps = np.linalg.norm(x[:, None] - y[None], axis=2) ** p
    return gaps, normalised(a), normalised(b)


KINDS = ["plain", "outlier", "high power", "tiny masses", "equal masses", "ties", "collinear", "all scales"]


@pytest.mark.parametrize("kind", KINDS)
def test_cost_is_that_of_rational_arithmetic(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(40):
        C, a, b = problem(kind, rng)
        value, gap, pivots, *_ = solve(C, a, b)
        exact = float(rational.transport_cost(C, a, b))
        assert pivots >= 0
        # Totals differ by rounding; where that is put may cost as much as the most expensive arc.
        allowed = 1e-13 * exact + 4e-16 * C.max()
        assert abs(value - exact) <= allowed
        assert gap <= allowed


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_integer_problems_are_solved_exactly(n, m, data):
    """Small integers: no rounding at all, and ties everywhere."""
    costs = data.draw(st.lists(st.integers(0, 3), min_size=n * m, max_size=n * m))
    C = np.array(costs, dtype=float).reshape(n, m)
    a, b = np.full(n, float(m)), np.full(m, float(n))
    value, gap, _, plan, u, v = solve(C, a, b)
    assert value == rational.transport_cost(C, a, b)
    assert gap == 0.0
    np.testing.assert_array_equal(plan.sum(axis=1), a)
    np.testing.assert_array_equal(plan.sum(axis=0), b)
    assert (C - u[:, None] - v[None]).min() >= 0.0


def test_potentials_certify_the_plan():
    rng = np.random.default_rng(0)
    for n, m in [(40, 30), (25, 80)]:
        C = np.linalg.norm(rng.normal(size=(n, 1, 3)) - rng.normal(size=(1, m, 3)), axis=2)
        a, b = normalised(rng.random(n)), normalised(rng.random(m))
        value, gap, _, plan, u, v = solve(C, a, b)
        reduced = C - u[:, None] - v[None]
        assert reduced.min() > -1e-14
        assert np.abs(reduced[plan > 0]).max() < 1e-14
        np.testing.assert_allclose(plan.sum(axis=1), a, rtol=0, atol=1e-15)  # totals differ by as much
        np.testing.assert_allclose(plan.sum(axis=0), b, rtol=0, atol=1e-15)
        np.testing.assert_allclose(value, (plan * C).sum(), rtol=1e-14)
        assert gap < 1e-15


@pytest.mark.parametrize("kind", ["plain", "outlier", "high power"])
def test_no_arc_stays_open(kind):
    """Reduced costs of small problems, in fractions of the potentials in two parts: none is below 0."""
    rng = np.random.default_rng(0)
    for n, m in rng.integers(2, 15, (15, 2)):
        x, y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
        if kind == "outlier":
            x[0] = y[0] = 1e8
        C = np.linalg.norm(x[:, None] - y[None], axis=2) ** (20.0 if kind == "high power" else 2.0)
        T = network_simplex.make_tree(n + m)
        a, b = normalised(rng.random(n)), normalised(rng.random(m))
        network_simplex.transport(C, a, b, T, network_simplex.make_bench(n, m), 100_000)
        potentials = [Fraction(high) + Fraction(low) for high, low in zip(T.high.tolist(), T.low.tolist(), strict=True)]
        reduced = [Fraction(C[i, j]) - potentials[i] + potentials[n + j] for i in range(n) for j in range(m)]
        assert min(reduced) >= -Fraction(1e-28) * Fraction(C.max())


def test_costs_of_forty_orders_of_magnitude_keep_their_digits():
    """Masses are integers of equal totals: no rounding of theirs is paid for at the most expensive arc."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        C = 10.0 ** rng.uniform(-20, 20, (5, 5))
        a, b = (1.0 + rng.multinomial(95, np.full(5, 0.2)) for _ in range(2))
        assert solve(C, a, b)[0] == pytest.approx(float(rational.transport_cost(C, a, b)), rel=1e-13, abs=0.0)


def test_what_a_plan_may_miss_is_counted_arc_by_arc():
    """At potentials that are not optimal: reduced costs of what is shipped, and of what negative ones could carry."""
    rng = np.random.default_rng(0)
    for n, m in [(6, 5), (3, 9), (9, 3)]:
        C, a, b = rng.random((n, m)), normalised(rng.random(n)), normalised(rng.random(m))
        T, plan = network_simplex.make_tree(n + m), np.zeros((n, m))
        network_simplex.transport(C, a, b, T, network_simplex.make_bench(n, m), network_simplex.MAX_PIVOTS)
        network_simplex.write_plan(T, n, m, plan)
        T.high[: n + m] += rng.normal(size=n + m)
        reduced = C - T.high[:n, None] + T.high[None, n : n + m]
        missed = (plan * reduced).sum() + (np.maximum(-reduced, 0.0) * np.minimum.outer(a, b)).sum()
        assert certificate.unproved(C, a, b, T) == pytest.approx(missed, rel=1e-13)


def nearly_equal(n, rng):
    """Return costs and masses of two measures at the same points whose masses differ in their last digits."""
    x, a = rng.normal(size=(n, 2)), rng.random(n)
    return ((x[:, None] - x[None]) ** 2).sum(axis=2), normalised(a), normalised(a * (1 + 1e-15 * rng.normal(size=n)))


def test_arcs_short_of_mass_are_exchanged_or_reported():
    """100 atoms take up to 56 exchanges after the last pivot; without the last of them no value is called optimal."""
    for seed, n in enumerate((20, 30, 40, 40)):  # 0, 6, 7 and 7 exchanges
        C, a, b = nearly_equal(n, np.random.default_rng(seed))
        value, _, pivots, plan, u, v = solve(C, a, b)
        assert pivots >= 0
        np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-13)
        np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-13)
        assert a @ u + b @ v == pytest.approx(value, rel=0, abs=4e-16 * C.max())
        assert solve(C, a, b, pivots)[2] == pivots
        assert solve(C, a, b, pivots - 1)[2] == -1


def test_too_few_pivots_are_reported():
    rng = np.random.default_rng(0)
    C, mass = rng.random((30, 30)), np.full(30, 1 / 30)
    assert solve(C, mass, mass, 3)[2] == -1


def test_many_sources_and_two_sinks():
    """Sources go by the difference of their two costs: the first sink takes those for which it is the cheapest."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        n = int(rng.integers(10, 30))
        a, C = rng.integers(1, 9, n), rng.integers(0, 20, (n, 2))
        taken = int(rng.integers(1, a.sum()))
        order = np.argsort(C[:, 0] - C[:, 1], kind="stable")
        first = np.clip(taken - (np.cumsum(a[order]) - a[order]), 0, a[order])
        expected = (first * C[order, 0] + (a[order] - first) * C[order, 1]).sum()
        assert solve(C, a, [taken, a.sum() - taken])[0] == expected
