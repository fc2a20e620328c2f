"""Rows of the maximum mean discrepancy, by features, by kernel values between atoms and by matrix products."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from kermes import Engine, Measures, divergences, ground, pairwise

from .harness import Contest, Row, relative

FRESH = Engine(memo=False, progress=False)
#: Pairs that the peer computes.
SHOWN = [(i, j) for i in range(7) for j in range(i)]


def _mmd(name: str, clouds: np.ndarray, sigma: float, floor: float) -> Row:
    """Compare all pairs with the cross terms of a few by scipy, whose squared norms are given."""
    gamma, n = 0.5 / sigma**2, len(clouds)
    X, divergence = Measures.from_samples(clouds), divergences.MMD(ground.Gaussian(sigma=sigma))

    def inner(i: int, j: int) -> float:
        return float(np.exp(-gamma * cdist(clouds[i], clouds[j], "sqeuclidean")).mean())

    norms = [inner(i, i) for i in range(7)]

    def peer() -> list[float]:
        with threadpool_limits(limits=1):
            return [norms[i] + norms[j] - 2.0 * inner(i, j) for i, j in SHOWN]

    return Contest(
        name, "scipy cdist, cross terms, one process",
        lambda: pairwise(X, divergence=divergence, engine=FRESH, squared=True), peer, n * (n - 1) // 2, len(SHOWN),
        floor=floor, tolerance=1e-10, compare=lambda D, values: relative([D[i, j] for i, j in SHOWN], values),
        repeats=3,
    ).run()  # fmt: skip


def mmd_plane() -> Row:
    """In the plane a Gaussian has a low rank: 500 clouds of 100 points."""
    clouds = np.random.default_rng(0).normal(size=(500, 100, 2))
    return _mmd("MMD, 500 clouds of 100 points in 2-D", clouds, 1.0, floor=40)


def mmd_10d() -> Row:
    """In 10 dimensions it has none: 30 clouds of 1000 points."""
    clouds = np.random.default_rng(0).normal(size=(30, 1000, 10))
    return _mmd("MMD, 30 clouds of 1000 points in 10-D", clouds, 3.0, floor=8)


def mmd_words() -> Row:
    """Documents of 100 words, each a vector of 300 numbers."""
    clouds = np.random.default_rng(0).normal(size=(100, 100, 300)) / np.sqrt(300)
    return _mmd("MMD, 100 documents of 100 words in 300-D", clouds, 1.0, floor=10)


ROWS = {f.__name__: f for f in (mmd_plane, mmd_10d, mmd_words)}
