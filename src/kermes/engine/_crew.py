"""``Crew``: who computes the pairs of a call, and in which pieces: threads of this process, or a cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..divergences import Divergence, Tile
from ..measures import Measures
from . import _dask, _executors, _tiling
from ._bands import Bands
from ._job import Job, Put
from ._progress import Progress
from ._store import StoreKeeper
from ._tiling import Batch, Block


@dataclass(frozen=True)
class Crew:
    """What an engine says of its workers; the fields are its own.

    It works where BLAS has one thread, the serial executor too, so that all round alike.
    """

    executor: Any
    workers: int | None
    tile: int | None
    progress: bool | str

    @property
    def is_local(self) -> bool:
        """Whether this process computes."""
        return isinstance(self.executor, str)

    @property
    def n_threads(self) -> int:
        """Threads of this process that work at a time."""
        return 1 if self.executor == "serial" else self.workers or _executors.default_workers()

    def run_passes(
        self,
        divergence: Divergence,
        A: Measures,
        B: Measures,
        blocks: list[Block],
        put: Callable[..., None],
        cores: int,
        with_error: bool,
        mirror: Callable[[int, int], None] | None,
    ) -> None:
        """Compute blocks and keep them; where all cannot be prepared at once, in passes whose values are added.

        With ``mirror`` the one block is all of a symmetric matrix, and filled from its first row to its last.
        """
        routes = divergence.passes(A, B) if self.is_local else [divergence.route(A, B)]
        prepare = partial(Job.prepare, divergence, A, B, workers=self.n_threads, with_error=with_error)
        job = prepare(route=routes[0])
        batches = [batch for block in blocks for batch in self._batches(job, block)]
        if len(routes) == 1:
            bands = None
            if mirror is not None:

                def finish(top: int, bottom: int) -> None:
                    mirror(top, bottom)
                    job.route.release(job.A, bottom)

                bands, put = Bands(batches, finish), partial(put, mirrored_later=True)
            self.run(job, batches, put, cores, bands=bands)
            return
        sums: dict[int, Tile] = {}

        def add(block: Block, tile: Tile) -> None:
            before = sums.get(id(block))
            sums[id(block)] = tile if before is None else _added(before, tile)

        self.run(job, batches, add, cores)
        for route in routes[1:]:
            del job  # its arrays make room for those of the next pass
            job = prepare(route=route)
            self.run(job, batches, add, cores)
        for batch in batches:
            put(batch.block, sums[id(batch.block)])

    def run(
        self,
        job: Job,
        batches: list[Batch],
        put: Put,
        cores: int,
        store: StoreKeeper | None = None,
        bands: Bands | None = None,
    ) -> None:
        """Compute the batches and keep them."""
        n_pairs = sum(batch.n_pairs for batch in batches)
        with Progress(n_pairs, self.progress, type(job.divergence).__name__) as progress:
            if not self.is_local:
                _dask.run(self.executor, job, batches, put, store, progress.advance)
                return
            stop = threading.Event()

            def compute(batch: Batch) -> None:
                if bands is not None:
                    bands.begin(batch.block)
                tile = job.evaluate(batch, progress.advance, stop.is_set)
                if tile is not None:
                    put(batch.block, tile)
                    if bands is not None:
                        bands.done(batch.block)

            workers = 1 if self.executor == "serial" else min(self.workers or cores, len(batches))
            heavy = self.executor != "serial" and threading.current_thread() is threading.main_thread()
            apart = heavy and any(batch.tile == (1, 1) for batch in batches[:1])
            _executors.run(compute, batches, workers, stop, apart)

    def _batches(self, job: Job, block: Block) -> list[Batch]:
        """Return a block in pieces: for threads a tile each, so that an interrupt loses no more; a cluster gets more.

        Its batches take a second or two.
        """
        n, m = len(block.rows), len(block.cols)
        shape = job.tile_shape(n, m, self.tile)
        if self.is_local:
            return [Batch(tile, shape) for tile in _tiling.cut(block, shape)]
        return list(_tiling.batches(block, shape, _tiling.chunk_side(shape, n, m)))


def _added(tile: Tile, other: Tile) -> Tile:
    """Return the sums of two parts of the values of the same pairs, with the worse status of both."""
    status = np.maximum(np.asarray(tile.status), np.asarray(other.status))
    error = None if tile.error is None or other.error is None else tile.error + other.error
    return Tile(tile.values + other.values, status, error)
