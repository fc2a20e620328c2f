"""Rows of the foundation: line transport, MMD, searches that pay once, import time, interrupts."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kermes import Engine, Measures, divergences, ground, kernels, pairwise

from .harness import Contest, Row, relative

FRESH = Engine(memo=False, progress=False)


def wasserstein_1d() -> Row:
    """W_2 on the line: 300 measures of 100 weighted points."""
    import ot

    rng = np.random.default_rng(0)
    X = Measures.from_samples(rng.normal(size=(300, 100)), rng.random((300, 100)))
    pairs = [(i, j) for i in range(30) for j in range(i + 1, 30)]
    atoms = [(m.points[:, 0], m.weights / m.mass) for m in X]
    W = divergences.Wasserstein(p=2)

    def peer() -> list[float]:
        return [ot.wasserstein_1d(atoms[i][0], atoms[j][0], atoms[i][1], atoms[j][1], p=2) for i, j in pairs]

    return Contest(
        "1-D W_2, 300 measures of 100 weighted points", "POT wasserstein_1d, per pair",
        lambda: pairwise(X, divergence=W, engine=FRESH, squared=True), peer,
        300 * 299 // 2, len(pairs), floor=100, tolerance=1e-12,
        compare=lambda D, costs: relative([D[i, j] for i, j in pairs], costs),
    ).run()  # fmt: skip


def mmd() -> Row:
    """MMD: 200 clouds of 100 points in the plane."""
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(200, 100, 2))
    X = Measures.from_samples(clouds)
    pairs = [(i, j) for i in range(15) for j in range(i + 1, 15)]
    D = divergences.MMD(ground.Gaussian(sigma=1.0))

    def gram_mean(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.exp(-0.5 * ((x[:, None] - y[None]) ** 2).sum(axis=-1)).mean())

    def peer() -> list[float]:
        return [
            gram_mean(x, x) + gram_mean(y, y) - 2 * gram_mean(x, y)
            for x, y in ((clouds[i], clouds[j]) for i, j in pairs)
        ]

    return Contest(
        "MMD, 200 clouds of 100 points in 2-D", "NumPy, per pair",
        lambda: pairwise(X, divergence=D, engine=FRESH, squared=True), peer,
        200 * 199 // 2, len(pairs), floor=40, tolerance=1e-12,
        compare=lambda D, values: relative([D[i, j] for i, j in pairs], values),
    ).run()  # fmt: skip


def grid_search() -> Row:
    """A search over 10 bandwidths and 5 folds, against one matrix of distances."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 250)
    X = Measures.from_samples([(1 + 0.3 * label) * rng.normal(size=(100, 2)) for label in y])
    D = divergences.MMD(ground.Gaussian(sigma=1.0))
    pairwise(X[:3], divergence=D, engine=FRESH)
    matrices, searches = [], []
    for _ in range(3):
        started = time.perf_counter()
        distances = pairwise(X, divergence=D, engine=FRESH)
        matrices.append(time.perf_counter() - started)
        scales = np.quantile(distances[distances > 0], np.linspace(0.05, 0.95, 10))
        started = time.perf_counter()
        kernel = kernels.Exponential(D, engine=Engine(progress=False))
        GridSearchCV(SVC(kernel=kernel), {"kernel__length_scale": scales}, cv=5).fit(X, y)
        searches.append(time.perf_counter() - started)
    ratio = min(searches) / min(matrices)
    return Row(
        "grid search, 10 bandwidths x 5 folds, 500 clouds", "one distance matrix",
        f"{min(searches):.2f} s", f"{min(matrices):.2f} s", f"{ratio:.2f} x", "<= 1.3 x", "", ratio <= 1.3,
    )  # fmt: skip


def import_time() -> Row:
    """``import kermes`` beyond NumPy, each in fresh processes; compiled bytecode is at hand."""
    base = "import numpy"

    def seconds(code: str) -> float:
        best = np.inf
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best = min(best, time.perf_counter() - started)
        return best

    theirs, ours = seconds(base), seconds(f"{base}; import kermes")
    extra = ours - theirs
    return Row(
        "import kermes", base, f"{ours:.2f} s", f"{theirs:.2f} s", f"+{extra:.2f} s", "<= +0.2 s", "", extra <= 0.2
    )


INTERRUPTED = """
import numpy as np
from kermes import Engine, Measures, divergences, ground, pairwise
X = Measures.from_samples(np.random.default_rng(0).normal(size=(3000, 300, 3)))
D = divergences.MMD(ground.Gaussian(sigma=1.0))
pairwise(X[:3], divergence=D, engine=Engine(progress=False))
print("ready", flush=True)
try:
    pairwise(X, divergence=D, engine=Engine(progress=False))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def interrupt() -> Row:
    """Time from Ctrl-C to the return of ``pairwise`` in the middle of long work."""
    waits = []
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(1.5)
            sent = time.perf_counter()
            child.send_signal(signal.SIGINT)
            child.stdout.readline()
            waits.append(time.perf_counter() - sent)
    worst = max(waits)
    return Row(
        "Ctrl-C in the middle of a matrix", "", f"{worst:.2f} s", "", f"{worst:.2f} s", "<= 1 s", "", worst <= 1.0
    )


ROWS = {f.__name__: f for f in (wasserstein_1d, mmd, grid_search, import_time, interrupt)}
