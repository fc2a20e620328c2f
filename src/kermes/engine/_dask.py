"""Batches on a cluster: the only file that knows Dask."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any

from .._checks import missing
from ..divergences import Tile
from ..exceptions import InvalidParameterError
from ._executors import ONE_THREAD
from ._job import Job
from ._store import StoreKeeper
from ._tiling import Batch, Block

#: What each worker is sent.
Data = tuple[Job, StoreKeeper | None]
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


def run(
    client: Any,
    job: Job,
    batches: Iterable[Batch],
    put: Callable[[Block, Tile], None],
    store: StoreKeeper | None,
    advance: Callable[[int], None],
) -> None:
    """Evaluate the batches on the workers of ``client``, who write them to the store if there is one.

    The job is sent to each worker once. A batch is one task, so that a worker runs as many as it has threads, each
    with one thread for BLAS. A lost worker costs the batches it was running: the scheduler gives them to others.
    """
    import distributed

    if client.status in ("closing", "closed"):
        raise InvalidParameterError("`executor` is a Dask client that was closed; make an Engine with an open one.")
    waiting = list(batches)
    client.wait_for_workers(1)
    for attempt in range(1, ATTEMPTS + 1):
        [data] = client.scatter([(job, store)], broadcast=True, hash=False)
        futures: dict[Any, Batch] = {}
        try:
            _warm_up(client, data, waiting[0])
            futures = {client.submit(_evaluate, data, batch, pure=False): batch for batch in waiting}
            waiting = []
            for future in distributed.as_completed(list(futures)):  # type: ignore[no-untyped-call]
                batch = futures.pop(future)
                try:
                    tile = future.result()
                except CancelledError:  # the last worker with the data died
                    if attempt == ATTEMPTS:
                        raise
                    waiting.append(batch)
                    continue
                if tile is not None:
                    put(batch.block, tile)
                advance(batch.n_pairs)
                future.release()
        finally:  # an error or Ctrl-C: what runs ends with its batch, the rest is called off
            client.cancel(list(futures))
        if not waiting:
            return


def _warm_up(client: Any, data: Any, batch: Batch) -> None:
    """Evaluate two pairs on one worker of each machine, so that code is compiled once and then read by the others.

    Numba's cache is a folder of the machine. Its files appear whole (they are renamed), but two processes that add
    different signatures of one function in the same millisecond may take the same name for them.
    """
    rows, cols, triangle = batch.block
    small = Batch(Block(rows[:2], cols[:2], triangle), (2, 2))
    machines = {machine: address for address, machine in client.run(platform.node).items()}
    tasks = [client.submit(_compile, data, small, workers=[one], pure=False) for one in machines.values()]
    client.gather(tasks)


def _compile(data: Data, batch: Batch) -> None:
    job, _ = data
    with ONE_THREAD:
        job.evaluate(batch)


def _evaluate(data: Data, batch: Batch) -> Tile | None:
    """Evaluate one batch in a worker; write it to the store if there is one, else return it."""
    job, store = data
    if store is not None and store.done(batch.block):  # by a worker that was lost before it could report
        return None
    with ONE_THREAD:
        tile = job.evaluate(batch)
    if store is None or tile is None:
        return tile
    store.put(batch.block, tile)
    return None
