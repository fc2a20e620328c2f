"""Distances of Gaussians in feature space, with explicit features and dense inverses."""

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


def both(mu, nu, kernel):
    """Return mean and covariance of two measures in common explicit features."""
    f, g = features(kernel, mu.points, nu.points)
    return *moments(f, mu.weights), *moments(g, nu.weights)


def bhattacharyya(mu, nu, kernel, eta):
    """Return the square root of -ln int sqrt(p q) of the regularised Gaussians in feature space."""
    m, S, n, T = both(mu, nu, kernel)
    S, T = S + eta * np.eye(len(S)), T + eta * np.eye(len(T))
    H = (S + T) / 2
    det = [np.linalg.slogdet(A / eta)[1] for A in (H, S, T)]
    value = det[0] / 2 - (det[1] + det[2]) / 4 + (m - n) @ np.linalg.solve(H, m - n) / 8
    return np.sqrt(max(value, 0.0))


def factor(features, weights):
    """Return F with the covariance F'F: centred features times the roots of the weights."""
    a = weights / weights.sum()
    return (features - a @ features) * np.sqrt(a)[:, None]


def wasserstein(mu, nu, kernel):
    """Return W_2 by equation (8) of "Kernel Wasserstein distance".

    tr (S^(1/2) T S^(1/2))^(1/2) is the sum of the singular values of F G', S = F'F and T = G'G: roots of
    eigenvalues that are rounding errors would cost half of the digits.
    """
    f, g = features(kernel, mu.points, nu.points)
    F, G = factor(f, mu.weights), factor(g, nu.weights)
    gap = moments(f, mu.weights)[0] - moments(g, nu.weights)[0]
    return np.sqrt(max((gap**2).sum() + (F**2).sum() + (G**2).sum() - 2 * np.linalg.norm(F @ G.T, "nuc"), 0.0))


def kl(mu, nu, kernel, reg):
    """Return the root of the mean of both Kullback-Leibler divergences."""
    return np.sqrt(max((directed_kl(mu, nu, kernel, reg) + directed_kl(nu, mu, kernel, reg)) / 2, 0.0))


def directed_kl(mu, nu, kernel, reg):
    """Return the Kullback-Leibler divergence of nu from mu, by its formula with determinants."""
    m, S, n, T = both(mu, nu, kernel)
    H, G = S + reg * np.eye(len(m)), T + reg * np.eye(len(m))
    log_dets = np.linalg.slogdet(G)[1] - np.linalg.slogdet(H)[1]
    inverse = np.linalg.inv(G)
    return 0.5 * ((m - n) @ inverse @ (m - n) + log_dets + np.trace(H @ inverse) - len(m))
