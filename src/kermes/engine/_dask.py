"""Tiles on a cluster: the only file that knows Dask."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any

from .._checks import missing
from ..exceptions import InvalidParameterError
from ._executors import ONE_THREAD
from ._job import Answer, Job
from ._pairs import Table
from ._plan import Block
from ._store import StoreTable

#: A portion, and the shape of its tiles.
Work = tuple[Block, tuple[int, int]]
#: What each worker is sent.
Data = tuple[Job, StoreTable | None]
#: How often the data are sent again after all workers that held them were lost.
ATTEMPTS = 3


def check_client(executor: Any) -> None:
    """Refuse what is not a client of a running cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise missing("distributed", "distributed", f"`executor` {executor!r}") from None
    if not isinstance(executor, Client) or executor.asynchronous:
        raise InvalidParameterError(
            f"`executor` must be 'threads', 'serial' or a synchronous dask.distributed Client; got {executor!r}."
        )


def run(client: Any, job: Job, portions: Iterable[Work], table: Table, advance: Callable[[int], None]) -> None:
    """Evaluate the portions on the workers of ``client``, who write to the table themselves if it is a store.

    The job is sent to each worker once. A portion is one task, so that a worker runs as many as it has threads, each
    with one thread for BLAS. A lost worker costs the portions it was running: the scheduler gives them to others.
    """
    import distributed

    if client.status in ("closing", "closed"):
        raise InvalidParameterError("`executor` is a Dask client that was closed; make an Engine with an open one.")
    store = table if isinstance(table, StoreTable) else None
    waiting = list(portions)
    client.wait_for_workers(1)
    for attempt in range(1, ATTEMPTS + 1):
        [data] = client.scatter([(job, store)], broadcast=True, hash=False)
        futures: dict[Any, Work] = {}
        try:
            _warm_up(client, data, waiting[0])
            futures = {client.submit(_portion, data, *work, pure=False): work for work in waiting}
            waiting = []
            for future in distributed.as_completed(list(futures)):  # type: ignore[no-untyped-call]
                work = futures.pop(future)
                try:
                    answer = future.result()
                except CancelledError:  # the last worker with the data died
                    if attempt == ATTEMPTS:
                        raise
                    waiting.append(work)
                    continue
                if answer is not None:
                    table.put(work[0], *answer)
                advance(work[0].n_pairs)
                future.release()
        finally:  # an error or Ctrl-C: what runs ends with its portion, the rest is called off
            client.cancel(list(futures))
        if not waiting:
            return


def _warm_up(client: Any, data: Any, work: Work) -> None:
    """Evaluate two pairs on one worker of each machine, so that code is compiled once and then read by the others.

    Numba's cache is a folder of the machine. Its files appear whole (they are renamed), but two processes that add
    different signatures of one function in the same millisecond may take the same name for them.
    """
    rows, cols, triangle = work[0]
    small = Block(rows[:2], cols[:2], triangle)
    machines = {machine: address for address, machine in client.run(platform.node).items()}
    tasks = [client.submit(_compile, data, small, workers=[one], pure=False) for one in machines.values()]
    client.gather(tasks)


def _compile(data: Data, portion: Block) -> None:
    job, _ = data
    with ONE_THREAD:
        job.evaluate(portion, (2, 2))


def _portion(data: Data, portion: Block, shape: tuple[int, int]) -> Answer | None:
    """Evaluate one portion in a worker; write it to the store if there is one, else return it."""
    job, store = data
    if store is not None and store.done(portion):  # by a worker that was lost before it could tell
        return None
    with ONE_THREAD:
        answer = job.evaluate(portion, shape)
    assert answer is not None
    if store is None:
        return answer
    store.put(portion, *answer)
    return None
