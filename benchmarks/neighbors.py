"""Row of the nearest neighbours: transport problems that bounds spare. Run it alone for another size, as in

python -m benchmarks.neighbors 1000 5000
"""

from __future__ import annotations

import sys

import numpy as np

from kermes import Engine, NearestMeasures, datasets, divergences, pairwise

from .harness import Row, timed

QUIET = Engine(memo=False, progress=False)


def neighbors(n_queries: int = 100, n_measures: int = 1000, n_checked: int = 5) -> Row:
    """Ten nearest neighbours in W_2 among MNIST images; those of the first queries are checked by brute force."""
    X = datasets.load_mnist()[:n_measures].measures()
    Y = datasets.load_mnist(split="test")[:n_queries].measures()
    W = divergences.Wasserstein(p=2)
    search = NearestMeasures(W, n_neighbors=10, engine=QUIET).fit(X)
    search.kneighbors(Y[:1])  # compiles or loads the compiled code
    seconds, (distances, indices, info) = timed(lambda: search.kneighbors(Y, return_info=True))
    brute, D = timed(lambda: pairwise(Y[:n_checked], X, divergence=W, engine=QUIET))
    order = np.argsort(D, axis=1, kind="stable")[:, :10]
    same = np.array_equal(indices[:n_checked], order)
    difference = float(np.abs(distances[:n_checked] - np.take_along_axis(D, order, axis=1)).max())
    ratio = info.n_pairs / info.n_evaluated
    return Row(
        f"10 neighbours of {n_queries} images among {n_measures}", "all W_2 (time from the queries checked)",
        f"{seconds:.1f} s", f"{brute / n_checked * n_queries:.0f} s", f"{ratio:.1f} x fewer problems", ">= 5 x",
        f"{difference:.0e}", ratio >= 5 and same,
    )  # fmt: skip


ROWS = {"neighbors": neighbors}

if __name__ == "__main__":
    print(neighbors(*[int(argument) for argument in sys.argv[1:]]))
