r"""Gaussian processes on a few samples: one likelihood in microseconds, for experiments with millions of them.

The kernel is :math:`K = s \exp(-\frac12 \sum_k F_k / \theta_k^2)` with one matrix of squared differences :math:`F_k`
for each length scale: array ``F`` of shape (n, n, q). Hyperparameters are logarithms of :math:`(\theta, s, v)`, v
the variance of the noise. A call of LAPACK on matrices of this size costs more than the arithmetic.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...core.exp import exp
from ...core.jit import drop_stale_cache, strict_core, tile_core

drop_stale_cache(Path(__file__).parent)

LOG_TWO_PI = float(np.log(2 * np.pi))
#: Jitters, as fractions of the variance: the least one that makes the matrix positive definite is added.
RUNGS = (0.0, 1e-10, 1e-8, 1e-6)


@strict_core
def gram(F, scales, variance, K):
    """Write K = variance exp(-1/2 sum_k F_k / scales_k^2), whether F is symmetric or not."""
    n, m, q = F.shape
    rates = 0.5 / scales**2
    for i in range(n):
        for j in range(m):
            exponent = 0.0
            for k in range(q):
                exponent += rates[k] * F[i, j, k]
            K[i, j] = variance * exp(-exponent)


@tile_core
def cholesky(A):
    """Replace the lower triangle of A by its factor; return log det A, nan if A is not positive definite."""
    n = len(A)
    total = 0.0
    for j in range(n):
        for i in range(j, n):
            known = 0.0
            for k in range(j):
                known += A[i, k] * A[j, k]
            if i > j:
                A[i, j] = (A[i, j] - known) / A[j, j]
                continue
            pivot = A[j, j] - known
            if not pivot > 0.0:
                return np.nan
            A[j, j] = np.sqrt(pivot)
            total += np.log(pivot)
    return total


@tile_core
def solve_factored(L, b):
    """Solve L L' x = b in place."""
    n = len(b)
    for i in range(n):
        known = 0.0
        for k in range(i):
            known += L[i, k] * b[k]
        b[i] = (b[i] - known) / L[i, i]
    for i in range(n - 1, -1, -1):
        known = 0.0
        for k in range(i + 1, n):
            known += L[k, i] * b[k]
        b[i] = (b[i] - known) / L[i, i]


@tile_core
def invert_factored(L, inverse):
    """Write (L L')^-1."""
    n = len(L)
    for j in range(n):
        column = inverse[j]  # symmetric: a row serves as the column
        column[:] = 0.0
        column[j] = 1.0
        solve_factored(L, column)


@tile_core
def factored(K, noise, variance, L):
    """Factorise K + noise I into L, with the least jitter it needs; return its log det, nan if none is enough."""
    n = len(K)
    log_det = np.nan
    for rung in RUNGS:
        L[:] = K
        for i in range(n):
            L[i, i] += noise + rung * variance
        log_det = cholesky(L)
        if not np.isnan(log_det):
            break
    return log_det


@tile_core
def likelihood(F, y, logs, gradient):
    r"""Return :math:`-\log p(y)` and write its gradient in the logarithms; inf and zeros if K is indefinite.

    .. math:: \partial_\vartheta = \frac12 \operatorname{tr} \left[(K^{-1} - \alpha \alpha') \partial K\right],
              \qquad \alpha = K^{-1} y
    """
    n, _, q = F.shape
    K, L, inverse = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    scales = np.exp(logs[:q])
    variance, noise = np.exp(logs[q]), np.exp(logs[q + 1])
    gram(F, scales, variance, K)
    log_det = factored(K, noise, variance, L)
    gradient[:] = 0.0
    if np.isnan(log_det):
        return np.inf
    alpha = y.copy()
    solve_factored(L, alpha)
    invert_factored(L, inverse)
    fit = 0.0
    for i in range(n):
        fit += y[i] * alpha[i]
        gradient[q + 1] += 0.5 * noise * (inverse[i, i] - alpha[i] * alpha[i])
        for j in range(n):
            weight = 0.5 * (inverse[i, j] - alpha[i] * alpha[j]) * K[i, j]
            gradient[q] += weight
            for k in range(q):
                gradient[k] += weight * F[i, j, k] / scales[k] ** 2
    return 0.5 * (fit + log_det + n * LOG_TWO_PI)


@tile_core
def predict(F, cross, y, logs, mean, variance):
    """Write the mean and the variance of the function (without noise) at new inputs; nan if K is indefinite.

    ``cross`` (n_new, n, q) holds the squared differences of new and known inputs.
    """
    n, _, q = F.shape
    scales = np.exp(logs[:q])
    prior = np.exp(logs[q])
    K, L, k = np.empty((n, n)), np.empty((n, n)), np.empty((len(cross), n))
    gram(F, scales, prior, K)
    gram(cross, scales, prior, k)
    if np.isnan(factored(K, np.exp(logs[q + 1]), prior, L)):
        mean[:] = np.nan
        variance[:] = np.nan
        return
    alpha = y.copy()
    solve_factored(L, alpha)
    column = np.empty(n)
    for t in range(len(cross)):
        column[:] = k[t]
        solve_factored(L, column)
        mean[t] = (k[t] * alpha).sum()
        variance[t] = max(prior - (k[t] * column).sum(), 0.0)
