"""Distances of Gaussians in feature space, from explicit features of the pooled atoms."""

import numpy as np


def moments(mu, nu, k):
    """Means and covariances of two measures in the coordinates of an eigendecomposition of the pooled kernel matrix."""
    points = np.concatenate([mu.points, nu.points])
    K = np.array([[k(x, y) for y in points] for x in points])
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    found = []
    for part, measure in ((features[: len(mu.points)], mu), (features[len(mu.points) :], nu)):
        weights = measure.weights / measure.mass
        mean = weights @ part
        found.append((mean, (part - mean).T @ ((part - mean) * weights[:, None])))
    return found


def root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T


def wasserstein(mu, nu, k):
    """Squared distance, equation (8) of "Kernel Wasserstein distance"."""
    (m, S), (other, T) = moments(mu, nu, k)
    coupling = np.trace(root(root(S) @ T @ root(S)))
    return max(((m - other) ** 2).sum() + np.trace(S) + np.trace(T) - 2 * coupling, 0.0)


def kl(mu, nu, k, reg):
    """Mean of both Kullback-Leibler divergences, each by its formula with determinants."""
    (m, S), (other, T) = moments(mu, nu, k)
    H, G = S + reg * np.eye(len(m)), T + reg * np.eye(len(m))
    gap = m - other

    def one_way(H, G):
        log_dets = np.linalg.slogdet(G)[1] - np.linalg.slogdet(H)[1]
        inverse = np.linalg.inv(G)
        return 0.5 * (gap @ inverse @ gap + log_dets + np.trace(H @ inverse) - len(m))

    return max((one_way(H, G) + one_way(G, H)) / 2, 0.0)
