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
from threadpoolctl import threadpool_limits

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


Problem = tuple[np.ndarray, np.ndarray, np.ndarray]


def blocks(X: Measures, pairs: list[tuple[int, int]], squared: bool) -> list[Problem]:
    """Probabilities and costs of each pair, restricted to the supports: what POT is given."""
    cost = ground.SqEuclidean() if squared else ground.Euclidean()
    return [(X[i].weights / X[i].mass, X[j].weights / X[j].mass, cost(X[i].points, X[j].points)) for i, j in pairs]


def pot_values(task: tuple[list[Problem], float, float]) -> tuple[float, list[float]]:
    """Time POT's Sinkhorn over pairs in this process; returns seconds and values."""
    import ot

    problems, epsilon, threshold = task
    started = time.perf_counter()
    with threadpool_limits(limits=1):
        values = [
            float(ot.sinkhorn2(a, b, C, epsilon, stopThr=threshold, numItermax=5000, warn=False))
            for a, b, C in problems
        ]
    return time.perf_counter() - started, values


def pot_threshold(problems: list[Problem], epsilon: float) -> float:
    """Return the largest threshold at which half of POT's plans have an L1 error below ``L1``."""
    import ot

    for threshold in THRESHOLDS:
        plans = [ot.sinkhorn(a, b, C, epsilon, stopThr=threshold, numItermax=5000, warn=False) for a, b, C in problems]
        errors = [
            np.abs(P.sum(axis=0) - b).sum() + np.abs(P.sum(axis=1) - a).sum()
            for P, (a, b, _) in zip(plans, problems, strict=True)
        ]
        if np.median(errors) <= L1:
            break
    return threshold


def entropic(
    name: str, X: Measures, divergence: Divergence, squared: bool, epsilon: float, floor: float, shown: int = 200
) -> Row:
    """Compare with POT, on ``shown`` pairs and their supports, in two processes."""
    rng = np.random.default_rng(1)
    pairs = [(int(i), int(j)) for i, j in (rng.choice(len(X), 2, replace=False) for _ in range(shown))]
    problems = blocks(X, pairs, squared)
    threshold = pot_threshold(problems[: shown // 5], epsilon)
    mine, yours = [], []
    pairwise(X[:4], divergence=divergence, engine=FRESH)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for _ in range(4):
            halves = pool.map(pot_values, [(problems[k::2], epsilon, threshold) for k in (0, 1)])
            yours.append(max(seconds for seconds, _ in halves) / len(pairs))
            D, info = pairwise(X, divergence=divergence, engine=FRESH, squared=squared, return_info=True)
            mine.append(info.seconds / info.n_evaluated)
    values = dict(zip(pairs[0::2] + pairs[1::2], halves[0][1] + halves[1][1], strict=True))
    difference = max(abs(D[i, j] / value - 1) for (i, j), value in values.items())
    ratio = min(yours) / min(mine)
    assert info.n_unconverged == 0
    return Row(
        name, "POT sinkhorn2, per pair, two processes", f"{1e6 * min(mine):.3g} us", f"{1e6 * min(yours):.4g} us",
        f"{ratio:.0f} x" if ratio >= 10 else f"{ratio:.1f} x", f">= {floor:g} x", f"{difference:.0e}",
        ratio >= floor and difference < 0.03,
    )  # fmt: skip


def sinkhorn_euclidean() -> Row:
    """Entropic W_1 on the supports of MNIST digits."""
    S = divergences.Sinkhorn(0.4, cost="euclidean", tol=L1)
    return entropic("Sinkhorn, MNIST, Euclidean, eps 0.4, L1 1e-3", digits(), S, False, 0.4, floor=25)


def sinkhorn_grid() -> Row:
    """Entropic W_2 on the pixel grid."""
    S = divergences.Sinkhorn(4.0, tol=L1)
    return entropic("Sinkhorn, MNIST, squared, eps 4, L1 1e-3", digits(), S, True, 4.0, floor=40)


def sinkhorn_grid_sharp() -> Row:
    """The same with a smaller epsilon, which needs double precision."""
    S = divergences.Sinkhorn(1.0, tol=L1)
    return entropic("Sinkhorn, MNIST, squared, eps 1, L1 1e-3", digits(), S, True, 1.0, floor=40)


def _entropic_clouds(points: int, n: int, floor: float) -> Row:
    """Entropic W_2 between clouds in 10-D at 5 % of the median cost."""
    clouds = np.random.default_rng(0).normal(size=(n, points, 10))
    epsilon = 0.05 * float(np.median(ground.SqEuclidean()(clouds[0], clouds[1])))
    S = divergences.Sinkhorn(epsilon, tol=L1)
    name = f"Sinkhorn, {points} points in 10-D, eps 5 % of the median cost"
    return entropic(name, Measures.from_samples(clouds), S, True, epsilon, floor, shown=20)


def sinkhorn_clouds_200() -> Row:
    """Clouds of a few hundred points."""
    return _entropic_clouds(200, 40, floor=15)


def sinkhorn_clouds_1000() -> Row:
    """Larger clouds, whose kernel matrices leave the caches."""
    return _entropic_clouds(1000, 10, floor=8)


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


def _pairwise_emd(name: str, X: Measures, floor: float) -> Row:
    """Exact W_1 against a library made for it, both with two threads."""
    W, n = divergences.Wasserstein(p=1), len(X)
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
    pairs = n * (n - 1) / 2
    ratio = min(theirs) / min(ours)
    difference = relative(D, expected)
    return Row(
        name, "wasserstein.PairwiseEMD, 2 threads", f"{1e6 * min(ours) / pairs:.0f} us",
        f"{1e6 * min(theirs) / pairs:.0f} us", f"{ratio:.2f} x", f">= {floor:g} x", f"{difference:.0e}",
        ratio >= floor and difference < 1e-6,
    )  # fmt: skip


def exact() -> Row:
    """The supports of MNIST digits."""
    return _pairwise_emd("exact W_1, MNIST supports", digits()[:80], floor=5)


def exact_events() -> Row:
    """Collider events: 50 particles each, in three jets, with momenta of heavy tails."""
    rng = np.random.default_rng(0)
    jets, of = rng.normal(size=(200, 3, 2)), rng.integers(0, 3, size=(200, 50))
    points = jets[np.arange(200)[:, None], of] + 0.2 * rng.normal(size=(200, 50, 2))
    X = Measures.from_samples(points, list(rng.pareto(2.0, size=(200, 50)) + 0.1))
    return _pairwise_emd("exact W_1, 200 collider events of 50 particles", X, floor=3)


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


def sinkhorn_correction() -> Row:
    """What the marginal error leaves of the transport value: its median, 95 % point and largest, of 1600 pairs."""
    X, Y = digits()[:40], digits()[40:80]

    def values(tol: float) -> np.ndarray:
        return pairwise(X, Y, divergence=divergences.Sinkhorn(0.4, cost="euclidean", tol=tol), engine=FRESH)

    exact = values(1e-9)
    errors = {tol: np.abs(values(tol) / exact - 1.0) for tol in (1e-3, 1e-5)}
    shown = [
        "tol {:g}: {:.1e}, {:.1e}, {:.1e}".format(tol, *np.quantile(gaps, [0.5, 0.95, 1.0]))
        for tol, gaps in errors.items()
    ]
    largest = float(errors[1e-3].max())
    return Row(
        "relative error of the transport value, MNIST, eps 0.4 (median, 95 %, largest)", "tol 1e-9", shown[0], shown[1],
        f"{largest:.1e}", "<= 5e-4", "", largest <= 5e-4,
    )  # fmt: skip


COMPILE = """
import sys, time
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
X = Measures.from_images(np.random.default_rng(0).integers(1, 9, size=(4, 12, 12)))
clouds = Measures.from_samples([np.random.default_rng(i).normal(size=(12, 3)) for i in range(4)])
started = time.process_time()
pairwise(eval(sys.argv[2]), divergence=eval("divergences." + sys.argv[1]), engine=Engine("serial", memo=False))
print(time.process_time() - started)
"""


def compile_time() -> Row:
    """First call in a process without compiled code, and with it, in seconds of one processor."""
    calls = [
        ("Sinkhorn(0.4, cost='euclidean')", "X"),
        ("Sinkhorn(4.0)", "X"),
        ("SlicedWasserstein()", "X"),
        ("Wasserstein()", "X"),
        ("MMD(__import__('kermes').ground.Gaussian(sigma=2.0))", "X"),
        ("GeneralizedVariance(0.1, __import__('kermes').ground.Gaussian(sigma=2.0))", "X"),
        ("Sinkhorn(0.5, value='debiased')", "clouds"),
        ("Sinkhorn(0.005)", "clouds"),  # a thousandth of the median cost: the log domain, and Newton's method
    ]
    first, second = [], []
    for call in calls:
        with tempfile.TemporaryDirectory() as folder:
            for times in (first, second):
                out = subprocess.run(
                    [sys.executable, "-c", COMPILE, *call], capture_output=True, text=True, check=True,
                    env={**os.environ, "NUMBA_CACHE_DIR": folder},
                )  # fmt: skip
                times.append(float(out.stdout.split()[-1]))
    shown = ", ".join(f"{seconds:.1f}" for seconds in first)
    return Row(
        "first call (Sinkhorn table, grid; sliced; exact; MMD; k-IGV; debiased; small epsilon)", "",
        f"{max(first):.1f} s", "", f"{shown} s; cached {max(second):.1f} s", "<= 8 s", "", max(first) <= 8.0,
    )  # fmt: skip


ENTROPIC = (sinkhorn_euclidean, sinkhorn_grid, sinkhorn_grid_sharp, sinkhorn_clouds_200, sinkhorn_clouds_1000)
ROWS = {f.__name__: f for f in (*ENTROPIC, sinkhorn_correction, sliced, exact, exact_events, memory, compile_time)}
