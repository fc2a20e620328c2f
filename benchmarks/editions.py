"""Compare this tree with another checkout of kermes: are values the same, is it as fast, does it compile as fast?

``python -m benchmarks.editions OTHER_SRC [--compile] [NAME ...]`` runs all cases, or those whose name contains NAME,
with the package of this tree and with the one in the folder OTHER_SRC, each in a process of its own. Both take turns
and the best CPU time of each counts, after a first call that compiles. ``--compile`` times that first call instead,
each in a fresh process without compiled code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
ROUNDS = 7

_W, _S, _G = "divergences.Wasserstein", "divergences.Sinkhorn", "ground.Gaussian(sigma=1.0)"
#: Name: the data, and a divergence or kernel of kermes.
CASES = {
    "W_1, line": ("line", f"{_W}(p=1)"),
    "W_2, line": ("line", f"{_W}()"),
    "W_3, line": ("line", f"{_W}(p=3)"),
    "W_1, images": ("few", f"{_W}(p=1)"),
    "W_2, images": ("few", f"{_W}()"),
    "W_2, clouds": ("some", f"{_W}()"),
    "W_2, binary": ("images", f"{_W}(cost='binary')"),
    "Sinkhorn, table": ("images", f"{_S}(0.4, cost='euclidean')"),
    "Sinkhorn, grid": ("images", f"{_S}(4.0)"),
    "Sinkhorn, sharp": ("few", f"{_S}(0.05)"),
    "Sinkhorn, points": ("some", f"{_S}(0.5, cost='euclidean')"),
    "Sinkhorn, regularized": ("images", f"{_S}(4.0, value='regularized')"),
    "Sinkhorn, debiased": ("images", f"{_S}(4.0, value='debiased')"),
    "sliced, equal atoms": ("equal", "divergences.SlicedWasserstein()"),
    "sliced, weights": ("some", "divergences.SlicedWasserstein(n_slices=20)"),
    "sliced, p = 1": ("uneven", "divergences.SlicedWasserstein(p=1)"),
    "Euclidean": ("images", "divergences.Euclidean()"),
    "MMD, clouds": ("clouds", f"divergences.MMD({_G})"),
    "MMD, images": ("images", f"divergences.MMD({_G})"),
    "Gaussian W, linear": ("clouds", "divergences.GaussianWasserstein()"),
    "Gaussian W, kernel": ("some", f"divergences.GaussianWasserstein({_G})"),
    "Gaussian KL, linear": ("clouds", "divergences.GaussianKL()"),
    "Gaussian KL, kernel": ("some", f"divergences.GaussianKL({_G})"),
    "IGV, linear": ("clouds", "divergences.GeneralizedVariance(0.1)"),
    "IGV, kernel": ("some", f"divergences.GeneralizedVariance(0.1, {_G})"),
    "IGV, images": ("images", "divergences.GeneralizedVariance(0.1, ground.Gaussian(sigma=2.0))"),
    "Bhattacharyya, linear": ("clouds", "divergences.Bhattacharyya(ground=ground.Linear(), eta=0.1)"),
    "Bhattacharyya, kernel": ("some", f"divergences.Bhattacharyya(ground={_G}, eta=0.1)"),
    "Jensen-Shannon, images": ("images", "divergences.JensenShannon()"),
    "Jensen-Shannon, smooth": ("line", "divergences.JensenShannon(ground.Gaussian(sigma=0.5))"),
    "Gaussian family": ("clouds", "divergences.ExponentialFamily('gaussian')"),
    "diagonal family": ("clouds", "divergences.ExponentialFamily('gaussian-diagonal')"),
    "multinomial family": ("images", "divergences.ExponentialFamily('multinomial-exact')"),
    "Exponential kernel": ("line", f"kernels.Exponential({_W}(), engine=engine)"),
    "IGV kernel": ("clouds", "kernels.IGV(0.1, engine=engine)"),
    "Entropy kernel": ("images", "kernels.Entropy(engine=engine)"),
    "Bhattacharyya kernel": ("clouds", "kernels.Bhattacharyya(ground=ground.Linear(), eta=0.1, engine=engine)"),
    "anisotropic kernel": ("images", "kernels.AnisotropicWasserstein(np.linspace(1.0, 2.0, 576))"),
    "mixture kernel": ("clouds", "kernels.SemigroupMixture(kernels.Bumps(np.eye(2), 1.0))"),
}


def serve(folder: Path) -> None:
    """Answer each name read with the CPU seconds of its case, and leave the values in a file."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from kermes import Engine, Measures, divergences, ground, kernels, pairwise

    rng = np.random.default_rng(0)
    equal = rng.normal(size=(200, 40, 2)) + rng.normal(size=(200, 1, 2))
    sizes = rng.integers(20, 60, size=200)
    uneven = [rng.normal(size=(size, 2)) + rng.normal(size=2) for size in sizes]
    weights = [rng.uniform(0.1, 2.0, size=size) for size in sizes]
    digits = zoom(load_digits().images[:40], (1, 3, 3), order=1)
    data = {
        "equal": Measures.from_samples(equal),
        "uneven": Measures.from_samples(uneven),
        "clouds": Measures.from_samples(uneven, weights),
        "line": Measures.from_samples([points[:, 0] for points in uneven], weights),
        "images": Measures.from_images(np.where(digits > 10, digits, 0.0)),  # about 150 atoms each
    }
    data |= {"few": data["images"][:10], "some": data["clouds"][:40]}
    engine = Engine("serial", memo=False, progress=False)
    scope = {"divergences": divergences, "kernels": kernels, "ground": ground, "engine": engine, "np": np}
    for name in map(str.strip, sys.stdin):
        key, expression = CASES[name]
        X, value = data[key], eval(expression, scope)
        started = time.process_time()
        is_kernel = expression.startswith("kernels.")
        result = value(X) if is_kernel else pairwise(X, divergence=value, engine=engine, squared=True)
        seconds = time.process_time() - started
        np.save(folder / f"{name}.npy", result)
        print(seconds, flush=True)


class Edition:
    """The package of one source folder, in a process of its own."""

    def __init__(self, source: Path, folder: Path, **environment: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.editions", "--serve", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(source.resolve()), **environment},
        )  # fmt: skip

    def run(self, name: str) -> tuple[float, np.ndarray]:
        """Return the CPU seconds of a case, and its values."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        seconds = float(self.process.stdout.readline())
        return seconds, np.load(self.folder / f"{name}.npy")

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def best_times(sources: list[Path], names: list[str], folder: Path) -> dict[str, tuple[list[float], str]]:
    """Return for each case the best seconds of both editions, in turn, and how their values differ."""
    editions = [Edition(source, folder / str(k)) for k, source in enumerate(sources)]
    rows = {}
    for name in names:
        values = [edition.run(name)[1] for edition in editions]  # compiles
        times = [[edition.run(name)[0] for edition in editions] for _ in range(ROUNDS)]
        rows[name] = list(np.min(times, axis=0)), difference(*values)
    for edition in editions:
        edition.close()
    return rows


def first_calls(sources: list[Path], names: list[str], folder: Path) -> dict[str, tuple[list[float], str]]:
    """Return for each case the seconds of the first call of both editions, from an empty cache."""
    rows = {}
    for name in names:
        seconds = []
        for k, source in enumerate(sources):
            with tempfile.TemporaryDirectory() as cache:
                edition = Edition(source, folder / str(k), NUMBA_CACHE_DIR=cache)
                seconds.append(edition.run(name)[0])
                edition.close()
        rows[name] = seconds, ""
    return rows


def difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Return how two results differ: not a bit, or by how much of the entry at most."""
    if np.array_equal(ours, theirs):
        return "same bits"
    gaps, sizes = np.abs(ours - theirs), np.maximum(np.abs(ours), np.abs(theirs))
    return f"{np.max(gaps[gaps > 0] / sizes[gaps > 0]):.0e}"


def main(arguments: list[str]) -> None:
    if arguments[0] == "--serve":
        serve(Path(arguments[1]))
        return
    compile_only = "--compile" in arguments
    other, *parts = [argument for argument in arguments if argument != "--compile"]
    names = [name for name in CASES if not parts or any(part in name for part in parts)]
    measure = first_calls if compile_only else best_times
    with tempfile.TemporaryDirectory() as folder:
        rows = measure([ROOT / "src", Path(other)], names, Path(folder))
    table = Table(title="first calls" if compile_only else "calls, best of several")
    for column in ("case", "this tree", "the other", "speed", "values differ by"):
        table.add_column(column)
    for name, ((ours, theirs), gap) in rows.items():
        table.add_row(name, f"{1e3 * ours:.1f} ms", f"{1e3 * theirs:.1f} ms", f"{theirs / ours:.2f} x", gap)
    Console(width=None if sys.stdout.isatty() else 100).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
