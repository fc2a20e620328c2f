"""The barycentre of Gaussians: the fixed point of covariances."""

from __future__ import annotations

import numpy as np

from .._typing import FloatArray
from ..measures import Measures
from ._barycenter_problem import BarycenterInfo, Problem, cloud, unit

#: Eigenvalues below this part of the largest are rounding.
NEGLIGIBLE = 1e-14


def of_gaussians(problem: Problem) -> tuple[Measures, BarycenterInfo]:
    """Return sigma points of the barycentre of the Gaussians with the moments of the measures."""
    centre, length = unit(problem.X)
    means, covariances = moments(problem.X.map_points(lambda points: (points - centre) / length))
    tol, max_iter = problem.tol or 1e-9, problem.max_iter or 1000
    S, info = bures_mean(covariances, problem.weights, tol, max_iter)
    points = sigma_points(problem.weights @ means, S)
    return cloud(centre + length * points), info


def moments(X: Measures) -> tuple[FloatArray, FloatArray]:
    """Return the means (n, d) and covariances (n, d, d)."""
    means, weights = X.expectation(X.points), X.probabilities
    covariances = np.empty((len(X), X.dim, X.dim))
    for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
        centred = X.points[start:stop] - means[i]
        covariances[i] = centred.T @ (weights[start:stop, None] * centred)
    return means, covariances


def bures_mean(
    covariances: FloatArray, weights: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, BarycenterInfo]:
    r"""Return the covariance S of least :math:`\sum_i w_i B(S, \Sigma_i)^2`, B the Bures distance.

    .. math:: S \leftarrow S^{-1/2} \Big(\sum_i w_i (S^{1/2} \Sigma_i S^{1/2})^{1/2}\Big)^2 S^{-1/2}

    from :math:`(\sum_i w_i \Sigma_i^{1/2})^2`, which is the answer if all covariances commute, and whose range holds
    theirs: on it S is inverted. It stops at a relative change of at most ``tol``.
    """
    S = _mean_root(covariances, weights)
    S, change = S @ S, 0.0
    for iteration in range(1, max_iter + 1):
        values, axes = np.linalg.eigh(S)
        kept = values > NEGLIGIBLE * max(values[-1], 0.0)
        if not kept.any():
            return np.zeros_like(S), BarycenterInfo(iteration, 0.0, True)
        roots, axes = np.sqrt(values[kept]), axes[:, kept]
        half, inverse = (axes * roots) @ axes.T, (axes / roots) @ axes.T
        map_ = inverse @ _mean_root(half @ covariances @ half, weights)
        new = map_ @ map_.T
        change = float(np.linalg.norm(new - S) / np.linalg.norm(S))
        S = new
        if change <= tol:
            break
    return S, BarycenterInfo(iteration, change, change <= tol)


def sigma_points(mean: FloatArray, S: FloatArray) -> FloatArray:
    """Return 2 r equally heavy points with this mean and covariance of rank r, on its principal axes; the mean if 0."""
    values, axes = np.linalg.eigh(S)
    kept = values > NEGLIGIBLE * max(values[-1], 0.0)
    steps = (axes[:, kept] * np.sqrt(kept.sum() * values[kept])).T[::-1]
    return np.concatenate([mean + steps, mean - steps]) if len(steps) else mean[None]


def _mean_root(matrices: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the symmetric roots of positive semidefinite matrices (n, d, d)."""
    values, axes = np.linalg.eigh(matrices)
    scaled = axes * np.sqrt(np.sqrt(np.maximum(values, 0.0)))[:, None, :]
    return np.asarray(np.einsum("n,nij,nkj->ik", weights, scaled, scaled, optimize=True))
