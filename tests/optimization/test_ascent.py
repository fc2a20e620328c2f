"""Projection onto the simplex and ascent on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from kermes import optimization
from kermes.exceptions import InvalidParameterError
from kermes.optimization._ascent import ascend, check_weights

ENTRIES = st.floats(-1e3, 1e3, allow_nan=False)


def nearest(v):
    """The oracle: a quadratic program."""
    m = len(v)
    found = minimize(
        lambda a: np.sum((a - v) ** 2), np.full(m, 1 / m), jac=lambda a: 2 * (a - v), method="SLSQP",
        bounds=[(0, 1)] * m, constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 300},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("m", [2, 3, 7])
def test_projection_solves_the_quadratic_program(m):
    rng = np.random.default_rng(m)
    for v in rng.normal(size=(10, m)):
        assert_allclose(optimization.project(v), nearest(v), atol=1e-6)


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 12)), elements=ENTRIES))
def test_projection_satisfies_its_optimality_conditions(V):
    """a >= 0, sum a = 1, and v - a is one number tau where a > 0, at most tau elsewhere."""
    for v, a in zip(V, optimization.project(V), strict=True):
        assert (a >= 0).all()
        assert a.sum() == pytest.approx(1.0, abs=1e-9)
        gap = v - a
        tau = gap[a > 0].mean()
        scale = 1e-12 * max(1.0, np.abs(v).max())
        assert_allclose(gap[a > 0], tau, rtol=0, atol=10 * scale)
        assert (gap[a == 0] <= tau + 10 * scale).all()


def test_projection_keeps_what_is_there_and_the_digits_of_large_vectors():
    rng = np.random.default_rng(0)
    A = rng.dirichlet(np.ones(5), size=20)
    assert_allclose(optimization.project(A), A, atol=1e-15)
    assert_allclose(optimization.project(A + 1e9), A, atol=1e-6)
    assert_array_equal(optimization.project([1e300, 0.0]), [1.0, 0.0])
    for bad in ([np.nan, 1.0], [], 3.0, np.zeros((2, 2, 2))):
        with pytest.raises(InvalidParameterError, match="`V` must be a vector or rows of finite numbers"):
            optimization.project(bad)
    for bad in ([[1, 2], [3]], "ab"):
        with pytest.raises(InvalidParameterError, match="`V` must be an array of numbers"):
            optimization.project(bad)


@pytest.mark.parametrize("method", ["mirror", "projected"])
def test_every_iterate_is_on_the_simplex_and_none_is_worse(method):
    target, seen = np.array([0.5, 0.5, 0.0, 0.0]), []

    def score(A):
        seen.append(A)
        return -np.sum((A - target) ** 2, axis=1), -2 * (A - target)

    starts = np.concatenate([np.eye(4), np.random.default_rng(0).dirichlet(np.ones(4), size=5)])
    ends, values = ascend(score, starts, 40, method)
    for A in seen:
        assert (A >= 0).all()
        assert_allclose(A.sum(axis=1), 1.0, atol=1e-12)
    assert_array_equal(values, score(ends)[0])
    assert (values >= score(seen[0])[0]).all()
    assert_allclose(ends, np.broadcast_to(target, ends.shape), atol=1e-2 if method == "mirror" else 1e-6)


def test_projected_steps_reach_a_vertex_and_flat_scores_stay():
    gradient = np.array([1.0, 0.0, -1.0])
    ends, _ = ascend(lambda A: (A @ gradient, np.tile(gradient, (len(A), 1))), np.full((1, 3), 1 / 3), 10, "projected")
    assert_array_equal(ends, [[1.0, 0.0, 0.0]])
    start = np.array([[0.2, 0.8]])
    ends, _ = ascend(lambda A: (np.zeros(len(A)), np.zeros(A.shape)), start, 5, "projected")
    assert_array_equal(ends, start)
    with pytest.raises(InvalidParameterError, match="`method` must be one of 'mirror', 'projected'"):
        ascend(lambda A: (A[:, 0], A), start, 5, "newton")


@pytest.mark.parametrize(
    "bad", [[0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], [1.0], "text", None, [[0.5, 0.5]], [0.5 + 1e-8, 0.5]]
)
def test_weights_that_are_none(bad):
    with pytest.raises(
        InvalidParameterError, match=r"`weights` must be 2 finite non-negative numbers that add up to 1"
    ):
        check_weights(bad, 2)
