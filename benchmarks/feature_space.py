"""Rows of the divergences of moments in feature space: IGV, Bhattacharyya, Gaussian Wasserstein and KL."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kermes import Engine, Measures, datasets, divergences, ground, pairwise
from kermes.divergences import Divergence

from .harness import Contest, Row

ETA, SIGMA, REG = 0.01, 0.1, 0.1
FRESH = Engine(memo=False, progress=False)
#: Pairs that the peer computes.
SHOWN = [(i, j) for i in range(9) for j in range(i + 1, 9)]


def _contest(
    name: str,
    X: Measures,
    divergence: Divergence,
    peer: Callable[[Any, Any], float],
    samples: Any,
    floor: float,
    peer_name: str = "NumPy, per pair",
    tolerance: float = 1e-8,
) -> Row:
    """Run all pairs of X against ``peer`` on a few."""

    def theirs() -> list[float]:
        with threadpool_limits(limits=1):  # threads only slow down matrices of this size
            return [peer(samples[i], samples[j]) for i, j in SHOWN]

    n = len(X)
    return Contest(
        name, peer_name, lambda: pairwise(X, divergence=divergence, engine=FRESH, squared=True), theirs,
        n * (n - 1) // 2, len(SHOWN), floor=floor, tolerance=tolerance,
        compare=lambda D, values: float(max(abs(D[i, j] - v) for (i, j), v in zip(SHOWN, values, strict=True))),
        repeats=3,
    ).run()  # fmt: skip


def _gaussian_gram(x: np.ndarray, y: np.ndarray, gamma: float) -> np.ndarray:
    return np.asarray(np.exp(-gamma * ((x[:, None] - y[None]) ** 2).sum(axis=-1)))


def _igv(x: np.ndarray, y: np.ndarray, gram: Callable[[Any], Any]) -> float:
    """Theorem 7 of `skm` as printed: log det(K~ Delta / eta + I) of the pooled atoms, and of each measure."""

    def log_det(points: np.ndarray) -> float:
        n = len(points)
        centre = np.eye(n) - np.full((n, n), 1 / n)
        return float(np.linalg.slogdet(centre @ gram(points) @ centre / n / ETA + np.eye(n))[1])

    return 0.5 * log_det(np.concatenate([x, y])) - _own(x, log_det) - _own(y, log_det)


_KEPT: dict[int, float] = {}


def _own(x: np.ndarray, log_det: Callable[[Any], float]) -> float:
    """A quarter of log det of one measure: computed once, as a sensible user of NumPy would."""
    if id(x) not in _KEPT:
        _KEPT[id(x)] = 0.25 * log_det(x)
    return _KEPT[id(x)]


def _k_igv(points: int, on_grid: bool, floor: float) -> Row:
    kernel = ground.Gaussian(sigma=SIGMA)
    if on_grid:
        images = datasets.load_mnist()[:1500].images
        X = Measures.from_images(images, threshold=190, binary=True, spacing="unit").subsample(points, seed=0)
        X = X[X.sizes == points][:1000]
        name = f"k-IGV, {len(X)} MNIST digits of {points} pixels"
    else:
        X = Measures.from_samples(np.random.default_rng(0).random((200, points, 2)))
        name = f"k-IGV, 200 clouds of {points} points in 2-D"
    samples = [m.points for m in X[:9]]
    _KEPT.clear()
    return _contest(
        name, X, divergences.GeneralizedVariance(ETA, kernel),
        lambda x, y: _igv(x, y, lambda p: _gaussian_gram(p, p, 0.5 / SIGMA**2)), samples, floor,
    )  # fmt: skip


def igv_80() -> Row:
    """Kernelised IGV on the pixel grid, as in Table 1 of `skm`."""
    return _k_igv(80, True, 30)


def igv_40() -> Row:
    """The same with fewer pixels."""
    return _k_igv(40, True, 30)


def igv_clouds_80() -> Row:
    """Kernelised IGV of clouds that share no points."""
    return _k_igv(80, False, 30)


def igv_clouds_40() -> Row:
    """The same with fewer points."""
    return _k_igv(40, False, 30)


def igv_linear() -> Row:
    """Linear IGV: 500 clouds of 50 points in the plane."""
    clouds = np.random.default_rng(0).random((500, 50, 2))
    _KEPT.clear()
    samples = list(clouds[:9])
    return _contest(
        "linear IGV, 500 clouds of 50 points in 2-D", Measures.from_samples(clouds),
        divergences.GeneralizedVariance(ETA), lambda x, y: _igv(x, y, lambda p: p @ p.T), samples, 200,
    )  # fmt: skip


def _bhattacharyya(x: np.ndarray, y: np.ndarray) -> float:
    """The formula in Gram matrices: covariances centred separately, determinants and one solve by LAPACK."""
    n, m = len(x), len(y)
    pooled = np.concatenate([x, y])
    K = _gaussian_gram(pooled, pooled, 0.5 / SIGMA**2)
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
    return _contest(
        "kernel Bhattacharyya, 100 clouds of 80 points", Measures.from_samples(clouds),
        divergences.Bhattacharyya(ground.Gaussian(sigma=SIGMA), ETA), _bhattacharyya, clouds, 5,
    )  # fmt: skip


def _features(n: int = 1164) -> np.ndarray:
    """Measures of 25 scalars in [0, 1], as many as `kwd` has slices."""
    rng = np.random.default_rng(0)
    return rng.random((n, 25, 1)) ** rng.uniform(0.5, 2.0, (n, 1, 1))


def _centring(n: int) -> np.ndarray:
    return np.asarray((np.eye(n) - 1 / n) / np.sqrt(n))


def _kernel_wasserstein(x: np.ndarray, y: np.ndarray) -> float:
    """Equation 14 of `kwd` as printed, square roots of the eigenvalues of a product that is not symmetric."""
    Kx, Ky, Kxy = (_gaussian_gram(a, b, 1.0) for a, b in ((x, x), (y, y), (x, y)))
    J = _centring(len(x)) @ _centring(len(x)).T
    product = Kxy @ J @ Kxy.T @ J
    roots = np.sqrt(np.maximum(np.linalg.eigvals(product).real, 0.0)).sum()
    return float(Kx.mean() - 2 * Kxy.mean() + Ky.mean() + np.trace(J @ Kx) + np.trace(J @ Ky) - 2 * roots)


def kernel_wasserstein() -> Row:
    """Kernel Wasserstein at the sizes of `kwd`. The peer's roots of rounding errors are off by 1e-7."""
    samples = _features()
    X = Measures.from_samples(samples)
    return _contest(
        "kernel Wasserstein, 1164 measures of 25 scalars", X,
        divergences.GaussianWasserstein(ground.Gaussian(gamma=1.0)), _kernel_wasserstein, samples, 25, tolerance=1e-6,
    )  # fmt: skip


def kernel_wasserstein_matrix() -> Row:
    """The whole matrix of that row."""
    X = Measures.from_samples(_features())
    D = divergences.GaussianWasserstein(ground.Gaussian(gamma=1.0))
    pairwise(X[:3], divergence=D, engine=FRESH)
    started = time.perf_counter()
    pairwise(X, divergence=D, engine=FRESH)
    seconds = time.perf_counter() - started
    return Row("the whole matrix of 677,000 pairs", "", f"{seconds:.1f} s", "", "", "<= 8 s", "", seconds <= 8.0)


def _kernel_kl(x: np.ndarray, y: np.ndarray) -> float:
    """Equation 27 of `kwd` in both directions, with explicit inverses."""
    Kx, Ky, Kxy = (_gaussian_gram(a, b, 1.0) for a, b in ((x, x), (y, y), (x, y)))
    n = len(x)
    J, s = _centring(n), np.full(n, 1 / n)
    Bx, By = (J @ np.linalg.inv(REG * np.eye(n) + J.T @ K @ J) @ J.T for K in (Kx, Ky))
    S = J @ J.T

    def one_way(K: Any, L: Any, C: Any, B: Any, D: Any) -> float:
        """KL of the first to the second, to which L and D belong; C are kernel values between both."""
        means = s @ (K - C @ D @ C.T) @ s + s @ (L - L @ D @ L) @ s - 2 * s @ (C - C @ D @ L) @ s
        log_dets = np.linalg.slogdet(np.eye(n) - K @ B)[1] - np.linalg.slogdet(np.eye(n) - L @ D)[1]
        traces = np.trace(S @ K) / REG - np.trace(S @ C @ D @ C.T) / REG - np.trace(D @ L)
        return float(0.5 * (means / REG + log_dets + traces))

    return 0.5 * (one_way(Kx, Ky, Kxy, Bx, By) + one_way(Ky, Kx, Kxy.T, By, Bx))


def kernel_kl() -> Row:
    """Kernel KL at the sizes of `kwd`."""
    samples = _features()
    return _contest(
        "kernel KL, 1164 measures of 25 scalars", Measures.from_samples(samples),
        divergences.GaussianKL(ground.Gaussian(gamma=1.0), reg=REG), _kernel_kl, samples, 20,
    )  # fmt: skip


def gaussian_wasserstein() -> Row:
    """W_2 of Gaussians in 10 dimensions; POT gets means and covariances."""
    import ot

    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(500, 50, 10)) @ rng.normal(size=(500, 10, 10))
    moments = [(x.mean(axis=0), np.cov(x.T, bias=True)) for x in clouds]
    return _contest(
        "Gaussian W_2, 500 clouds in 10-D", Measures.from_samples(clouds), divergences.GaussianWasserstein(),
        lambda a, b: float(ot.gaussian.bures_wasserstein_distance(a[0], b[0], a[1], b[1])) ** 2, moments, 60,
        "POT bures_wasserstein_distance",
    )  # fmt: skip


ROWS = {
    f.__name__: f
    for f in (
        igv_80, igv_40, igv_clouds_80, igv_clouds_40, igv_linear, bhattacharyya,
        kernel_wasserstein, kernel_wasserstein_matrix, kernel_kl, gaussian_wasserstein,
    )
}  # fmt: skip
