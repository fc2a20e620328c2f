"""Rows of the feature maps: errors of their distances, and 200,000 measures through a linear model."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import SGDClassifier

from kermes import Engine, Measures, StreamingLSSVMClassifier, datasets, divergences, ground, pairwise
from kermes.features import LinearTransportFeatures, QuantileFeatures, RandomFourierFeatures, SlicedFeatures

from .harness import Row, timed

QUIET = Engine(memo=False, progress=False)


def _error(name: str, X: Measures, features: object, divergence: divergences.Divergence, floor: float) -> Row:
    """Relative errors of the distances between features, in the median and the 95th percentile of all pairs."""
    seconds, F = timed(lambda: features.fit_transform(X))  # type: ignore[attr-defined]
    exact_seconds, D = timed(lambda: pairwise(X, divergence=divergence, engine=QUIET))
    D = squareform(D, checks=False)
    errors = np.abs(pdist(F) - D)[D > 0] / D[D > 0]
    median, high = np.quantile(errors, [0.5, 0.95])
    return Row(
        name, type(divergence).__name__, f"{seconds:.2f} s", f"{exact_seconds:.2f} s",
        f"{median:.2%} median, {high:.2%} at 95 %", f"<= {floor:.0%} median", "", median <= floor,
    )  # fmt: skip


def features_quantile() -> Row:
    """W_2 on the line: samples of 20 to 200 normal variables, 100 cells."""
    rng = np.random.default_rng(0)
    X = Measures.from_samples(
        [rng.normal(rng.normal(), rng.uniform(0.5, 2.0), size=rng.integers(20, 200)) for _ in range(300)]
    )
    return _error("QuantileFeatures(100), 300 samples", X, QuantileFeatures(100), divergences.Wasserstein(), 0.01)


def _digits(n: int = 300) -> Measures:
    return datasets.load_digits()[:n].measures()


def features_sliced() -> Row:
    """SW_2 of handwritten digits with the same slices."""
    exact = divergences.SlicedWasserstein(n_slices=50)
    return _error("SlicedFeatures(50, 20), 300 digits", _digits(), SlicedFeatures(50, 20), exact, 0.05)


def features_fourier() -> Row:
    """MMD of handwritten digits."""
    kernel = ground.Gaussian(sigma=2.0)
    features = RandomFourierFeatures(kernel, 500, random_state=0)
    return _error("RandomFourierFeatures(500), 300 digits", _digits(), features, divergences.MMD(kernel), 0.05)


def features_transport() -> Row:
    """W_2 of handwritten digits by plans from one reference."""
    features = LinearTransportFeatures(n_reference=50, random_state=0)
    return _error("LinearTransportFeatures(50), 300 digits", _digits(), features, divergences.Wasserstein(), 0.1)


def synthetic_stream(n: int, size: int) -> Iterator[tuple[Measures, np.ndarray]]:
    """Yield chunks of two classes of clouds in the plane, rings and Gaussians of equal mean and covariance."""
    rng = np.random.default_rng(0)
    for start in range(0, n, size):
        y = rng.integers(0, 2, size=min(size, n - start))
        angles = rng.uniform(0, 2 * np.pi, size=(len(y), 20))
        radii = np.where(y[:, None] == 0, np.sqrt(2.0), rng.rayleigh(size=angles.shape))
        yield Measures.from_samples(np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1)), y


STREAMED = """
import sys
from benchmarks.features import learn_stream
print(*learn_stream(int(sys.argv[1]), sys.argv[2]))
"""
CHUNK = 2000


class SlicedSGD:
    """scikit-learn's linear classifier on sliced features."""

    def __init__(self) -> None:
        self.features, self.model = SlicedFeatures(20, 10, dtype="float32"), SGDClassifier(random_state=0)

    def partial_fit(self, X: Measures, y: np.ndarray, classes: list[int]) -> None:
        """Learn one chunk."""
        self.model.partial_fit(self.features.partial_fit(X).transform(X), y, classes)

    def score(self, X: Measures, y: np.ndarray) -> float:
        """Return the accuracy."""
        return float(self.model.score(self.features.transform(X), y))


def learn_stream(n: int, learner: str) -> tuple[float, float, float]:
    """Return seconds, accuracy on the last chunk (not learned) and peak MB of a linear model on n measures."""
    model = SlicedSGD() if learner == "sgd" else StreamingLSSVMClassifier(SlicedFeatures(20, 10))

    def work() -> float:
        for i, (X, y) in enumerate(synthetic_stream(n, CHUNK)):
            if (i + 1) * CHUNK >= n:
                return float(model.score(X, y))
            model.partial_fit(X, y, classes=[0, 1])
        raise ValueError("n must be positive")

    seconds, accuracy = timed(work)
    return seconds, accuracy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_fresh_process(n: int, learner: str) -> tuple[float, float, float]:
    command = [sys.executable, "-c", STREAMED, str(n), learner]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1]), float(out[2])


def features_lssvm(small: int = 20_000, large: int = 200_000) -> Row:
    """Peak memory of the streaming LS-SVM, for ten times as many measures."""
    _, _, before = _in_fresh_process(small, "lssvm")
    seconds, accuracy, memory = _in_fresh_process(large, "lssvm")
    return Row(
        f"{large} clouds, sliced features, StreamingLSSVMClassifier", f"{small} clouds", f"{memory:.0f} MB",
        f"{before:.0f} MB", f"{memory / before:.2f} x, {accuracy:.1%} right, {seconds:.1f} s", "<= 1.1 x", "",
        memory <= 1.1 * before,
    )  # fmt: skip


def features_200k(n: int = 200_000) -> Row:
    """200,000 clouds of 20 points through sliced features and a linear model, in a process of its own."""
    seconds, accuracy, memory = _in_fresh_process(n, "sgd")
    return Row(
        f"{n} clouds, sliced features, SGDClassifier", "", f"{seconds:.1f} s", "",
        f"{memory:.0f} MB, {accuracy:.1%} right", "< 2048 MB", "", memory < 2048 and accuracy > 0.9,
    )  # fmt: skip


ROWS = {
    f.__name__: f
    for f in (features_quantile, features_sliced, features_fourier, features_transport, features_200k, features_lssvm)
}
