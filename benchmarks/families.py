"""Rows of the exponential families: Laplace kernels of Gaussians and histograms."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import jensenshannon

from kermes import Engine, Measures, divergences, pairwise

from .harness import Contest, Row, relative

FRESH = Engine(memo=False, progress=False)


def gaussian_laplace() -> Row:
    """Log-determinants of covariances of means: 500 clouds of 50 points in 10 dimensions."""
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(500, 50, 10)) * rng.uniform(0.5, 2.0, size=(500, 1, 10))
    X = Measures.from_samples(clouds)
    means, covariances = clouds.mean(axis=1), np.array([np.cov(x.T, bias=True) for x in clouds])
    own = np.linalg.slogdet(covariances)[1]
    pairs = [(i, j) for i in range(40) for j in range(i + 1, 40)]
    D = divergences.ExponentialFamily("gaussian")

    def peer() -> list[float]:
        values = []
        for i, j in pairs:
            gap = means[i] - means[j]
            mixed = np.linalg.slogdet((covariances[i] + covariances[j]) / 2 + np.outer(gap, gap) / 4)[1]
            values.append(float(mixed - (own[i] + own[j]) / 2))
        return values

    return Contest(
        "Gaussian Laplace kernel, 500 clouds in 10-D", "NumPy slogdet on given moments, per pair",
        lambda: pairwise(X, divergence=D, engine=FRESH, squared=True), peer,
        500 * 499 // 2, len(pairs), floor=10, tolerance=1e-12,
        compare=lambda J, values: relative([J[i, j] for i, j in pairs], values),
    ).run()  # fmt: skip


def multinomial_laplace() -> Row:
    """Jensen-Shannon divergences: 500 histograms of 50 bins, a third of them empty."""
    rng = np.random.default_rng(0)
    H = rng.dirichlet(np.ones(50), 500) * (rng.random((500, 50)) < 2 / 3)
    X = Measures.from_histograms(H, np.arange(50.0))
    pairs = [(i, j) for i in range(40) for j in range(i + 1, 40)]
    D = divergences.ExponentialFamily("multinomial")

    def peer() -> list[float]:
        return [2 * float(jensenshannon(H[i], H[j])) ** 2 for i, j in pairs]

    return Contest(
        "multinomial Laplace kernel, 500 histograms of 50 bins", "scipy jensenshannon, per pair",
        lambda: pairwise(X, divergence=D, engine=FRESH, squared=True), peer,
        500 * 499 // 2, len(pairs), floor=2, tolerance=1e-12,
        compare=lambda J, values: relative([J[i, j] for i, j in pairs], values),
    ).run()  # fmt: skip


ROWS = {f.__name__: f for f in (gaussian_laplace, multinomial_laplace)}
