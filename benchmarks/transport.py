"""Rows of transport: entropic, sliced and exact, on MNIST digits and clouds; memory and compile time."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import venv
from functools import cache
from pathlib import Path

import numpy as np

from kermes import Engine, Measures, datasets, divergences, ground, pairwise
from kermes.divergences import Divergence

from .harness import Contest, Row, relative

FRESH = Engine(memo=False, progress=False)
N = 256
#: POT stops on another norm of the error, looked at every ten iterations. Its threshold is the largest of these at
#: which half of its plans meet the L1 error that all of ours meet.
THRESHOLDS = (3e-4, 2e-4, 1.5e-4, 1.2e-4, 1e-4, 8e-5, 6e-5, 3e-5)
L1 = 1e-3


@cache
def digits() -> Measures:
    """Random digits among the first 10,000 of MNIST."""
    images = datasets.load_mnist()[:10_000]
    return images[np.random.default_rng(0).permutation(10_000)[:N]].measures()


def blocks(pairs: list[tuple[int, int]], squared: bool) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Probabilities and costs of each pair, restricted to the supports: what POT is given."""
    X = digits()
    cost = ground.SqEuclidean() if squared else ground.Euclidean()
    return [(X[i].weights / X[i].mass, X[j].weights / X[j].mass, cost(X[i].points, X[j].points)) for i, j in pairs]


def pot_values(task: tuple[list[tuple[int, int]], bool, float, float]) -> tuple[float, list[float]]:
    """Time POT's Sinkhorn over pairs in this process; returns seconds and values."""
    import ot

    pairs, squared, epsilon, threshold = task
    problems = blocks(pairs, squared)
    started = time.perf_counter()
    values = [
        float(ot.sinkhorn2(a, b, C, epsilon, stopThr=threshold, numItermax=5000, warn=False)) for a, b, C in problems
    ]
    return time.perf_counter() - started, values


def pot_threshold(pairs: list[tuple[int, int]], squared: bool, epsilon: float) -> float:
    """Return the largest threshold at which half of POT's plans have an L1 error below ``L1``."""
    import ot

    problems = blocks(pairs, squared)
    for threshold in THRESHOLDS:
        plans = [ot.sinkhorn(a, b, C, epsilon, stopThr=threshold, numItermax=5000, warn=False) for a, b, C in problems]
        errors = [
            np.abs(P.sum(axis=0) - b).sum() + np.abs(P.sum(axis=1) - a).sum()
            for P, (a, b, _) in zip(plans, problems, strict=True)
        ]
        if np.median(errors) <= L1:
            break
    return threshold


def entropic(name: str, divergence: Divergence, squared: bool, epsilon: float, floor: float) -> Row:
    """Compare with POT, per pair on the supports, in two processes."""
    rng = np.random.default_rng(1)
    pairs = [(int(i), int(j)) for i, j in (rng.choice(N, 2, replace=False) for _ in range(200))]
    threshold = pot_threshold(pairs[:40], squared, epsilon)
    X = digits()
    mine, yours = [], []
    pairwise(X[:4], divergence=divergence, engine=FRESH)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for _ in range(4):
            halves = pool.map(pot_values, [(pairs[k::2], squared, epsilon, threshold) for k in (0, 1)])
            yours.append(max(seconds for seconds, _ in halves) / len(pairs))
            D, info = pairwise(X, divergence=divergence, engine=FRESH, squared=squared, return_info=True)
            mine.append(info.seconds / info.n_evaluated)
    values = dict(zip(pairs[0::2] + pairs[1::2], halves[0][1] + halves[1][1], strict=True))
    difference = max(abs(D[i, j] / value - 1) for (i, j), value in values.items())
    ratio = min(yours) / min(mine)
    assert info.n_unconverged == 0
    return Row(
        name, "POT sinkhorn2, per pair, two processes", f"{1e6 * min(mine):.3g} us", f"{1e6 * min(yours):.4g} us",
        f"{ratio:.0f} x", f">= {floor:g} x", f"{difference:.0e}", ratio >= floor and difference < 0.03,
    )  # fmt: skip


def sinkhorn_euclidean() -> Row:
    """Entropic W_1 on the supports of MNIST digits."""
    S = divergences.Sinkhorn(0.4, cost="euclidean", tol=L1)
    return entropic("Sinkhorn, MNIST, Euclidean, eps 0.4, L1 1e-3", S, False, 0.4, floor=25)


def sinkhorn_grid() -> Row:
    """Entropic W_2 on the pixel grid."""
    S = divergences.Sinkhorn(4.0, tol=L1)
    return entropic("Sinkhorn, MNIST, squared, eps 4, L1 1e-3", S, True, 4.0, floor=40)


def sinkhorn_grid_sharp() -> Row:
    """The same with a smaller epsilon, which needs double precision."""
    S = divergences.Sinkhorn(1.0, tol=L1)
    return entropic("Sinkhorn, MNIST, squared, eps 1, L1 1e-3", S, True, 1.0, floor=40)


def sliced() -> Row:
    """Sliced W_2 between clouds of 100 points in the plane, 100 slices."""
    import ot

    clouds = np.random.default_rng(0).normal(size=(500, 100, 2))
    X = Measures.from_samples(clouds)
    S = divergences.SlicedWasserstein(n_slices=100)
    pairs = [(i, j) for i in range(8) for j in range(i)]
    slices = S.directions(2).T

    def peer() -> list[float]:
        return [ot.sliced_wasserstein_distance(clouds[i], clouds[j], projections=slices) for i, j in pairs]

    return Contest(
        "sliced W_2, 500 clouds of 100 points, 100 slices", "POT sliced_wasserstein_distance",
        lambda: pairwise(X, divergence=S, engine=FRESH), peer, 500 * 499 // 2, len(pairs), floor=300, tolerance=1e-12,
        compare=lambda D, values: relative([D[i, j] for i, j in pairs], values),
    ).run()  # fmt: skip


PEER_EMD = """
import sys, time, numpy as np, wasserstein
events = np.load(sys.argv[1], allow_pickle=False)
bounds = np.load(sys.argv[2], allow_pickle=False)
events = [np.ascontiguousarray(part) for part in np.split(events, bounds[1:-1])]
emd = wasserstein.PairwiseEMD(R=1.0, beta=1.0, norm=True, num_threads=2, print_every=0, verbose=0, dtype=np.float64)
best = np.inf
for _ in range(3):
    started = time.perf_counter()
    emd(events)
    best = min(best, time.perf_counter() - started)
np.save(sys.argv[3], emd.emds())
print(best)
"""


@cache
def emd_python() -> Path:
    """Return the interpreter of an environment with the package ``wasserstein``, which needs NumPy 1."""
    folder = Path(__file__).parent / ".venv-emd"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "wasserstein", "numpy<2"], check=True)
    return python


def exact() -> Row:
    """Exact W_1 on the supports of MNIST digits, against a library made for it, both with two threads."""
    X = digits()[:80]
    W = divergences.Wasserstein(p=1)
    pairwise(X[:3], divergence=W, engine=FRESH)
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{name}.npy" for name in ("events", "bounds", "emds")]
        np.save(files[0], np.column_stack([X.weights, X.points]))
        np.save(files[1], X.offsets)
        ours, theirs = [], []
        for _ in range(3):
            out = subprocess.run([emd_python(), "-c", PEER_EMD, *files], capture_output=True, text=True, check=True)
            theirs.append(float(out.stdout.split()[-1]))
            D, info = pairwise(X, divergence=W, engine=FRESH, return_info=True)
            ours.append(info.seconds)
        expected = np.load(files[2])
    pairs = 80 * 79 / 2
    ratio = min(theirs) / min(ours)
    difference = relative(D, expected)
    return Row(
        "exact W_1, MNIST supports", "wasserstein.PairwiseEMD, 2 threads", f"{1e6 * min(ours) / pairs:.0f} us",
        f"{1e6 * min(theirs) / pairs:.0f} us", f"{ratio:.2f} x", ">= 1 x", f"{difference:.0e}",
        ratio >= 1.0 and difference < 1e-6,
    )  # fmt: skip


MEMORY = """
import sys, resource
from kermes import Engine, datasets, divergences, pairwise
X = datasets.load_mnist()[:2000].measures()
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pairwise(X, divergence=eval("divergences." + sys.argv[1]), engine=Engine(progress=False))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, base / 2**20)
"""


def memory() -> Row:
    """Peak memory of the process for 2000 x 2000 MNIST digits, the worst of the routes."""
    routes = [
        "Sinkhorn(0.4, cost='euclidean')",
        "Sinkhorn(4.0)",
        "SlicedWasserstein()",
        "MMD(__import__('kermes').ground.Gaussian(sigma=2.0))",
    ]
    peaks = []
    for route in routes:
        out = subprocess.run([sys.executable, "-c", MEMORY, route], capture_output=True, text=True, check=True)
        peaks.append(float(out.stdout.split()[0]))
    shown = ", ".join(f"{peak:.2f}" for peak in peaks)
    return Row(
        "peak memory, 2000 MNIST digits", "", f"{max(peaks):.2f} GiB", "", shown, "<= 1 GB", "", max(peaks) <= 0.93
    )


COMPILE = """
import sys, time
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
X = Measures.from_images(np.random.default_rng(0).integers(1, 9, size=(4, 12, 12)))
started = time.perf_counter()
pairwise(X, divergence=eval("divergences." + sys.argv[1]), engine=Engine(memo=False))
print(time.perf_counter() - started)
"""


def compile_time() -> Row:
    """First call in a process without compiled code, and with it."""
    calls = ["Sinkhorn(0.4, cost='euclidean')", "Sinkhorn(4.0)", "SlicedWasserstein()"]
    first, second = [], []
    for call in calls:
        with tempfile.TemporaryDirectory() as folder:
            for times in (first, second):
                out = subprocess.run(
                    [sys.executable, "-c", COMPILE, call], capture_output=True, text=True, check=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": folder},
                )  # fmt: skip
                times.append(float(out.stdout.split()[-1]))
    shown = ", ".join(f"{seconds:.1f}" for seconds in first)
    return Row(
        "first call (Sinkhorn table, grid; sliced)", "", f"{max(first):.1f} s", "",
        f"{shown} s; cached {max(second):.1f} s", "<= 10 s", "", max(first) <= 10.0,
    )  # fmt: skip


ROWS = {
    f.__name__: f for f in (sinkhorn_euclidean, sinkhorn_grid, sinkhorn_grid_sharp, sliced, exact, memory, compile_time)
}
