"""Squared distances of weight vectors: pairwise's numbers, and gradients that are subgradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kermes import Measures, divergences, ground, pairwise
from kermes.exceptions import InvalidParameterError
from kermes.optimization._surrogate import (
    EuclideanSquares,
    LineSquares,
    MatrixSquares,
    UniformSquares,
    transport_squares,
)

PLANE = np.random.default_rng(5).normal(size=(4, 2))
Z = np.array([0.3, -1.0, 2.0, 0.9])
CASES = {
    "uniform": (ground.Binary(2.0), Z[:, None], UniformSquares),
    "uniform table": (3.0 * (1 - np.eye(4)), None, UniformSquares),
    "line": ("euclidean", Z[:, None], LineSquares),
    "plane": ("euclidean", PLANE, MatrixSquares),
    "torus": (ground.Torus(1.5), PLANE, MatrixSquares),
    "table": (ground.Matrix(np.abs(Z[:, None] - Z)), None, MatrixSquares),
}


def weights(n, seed, zeros=False):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.ones(4), size=n)
    if zeros:
        A = A * (rng.random(A.shape) > 0.4)
        A[A.sum(axis=1) == 0, 1] = 1.0
    return A / A.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_they_are_the_distances_of_pairwise(name, zeros):
    cost, points, kind = CASES[name]
    squares = transport_squares(cost, points, 4)
    assert isinstance(squares, kind)
    A, B = weights(6, 0, zeros), weights(5, 1, zeros)
    support = np.arange(4.0) if points is None else points
    X, Y = (Measures.from_histograms(H, support) for H in (A, B))
    expected = pairwise(X, Y, divergence=divergences.Wasserstein(p=2, cost=cost), squared=True)
    assert_allclose(squares(A, B), expected, atol=1e-12)
    assert_allclose(squares.with_gradients(A, B)[0], expected, atol=1e-12)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_subgradients(name, zeros):
    """f(c) >= f(a) + g (c - a) for the convex f = W_2^2(., b), also at kinks and on faces."""
    cost, points, _ = CASES[name]
    squares = transport_squares(cost, points, 4)
    A, B, C = weights(5, 0, zeros), weights(4, 1, zeros), np.concatenate([weights(30, 2), np.eye(4)])
    A[-1] = B[0]
    at, (_, gradients), elsewhere = squares(A, B), squares.with_gradients(A, B), squares(C, B)
    for i, a in enumerate(A):
        bound = at[i] + (C - a) @ gradients[i].T
        assert (elsewhere >= bound - 1e-9).all()


@pytest.mark.parametrize("name", [*CASES, "euclid"])
def test_gradients_against_differences(name):
    cost, points, _ = CASES.get(name, (None, None, None))
    squares = (
        EuclideanSquares(np.array([1.0, 2.0, 0.5, 3.0])) if name == "euclid" else transport_squares(cost, points, 4)
    )
    A, B = weights(5, 3), weights(4, 4)
    h, along = 1e-7, np.array([1.0, -1.0, 0.5, -0.5])
    numeric = (squares(A + h * along, B) - squares(A - h * along, B)) / (2 * h)
    assert_allclose(squares.with_gradients(A, B)[1] @ along, numeric, atol=2e-6)


def test_costs_that_do_not_fit():
    with pytest.raises(InvalidParameterError, match=r"`cost` must be a table of 3 x 3 distances"):
        transport_squares(np.ones((4, 4)) - np.eye(4), None, 3)
    with pytest.raises(InvalidParameterError, match=r"needs to know where the points are; pass them as `support`"):
        transport_squares("euclidean", None, 3)
    with pytest.raises(InvalidParameterError, match=r"`cost` must be a distance"):
        transport_squares("sqeuclidean", PLANE, 4)
