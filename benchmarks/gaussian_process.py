"""Rows of Gaussian processes: a fit against its distances and its linear algebra, and the time of predictions."""

from __future__ import annotations

import time

import numpy as np
from scipy import linalg
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from kermes import Engine, MeasureGPRegressor, Measures, divergences, kernels, pairwise

from .harness import Row

FRESH = Engine(memo=False, progress=False)
W = divergences.Wasserstein(p=2)


def clouds(n: int, seed: int = 0) -> tuple[Measures, np.ndarray]:
    """Samples of 100 weighted points on the line, of different spreads, and the noisy logarithm of the spread."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.5, 2.0, n)
    X = Measures.from_samples([rng.normal(0, s, 100) for s in spread], [rng.random(100) for _ in spread])
    return X, np.log(spread) + rng.normal(0, 0.05, n)


def model(scale: float) -> MeasureGPRegressor:
    kernel = ConstantKernel() * kernels.Exponential(W, scale, engine=Engine(progress=False)) + WhiteKernel(0.1)
    return MeasureGPRegressor(kernel, n_restarts_optimizer=5, normalize_y=True, random_state=0)


class Recorded(MeasureGPRegressor):
    """Remembers where the likelihood was evaluated."""

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """Note the place."""
        self.__dict__.setdefault("visited", []).append(np.array(theta))
        return super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)


def likelihood(squared: np.ndarray, y: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the log marginal likelihood and its gradient by plain formulas: the arithmetic of one evaluation."""
    variance, length, noise = np.exp(theta)
    exponent = squared / length**2
    process = variance * np.exp(-0.5 * exponent)
    K = process.copy()
    K[np.diag_indices_from(K)] += noise + 1e-10
    L = linalg.cholesky(K, lower=True, check_finite=False)
    alpha = linalg.cho_solve((L, True), y, check_finite=False)
    value = -0.5 * y @ alpha - np.log(np.diag(L)).sum() - 0.5 * len(y) * np.log(2 * np.pi)
    inner = np.outer(alpha, alpha) - linalg.cho_solve((L, True), np.eye(len(y)), check_finite=False)
    return value, 0.5 * np.array([np.vdot(inner, process), np.vdot(inner, process * exponent), noise * np.trace(inner)])


def gp_fit() -> Row:
    """A fit with five restarts, against its distance matrix and the arithmetic of the same likelihoods."""
    X, y = clouds(200)
    squared = pairwise(X, divergence=W, engine=FRESH, squared=True)
    scale = float(np.sqrt(np.median(squared)))
    recorder = model(scale)
    recorder.__class__ = Recorded
    recorder.fit(X, y)
    targets = (y - y.mean()) / y.std()
    fits, peers = [], []
    for _ in range(5):
        one = model(scale)
        started = time.perf_counter()
        one.fit(X, y)
        fits.append(time.perf_counter() - started)
        started = time.perf_counter()
        pairwise(X, divergence=W, engine=FRESH, squared=True)
        with threadpool_limits(limits=1):
            values = [likelihood(squared, targets, theta)[0] for theta in recorder.visited]
        peers.append(time.perf_counter() - started)
    ratio = min(fits) / min(peers)
    difference = abs(max(values) / one.log_marginal_likelihood_value_ - 1)
    return Row(
        f"GP fit, 200 measures of 100 points, 5 restarts, {len(values)} likelihoods", "distances + linear algebra",
        f"{min(fits):.2f} s", f"{min(peers):.2f} s", f"{ratio:.2f} x", "<= 1.5 x", f"{difference:.0e}",
        ratio <= 1.5 and difference < 1e-6,
    )  # fmt: skip


def gp_predict() -> Row:
    """Mean and standard deviation at 1000 new measures."""
    X, y = clouds(200)
    fitted = model(0.5).set_params(n_restarts_optimizer=0).fit(X, y)
    seconds = []
    for seed in (1, 2, 3):
        new, expected = clouds(1000, seed)
        started = time.perf_counter()
        mean, _ = fitted.predict(new, return_std=True)
        seconds.append(time.perf_counter() - started)
    error = float(np.sqrt(np.mean((mean - expected) ** 2)) / expected.std())
    return Row(
        "GP prediction with standard deviations, 1000 measures", "", f"{max(seconds):.2f} s", "",
        f"{max(seconds):.2f} s", "<= 2 s", f"{error:.0e}", max(seconds) <= 2.0 and error < 0.3,
    )  # fmt: skip


ROWS = {f.__name__: f for f in (gp_fit, gp_predict)}
