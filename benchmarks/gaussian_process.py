"""Rows of Gaussian processes: a fit against its distances and its linear algebra, and the time of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Hyperparameter, Kernel, WhiteKernel
from threadpoolctl import threadpool_limits

from kermes import Engine, MeasureGPRegressor, Measures, divergences, kernels, pairwise

from .harness import Row, timed

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


class Held(Kernel):  # type: ignore[misc]
    """The same kernel with the squared distances in hand: what is left for scikit-learn to do."""

    def __init__(self, squared: np.ndarray, length_scale: float) -> None:
        self.squared = squared
        self.length_scale = length_scale

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """The one that is tuned."""
        return Hyperparameter("length_scale", "numeric", (1e-5, 1e5))

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None, eval_gradient: bool = False) -> Any:
        """Return the Gram matrix, whatever the rows."""
        exponent = self.squared / self.length_scale**2
        K = np.exp(-0.5 * exponent)
        return (K, (K * exponent)[:, :, None]) if eval_gradient else K

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        """Return False."""
        return False


def gp_fit() -> Row:
    """A fit with five restarts, against its distance matrix and scikit-learn's linear algebra on it."""
    X, y = clouds(200)
    rows = np.arange(200.0)[:, None]
    squared = pairwise(X, divergence=W, engine=FRESH, squared=True)
    scale = float(np.sqrt(np.median(squared)))
    fits, peers = [], []
    for _ in range(7):
        seconds, one = timed(lambda: model(scale).fit(X, y))
        fits.append(seconds)
        seconds, held = timed(lambda: pairwise(X, divergence=W, engine=FRESH, squared=True))
        peer = GaussianProcessRegressor(
            ConstantKernel() * Held(held, scale) + WhiteKernel(0.1), n_restarts_optimizer=5, normalize_y=True,
            random_state=0,
        )  # fmt: skip
        with threadpool_limits(limits=1):
            more, fitted = timed(lambda peer=peer: peer.fit(rows, y))
        peers.append(seconds + more)
    ratio = min(fits) / min(peers)
    difference = abs(one.log_marginal_likelihood_value_ / fitted.log_marginal_likelihood_value_ - 1)
    return Row(
        "GP fit, 200 measures of 100 points, 5 restarts", "distances + scikit-learn's fit on them, one thread",
        f"{min(fits):.2f} s", f"{min(peers):.2f} s", f"{ratio:.2f} x", "<= 1.5 x", f"{difference:.0e}",
        ratio <= 1.5 and difference < 1e-6,
    )  # fmt: skip


class Counted(MeasureGPRegressor):
    """Counts the likelihoods of a fit."""

    def log_marginal_likelihood(self, *arguments: Any, **options: Any) -> Any:
        """Count, and pass on."""
        self.count = getattr(self, "count", 0) + 1
        return super().log_marginal_likelihood(*arguments, **options)


def algebra(K: np.ndarray, y: np.ndarray, derivatives: np.ndarray) -> np.ndarray:
    """The factor, the solution, the inverse and the traces of one likelihood with its gradient, from K at no cost."""
    L = linalg.cholesky(K, lower=True, check_finite=False)
    solved = linalg.cho_solve((L, True), y, check_finite=False)
    inner = np.outer(solved, solved) - linalg.cho_solve((L, True), np.eye(len(K)), check_finite=False)
    return np.append(np.einsum("ij,jik->k", inner, derivatives), y @ solved + np.log(np.diag(L)).sum())


def gp_fit_bare() -> Row:
    """A fit with five restarts, against its distance matrix and the bare linear algebra of as many likelihoods."""
    X, y = clouds(200)
    scale = float(np.sqrt(np.median(pairwise(X, divergence=W, engine=FRESH, squared=True))))
    counted = Counted(**model(scale).get_params(deep=False)).fit(X, y)
    K, derivatives = counted.kernel_(X, eval_gradient=True)
    fits, peers = [], []
    for _ in range(7):
        seconds, _ = timed(lambda: model(scale).fit(X, y))
        fits.append(seconds)
        seconds, _ = timed(lambda: pairwise(X, divergence=W, engine=FRESH, squared=True))
        with threadpool_limits(limits=1):
            more, _ = timed(lambda: [algebra(K, counted.y_train_, derivatives) for _ in range(counted.count)])
        peers.append(seconds + more)
    ratio = min(fits) / min(peers)
    return Row(
        "GP fit, 200 measures of 100 points, 5 restarts",
        f"distances + bare algebra of its {counted.count} likelihoods, one thread",
        f"{min(fits):.2f} s", f"{min(peers):.2f} s", f"{ratio:.2f} x", "<= 1.5 x", "", ratio <= 1.5,
    )  # fmt: skip


def gp_predict() -> Row:
    """Mean and standard deviation at 1000 new measures."""
    X, y = clouds(200)
    fitted = model(0.5).set_params(n_restarts_optimizer=0).fit(X, y)
    times = []
    for seed in (1, 2, 3):
        new, expected = clouds(1000, seed)
        seconds, (mean, _) = timed(lambda new=new: fitted.predict(new, return_std=True))
        times.append(seconds)
    error = float(np.sqrt(np.mean((mean - expected) ** 2)) / expected.std())
    return Row(
        "GP prediction with standard deviations, 1000 measures", "", f"{max(times):.2f} s", "",
        f"{max(times):.2f} s", "<= 2 s", f"{error:.0e}", max(times) <= 2.0 and error < 0.3,
    )  # fmt: skip


ROWS = {f.__name__: f for f in (gp_fit, gp_fit_bare, gp_predict)}
