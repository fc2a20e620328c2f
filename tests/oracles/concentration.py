"""Concentration functionals and their Jensen differences, by their definitions."""

import numpy as np


def pooled(mu, nu):
    """Atoms and weights of the mean of two measures, masses normalised to 1."""
    return np.concatenate([mu.points, nu.points]), np.concatenate([mu.weights / mu.mass, nu.weights / nu.mass]) / 2


def jensen(mu, nu, h):
    """h of the mean less the mean of h, for a function h of points and weights."""
    return h(*pooled(mu, nu)) - (h(mu.points, mu.weights / mu.mass) + h(nu.points, nu.weights / nu.mass)) / 2


def centred_log_det(points, weights, k, eta):
    """Half log det(K~ diag(w) / eta + I): n x n, the form of Theorem 6 of "Semigroup kernels on measures"."""
    n = len(weights)
    K = np.array([[k(x, y) for y in points] for x in points])
    centre = np.eye(n) - np.outer(np.ones(n), weights)
    return 0.5 * np.linalg.slogdet(np.eye(n) + centre @ K @ centre.T @ np.diag(weights) / eta)[1]


def covariance_log_det(points, weights, eta):
    """Half log det(Sigma / eta + I): d x d."""
    mean = weights @ points
    covariance = (points - mean).T @ ((points - mean) * weights[:, None])
    return 0.5 * np.linalg.slogdet(np.eye(points.shape[1]) + covariance / eta)[1]
