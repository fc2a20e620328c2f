"""Jensen-Shannon divergences: by loops over atoms, and by quadrature of smoothed densities."""

import math

import numpy as np
from scipy.integrate import quad


def js(mu, nu):
    """Root of J in nats over the union of the atoms, term by term."""
    p, q = {}, {}
    for table, measure in ((p, mu), (q, nu)):
        for point, weight in zip(measure.points, measure.weights, strict=True):
            table[tuple(point)] = table.get(tuple(point), 0.0) + weight / measure.mass
    total = 0.0
    for z in {*p, *q}:
        a, b = p.get(z, 0.0), q.get(z, 0.0)
        total += sum(u * math.log(2 * u / (a + b)) / 2 for u in (a, b) if u > 0)
    return math.sqrt(max(total, 0.0))


def entropy(weights):
    """Entropy in nats of a probability vector."""
    return -sum(w * math.log(w) for w in weights if w > 0)


def density(measure, sigma, x):
    """The smoothed density at points x (m, d)."""
    squared = ((x[:, None] - measure.points[None]) ** 2).sum(axis=-1)
    kernel = np.exp(-squared / (2 * sigma**2)) / (2 * np.pi * sigma**2) ** (measure.dim / 2)
    return kernel @ (measure.weights / measure.mass)


def smoothed(mu, nu, sigma, step=0.15, margin=8.0):
    """Root of J of the smoothed densities on the line or in the plane, over one fine grid."""
    points = np.concatenate([mu.points, nu.points])
    axes = [
        np.arange(low - margin * sigma, high + margin * sigma, step * sigma)
        for low, high in zip(points.min(axis=0), points.max(axis=0), strict=True)
    ]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, mu.dim)
    p, q = density(mu, sigma, x), density(nu, sigma, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(u > 0, u * np.log(2 * u / (p + q)), 0.0) for u in (p, q)]
    return math.sqrt(max(0.5 * (terms[0] + terms[1]).sum() * (step * sigma) ** mu.dim, 0.0))


def smoothed_diracs(distance):
    """J of two unit Gaussians whose centres are that far apart, in any dimension."""

    def term(x):
        p, q = (math.exp(-((x - s * distance / 2) ** 2) / 2) / math.sqrt(2 * math.pi) for s in (-1, 1))
        return sum(u * math.log(2 * u / (p + q)) / 2 for u in (p, q) if u > 0)

    return 2 * quad(term, 0, distance / 2 + 9, epsabs=1e-14, epsrel=1e-12, limit=400)[0]
