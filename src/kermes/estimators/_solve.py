"""Linear algebra of least-squares support vector machines; arrays in, arrays out.

The dual system for targets y and ridge r is ``[K + diag(r), 1; 1', 0] [alpha; b] = [y; 0]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, cho_factor, cho_solve, solve

from .._linalg import eigh
from .._typing import FloatArray
from ..exceptions import IllConditionedWarning, NumericalError

#: (matrix, targets, ridge) -> coefficients, intercepts
Solver: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def dual(K: FloatArray, targets: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return alpha (n, p) and b (p,) for p columns of targets; K may be indefinite."""
    A = K + np.diag(ridge)
    factor = _cholesky(A)
    if factor is None:
        solution = _solve_symmetric(_bordered(A), np.vstack([targets, np.zeros(targets.shape[1])]))
        return solution[:-1], solution[-1]
    solved = cho_solve(factor, np.column_stack([np.ones(len(K)), targets]))
    eta, nu = solved[:, :1], solved[:, 1:]
    intercept = nu.sum(axis=0) / eta.sum()
    return nu - eta * intercept, intercept


def dual_leave_one_out(K: FloatArray, targets: FloatArray, ridge: FloatArray) -> FloatArray:
    """Return the outputs (n, p) for each sample of the machine trained without it.

    The residual is alpha_i / (C^-1)_ii with C the bordered matrix, bias included.
    """
    n = len(K)
    inverse = _solve_symmetric(_bordered(K + np.diag(ridge)), np.eye(n + 1))[:n, :n]
    return np.asarray(targets - inverse @ targets / np.diagonal(inverse)[:, np.newaxis])


def primal(F: FloatArray, targets: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return w (l, p) and b (p,) for features F (n, l); the smaller of the two systems is solved."""
    if F.shape[1] >= len(F):
        alpha, intercept = dual(F @ F.T, targets, ridge)
        return F.T @ alpha, intercept
    weights = 1.0 / ridge
    mean, level = np.average(F, axis=0, weights=weights), np.average(targets, axis=0, weights=weights)
    centred = F - mean
    scatter, cross = (centred.T * weights) @ centred, (centred.T * weights) @ (targets - level)
    return from_moments(mean, scatter, cross, level, 1.0)


def primal_leave_one_out(F: FloatArray, targets: FloatArray, ridge: FloatArray) -> FloatArray:
    """Return the outputs (n, p) for each sample of the machine on these features trained without it.

    The residual is that of the fit over 1 - h_i, with the leverage h_i of the sample, intercept included.
    """
    coef, intercept = primal(F, targets, ridge)
    weights = 1.0 / ridge
    centred = F - np.average(F, axis=0, weights=weights)
    inner = _solve_symmetric((centred.T * weights) @ centred + np.eye(F.shape[1]), centred.T).T
    leverage = weights * (1.0 / weights.sum() + np.einsum("il,il->i", centred, inner))
    return np.asarray(targets - (targets - F @ coef - intercept) / (1.0 - leverage)[:, np.newaxis])


def from_moments(
    mean: FloatArray, scatter: FloatArray, cross: FloatArray, level: FloatArray, gamma: float
) -> tuple[FloatArray, FloatArray]:
    """Return w (l, p) and b (p,) from moments of features and targets.

    These are the mean (l,) of the features and that of the targets, ``level`` (p,), and the sums about them of products
    of features, ``scatter`` (l, l), and of features with targets, ``cross`` (l, p).
    """
    A = gamma * scatter + np.eye(len(mean))
    rhs = gamma * cross
    factor = _cholesky(A)
    w = _solve_symmetric(A, rhs) if factor is None else cho_solve(factor, rhs)
    return w, level - mean @ w


def binary(method: Solver, matrix: FloatArray, target: FloatArray, ridge: FloatArray) -> tuple[FloatArray, float]:
    """Return coefficients and intercept of the machine of one target (n,), where 0 means that a sample takes no part.

    ``method`` is :func:`dual` with the Gram matrix, whose coefficients of other samples are 0, or :func:`primal` with
    the features.
    """
    rows = np.flatnonzero(target)
    if method is primal:
        coef, intercept = primal(matrix[rows], target[rows, np.newaxis], ridge[rows])
        return coef[:, 0], float(intercept[0])
    alpha, intercept = dual(matrix[np.ix_(rows, rows)], target[rows, np.newaxis], ridge[rows])
    coef = np.zeros(len(target))
    coef[rows] = alpha[:, 0]
    return coef, float(intercept[0])


class DualFactor:
    """Eigendecomposition of K (n, n), definite or not: dual machines for any targets and many gammas."""

    def __init__(self, K: FloatArray) -> None:
        self._values, self._vectors = eigh(K)

    def path(self, y: FloatArray, gammas: FloatArray) -> Path:
        """Return the machines for the targets y (n,), one per gamma; not finite where the system is singular."""
        V = self._vectors
        ones, rotated = V.sum(axis=0), y @ V
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inverse = 1.0 / (self._values[:, np.newaxis] + 1.0 / gammas)
            eta, total = V @ (ones[:, np.newaxis] * inverse), ones**2 @ inverse
            intercept = (ones * rotated) @ inverse / total
            alpha = V @ (rotated[:, np.newaxis] * inverse) - eta * intercept

            def left_out() -> FloatArray:
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    return np.asarray(y[:, np.newaxis] - alpha / (V**2 @ inverse - eta**2 / total))

        return Path(alpha, intercept, left_out)


class PrimalFactor:
    """Eigendecomposition of the smaller of F'F and FF' for features F (n, l): primal machines likewise."""

    def __init__(self, F: FloatArray) -> None:
        self._F, self._mean = F, F.mean(axis=0)
        self._dual = DualFactor(F @ F.T) if F.shape[1] >= len(F) else None
        if self._dual is None:
            values, self._vectors = eigh((F - self._mean).T @ (F - self._mean))
            self._values = np.maximum(values, 0.0)

    def path(self, y: FloatArray, gammas: FloatArray) -> Path:
        """Return the machines for the targets y (n,), one per gamma."""
        F = self._F
        if self._dual is not None:
            machines = self._dual.path(y, gammas)
            return machines._replace(coef=F.T @ machines.coef)
        scores, level = (F - self._mean) @ self._vectors, y.mean()
        inverse = 1.0 / (self._values[:, np.newaxis] + 1.0 / gammas)
        w = self._vectors @ (((y - level) @ scores)[:, np.newaxis] * inverse)
        intercept = level - self._mean @ w

        def left_out() -> FloatArray:
            leverage = 1.0 / len(y) + scores**2 @ inverse
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(y[:, np.newaxis] - (y[:, np.newaxis] - F @ w - intercept) / (1.0 - leverage))

        return Path(w, intercept, left_out)


class Path(NamedTuple):
    """Machines for g values of gamma: coefficients (n or l, g), intercepts (g,), leave-one-out outputs (n, g)."""

    coef: FloatArray
    intercept: FloatArray
    leave_one_out: Callable[[], FloatArray]

    def outputs(self, rows: FloatArray) -> FloatArray:
        """Return the outputs (m, g) at new samples with kernel values or features ``rows``."""
        with np.errstate(invalid="ignore", over="ignore"):
            return rows @ self.coef + self.intercept


def _bordered(A: FloatArray) -> FloatArray:
    n = len(A)
    matrix = np.ones((n + 1, n + 1))
    matrix[:n, :n] = A
    matrix[n, n] = 0.0
    return matrix


def _cholesky(A: FloatArray) -> Any:
    """Return the Cholesky factor, or None if A is not safely positive definite."""
    try:
        factor = cho_factor(A, lower=True)
    except LinAlgError:
        return None
    pivots = np.diagonal(factor[0]) ** 2
    # Pivots at rounding level: the other route says whether the system is singular.
    return factor if pivots.min() > len(A) * np.finfo(np.float64).eps * pivots.max() else None


def _solve_symmetric(A: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve a symmetric indefinite system by its L D L' factorisation."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LinAlgWarning)
        try:
            solution: FloatArray = solve(A, rhs, assume_a="sym")
        except LinAlgError:
            raise NumericalError(
                "the LS-SVM system is singular: minus 1 / gamma is an eigenvalue of the Gram matrix. Change gamma a "
                "little, or repair the Gram matrix first."
            ) from None
    if caught:
        warnings.warn(
            "the LS-SVM system is nearly singular, so that its solution may have few correct digits. Lower gamma.",
            IllConditionedWarning,
            stacklevel=2,
        )
    return solution
