"""Distances of vectors and of mean embeddings, by loops over atoms."""

import numpy as np


def euclidean(mu, nu):
    """l2 distance of the weight vectors on the union of the supports."""
    total = {}
    for measure, sign in ((mu, 1.0), (nu, -1.0)):
        for point, weight in zip(measure.points, measure.weights, strict=True):
            total[tuple(point)] = total.get(tuple(point), 0.0) + sign * weight / measure.mass
    return np.sqrt(sum(value**2 for value in total.values()))


def mmd(mu, nu, k):
    """Distance of mean embeddings for a function k of two points."""

    def inner(x, y):
        return sum(
            a * b * k(p, q)
            for p, a in zip(x.points, x.weights / x.mass, strict=True)
            for q, b in zip(y.points, y.weights / y.mass, strict=True)
        )

    return np.sqrt(max(inner(mu, mu) + inner(nu, nu) - 2 * inner(mu, nu), 0.0))
