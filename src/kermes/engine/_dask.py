"""Batches on a cluster: the only file that knows Dask."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._checks import needed
from .._linalg import ONE_THREAD
from ..divergences import Tile
from ..exceptions import InvalidParameterError, KermesError, StoreError
from ._job import Job, Put
from ._store import StoreKeeper
from ._tiling import Batch, Block

#: How often the data are sent, again after all workers that held them were lost.
ATTEMPTS = 4
#: Seconds before the second attempt, and as many more before each further one: workers take some to start again.
PAUSE = 1.0
#: Seconds without any worker after which a cluster is given up.
PATIENCE = 30.0


@dataclass
class Sent:
    """What each worker is sent."""

    job: Job
    store: StoreKeeper | None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy the arrays out of Dask's messages, where they begin at any byte.

        Numba compiles code of its own for such arrays: it takes time, and the last bits may be others.
        """
        self.job, self.store = copy.deepcopy(state["job"]), state["store"]


def check_client(executor: Any) -> None:
    """Refuse what is not a client of a running cluster."""
    client = needed("distributed", "distributed", f"`executor` {executor!r}").Client
    if not isinstance(executor, client) or executor.asynchronous:
        raise InvalidParameterError(
            f"`executor` must be 'threads', 'serial' or a synchronous dask.distributed Client; got {executor!r}."
        )


def run(
    client: Any, job: Job, batches: Iterable[Batch], put: Put, store: StoreKeeper | None, advance: Callable[[int], None]
) -> None:
    """Evaluate the batches on the workers of ``client``, who write them to the store if there is one.

    The job is sent to each worker once. A batch is one task, so that a worker runs as many as it has threads, each
    with one thread for BLAS. A lost worker costs the batches it was running: the scheduler gives them to others.
    """
    if client.status in ("closing", "closed"):
        raise InvalidParameterError("`executor` is a Dask client that was closed; make an Engine with an open one.")
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    waiting = dict(enumerate(batches))
    lost: Exception = CancelledError()
    for attempt in range(ATTEMPTS):
        try:
            time.sleep(PAUSE * attempt)
            client.wait_for_workers(1, timeout=PATIENCE)
            _refuse_other_code(client)
            _attempt(client, Sent(job, store), waiting, put, advance)
        except (CancelledError, OSError) as error:  # all workers, or the scheduler, are gone
            if client.status == "running" and not isinstance(error, (CancelledError, TimeoutError, CommClosedError)):
                raise  # an error of the work itself
            lost = error
        except KilledWorker as error:  # a batch killed one worker after the other
            lost = error
            break
        if not waiting:
            return
    kept = (
        "Nothing was kept: with a store, Engine(store='d.zarr'), a second run goes on where the first one stopped."
        if store is None
        else f"What was finished is in {store.path}: the same call with a running cluster continues it (--resume)."
    )
    raise (KermesError if store is None else StoreError)(f"the cluster stopped working ({lost!r}). {kept}") from lost


def _attempt(client: Any, data: Sent, waiting: dict[int, Batch], put: Put, advance: Callable[[int], None]) -> None:
    """Evaluate batches and take them off the list; those stay on it whose data were lost with the last worker."""
    import distributed

    [sent] = client.scatter([data], broadcast=True, hash=False)
    futures: dict[Any, int] = {}
    try:
        _warm_up(client, sent, next(iter(waiting.values())))
        futures = {client.submit(_evaluate, sent, batch, pure=False): i for i, batch in waiting.items()}
        while futures:
            with contextlib.suppress(TimeoutError):  # then wait on, if there is somebody to wait for
                for future in distributed.as_completed(list(futures), timeout=PATIENCE):  # type: ignore[no-untyped-call]
                    number = futures.pop(future)
                    try:
                        tile = future.result()
                    except CancelledError:
                        continue
                    batch = waiting.pop(number)
                    if tile is not None:
                        put(batch.block, tile)
                    advance(batch.n_pairs)
                    future.release()
            client.wait_for_workers(1, timeout=PATIENCE)
    finally:  # an error or Ctrl-C: what runs ends with its batch, the rest is called off
        client.cancel(list(futures))


@lru_cache(maxsize=1)
def code_digest() -> tuple[str, str]:
    """Return the version of kermes in this process, and the digest of all the code that a number depends on."""
    from importlib.metadata import version

    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parent.parent
    for folder in ("core", "divergences", "engine", "ground", "measures"):
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(source.read_bytes())
    return version("kermes"), digest.hexdigest()


def _refuse_other_code(client: Any) -> None:
    """Refuse workers whose kermes is another one: their numbers would be mixed with ours."""
    here = code_digest()
    for address, there in client.run(code_digest).items():
        if there != here:
            raise InvalidParameterError(
                f"the worker {address} of `executor` runs another kermes: {there[0]} with code {there[1][:8]}, here "
                f"{here[0]} with code {here[1][:8]}. Install the same on all machines and restart the workers."
            )


def _warm_up(client: Any, data: Any, batch: Batch) -> None:
    """Evaluate two pairs on one worker of each machine, so that code is compiled once and then read by the others.

    Numba's cache is a folder of the machine. Its files appear whole (they are renamed), but two processes that add
    different signatures of one function in the same millisecond may take the same name for them.
    """
    rows, cols, triangle = batch.block
    small = Batch(Block(rows[:2], cols[:2], triangle), (2, 2))
    machines = {machine: address for address, machine in client.run(platform.node).items()}
    client.gather([
        client.submit(_evaluate, data, small, False, workers=[one], allow_other_workers=True, pure=False)
        for one in machines.values()
    ])  # fmt: skip


def _evaluate(data: Sent, batch: Batch, keep: bool = True) -> Tile | None:
    """Evaluate one batch in a worker; write it to the store if there is one and it is to be kept, else return it."""
    store = data.store if keep else None
    if store is not None and store.done(batch.block):  # by a worker that was lost before it could report
        return None
    with ONE_THREAD:
        tile = data.job.evaluate(batch)
    if store is None or tile is None:
        return tile
    store.put(batch.block, tile)
    return None
