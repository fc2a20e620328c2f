"""The Kullback-Leibler divergence of Gaussians in feature space, in one direction: equation 27 of `kwd`.

With features c_k of the atoms, less their mean m and times the roots of their weights, as the columns of C:
H = C C' + rho I, and with G = C'C = L L' - rho I

    rho H^-1 = I - C (G + rho I)^-1 C',   |H| = rho^l |G / rho + I|,

so that only inner products C'C, C'D, C'(m - n) and |m - n|^2 are needed: kernel values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import FloatArray
from ..ground import Linear, PointKernel
from ..measures import Measures


class _Side(NamedTuple):
    """A measure: points, probabilities, their roots, Kw, w'Kw, tr G, L, log |G / rho + I|, tr (G + rho I)^-1 G."""

    points: FloatArray
    weights: FloatArray
    roots: FloatArray
    values: FloatArray
    norm: float
    trace: float
    factor: FloatArray
    log_det: float
    rank: float


def directed_kl(ground: PointKernel, ridge: float, X: Measures, Y: Measures) -> FloatArray:
    """Return KL(N_i || N'_j) for all pairs."""
    origin = np.concatenate([X.points, Y.points]).mean(axis=0) if isinstance(ground, Linear) else 0.0
    left, right = ([_side(ground, ridge, mu.points - origin, mu.weights / mu.mass) for mu in Z] for Z in (X, Y))
    return np.array([[_pair(ground, ridge, mu, nu) for nu in right] for mu in left])


def _side(ground: PointKernel, ridge: float, points: FloatArray, weights: FloatArray) -> _Side:
    K, roots = ground(points), np.sqrt(weights)
    mean = K @ weights
    norm = float(weights @ mean)
    G = roots[:, None] * (K - mean[:, None] - mean[None] + norm) * roots
    L = np.asarray(np.linalg.cholesky(G + ridge * np.eye(len(G))), dtype=np.float64)
    inverse = solve_triangular(L, np.eye(len(G)), lower=True)
    rank = len(G) - ridge * float((inverse**2).sum())
    log_det = 2.0 * float(np.log(np.diagonal(L)).sum()) - len(G) * np.log(ridge)
    return _Side(points, weights, roots, mean, norm, float(np.trace(G)), L, log_det, rank)


def _pair(ground: PointKernel, ridge: float, mu: _Side, nu: _Side) -> float:
    K = ground(nu.points, mu.points)
    onto, back = K @ mu.weights, nu.weights @ K
    cross = float(nu.weights @ onto)
    gap = max(mu.norm + nu.norm - 2.0 * cross, 0.0)  # |m - n|^2
    shift = nu.roots * ((onto - cross) - (nu.values - nu.norm))  # D'(m - n)
    product = nu.roots[:, None] * (K - onto[:, None] - back[None] + cross) * mu.roots  # D'C
    solved = solve_triangular(nu.factor, np.column_stack([product, shift]), lower=True)
    explained = (solved**2).sum(axis=0)
    traces = (mu.trace - explained[:-1].sum()) / ridge - nu.rank
    return max(0.5 * float(traces + nu.log_det - mu.log_det + (gap - explained[-1]) / ridge), 0.0)
