"""How well the engine scales: threads, number of measures, memory; and how near hot tiles come to a matrix product.

``python -m benchmarks threads flat peak share`` runs all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences import Divergence

from .harness import Row, timed

KERNEL = ground.Gaussian(sigma=1.0)
#: Few measures, and many: a pair costs the same.
FEW = 200
REPEATS = 3
#: The allocator of glibc keeps what is freed, for all threads.
KEPT = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 33), "MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_ARENA_MAX": "1",
}  # fmt: skip


def clouds(points: int, dim: int, n: int) -> Measures:
    """Return n clouds that share no points."""
    return Measures.from_samples(np.random.default_rng(0).normal(size=(n, points, dim)))


def histograms(n: int) -> Measures:
    """Return n histograms of 256 bins."""
    return Measures.from_histograms(np.random.default_rng(0).random((n, 256)), np.arange(256))


class Case(NamedTuple):
    """A divergence, n measures for it, as many as two threads compute in about a second, and the many."""

    name: str
    data: Callable[[int], Measures]
    divergence: Divergence
    second: int
    many: int = 1000


CASES = {
    "line": Case("W_2 on the line, 100 points", partial(clouds, 100, 1), divergences.Wasserstein(), 6000, 5000),
    "sliced": Case(
        "sliced W_2 in 2-D, 50 points", partial(clouds, 50, 2), divergences.SlicedWasserstein(n_slices=50), 3500, 5000
    ),
    "exact": Case("exact W_2 in 3-D, 20 points", partial(clouds, 20, 3), divergences.Wasserstein(), 400),
    "entropic": Case("Sinkhorn in 2-D, 50 points", partial(clouds, 50, 2), divergences.Sinkhorn(0.5), 400),
    "gaussian_w2": Case("Gaussian W_2 in 10-D", partial(clouds, 50, 10), divergences.GaussianWasserstein(), 700, 2000),
    "gaussian_kl": Case("Gaussian KL in 5-D", partial(clouds, 50, 5), divergences.GaussianKL(), 5000, 5000),
    "mmd": Case("MMD in 10-D, 50 points", partial(clouds, 50, 10), divergences.MMD(KERNEL), 500),
    "mmd_features": Case("MMD in 2-D, 50 points", partial(clouds, 50, 2), divergences.MMD(KERNEL), 5000, 5000),
    "k_igv": Case("k-IGV in 2-D, 30 points", partial(clouds, 30, 2), divergences.GeneralizedVariance(0.1, KERNEL), 500),
    "jensen_shannon": Case("Jensen-Shannon, 256 bins", histograms, divergences.JensenShannon(), 2500, 5000),
}


def seconds(case: Case, n: int, workers: int = 2) -> float:
    """Return the least seconds of all distances between n measures, computed anew."""
    X, engine = case.data(n), Engine(memo=False, progress=False, workers=workers)
    work = partial(pairwise, X, divergence=case.divergence, engine=engine)
    return min(timed(work)[0] for _ in range(REPEATS))


def both(key: str) -> list[float]:
    """Return the least seconds of one thread and of two, by turns."""
    case = CASES[key]
    seconds(case, 20)  # compiles, or loads what was compiled
    turns = [(seconds(case, case.second, 1), seconds(case, case.second)) for _ in range(2)]
    return [min(times) for times in zip(*turns, strict=True)]


def alone(key: str) -> float:
    """Return the least seconds of one thread."""
    case = CASES[key]
    seconds(case, 20)
    return min(seconds(case, case.second, 1) for _ in range(2))


def threads(key: str) -> Row:
    """Two threads against one; the memory of a result is used again for the next, and beside it as it comes.

    Pages that are used for the first time come from the system, one at a time for all threads: of 300 MB up to a second
    on a virtual machine that gives free memory back to its host, none where it is at hand. Two processes, one thread
    each, that do the same work side by side and share nothing but the machine say what its two cores can do.
    """
    one, two = in_a_child("both", key, **KEPT)
    fresh_one, fresh_two = in_a_child("both", key)
    with ThreadPoolExecutor(2) as pool:
        beside = max(pool.map(lambda _: in_a_child("alone", key, **KEPT), range(2)))
    return Row(
        f"two threads, {CASES[key].name}", "one thread", f"{two:.3g} s", f"{one:.3g} s", f"{one / two:.2f} x",
        ">= 1.85 x", f"fresh pages {fresh_one / fresh_two:.2f} x, two processes {2 * one / beside:.2f} x",
        one / two >= 1.85,
    )  # fmt: skip


def in_a_child(function: str, key: str, **environment: str) -> Any:
    """Return what a function of this module returns for a case, in a process of its own."""
    code = f"import json; from benchmarks.scaling import {function}; print(json.dumps({function}({key!r})))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return json.loads(out.stdout)


def flat(case: Case) -> Row:
    """The time of a pair among many measures, against that among few."""
    seconds(case, 20)
    few, many = (1e6 * seconds(case, n) / (n * (n - 1) / 2) for n in (FEW, case.many))
    return Row(
        f"a pair among {case.many}, {case.name}", f"a pair among {FEW}", f"{many:.3g} us", f"{few:.3g} us",
        f"{many / few:.2f} of it", "<= 1.2", "", many <= 1.2 * few,
    )  # fmt: skip


def resident(field: str) -> int:
    """Return what this process holds (VmRSS) or held at most (VmHWM); ``ru_maxrss`` begins with that of its parent."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field))


def peak(key: str) -> dict[str, float]:
    """Return the bytes of the input, of the output, and those above the process before either; in a fresh process."""
    case = CASES[key]
    engine = Engine(memo=False, progress=False)
    pairwise(case.data(20), divergence=case.divergence, engine=engine)
    before = resident("VmRSS")
    X = case.data(case.many)
    D = pairwise(X, divergence=case.divergence, engine=engine)
    above = resident("VmHWM") - before
    return {"input": sum(a.nbytes for a in (X.points, X.weights, X.offsets)), "output": D.nbytes, "above": above}


def memory(key: str) -> Row:
    """The peak of memory, against the measures and the matrix (tiles not counted)."""
    found = in_a_child("peak", key)
    needed, case = found["input"] + found["output"], CASES[key]
    ratio = found["above"] / needed
    return Row(
        f"memory, {case.many} measures, {case.name}", "measures and matrix", f"{found['above'] / 2**20:.0f} MB",
        f"{needed / 2**20:.0f} MB", f"{ratio:.2f} of it", "<= 1.3", "", ratio <= 1.3,
    )  # fmt: skip


def product_rate() -> float:
    """Return the operations a second of a product of two matrices of float64, on one core."""
    A = np.random.default_rng(0).normal(size=(768, 768))
    with threadpool_limits(limits=1):
        return 2 * 768**3 / min(timed(lambda: A @ A)[0] for _ in range(10))


def share(name: str, X: Measures, divergence: Divergence, operations: float) -> Row:
    """Operations a second of a tile on one core, against those of a product of matrices."""
    engine = Engine(memo=False, progress=False, workers=1)
    n = len(X)
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")  # a fixed number of iterations does not converge
        pairwise(X[:3], divergence=divergence, engine=engine)
        rates, tops = [], []
        for _ in range(REPEATS):
            elapsed, _ = timed(partial(pairwise, X, divergence=divergence, engine=engine))
            rates.append(operations * n * (n - 1) / 2 / elapsed)
            tops.append(product_rate())
    rate, top = max(rates), max(tops)
    return Row(
        f"share of a matrix product, {name}", "numpy, 768 x 768, one core", f"{rate / 1e9:.3g} Gflop/s",
        f"{top / 1e9:.3g} Gflop/s", f"{100 * rate / top:.0f} %", "", "", True,
    )  # fmt: skip


def share_mmd() -> Row:
    """Documents of 100 words in 300-D: 2 * 100 * 100 * 300 operations a pair."""
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(80, 100, 300)) / np.sqrt(300))
    return share("MMD, 100 words in 300-D", X, divergences.MMD(KERNEL), 2 * 100 * 100 * 300)


def share_k_igv() -> Row:
    """A triangular system, a Schur complement and its factor: (1 + 1 + 1/3) n^3 operations a pair."""
    X = Measures.from_samples(np.random.default_rng(0).random((60, 80, 2)))
    kernel = ground.Gaussian(sigma=0.1)
    return share("k-IGV, 80 points", X, divergences.GeneralizedVariance(0.01, kernel), 7 / 3 * 80**3)


def share_entropic() -> Row:
    """A hundred iterations of two products of a matrix of 200 x 200 with a vector."""
    divergence = divergences.Sinkhorn(0.5, max_iter=100, tol=1e-15)
    return share("Sinkhorn, 200 points", clouds(200, 2, 12), divergence, 100 * 4 * 200 * 200)


ROWS: dict[str, Callable[[], Row]] = {
    **{f.__name__: f for f in (share_mmd, share_k_igv, share_entropic)},
    **{f"threads_{key}": partial(threads, key) for key in CASES},
    **{f"flat_{key}": partial(flat, case) for key, case in CASES.items()},
    **{f"peak_{key}": partial(memory, key) for key, case in CASES.items() if case.many == 5000},
}
#: Up to a minute each.
LONG = {name for name in ROWS if name.startswith(("flat_", "peak_"))}
