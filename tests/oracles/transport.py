"""Optimal transport as the linear program it is."""

import numpy as np
from scipy.optimize import linprog


def transport_cost(a, b, C):
    """min <C, P> over P >= 0 with marginals a and b."""
    n, m = C.shape
    rows = np.kron(np.eye(n), np.ones(m))
    cols = np.kron(np.ones(n), np.eye(m))
    answer = linprog(C.ravel(), A_eq=np.vstack([rows, cols]), b_eq=np.concatenate([a, b]), method="highs")
    assert answer.status == 0, answer.message
    return answer.fun


def euclidean(x, y):
    return np.linalg.norm(x[:, None] - y[None], axis=-1)


def wasserstein(mu, nu, p, distance=euclidean):
    """W_p between two Measure objects for a ground distance between two arrays of points."""
    cost = transport_cost(mu.weights / mu.mass, nu.weights / nu.mass, distance(mu.points, nu.points) ** p)
    return max(cost, 0.0) ** (1 / p)


def sliced(mu, nu, p, directions):
    """SW_p over the given directions."""
    costs = [
        transport_cost(mu.weights / mu.mass, nu.weights / nu.mass, euclidean(mu.points @ t, nu.points @ t) ** p)
        for t in directions[:, :, None]
    ]
    return max(np.mean(costs), 0.0) ** (1 / p)
