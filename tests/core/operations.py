"""Operations of small fixed workloads: lines of the cores that are run, counted where these are interpreted.

    NUMBA_DISABLE_JIT=1 python -m tests.core.operations      # record the counts anew

Counts do not depend on the machine or on what else it does. They notice more iterations, pivots or passes over the
atoms, and not how fast a line is: that is what ``python -m benchmarks`` measures.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kermes
from kermes import Engine, Measures, NearestMeasures, divergences, ground, kernels, pairwise

RECORD = Path(__file__).with_name("operations.json")
CORES = str(Path(kermes.__file__).parent / "core") + os.sep
ENGINE = Engine("serial", memo=False, progress=False)


def _clouds(n, atoms, dim, weighted=False):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, atoms, dim))
    return Measures.from_samples(points, list(rng.uniform(0.1, 2.0, size=(n, atoms))) if weighted else None)


def _images(n, side):
    return Measures.from_images(np.random.default_rng(0).uniform(size=(n, side, side)), spacing="unit")


def _distances(divergence, X):
    return lambda: pairwise(X, divergence=divergence, engine=ENGINE)


def _neighbours():
    search = NearestMeasures(n_neighbors=2, divergence=divergences.Wasserstein(), engine=ENGINE)
    return search.fit(_clouds(12, 6, 3)).kneighbors(_clouds(2, 6, 3))


CLOUDS, LINE = _clouds(4, 12, 3, weighted=True), _clouds(4, 12, 1, weighted=True)
WORKLOADS: dict[str, Callable[[], object]] = {
    "exact W_2, clouds": _distances(divergences.Wasserstein(), CLOUDS),
    "exact W_1, images": _distances(divergences.Wasserstein(p=1), _images(3, 5)),
    "W_2 on the line": _distances(divergences.Wasserstein(), LINE),
    "sliced": _distances(divergences.SlicedWasserstein(n_slices=10), CLOUDS),
    "entropic, clouds": _distances(divergences.Sinkhorn(0.5), CLOUDS),
    "entropic, small epsilon": _distances(divergences.Sinkhorn(0.01), CLOUDS[:3]),
    "entropic, images": _distances(divergences.Sinkhorn(0.05), _images(3, 5)),
    "entropic, debiased": _distances(divergences.Sinkhorn(0.5, value="debiased"), CLOUDS[:3]),
    "MMD": _distances(divergences.MMD(ground.Laplacian(1.0)), CLOUDS),
    "Gaussian W_2": _distances(divergences.GaussianWasserstein(), CLOUDS),
    "kernel W_2": _distances(divergences.GaussianWasserstein(ground.Gaussian(sigma=1.0)), CLOUDS),
    "kernel KL": _distances(divergences.GaussianKL(ground.Gaussian(sigma=1.0)), CLOUDS),
    "k-IGV": lambda: kernels.IGV(0.1, ground=ground.Gaussian(sigma=1.0))(CLOUDS),
    "Jensen-Shannon": _distances(divergences.JensenShannon(), _images(4, 5)),
    "nearest neighbours": _neighbours,
}


def count(work: Callable[[], object]) -> int:
    """Return how many lines of the cores are run."""
    lines = 0

    def inside(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return inside

    def enter(frame, event, argument):
        return inside if frame.f_code.co_filename.startswith(CORES) else None

    before = sys.gettrace()  # that of coverage
    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


if __name__ == "__main__":
    counts = {name: count(work) for name, work in WORKLOADS.items()}
    RECORD.write_text(json.dumps(counts, indent=1) + "\n")
    print(RECORD.read_text())
