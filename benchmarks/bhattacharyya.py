"""Rows of the Bhattacharyya kernel."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from kermes import Engine, Measures, divergences, ground, pairwise

from .harness import Contest, Row, relative

ETA, SIGMA = 0.01, 0.1


def _numpy(x: np.ndarray, y: np.ndarray) -> float:
    """The formula in Gram matrices: covariances centred separately, determinants and one solve by LAPACK."""
    n, m = len(x), len(y)
    pooled = np.concatenate([x, y])
    K = np.exp(-((pooled[:, None] - pooled[None]) ** 2).sum(axis=-1) / (2 * SIGMA**2))
    J = np.zeros((n + m, n + m))  # the columns of Phi J are centred and scaled features: S = Phi J J' Phi'
    J[:n, :n] = (np.eye(n) - 1 / n) / np.sqrt(n)
    J[n:, n:] = (np.eye(m) - 1 / m) / np.sqrt(m)
    G = J.T @ K @ J
    c = np.r_[np.full(n, 1 / n), np.full(m, -1 / m)]  # m - m' = Phi c
    H = np.eye(n + m) + G / (2 * ETA)
    b = J.T @ (K @ c)
    form = (c @ K @ c - b @ np.linalg.solve(H, b) / (2 * ETA)) / ETA
    own = [np.linalg.slogdet(np.eye(len(g)) + g / ETA)[1] for g in (G[:n, :n], G[n:, n:])]
    return float(np.linalg.slogdet(H)[1] / 2 - sum(own) / 4 + form / 8)


def bhattacharyya() -> Row:
    """Kernelised Bhattacharyya distance: 100 clouds of 80 points in the plane."""
    clouds = np.random.default_rng(0).random((100, 80, 2))
    X = Measures.from_samples(clouds)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    B = divergences.Bhattacharyya(ETA, ground.Gaussian(sigma=SIGMA))
    engine = Engine(memo=False, progress=False)

    def peer() -> list[float]:
        with threadpool_limits(limits=1):  # threads only slow down matrices of order 160
            return [_numpy(clouds[i], clouds[j]) for i, j in pairs]

    return Contest(
        "kernel Bhattacharyya, 100 clouds of 80 points", "NumPy, per pair",
        lambda: pairwise(X, divergence=B, engine=engine, squared=True), peer,
        100 * 99 // 2, len(pairs), floor=5, tolerance=1e-9,
        compare=lambda D, values: relative([D[i, j] for i, j in pairs], values),
    ).run()  # fmt: skip


ROWS = {f.__name__: f for f in (bhattacharyya,)}
