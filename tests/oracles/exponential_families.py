"""Jensen differences of maximum-likelihood entropies: pooled atoms, loops over bins, scalar optimisation."""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar


def jensen(mu, nu, entropy):
    """2 (h((mu + nu) / 2) - (h(mu) + h(nu)) / 2) for a function of points and probabilities."""
    (x, a), (y, b) = ((m.points, m.weights / m.mass) for m in (mu, nu))
    pooled = entropy(np.concatenate([x, y]), np.concatenate([a, b]) / 2)
    return 2 * pooled - entropy(x, a) - entropy(y, b)


def mass_laplace(mu, nu, entropy, n_parameters):
    """The kernel below equation (1) of "Semigroup kernels on finite sets", with the masses of the measures."""
    (x, a), (y, b) = ((m.points, m.weights) for m in (mu, nu))
    sides = a.sum() * entropy(x, a / a.sum()) + b.sum() * entropy(y, b / b.sum())
    total = a.sum() + b.sum()
    pooled = total * entropy(np.concatenate([x, y]), np.concatenate([a, b]) / total)
    return math.exp(sides - pooled) * (2 * math.sqrt(a.sum() * b.sum()) / total) ** (n_parameters / 2)


def gaussian(points, weights):
    """Entropy of the normal density with the covariance of the atoms."""
    S = np.atleast_2d(np.cov(points.T, aweights=weights, bias=True))
    return 0.5 * np.log(np.linalg.det(2 * np.pi * np.e * S))


def diagonal_gaussian(points, weights):
    """The same with independent coordinates."""
    return sum(gaussian(points[:, [k]], weights) for k in range(points.shape[1]))


def shannon(points, weights):
    """Entropy of the histogram of the atoms."""
    return -sum(p * math.log(p) for p in histogram(points, weights).values())


def histogram(points, weights):
    """Mass of each distinct point."""
    total = {}
    for point, weight in zip(points, weights, strict=True):
        total[tuple(point)] = total.get(tuple(point), 0.0) + weight
    return total


def log_dirichlet(masses, prior):
    """ln of the integral of prod theta_i^masses_i over the Dirichlet distribution."""
    m, total = len(masses), sum(masses)
    terms = sum(math.lgamma(a + prior) - math.lgamma(prior) for a in masses)
    return math.lgamma(m * prior) - math.lgamma(total + m * prior) + terms


def truncated_exponentials(low, high):
    """Entropy of the product of densities c exp(theta x) on [low, high] with the means of the atoms."""
    middle, half = (low + high) / 2, (high - low) / 2

    def psi(t):  # ln of the integral of exp(t x / half), x from -half to half
        return math.log(2 * half) + (t**2 / 6 if abs(t) < 1e-4 else math.log(math.sinh(abs(t)) / abs(t)))

    def entropy(points, weights):
        means = (weights @ points - middle) / half
        return sum(minimize_scalar(lambda t, m=m: psi(t) - t * m, tol=1e-14).fun for m in means)

    return entropy


def on_interval(statistics, low, high):
    """Entropy of the density exp(<theta, f(x)> - psi) on [low, high] with the moments of the atoms."""

    def entropy(points, weights):
        moments = weights @ np.stack([f(points[:, 0]) for f in statistics], axis=1)

        def objective(theta):
            integral, _ = quad(lambda x: math.exp(sum(t * f(x) for t, f in zip(theta, statistics, strict=True))),
                               low, high, epsabs=0, epsrel=1e-12, limit=200)  # fmt: skip
            return math.log(integral) - theta @ moments

        return minimize(objective, np.zeros(len(statistics)), method="Nelder-Mead",
                        options={"xatol": 1e-5, "fatol": 1e-12, "maxiter": 4000}).fun  # fmt: skip

    return entropy
