"""From outputs of binary machines to probabilities of classes: sigmoids, and their coupling."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from .._typing import AnyArray, FloatArray

#: Probabilities of binary problems are kept away from 0 and 1 by this much where they are coupled.
EDGE = 1e-9


def fit_sigmoids(outputs: FloatArray, targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (a, b) of the sigmoid 1 / (1 + exp(-a f - b)) of each machine, (n_problems, 2).

    ``outputs`` (n, p) are those of machines that did not see the sample, ``targets`` -1, 1, or 0 for samples that take
    no part, ``weights`` (n,) positive.
    """
    problems = zip(outputs.T, targets.T, strict=True)
    return np.array([_sigmoid(f[t != 0], t[t != 0] > 0, weights[t != 0]) for f, t in problems])


def _sigmoid(outputs: FloatArray, positive: AnyArray, weights: FloatArray) -> FloatArray:
    """Maximise the likelihood of Platt (2000): targets are a little off 0 and 1, so that a maximum exists."""
    scale = max(float(np.abs(outputs).max()), 1e-300)
    f = outputs / scale
    weights = weights * len(weights) / weights.sum()
    ahead, behind = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (ahead + 1.0) / (ahead + 2.0), 1.0 / (behind + 2.0))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        z = theta[0] * f + theta[1]
        gap = weights * (expit(z) - target)
        value = -float(weights @ (target * log_expit(z) + (1.0 - target) * log_expit(-z)))
        return value, np.array([gap @ f, gap.sum()])

    start = np.array([0.0, np.log((ahead + 1.0) / (behind + 1.0))])
    # A machine that is worse than a guess on samples it did not see says nothing, rather than the opposite.
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)])
    return np.array([found.x[0] / scale, found.x[1]])


def probabilities(outputs: FloatArray, sigmoids: FloatArray, codes: FloatArray) -> FloatArray:
    """Return the probabilities (n, n_classes) from outputs (n, n_problems) of the machines with these code words."""
    ahead = expit(outputs * sigmoids[:, 0] + sigmoids[:, 1])
    if len(codes) == 2:
        return np.column_stack([1.0 - ahead[:, 0], ahead[:, 0]])
    if codes.all():  # one class against the rest
        ahead = np.maximum(ahead, EDGE)
        return np.asarray(ahead / ahead.sum(axis=1, keepdims=True))
    return _coupled(np.clip(ahead, EDGE, 1.0 - EDGE), codes)


def _coupled(ahead: FloatArray, codes: FloatArray) -> FloatArray:
    r"""Minimise :math:`\sum_{i < j} (r_{ji} p_i - r_{ij} p_j)^2` over probabilities p: Wu, Lin and Weng (2004).

    ``r_ij`` estimates P(i | i or j); ``ahead`` has those of the second class of each pair.
    """
    n, k = len(ahead), len(codes)
    first, second = np.triu_indices(k, 1)
    r = np.zeros((n, k, k))
    r[:, second, first], r[:, first, second] = ahead, 1.0 - ahead
    Q = -r * r.transpose(0, 2, 1)
    Q[:, np.arange(k), np.arange(k)] = (r**2).sum(axis=1)  # sum over j of r_ji^2
    bordered = np.zeros((n, k + 1, k + 1))
    bordered[:, :k, :k] = Q
    bordered[:, :k, k] = bordered[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(bordered, right)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
