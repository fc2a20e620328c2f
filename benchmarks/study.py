"""Studies of real size, each in a process of its own: seconds and peak memory.

``python -m benchmarks.study compare`` simulates 60 donors with 5,000 to 50,000 cells of 8 markers (1.6 million rows),
writes them to a Parquet file in random order and runs ``kermes compare`` on it, with a report.
``python -m benchmarks.study codebook`` writes 200 samples of 100,000 cells in 30 dimensions as float32 (2.4 GB), fits a
codebook of 512 atoms to the stream, and computes all sliced, MMD and entropic distances on it.
``python -m benchmarks.study clouds`` compares two clouds of 1,000,000 points in 10 dimensions, one way after another,
and prints the memory that each takes besides the clouds (Linux only).
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from kermes import Engine, Measures, datasets, divergences, ground, pairwise
from kermes.features import Codebook, RandomFourierFeatures

N_SAMPLES, N_CELLS, DIM = 200, 100_000, 30
CHUNK = 5


def write_study(path: Path) -> None:
    """Write the table of a simulated study, a row for each cell, rows in random order."""
    study = datasets.make_study(60, (5000, 50_000), 8, seed=1)
    table = study.measures.to_frame().drop(columns="weight")
    table["sick"] = np.repeat(np.array(["no", "yes"])[study.target], study.measures.sizes)
    table.sample(frac=1, random_state=0).astype({f"x{i}": "float32" for i in range(8)}).to_parquet(path, index=False)
    print(study)


def compare(folder: Path) -> None:
    """Run the command on the table."""
    path = folder / "study.parquet"
    write_study(path)
    columns = ",".join(f"x{i}" for i in range(8))
    options = ["--by", "measure", "--columns", columns, "--label", "sick", "--html", str(folder / "report.html")]
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kermes", "compare", str(path), *options], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"{time.perf_counter() - started:.0f} s with its compilation, at most {peak:.2f} GB")


def codebook(folder: Path) -> None:
    """Fit, transform and compare a stream of samples from a file."""
    rng, path = np.random.default_rng(0), folder / "cells.f32"
    shape = (N_SAMPLES, N_CELLS, DIM)
    cells = np.memmap(path, dtype=np.float32, mode="w+", shape=shape)
    for i, sample in enumerate(cells):
        shifted = 0.3 * (i % 2) * (rng.random((N_CELLS, 1)) < 0.2)
        sample[:] = rng.standard_normal((N_CELLS, DIM), dtype=np.float32) + shifted
    cells = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
    started = time.perf_counter()

    def say(what: str) -> None:
        print(f"{what}: {time.perf_counter() - started:.0f} s", flush=True)

    chunks = [slice(first, first + CHUNK) for first in range(0, N_SAMPLES, CHUNK)]
    book = Codebook(512, random_state=0)
    for chunk in chunks:
        book.partial_fit(Measures.from_samples(cells[chunk]))
    say(f"fitted, {len(book.atoms_)} atoms")
    X = Measures.concatenate([book.transform(Measures.from_samples(cells[chunk])) for chunk in chunks])
    say("transformed")
    engine = Engine(memo=False, progress=False)
    for divergence in (
        divergences.SlicedWasserstein(),
        divergences.MMD(ground.Gaussian(sigma=5.0)),
        divergences.Sinkhorn(1.0),
    ):
        pairwise(X, divergence=divergence, engine=engine)
        say(type(divergence).__name__)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB, pages of the file included")


def clouds(folder: Path) -> None:
    """Compare two clouds in every way that needs no table of all pairs of points."""
    rng, engine = np.random.default_rng(0), Engine(memo=False, progress=False)
    X = Measures.from_samples([rng.standard_normal((1_000_000, 10)) + shift for shift in (0.0, 0.1)])
    kernel, book = ground.Gaussian(sigma=4.0), Codebook(256, random_state=0)

    def distance(divergence: divergences.Divergence, Y: Measures) -> float:
        return float(pairwise(Y, divergence=divergence, engine=engine)[0, 1])

    def mmd_of_features(Y: Measures) -> float:
        return float(np.linalg.norm(np.diff(RandomFourierFeatures(kernel, 100, 0).fit_transform(Y), axis=0)))

    ways = {
        "sliced": lambda Y: distance(divergences.SlicedWasserstein(), Y),
        "Gaussian W2": lambda Y: distance(divergences.GaussianWasserstein(), Y),
        "MMD, 100 random frequencies": mmd_of_features,
        "MMD, codebook of 256": lambda Y: distance(divergences.MMD(kernel), book.fit_transform(Y)),
        "exact W2, codebook of 256": lambda Y: distance(divergences.Wasserstein(p=2), book.fit_transform(Y)),
    }
    for name, way in ways.items():
        way(X.subsample(1000))  # compiles
        Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
        before, started = _memory("VmRSS"), time.process_time()
        value = way(X)
        spent = time.process_time() - started
        print(f"{name}: {value:.4f}, {spent:.1f} s of CPU time, {_memory('VmHWM') - before:.2f} GB", flush=True)


def _memory(field: str) -> float:
    """Return a field of the state of this process, in GB."""
    return int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        {"compare": compare, "codebook": codebook, "clouds": clouds}[sys.argv[1]](Path(name))
