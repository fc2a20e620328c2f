"""Small Cholesky factors, against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes.core import cholesky
from kermes.core.jit import tile_core
from kermes.core.points import padded


@tile_core
def factor(A, inverse, start, stop):
    return cholesky.factor(A, inverse, start, stop)


@tile_core
def forward(A, inverse, start, stop, z):
    return cholesky.forward(A, inverse, start, stop, z)


def positive(n, seed=0):
    F = np.random.default_rng(seed).normal(size=(n, n))
    return np.eye(n) + F @ F.T


@pytest.mark.parametrize("n", [4, 8, 12, 20])
@pytest.mark.parametrize("start", [0, 4])
def test_factor_and_forward(n, start):
    N, z = positive(n), np.random.default_rng(1).normal(size=n)
    L = np.linalg.cholesky(N)
    A, inverse, solved = np.tril(N), np.empty(n), z.copy()  # the upper triangle is not read
    before = factor(A, inverse, 0, start)
    forward(A, inverse, 0, start, solved)
    assert_allclose(before + factor(A, inverse, start, n), np.linalg.slogdet(N)[1], rtol=1e-12)
    assert_allclose(np.tril(A, -1), np.tril(L, -1), atol=1e-12)
    assert_allclose(inverse, 1 / np.diagonal(L), rtol=1e-12)
    added = forward(A, inverse, start, n, solved)
    assert_allclose(solved, np.linalg.solve(L, z), atol=1e-12)
    assert_allclose(added, (solved[start:] ** 2).sum(), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7])
def test_padding_changes_no_determinant(size):
    side = padded(size)
    assert side % 4 == 0
    assert size <= side < size + 4
    A = np.full((side, side), np.nan)
    A[:size, :size] = positive(size)
    cholesky.pad(A, size, side)
    expected = np.linalg.slogdet(positive(size))[1]
    assert_allclose(factor(A, np.empty(side), 0, side), expected, rtol=1e-12, atol=1e-14)


def test_indefinite_is_nan():
    A = np.eye(4)
    A[1, 0] = 2.0
    assert np.isnan(factor(A, np.empty(4), 0, 4))
    A = -np.eye(4)
    assert np.isnan(factor(A, np.empty(4), 0, 4))


@pytest.mark.parametrize(("r", "n"), [(1, 1), (2, 3), (7, 64), (20, 130)])
def test_solve_lower(r, n):
    L, B = np.linalg.cholesky(positive(r)), np.random.default_rng(2).normal(size=(r, n))
    X = B.copy()
    cholesky.solve_lower(L, X)
    assert_allclose(L @ X, B, rtol=1e-12, atol=1e-13)


def test_a_core_gives_python_what_it_gives_other_cores():
    """It is compiled for each apart."""
    A, B, inverse = positive(8), positive(8), np.empty(8)
    assert factor(A, inverse, 0, 8) == cholesky.factor(B, inverse, 0, 8)
    assert_array_equal(A, B)
