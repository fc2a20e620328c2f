"""Rows of the feature maps: errors of their distances, and 200,000 measures through a linear model."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import SGDClassifier

from kermes import Engine, Measures, datasets, divergences, ground, pairwise
from kermes.embeddings import LinearTransportFeatures, QuantileFeatures, RandomFourierFeatures, SlicedFeatures

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


def synthetic_stream(n: int, size: int, seed: int = 0) -> Callable[[], object]:
    """Return a maker of chunks of two classes of clouds in the plane: equal means and covariances, other shapes."""

    def chunks() -> object:
        rng = np.random.default_rng(seed)
        for start in range(0, n, size):
            y = rng.integers(0, 2, size=min(size, n - start))
            angles = rng.uniform(0, 2 * np.pi, size=(len(y), 20))
            radii = np.where(y[:, None] == 0, np.sqrt(2.0), rng.rayleigh(size=angles.shape))  # a ring, or a Gaussian
            yield Measures.from_samples(np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1)), y

    return chunks


STREAMED = """
import sys
from benchmarks.features import learn_stream
print(*learn_stream(int(sys.argv[1])))
"""


def learn_stream(n: int) -> tuple[float, float, float]:
    """Return seconds, accuracy on the last chunk (not learned) and peak MB of a linear model on n measures."""
    size = 2000
    features, model = SlicedFeatures(20, 10, dtype="float32"), SGDClassifier(random_state=0)

    def work() -> float:
        accuracy = np.nan
        for i, (X, y) in enumerate(synthetic_stream(n, size)()):  # type: ignore[call-overload, attr-defined]
            F = features.partial_fit(X).transform(X)
            if (i + 1) * size >= n:
                accuracy = model.score(F, y)
            else:
                model.partial_fit(F, y, classes=[0, 1])
        return float(accuracy)

    seconds, accuracy = timed(work)
    return seconds, accuracy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def features_200k(n: int = 200_000) -> Row:
    """200,000 clouds of 20 points through sliced features and a linear model, in a process of its own."""
    out = subprocess.run(
        [sys.executable, "-c", STREAMED, str(n)], capture_output=True, text=True, check=True
    ).stdout.split()
    seconds, accuracy, memory = (float(number) for number in out)
    return Row(
        f"{n} clouds, sliced features, SGDClassifier", "", f"{seconds:.1f} s", "",
        f"{memory:.0f} MB, {accuracy:.1%} right", "< 2048 MB", "", memory < 2048 and accuracy > 0.9,
    )  # fmt: skip


ROWS = {
    f.__name__: f for f in (features_quantile, features_sliced, features_fourier, features_transport, features_200k)
}
