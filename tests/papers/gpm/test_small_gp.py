"""Likelihoods of a few samples: against definitions, scikit-learn and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from tests.oracles import small_gp as oracle

from kermes.papers.gpm import exponents, small_gp, unguarded_gp


def problem(n, m=2, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.ones(m), n)
    return A, rng.normal(size=n)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("exponent", [exponents.se, exponents.symmetrised, exponents.isotropic])
def test_likelihood_and_gradient(n, exponent):
    A, y = problem(n, m=3)
    F = exponent(A, A)
    logs = np.log(np.append(np.linspace(0.3, 0.8, F.shape[2]), [1.3, 0.02]))
    gradient = np.empty(len(logs))
    found = small_gp.likelihood(F, y, logs, gradient)

    def by_definition(x):
        K = oracle.gram(F, np.exp(x[:-2]), np.exp(x[-2])) + np.exp(x[-1]) * np.eye(n)
        return oracle.negative_log_likelihood(K, y)

    assert_allclose(found, by_definition(logs), rtol=1e-10)
    assert_allclose(gradient, optimize.approx_fprime(logs, by_definition, 1e-6), rtol=1e-4, atol=1e-5)


def test_predictions():
    A, y = problem(8)
    new = problem(5, seed=1)[0]
    F, cross = exponents.isotropic(A, A), exponents.isotropic(new, A)
    logs = np.log([0.5, 2.0, 0.1])
    mean, variance = np.empty(5), np.empty(5)
    small_gp.predict(F, cross, y, logs, mean, variance)
    K, k = oracle.gram(F, [0.5], 2.0) + 0.1 * np.eye(8), oracle.gram(cross, [0.5], 2.0)
    assert_allclose(mean, k @ np.linalg.solve(K, y), rtol=1e-10)
    assert_allclose(variance, 2.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)), rtol=1e-10)


def test_equal_inputs_get_a_jitter_and_indefinite_matrices_infinity():
    A, y = problem(6)
    A[1] = A[0]
    gradient = np.empty(3)
    logs = np.log([0.5, 1.0, 1e-300])
    assert np.isfinite(small_gp.likelihood(exponents.isotropic(A, A), y, logs, gradient))
    F = np.zeros((3, 3, 1))
    F[0, 2] = F[2, 0] = 50.0  # 0 like 1, 1 like 2, 0 unlike 2
    assert small_gp.likelihood(F, y[:3], logs, gradient) == np.inf
    assert not gradient.any()
    mean, variance = np.empty(3), np.empty(3)
    small_gp.predict(F, F, y[:3], logs, mean, variance)
    assert np.isnan(mean).all()


@pytest.mark.parametrize("exponent", [exponents.se, exponents.mirrored, exponents.directional])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 15])
def test_unguarded_value_is_the_definition(exponent, n):
    seen = set()
    for seed in range(20):
        A, y = problem(n, seed=seed)
        scales = np.random.default_rng(seed).uniform(0.1, 0.4, 2)
        K = oracle.gram(exponent(A, A), scales, 0.7)
        found, wanted = unguarded_gp.value(K, y, 1e-3), oracle.negative_log_likelihood(K + 1e-3 * np.eye(n), y)
        seen.add(bool(np.isnan(wanted)))
        assert_allclose(found, wanted, rtol=1e-6)
    assert seen == ({True, False} if exponent is exponents.mirrored and n > 3 else {False})


def test_singular_to_working_precision():
    A, y = problem(5)
    A[3] = A[0]
    K = oracle.gram(exponents.se(A, A), [0.3, 0.3], 1.0)
    assert np.isnan(unguarded_gp.value(K, y, 0.0))
    assert np.isfinite(unguarded_gp.value(K, y, 1e-9))
    for size in (1e-14, 1e-18):  # around the machine precision
        K = np.diag([1.0, 1.0, size])
        assert np.isnan(unguarded_gp.value(K, y[:3], 0.0)) == (size < np.finfo(float).eps)


def test_likelihoods_by_eigenvalues_and_their_best_nugget():
    A, y = problem(9)
    for exponent, scales in ((exponents.mirrored, [0.9, 0.2]), (exponents.se, [5.0, 5.0])):
        K = oracle.gram(exponent(A, A), scales, 0.5)
        eigenvalues, vectors = np.linalg.eigh(K)
        for nugget in (1e-3, 0.1, 0.5, 3.0):
            wanted = oracle.negative_log_likelihood(K + nugget * np.eye(9), y)
            assert_allclose(unguarded_gp.shifted(eigenvalues, vectors.T @ y, nugget), wanted, rtol=1e-6)
    found, best = unguarded_gp.best_nugget(eigenvalues, vectors.T @ y, 1e-12, 1.0, 1e-5)
    wanted = optimize.minimize_scalar(
        lambda g: oracle.negative_log_likelihood(K + g * np.eye(9), y), bounds=(1e-12, 1.0), method="bounded"
    )
    assert_allclose(found, wanted.x, atol=1e-4)
    assert_allclose(best, wanted.fun, rtol=1e-8)


def test_differences_stay_within_bounds_and_stop_at_the_first_undefined_value():
    A = np.array([[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]])
    y = np.array([0.3, -0.2, 0.1])
    F = exponents.mirrored(A, A)
    lower, upper = np.array([0.1, 0.1, 1e-5]), np.array([1.0, 1.0, 0.1])
    nugget, gradient = np.zeros(1), np.zeros(3)
    x = np.array([1.0, 0.9, 0.1])  # two of them at their bound
    f = unguarded_gp.differences(F, y, x, lower, upper, 1e-3, 1e-4, True, nugget, gradient)

    def by_definition(x):
        return oracle.negative_log_likelihood(oracle.gram(F, x[:2], x[2]), y)

    assert_allclose(f, by_definition(x), rtol=1e-10)
    assert nugget[0] == 0.0
    for k, (left, right) in enumerate(((0.999, 1.0), (0.899, 0.901), (0.099, 0.1))):
        below, above = x.copy(), x.copy()
        below[k], above[k] = left, right
        assert_allclose(gradient[k], (by_definition(above) - by_definition(below)) / (right - left), rtol=1e-6)
    # Eigenvalues -0.06, 1, 2.06; the asymmetric matrix has a positive determinant, the mirrored one has not.
    x = np.array([1.0, 0.1, 0.1])
    assert np.isnan(unguarded_gp.differences(F, y, x, lower, upper, 1e-3, 1e-4, False, nugget, gradient))
    G = exponents.directional(A, A)
    assert np.isfinite(unguarded_gp.differences(G, y, x, lower, upper, 1e-3, 1e-4, False, nugget, gradient))
