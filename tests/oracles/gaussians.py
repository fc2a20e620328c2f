"""Bhattacharyya distances of Gaussians, with explicit features and dense inverses."""

import numpy as np


def features(kernel, *point_sets):
    """Return explicit features of the points, whose inner products are the kernel, one array per set."""
    pooled = np.concatenate(point_sets)
    values, vectors = np.linalg.eigh([[kernel(x, y) for y in pooled] for x in pooled])
    explicit = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.split(explicit, np.cumsum([len(points) for points in point_sets])[:-1])


def moments(features, weights):
    """Return mean and covariance."""
    a = weights / weights.sum()
    mean = a @ features
    return mean, ((features - mean).T * a) @ (features - mean)


def bhattacharyya(mu, nu, kernel, eta):
    """Return the square root of -ln int sqrt(p q) of the regularised Gaussians in feature space."""
    f, g = features(kernel, mu.points, nu.points)
    (m, S), (n, T) = moments(f, mu.weights), moments(g, nu.weights)
    S, T = S + eta * np.eye(len(S)), T + eta * np.eye(len(T))
    H = (S + T) / 2
    det = [np.linalg.slogdet(A / eta)[1] for A in (H, S, T)]
    value = det[0] / 2 - (det[1] + det[2]) / 4 + (m - n) @ np.linalg.solve(H, m - n) / 8
    return np.sqrt(max(value, 0.0))
