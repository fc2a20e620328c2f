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


def wasserstein(mu, nu, p):
    """W_p with Euclidean ground distance between two Measure objects."""
    C = np.linalg.norm(mu.points[:, None] - nu.points[None], axis=-1) ** p
    cost = transport_cost(mu.weights / mu.mass, nu.weights / nu.mass, C)
    return max(cost, 0.0) ** (1 / p)
