"""Barycentres by plain loops and linear programs."""

import numpy as np
from scipy.optimize import linprog
from scipy.special import logsumexp


def fixed_support(costs, measures, weights):
    """Return the least sum_i w_i <P_i, C> over measures on the points, and that measure, by one linear program.

    ``costs`` (m, m); ``measures`` (n, m) probabilities. Variables: all plans, then the barycentre.
    """
    n, m = measures.shape
    c = np.concatenate([*(w * costs.ravel() for w in weights), np.zeros(m)])
    rows, sides = [], []
    for i in range(n):
        for j in range(m):
            row = np.zeros((n, m, m))
            row[i, :, j] = 1.0  # the columns of plan i
            rows.append(np.concatenate([row.ravel(), np.zeros(m)]))
            sides.append(measures[i, j])
            row = np.zeros((n, m, m))
            row[i, j, :] = 1.0  # its rows
            rows.append(np.concatenate([row.ravel(), -np.eye(m)[j]]))
            sides.append(0.0)
    found = linprog(c, A_eq=np.array(rows), b_eq=np.array(sides), method="highs")
    return found.fun, found.x[-m:]


def entropic(costs, measures, weights, epsilon, debiased, iterations):
    """Return the entropic barycentre by iterated projections on logarithms, one measure after the other."""
    n, m = measures.shape
    logs = -costs / epsilon
    with np.errstate(divide="ignore"):
        log_a = np.log(measures)
    g, d = np.zeros((n, m)), np.zeros(m)
    for _ in range(iterations):
        sums = np.empty((n, m))
        for i in range(n):
            f = log_a[i] - logsumexp(logs + g[i][:, None], axis=0)
            sums[i] = logsumexp(logs + f[None], axis=1)
        b = d + weights @ sums
        g = b - sums
        if debiased:
            d = 0.5 * (d + b - logsumexp(logs + d[None], axis=1))
    return np.exp(b)
