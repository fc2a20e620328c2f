"""What fewer atoms cost in accuracy, at the same number of them: ``python -m benchmarks.thinning`` prints a table.

Simulated patients of 4,000 cells: six populations in shares of their own, and a small shift of everything. Errors are
the median over pairs of |d' - d| / d, with d the sliced distance of all cells. ``python -m benchmarks.thinning real``
does the same on wells of 10,000 cells and recordings of 6,100 readings, and adds how many recordings of a session that
was not seen are recognised; it needs the packages of the extra ``data``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np

from kermes import Engine, Measures, compare, datasets, divergences, pairwise
from kermes.comparison import Candidate
from kermes.features import Codebook

from .harness import Row

WAYS = {
    "random": lambda X, n: X.subsample(n),
    "spread": lambda X, n: X.subsample(n, how="spread"),
    "quantize": lambda X, n: X.quantize(n),
    "codebook": lambda X, n: Codebook(n, random_state=0).fit_transform(X),
}
SLICED = divergences.SlicedWasserstein()


def patients(dim: int, n: int = 8, cells: int = 4000, seed: int = 0) -> Measures:
    """Return simulated patients."""
    random = np.random.default_rng(seed)
    centres = 3.0 * random.normal(size=(6, dim))
    clouds = []
    for _ in range(n):
        population = random.choice(6, cells, p=random.dirichlet(np.full(6, 3.0)))
        clouds.append(centres[population] + random.normal(size=(cells, dim)) + 0.2 * random.normal(size=dim))
    return Measures.from_samples(clouds)


CELLS = """
import re, time
from pathlib import Path
from benchmarks.thinning import SLICED, patients
from kermes import pairwise
from kermes.features import Codebook
def memory(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**20
X = patients(30, n=200, cells=20_000)
pairwise(Codebook(8, random_state=0).fit_transform(X[:2]), divergence=SLICED)  # compiles
Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak is that from here on
before, started = memory("VmRSS"), time.perf_counter()
pairwise(Codebook(256, random_state=0).fit_transform(X), divergence=SLICED)
print(time.perf_counter() - started, before, memory("VmHWM"))
"""


def codebook() -> Row:
    """4 million points through a codebook and all distances, a tenth of the work for which three minutes are asked."""
    out = subprocess.run([sys.executable, "-c", CELLS], capture_output=True, text=True, check=True)
    seconds, before, peak = map(float, out.stdout.split())
    return Row(
        "codebook of 256, 200 samples of 20,000 points in 30-D", "", f"{seconds:.1f} s", "",
        f"{peak:.2f} GB, {before:.2f} GB before", "< 18 s, < 4 GB", "", seconds < 18.0 and peak < 4.0,
    )  # fmt: skip


ROWS = {f.__name__: f for f in (codebook,)}


ENGINE = Engine(memo=False, progress=False)


def sliced(X: Measures) -> np.ndarray:
    """Return the sliced distances of all pairs."""
    return pairwise(X, divergence=SLICED, engine=ENGINE)[np.triu_indices(len(X), 1)]


def error(thinned: Measures, d: np.ndarray) -> str:
    """Return the median relative error of sliced distances."""
    return f"{100 * np.median(np.abs(sliced(thinned) - d) / d):.1f} %"


def recognised(X: Measures, data: datasets.LabelledMeasures) -> str:
    """Return the accuracy of a support vector machine on sliced distances, one session left out at a time."""
    found = compare(X, data.target, candidates=[Candidate("sliced", SLICED)], groups=data.groups, cv=4, progress=False)
    return f"{found.rows[0].mean:.3f}"


def show(
    name: str, X: Measures, judge: Callable[[Measures, np.ndarray], str], numbers: tuple[int, ...] = (50, 200, 500)
) -> None:
    """Print a line of the table for each number of atoms."""
    d = sliced(X)
    for n in numbers:
        print(f"| {name} | {n} | " + " | ".join(judge(way(X, n), d) for way in WAYS.values()) + " |", flush=True)


def main(real: bool) -> None:
    """Print the table of simulated patients, or of real data."""
    print("| data | atoms | " + " | ".join(WAYS) + " |\n|---|" + "---:|" * (1 + len(WAYS)))
    if not real:
        for dim in (2, 8):
            show(f"{dim}-D", patients(dim), error)
        return
    muscles = datasets.load_muscles()
    show("wells", datasets.load_wells().measures, error)
    show("muscles", muscles.measures, lambda Y, d: f"{error(Y, d)}, {recognised(Y, muscles)}", (50, 200))
    print(f"all readings: {recognised(muscles.measures, muscles)}")


if __name__ == "__main__":
    main(sys.argv[1:] == ["real"])
