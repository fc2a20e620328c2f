"""Who runs the batches: this thread or several. Every executor gives the same numbers.

``compute`` evaluates one batch and keeps it; it may be called from any thread. A cluster (``_dask``) is one more way;
divergences never see the difference.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

Compute = Callable[[Any], None]


def run(
    compute: Compute, batches: Iterable[Any], workers: int, stop: threading.Event | None = None, apart: bool = False
) -> None:
    """Evaluate the batches from ``workers`` threads; an error or Ctrl-C sets ``stop``: all end after their tile.

    One worker is this thread, or with ``apart`` a thread of its own: a tile may be one pair of minutes, in which the
    main thread, if it computed, would hear no signal.
    """
    if workers == 1 and not apart:
        for batch in batches:
            compute(batch)
        return
    stop = stop or threading.Event()
    source = iter(batches)
    lock = threading.Lock()

    def drain() -> None:
        while not stop.is_set():
            with lock:
                batch = next(source, None)
            if batch is None:
                return
            compute(batch)

    with ThreadPoolExecutor(workers, thread_name_prefix="kermes") as pool:
        try:
            pending = {pool.submit(drain) for _ in range(workers)}
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
