"""Rows of large collections: what a store costs and keeps, its memory, and two workers of a cluster against one."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

from kermes import Engine, Measures, datasets, divergences, pairwise

from .harness import Row, timed

SINKHORN = divergences.Sinkhorn(epsilon=0.4, cost="euclidean")
REPEATS = 3
#: MNIST digits in a row of this file.
N = 400
#: Opening a store takes half a second, which matters for seconds of work and not for what stores are for.
OVERHEAD = 1000


@cache
def digits(n: int = N) -> Measures:
    """Return the first digits of MNIST."""
    return datasets.load_mnist()[:n].measures()


def store_overhead() -> Row:
    """Time of distances between digits with a store, against memory."""
    X = digits(OVERHEAD)
    pairwise(X[:20], divergence=SINKHORN, engine=Engine(memo=False, progress=False))
    memory, store, differ = [], [], 0.0
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            seconds, D = timed(lambda: pairwise(X, divergence=SINKHORN, engine=Engine(memo=False, progress=False)))
            memory.append(seconds)
            engine = Engine(store=Path(folder) / "d.zarr", progress=False)
            seconds, stored = timed(lambda engine=engine: pairwise(X, divergence=SINKHORN, engine=engine))
            store.append(seconds)
            differ = max(differ, float(np.abs(np.asarray(stored) - D).max()))
    extra = min(store) / min(memory) - 1
    return Row(
        f"Sinkhorn, {OVERHEAD} MNIST digits, with a store", "in memory", f"{min(store):.2f} s", f"{min(memory):.2f} s",
        f"+{100 * extra:.1f} %", "<= +15 %", f"{differ:.0e}", extra <= 0.15 and differ == 0,
    )  # fmt: skip


MEMORY = """
import resource, sys, time
import numpy as np
from kermes import Engine, Measures, divergences, pairwise
n, folder = int(sys.argv[1]), sys.argv[2]
X = Measures.from_samples(np.random.default_rng(0).normal(size=(n, 100)))
started = time.perf_counter()
D = pairwise(X, divergence=divergences.Wasserstein(p=2), engine=Engine(store=folder + "/d.zarr", progress=False))
seconds = time.perf_counter() - started
indices, distances = D.top_k(5)
row = np.sqrt(((np.sort(X.points.reshape(n, 100)) - np.sort(X[n // 2].points[:, 0])) ** 2).mean(axis=1))
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, np.abs(D[n // 2] - row).max())
"""


def memory_row(n: int) -> Row:
    """Peak memory of n x n distances on the line and of their nearest neighbours, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, "-c", MEMORY, str(n), folder], check=True, capture_output=True, text=True)
    seconds, gigabytes, differ = map(float, run.stdout.split())
    return Row(
        f"1-D W_2, {n:,} measures of 100 points, store", "matrix in memory", f"{gigabytes:.2f} GiB, {seconds:.0f} s",
        f"{8 * n * n / 2**30:.2f} GiB", f"{gigabytes:.2f} GiB", "<= 1.5 GB", f"{differ:.0e}",
        gigabytes * 2**30 <= 1.5e9 and differ < 1e-12,
    )  # fmt: skip


def store_memory() -> Row:
    """Peak memory with 8,000 measures."""
    return memory_row(8_000)


def store_memory_20000() -> Row:
    """Peak memory with 20,000 measures; writes 1.7 GB to the temporary folder, takes minutes, runs when named."""
    return memory_row(20_000)


KILLED = """
import os, sys
from benchmarks.store import SINKHORN, digits
from kermes import Engine, pairwise
from kermes.engine._job import Job
evaluate = Job.evaluate
def counted(*arguments):
    os.write(1, b".")
    return evaluate(*arguments)
Job.evaluate = counted
pairwise(digits(), divergence=SINKHORN, engine=Engine(store=sys.argv[1], workers=2, progress=False))
"""


def store_resume() -> Row:
    """Kill a run of two threads in its middle (SIGKILL), continue it, and count what is computed twice."""
    X = digits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.zarr"
        with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as child:
            while len(list(path.glob("marks/*.0"))) < 12 and child.poll() is None:
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            assert child.stdout is not None
            begun = len(child.stdout.read())
        kept = len(list(path.glob("marks/*.0")))
        D, info = pairwise(X, divergence=SINKHORN, engine=Engine(store=path, progress=False), return_info=True)
        total = len(list(path.glob("marks/*.0")))
        fresh = pairwise(X, divergence=SINKHORN, engine=Engine(memo=False, progress=False))
        differ = float(np.abs(np.asarray(D) - fresh).max())
    twice = begun - kept
    return Row(
        "killed run of two threads, continued", "", f"{kept} of {total} tiles kept", f"{info.n_evaluated} pairs left",
        f"{twice} computed twice", "<= 2", f"{differ:.0e}", twice <= 2 and kept < total and differ == 0,
    )  # fmt: skip


def dask_scaling() -> Row:
    """Time of two Dask workers of one thread against one, writing to a store."""
    import distributed

    X = digits()
    best = {}
    for workers in (1, 2):
        options = {"n_workers": workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
        options["silence_logs"] = logging.CRITICAL
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            pairwise(X[:40], divergence=SINKHORN, engine=Engine(client, memo=False, progress=False))
            times = []
            for _ in range(REPEATS):
                with tempfile.TemporaryDirectory() as folder:
                    engine = Engine(client, store=Path(folder) / "d.zarr", progress=False)
                    seconds, D = timed(lambda engine=engine: pairwise(X, divergence=SINKHORN, engine=engine))
                    times.append(seconds)
                    result = np.asarray(D)
            best[workers] = min(times)
    serial = pairwise(X, divergence=SINKHORN, engine=Engine("serial", memo=False, progress=False))
    differ = float(np.abs(result - serial).max())
    ratio = best[1] / best[2]
    return Row(
        f"Sinkhorn, {N} MNIST digits, two Dask workers", "one Dask worker", f"{best[2]:.2f} s", f"{best[1]:.2f} s",
        f"{ratio:.2f} x", ">= 1.7 x", f"{differ:.0e}", ratio >= 1.7 and differ == 0,
    )  # fmt: skip


ROWS = {f.__name__: f for f in (store_overhead, store_memory, store_resume, dask_scaling, store_memory_20000)}
#: Only when named.
LONG = {"store_memory_20000"}
