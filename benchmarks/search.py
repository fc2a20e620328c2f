"""Rows of searches: 20 bandwidths x 10 regularisations x 5 folds on MNIST digits with Sinkhorn, each pair once."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kermes import DistanceMatrix, DistanceToKernel, Engine, datasets, divergences, pairwise

from .harness import Row, timed

GRID = {"distancetokernel__scale": np.geomspace(0.05, 5.0, 20), "svc__C": np.logspace(-2, 4, 10)}
#: Time of a search beyond that of its solvers, in matrices of distances.
CEILING = 1.5


@dataclass(frozen=True)
class Counting(divergences.Route):
    """A route; every tile appends the number of its pairs to a file, from whatever process."""

    route: divergences.Route
    counter: str

    def prepare(self, X: Any) -> Any:
        """Prepare as the route."""
        return self.route.prepare(X)

    def tile(self, A: Any, B: Any, rows: Any, cols: Any, triangle: bool) -> Any:
        """Count, and compute."""
        n, m = len(rows), len(cols)
        count = n * (n - 1) // 2 + n * (m - n) if triangle else n * m
        with open(self.counter, "ab", buffering=0) as file:
            file.write(f"{count}\n".encode())
        return self.route.tile(A, B, rows, cols, triangle)

    def work(self, X: Any, Y: Any) -> float:
        """Return the work of the route."""
        return self.route.work(X, Y)


@dataclass(frozen=True)
class CountedSinkhorn(divergences.Sinkhorn):
    """Sinkhorn that counts its pairs in a file."""

    counter: str = ""

    def route(self, X: Any, Y: Any) -> Any:
        """Count what the route computes."""
        return Counting(super().route(X, Y), self.counter)


def _search(*steps: Any, n_jobs: int | None) -> GridSearchCV:
    model = make_pipeline(*steps, DistanceToKernel(), SVC(kernel="precomputed"))
    return GridSearchCV(model, GRID, cv=5, n_jobs=n_jobs)


def _row(n: int, n_jobs: int | None) -> Row:
    """Compare a search on measures with the same search on their distances, and with one matrix of them."""
    images = datasets.load_mnist()[:n]
    X, y = images.measures(), images.target
    plain = divergences.Sinkhorn(epsilon=0.4, cost="euclidean")
    engine = Engine(memo=False, progress=False)
    pairwise(X[:8], divergence=plain, engine=engine)  # compiles, or loads the compiled code
    with tempfile.TemporaryDirectory() as folder:
        counter = Path(folder) / "count"
        counted = CountedSinkhorn(epsilon=0.4, cost="euclidean", counter=str(counter))
        matrix, D = timed(partial(pairwise, X, divergence=plain, engine=engine))
        # The worker processes exist before any search is timed, and know the compiled code.
        _search(DistanceMatrix(plain), n_jobs=n_jobs).set_params(param_grid={}).fit(X[:50], np.arange(50) % 2)
        whole, found = timed(lambda: _search(DistanceMatrix(counted), n_jobs=n_jobs).fit(X, y))
        solver, given = timed(lambda: _search(n_jobs=n_jobs).fit(D, y))
        pairs = sum(map(int, counter.read_text().split()))
    expected = n * (n - 1) // 2
    gap = float(np.abs(found.cv_results_["mean_test_score"] - given.cv_results_["mean_test_score"]).max())
    ratio = (whole - solver) / matrix
    passed = pairs <= expected and ratio <= CEILING and gap < 1e-2
    return Row(
        f"search, 20 x 10 x 5 folds, {n} MNIST digits, n_jobs={n_jobs or 1}: {pairs / expected:.3f} x the pairs",
        "one matrix of distances", f"{whole:.1f} s, solvers {solver:.1f} s", f"{matrix:.2f} s", f"{ratio:.2f} x",
        f"<= {CEILING} x, pairs <= 1 x", f"{gap:.0e}", passed,
    )  # fmt: skip


def search_grid() -> Row:
    """One process."""
    return _row(500, None)


def search_grid_jobs() -> Row:
    """Two processes: the same number of pairs."""
    return _row(500, 2)


def search_small() -> Row:
    """The same in little time, for a look."""
    return _row(int(os.environ.get("KERMES_SEARCH_SIZE", "100")), 2)


ROWS = {f.__name__: f for f in (search_grid, search_grid_jobs, search_small)}
