"""``Engine``: all pairs of a divergence, each paid for once."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from .._checks import choice, flag, integer
from .._dry_run import Planned, is_dry
from .._linalg import ONE_THREAD
from .._quantities import as_bytes, as_seconds
from .._typing import FloatArray, IndexArray
from ..divergences import Divergence, Jensen, Tile
from ..exceptions import ConvergenceWarning, InvalidParameterError
from ..measures import Measures, as_measures
from . import _dask, _executors, _tiling
from ._crew import Crew
from ._estimate import Estimate, announce, estimate, may_be_long, refuse_heavy_pairs
from ._info import Info
from ._job import Finish, Job, check, concentrations, one_row_each, require_divergence
from ._memory import Memo, MemoryKeeper, refuse_too_large
from ._shared import shared_keeper
from ._store import Store, StoreKeeper, as_store
from ._stored import StoredDistances
from ._tiling import Block

MEMO_BYTES = 1 << 30


@dataclass(frozen=True)
class Engine:
    """How pairs are computed: by whom, in which pieces, remembered or not.

    Parameters
    ----------
    executor : 'threads', 'serial' or dask.distributed.Client
        All give bit-identical results. A client makes the workers of its cluster compute; where there is a store, they
        write to it. It is not pickled.
    workers : int, optional
        Threads; all usable cores by default, or 1 inside another parallel region.
    tile : int, optional
        Side of the square blocks of pairs handed to a worker; by default their shape follows from the cost of a pair.
    memo : bool or int
        Remember distances between measures of the same root collection, so that slices, folds and
        repeated fits never pay twice; at most 1 GiB, or this many bytes, and at most half of them for one divergence:
        matrices of over 7,700 measures are not remembered by default. Worker processes of a search share theirs in
        a memory-mapped file; see :func:`precompute`. :meth:`forget` frees the memory.
    store : str, path or Store, optional
        Folder of a Zarr group where distances are kept on disk, tile by tile, instead of in memory: a killed run
        goes on where it was. `pairwise` then returns :class:`StoredDistances`. One store holds the distances of one
        divergence between the same measures; anything else is refused.
    resume : bool
        Continue a store that exists; False refuses it (nothing is ever overwritten: delete it to start anew).
    progress : 'auto', True or False
        Bar on stderr for work of over a second; 'auto' shows it on terminals only. Work of over a minute is announced
        there, with its pairs, time and memory; False keeps quiet.
    memory_limit : float or str, optional
        Bytes, or a string such as '4GB': what would take more is refused before it starts. By default all there is.
    time_limit : float or str, optional
        Seconds, or a string such as '10min': a call that would take longer is refused before it starts.

    Examples
    --------
    >>> from kermes import Engine, Measures, divergences, pairwise
    >>> engine = Engine()
    >>> X = Measures.from_samples([[0.0], [1.0], [4.0]])
    >>> D, info = pairwise(X, divergence=divergences.Wasserstein(), engine=engine, return_info=True)
    >>> info.n_evaluated
    3
    >>> D, info = pairwise(X[:2], divergence=divergences.Wasserstein(), engine=engine, return_info=True)
    >>> info.n_evaluated
    0
    """

    executor: Any = "threads"
    workers: int | None = None
    tile: int | None = None
    memo: bool | int = True
    store: str | PathLike[str] | Store | None = None
    resume: bool = True
    progress: bool | str = "auto"
    memory_limit: float | str | None = None
    time_limit: float | str | None = None
    _memo: Memo | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if isinstance(self.executor, str):
            choice(self.executor, "executor", ["threads", "serial"])
        else:
            _dask.check_client(self.executor)
        if self.store is not None:
            as_store(self.store)
        flag(self.resume, "resume")
        if self.workers is not None:
            integer(self.workers, "workers", low=1)
        if self.tile is not None:
            integer(self.tile, "tile", low=1)
        if not isinstance(self.progress, bool) and self.progress != "auto":
            raise InvalidParameterError(f"`progress` must be 'auto', True or False; got {self.progress!r}.")
        for name, read in (("memory_limit", as_bytes), ("time_limit", as_seconds)):
            if getattr(self, name) is not None:
                read(getattr(self, name), name)
        if self.memo:
            limit = MEMO_BYTES if self.memo is True else integer(self.memo, "memo", low=1, remedy="Or True or False.")
            object.__setattr__(self, "_memo", Memo(limit))

    def evaluate(
        self, divergence: Divergence, X: Measures, Y: Measures, with_error: bool = True, finish: Finish | None = None
    ) -> tuple[Any, Info]:
        """Return d**power between all measures of X and Y as a fresh array, or what ``finish`` makes of it, and how.

        With a store, return :class:`StoredDistances` instead. Errors that are neither asked for nor remembered are not
        kept: they would take as much memory as the distances.
        """
        started = time.perf_counter()
        check(divergence, X, Y)
        if self.store is None:
            values, status, error, n_evaluated = self._remembered(divergence, X, Y, with_error, finish)
        else:
            with ONE_THREAD:
                values, status, error, n_evaluated = self._stored(divergence, X, Y)
        info = Info(status, n_evaluated, time.perf_counter() - started, error)
        if info.n_unconverged:
            warnings.warn(
                f"{info.n_unconverged} of {info.status.size} entries of {divergence!r} did not reach their tolerance; "
                "their values are estimates. pairwise(..., return_info=True) says which.",
                ConvergenceWarning,
                stacklevel=3,  # the line that called `pairwise`
            )
        return values, info

    def concentrations(self, divergence: Jensen, X: Measures) -> FloatArray:
        """Return h of each measure of X, (n,), where the divergence is a Jensen difference of h.

        Each measure is paid for once: its value is kept like a pair with one and the same measure.
        """
        check(divergence, X, X)
        alone = np.zeros(1, dtype=np.int64)
        fresh = MemoryKeeper(len(X._root), 1, symmetric=False, with_error=False)
        keeper = self._memoised(divergence, (divergence, X.fingerprint, "h"), X.rows, alone, fresh)
        with keeper.locked():
            left, right = keeper.slots(X.rows, alone)
            pending = keeper.pending(left, right)
            missing = np.unique(left if pending is None else left[pending[:, 0]])
            if len(missing):
                values = concentrations(divergence, _at(X, X.rows, left, missing))[:, np.newaxis]
                keeper.put(missing, right, Tile(values, np.zeros(values.shape, dtype=np.uint8)))
            return np.array(keeper.read(left, right).values[:, 0])

    def estimate(self, X: Any, Y: Any = None, *, divergence: Divergence) -> Estimate:
        """Return the pairs of X and Y, and the time and memory that they will take; nothing is remembered.

        A few pairs are computed, with fewer atoms where measures are huge: some tenths of a second, after compilation.

        Parameters
        ----------
        X, Y, divergence
            As in :func:`~kermes.pairwise`.

        Returns
        -------
        Estimate
            With ``pairs``, ``seconds`` and ``bytes``.

        Examples
        --------
        >>> from kermes import Engine, datasets, divergences
        >>> X = datasets.load_digits().measures()[:100]
        >>> found = Engine().estimate(X, divergence=divergences.SlicedWasserstein())
        >>> found.pairs, found.seconds < 10
        (4950, True)
        """
        left = as_measures(X, "X")
        right = left if Y is None or Y is X else as_measures(Y, "Y")
        check(require_divergence(divergence), left, right)
        n = len(left)
        n_pairs = n * (n - 1) // 2 if right is left else n * len(right)
        return estimate(divergence, left, right, n_pairs, self.n_threads)

    def forget(self) -> None:
        """Free the memory of remembered distances; they are computed anew when they are asked for.

        Distances in a store, and those in files that worker processes share, stay.

        Examples
        --------
        >>> from kermes import Engine, Measures, divergences, pairwise
        >>> engine, X = Engine(), Measures.from_samples([[0.0], [1.0], [4.0]])
        >>> for _ in range(2):
        ...     _, info = pairwise(X, divergence=divergences.Wasserstein(), engine=engine, return_info=True)
        ...     engine.forget()
        >>> info.n_evaluated
        3
        """
        if self._memo is not None:
            self._memo.clear()

    @property
    def n_threads(self) -> int:
        """Threads of this process that work at a time."""
        return self._crew.n_threads

    @property
    def _crew(self) -> Crew:
        return Crew(self.executor, self.workers, self.tile, self.progress)

    def _remembered(
        self, divergence: Divergence, X: Measures, Y: Measures, with_error: bool, finish: Finish | None
    ) -> tuple[Any, Any, Any, int]:
        """Return values, status and errors from memory or shared files, and the number of pairs that were missing.

        Values that are not kept are finished tile by tile, while they are in the cache: a pass over the whole matrix
        less. Values below 0 are an error, which is to name the first of all: at the end.
        """
        symmetric = X._root is Y._root or X.fingerprint == Y.fingerprint
        if divergence.biased:
            X, Y = one_row_each(X), one_row_each(Y)
        keeper = self._keeper(divergence, X, Y, symmetric)
        if keeper.temporary and not with_error:
            keeper.forgo_errors()
        refuse_too_large(keeper, X.rows, Y.rows)
        by_tile = finish if keeper.temporary and not divergence.signed else None
        n_missing = 0
        with keeper.locked():
            left, right = keeper.slots(X.rows, Y.rows)
            if not keeper.complete():
                n_missing = self._fill(keeper, divergence, X, Y, left, right, by_tile)
            values, status, error = keeper.read(left, right)
        if finish is not None and by_tile is None:
            values = finish(values, workers=self.n_threads)
        return values, status, error, n_missing

    def _fill(
        self,
        keeper: MemoryKeeper,
        divergence: Divergence,
        X: Measures,
        Y: Measures,
        left: IndexArray,
        right: IndexArray,
        finish: Finish | None,
    ) -> int:
        """Compute the pairs of slots that the keeper lacks, and return how many there were."""
        missing = _tiling.missing(keeper.pending, left, right, keeper.symmetric)
        if not missing.blocks:
            return missing.n_pairs
        if keeper.symmetric:
            A = B = _at(X, np.concatenate([X.rows, Y.rows]), np.concatenate([left, right]), missing.left)
        else:
            A, B = _at(X, X.rows, left, missing.left), _at(Y, Y.rows, right, missing.right)

        def put(block: Block, tile: Tile, mirrored_later: bool = False) -> None:
            if finish is not None:  # what came from a cluster may be read-only
                tile = tile._replace(values=finish(np.require(tile.values, requirements="W")))
            keeper.put(missing.left[block.rows], missing.right[block.cols], tile, mirrored_later)

        # Processes that want the pairs of a shared file wait: their cores are free.
        cores = _executors.usable_cores() if keeper.exclusive else _executors.default_workers()
        whole = keeper.temporary and keeper.symmetric and len(missing.blocks) == 1 and missing.blocks[0].triangle
        mirror = keeper.mirror if whole and self._crew.is_local else None
        with ONE_THREAD:
            self._consider(divergence, A, B, sum(block.n_pairs for block in missing.blocks))
            self._crew.run_passes(divergence, A, B, missing.blocks, put, cores, "error" in keeper.arrays, mirror)
        return missing.n_pairs

    def _stored(self, divergence: Divergence, X: Measures, Y: Measures) -> tuple[Any, Any, Any, int]:
        """Return distances, status and errors on disk, and the number of pairs the store lacked."""
        Y = X if X._packed.fingerprint == Y._packed.fingerprint else Y
        same_rows = X.fingerprint == Y.fingerprint
        prepare = partial(Job.prepare, divergence, X, Y, same_rows=same_rows, workers=self.n_threads)
        job: Job | None = None
        store = as_store(self.store)
        keeper = StoreKeeper.find(store, self.resume, divergence, X, Y)
        if keeper is None:
            self._consider(divergence, X, Y, len(X) * (len(X) - 1) // 2 if Y is X else len(X) * len(Y))
            job = prepare()
            keeper = StoreKeeper.create(store, divergence, X, Y, job.tile_shape(len(X), len(Y), self.tile))
        batches = keeper.unfinished()
        if batches:
            self._crew.run(job or prepare(), batches, keeper.put, _executors.default_workers(), keeper)
        distances = StoredDistances(keeper)
        return distances, distances.status, distances.error, sum(batch.n_pairs for batch in batches)

    def _keeper(self, divergence: Divergence, X: Measures, Y: Measures, symmetric: bool) -> MemoryKeeper:
        """Return where the pairs are kept: files that other processes read, the memo, or nowhere beyond this call."""
        if self._memo is not None and symmetric and X._root.origin is not None:
            _require_hash(divergence)
            shared = shared_keeper(divergence, X, len(np.union1d(X.rows, Y.rows)), self._memo.limit)
            if shared is not None:
                return shared
        fresh = MemoryKeeper(len(X._root), len(Y._root), symmetric, divergence.estimates_error)
        return self._memoised(divergence, (divergence, X.fingerprint, Y.fingerprint), X.rows, Y.rows, fresh)

    def _memoised(
        self, divergence: Divergence, key: Hashable, left: IndexArray, right: IndexArray, fresh: MemoryKeeper
    ) -> MemoryKeeper:
        """Return the keeper that the memo has for ``key``; ``fresh`` if there is none, or nothing is remembered."""
        if self._memo is None:
            return fresh
        _require_hash(divergence)
        return self._memo.keeper(key, left, right, fresh)

    def _consider(self, divergence: Divergence, A: Measures, B: Measures, n_pairs: int) -> None:
        """Refuse pairs beyond memory and limits, and announce those that take over a minute, before they start."""
        if is_dry():
            raise Planned(type(divergence).__name__, estimate(divergence, A, B, n_pairs, self.n_threads))
        if not self._crew.is_local or n_pairs == 0:
            return
        memory_limit = np.inf if self.memory_limit is None else as_bytes(self.memory_limit, "memory_limit")
        time_limit = np.inf if self.time_limit is None else as_seconds(self.time_limit, "time_limit")
        refuse_heavy_pairs(divergence, A, B, n_pairs, self.n_threads, memory_limit)
        limited = min(memory_limit, time_limit) < np.inf
        quiet = self.progress is False or threading.current_thread() is not threading.main_thread()
        if limited or (not quiet and may_be_long(divergence, A, B, n_pairs, self.n_threads)):
            found = estimate(divergence, A, B, n_pairs, self.n_threads)
            announce(found, type(divergence).__name__, time_limit, memory_limit)

    def __sklearn_clone__(self) -> Engine:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": None, "executor": self.executor if self._crew.is_local else "threads"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


#: Used wherever no engine is given.
DEFAULT = Engine()


def as_engine(engine: Any) -> Engine:
    """Return an engine, the default one if it is None; refuse what is none."""
    if engine is not None and not isinstance(engine, Engine):
        raise InvalidParameterError(f"`engine` must be an Engine, such as Engine('serial'); got {engine!r}.")
    return engine or DEFAULT


def _require_hash(divergence: Divergence) -> None:
    """Refuse a divergence of one's own by which nothing can be remembered."""
    try:
        hash(divergence)
    except TypeError as error:
        raise InvalidParameterError(
            f"{type(divergence).__name__} must be a frozen dataclass with hashable fields, by which distances are "
            f"remembered ({error}). Keep arrays as tuples, or use Engine(memo=False)."
        ) from None


def _at(X: Measures, rows: IndexArray, slots: IndexArray, wanted: IndexArray) -> Measures:
    """Return the measures of some slots; ``slots`` are those of the root's ``rows``."""
    row_of = np.empty(slots.max() + 1, dtype=np.int64)
    row_of[slots] = rows
    return Measures(X._root, row_of[wanted])
