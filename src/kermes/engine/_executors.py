"""Who runs the tiles. Every executor has the form ``run(compute, tiles)`` and gives the same numbers.

``compute`` evaluates one tile and stores it where finished tiles go; it may be called from any thread.
A cluster is one more function of this form; divergences never see the difference.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from ._plan import Block

Compute = Callable[[Block], None]


def run_serial(compute: Compute, tiles: Iterable[Block]) -> None:
    """Evaluate the tiles one after another in this thread."""
    for tile in tiles:
        compute(tile)


def run_threads(compute: Compute, tiles: Iterable[Block], workers: int) -> None:
    """Evaluate the tiles from ``workers`` threads; an error or Ctrl-C stops all after their current tile."""
    stop = threading.Event()
    source = iter(tiles)
    lock = threading.Lock()

    def drain() -> None:
        while not stop.is_set():
            with lock:
                tile = next(source, None)
            if tile is None:
                return
            compute(tile)

    with ThreadPoolExecutor(workers, thread_name_prefix="kermes") as pool:
        pending = {pool.submit(drain) for _ in range(workers)}
        try:
            while pending:
                # Waiting in slices lets the main thread hear a signal on every platform.
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        finally:
            stop.set()


def default_workers() -> int:
    """Return the usable cores, or 1 inside a thread or process that is itself one of many.

    One level of parallelism: under ``n_jobs=2`` or a Dask worker the outer level owns the cores.
    """
    if threading.current_thread() is not threading.main_thread() or multiprocessing.parent_process() is not None:
        return 1
    return usable_cores()


def usable_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
