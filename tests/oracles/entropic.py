"""Entropic transport by log-domain iterations in NumPy, to convergence."""

import numpy as np
from scipy.special import logsumexp, xlogy


def plan(a, b, C, epsilon, tol=1e-12, most=20_000):
    """The coupling of a and b that minimises <P, C> + epsilon KL(P | a b')."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for k in range(most):
        f = -epsilon * logsumexp((g[None] - C) / epsilon + np.log(b)[None], axis=1)
        g = -epsilon * logsumexp((f[:, None] - C) / epsilon + np.log(a)[:, None], axis=0)
        P = a[:, None] * b[None] * np.exp((f[:, None] + g[None] - C) / epsilon)
        if k % 10 == 0 and np.abs(P.sum(axis=1) - a).sum() < tol:
            break
    return P


def relative(a, b, C, epsilon):
    """The minimum of <P, C> + epsilon KL(P | a b')."""
    P = plan(a, b, C, epsilon)
    return (P * C).sum() + epsilon * (xlogy(P, P) - xlogy(P, a[:, None] * b[None])).sum()


def value(mu, nu, cost, epsilon, which):
    """The value of that name between two Measure objects."""
    a, b = mu.weights / mu.mass, nu.weights / nu.mass
    C = cost(mu.points, nu.points)
    if which == "debiased":
        own = [relative(w, w, cost(m.points, m.points), epsilon) for w, m in ((a, mu), (b, nu))]
        return relative(a, b, C, epsilon) - sum(own) / 2
    P = plan(a, b, C, epsilon)
    return (P * C).sum() + (epsilon * xlogy(P, P).sum() if which == "regularized" else 0.0)
