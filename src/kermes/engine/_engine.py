"""``Engine`` and ``pairwise``: all pairs of a divergence, each paid for once."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast, overload

import numpy as np

from .._checks import choice, integer
from .._typing import FloatArray, IndexArray, StatusArray
from ..core import status as codes
from ..divergences import Divergence
from ..divergences._base import require_same_dim
from ..exceptions import ConvergenceWarning, InvalidParameterError
from ..measures import Measures, as_measures
from . import _dask, _executors, _plan
from ._job import Job
from ._pairs import Memo, PairTable, Slots, Table
from ._progress import Progress
from ._scale import Scale
from ._shared import shared_table
from ._store import Store, StoreTable, as_store
from ._stored import StoredDistances, StoredMatrix

__all__ = ["Engine", "Info", "pairwise"]

MEMO_BYTES = 1 << 30


@dataclass(frozen=True)
class Info:
    """How a matrix of distances came about.

    Parameters
    ----------
    status : ndarray of uint8, of the shape of the distances (a stored matrix if they are stored)
        0 = fine, 1 = the tolerance was not reached.
    n_evaluated : int
        Pairs computed in this call; the others were known already.
    seconds : float
        Wall time of the call.
    error : ndarray of the shape of the distances, or None
        Estimated absolute error of d**power, where the divergence is an integral (of J = d**2 for ``JensenShannon``
        with smoothing); it takes as long as the distances.
    """

    status: StatusArray | StoredMatrix
    n_evaluated: int
    seconds: float
    error: FloatArray | StoredMatrix | None = None

    @property
    def n_unconverged(self) -> int:
        """Number of entries whose tolerance was not reached."""
        if isinstance(self.status, StoredMatrix):
            return self.status.n_unconverged
        return int(np.count_nonzero(self.status == codes.UNCONVERGED))


@dataclass(frozen=True)
class Engine:
    """How pairs are computed: by whom, in which portions, remembered or not.

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
        repeated fits never pay twice; at most 1 GiB, or this many bytes. Worker processes of a search share theirs in
        a memory-mapped file; see :func:`precompute`.
    store : str, path or Store, optional
        Folder of a Zarr group where distances are kept on disk, tile by tile, instead of in memory: a killed run
        goes on where it was. `pairwise` then returns :class:`StoredDistances`. One store holds the distances of one
        divergence between the same measures; anything else is refused.
    resume : bool
        Continue a store that exists; False refuses it (nothing is ever overwritten: delete it to start anew).
    progress : 'auto', True or False
        Bar on stderr for work of over a second; 'auto' shows it on terminals only.

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
    _memo: Memo | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if isinstance(self.executor, str):
            choice(self.executor, "executor", ["threads", "serial"])
        else:
            _dask.check_client(self.executor)
        if self.store is not None:
            as_store(self.store)
        if not isinstance(self.resume, bool):
            raise InvalidParameterError(f"`resume` must be True or False; got {self.resume!r}.")
        if self.workers is not None:
            integer(self.workers, "workers", low=1)
        if self.tile is not None:
            integer(self.tile, "tile", low=1)
        if not isinstance(self.progress, bool) and self.progress != "auto":
            raise InvalidParameterError(f"`progress` must be 'auto', True or False; got {self.progress!r}.")
        if self.memo:
            limit = MEMO_BYTES if self.memo is True else integer(self.memo, "memo", low=1, remedy="Or True or False.")
            object.__setattr__(self, "_memo", Memo(limit))

    def evaluate(self, divergence: Divergence, X: Measures, Y: Measures) -> tuple[Any, Info]:
        """Return d**power between all measures of X and Y as a fresh array, and how it came about.

        With a store, return :class:`StoredDistances` instead.
        """
        started = time.perf_counter()
        require_same_dim(X, Y)
        divergence.check(X)
        divergence.check(Y)
        compute = self._remembered if self.store is None else self._stored
        values, status, n_evaluated = compute(divergence, X, Y)
        info = Info(status, n_evaluated, time.perf_counter() - started)
        _warn(info, divergence)
        return values, info

    def _remembered(self, divergence: Divergence, X: Measures, Y: Measures) -> tuple[FloatArray, StatusArray, int]:
        """Return values and status from a table in memory, and the number of pairs it lacked."""
        x_rows, x_places = _distinct(X.rows)
        y_rows, y_places = (x_rows, x_places) if Y is X else _distinct(Y.rows)
        symmetric = X._root is Y._root or X.fingerprint == Y.fingerprint
        table = self._table(divergence, X, Y, x_rows, y_rows, symmetric)
        with table.locked():
            x_slots, y_slots = table.slots(x_rows, y_rows)
            blocks = [] if table.complete() else list(_blocks(table, x_rows, y_rows, symmetric))
            if blocks:
                self._fill(divergence, table, blocks, X, Y, symmetric)
            values, status = table.read(x_slots[x_places], y_slots[y_places])
        return values, status, sum(block.n_pairs for block in blocks)

    def _stored(self, divergence: Divergence, X: Measures, Y: Measures) -> tuple[StoredDistances, StoredMatrix, int]:
        """Return distances and status on disk, and the number of pairs the store lacked."""
        Y = X if X._packed.fingerprint == Y._packed.fingerprint else Y
        job: Job | None = None
        store = as_store(self.store)
        table = StoreTable.find(store, self.resume, divergence, X, Y)
        if table is None:
            job = Job.prepare(divergence, X, Y, same_rows=X.fingerprint == Y.fingerprint)
            whole = _plan.Block(np.arange(len(X)), np.arange(len(Y)), Y is X)
            table = StoreTable.create(store, divergence, X, Y, job.tile_shape(whole, self.tile))
        portions = table.unfinished()
        if portions:
            table.warn_of_versions()
            job = job or Job.prepare(divergence, X, Y, same_rows=X.fingerprint == Y.fingerprint)
            work = [(portion, table.tile_shape) for portion in portions]
            self._run(job, table, work, _executors.default_workers())
        distances = StoredDistances(table)
        return distances, distances.status, sum(portion.n_pairs for portion in portions)

    def _table(
        self,
        divergence: Divergence,
        X: Measures,
        Y: Measures,
        x_rows: IndexArray,
        y_rows: IndexArray,
        symmetric: bool,
    ) -> PairTable:
        fresh = PairTable(len(X._root), len(Y._root), symmetric)
        if self._memo is None:
            return fresh
        try:
            hash(divergence)
        except TypeError as error:
            raise InvalidParameterError(
                f"{type(divergence).__name__} must be a frozen dataclass with hashable fields, by which distances are "
                f"remembered ({error}). Keep arrays as tuples, or use Engine(memo=False)."
            ) from None
        if symmetric:
            shared = shared_table(divergence, X, len(np.union1d(x_rows, y_rows)), self._memo.limit)
            if shared is not None:
                return shared
        return self._memo.table((divergence, X.fingerprint, Y.fingerprint), x_rows, y_rows, fresh)

    def _fill(
        self,
        divergence: Divergence,
        table: PairTable,
        blocks: list[_plan.Block],
        X: Measures,
        Y: Measures,
        symmetric: bool,
    ) -> None:
        """Compute the blocks (of root rows) and write them to the table."""
        left = np.unique(np.concatenate([block.rows for block in blocks]))
        right = np.unique(np.concatenate([block.cols for block in blocks]))
        if symmetric:
            left = right = np.union1d(left, right)
        A = Measures(X._root, left)
        job = Job.prepare(divergence, A, A if symmetric else Measures(Y._root, right))
        portions = []
        for rows, cols, triangle in blocks:
            block = _plan.Block(np.searchsorted(left, rows), np.searchsorted(right, cols), triangle)
            shape = job.tile_shape(block, self.tile)
            # A cluster gets portions of a second or two; threads a tile at a time, so that an interrupt loses no more.
            side = _plan.chunk_side(shape, len(rows), len(cols))
            cut = _plan.cut(block, shape) if self._is_local else _plan.portions(block, shape, side)
            portions += [(portion, shape) for portion in cut]
        # Processes that want the pairs of a shared table wait: their cores are free.
        cores = _executors.usable_cores() if table.exclusive else _executors.default_workers()
        self._run(job, Slots(table, left, right), portions, cores)

    def _run(self, job: Job, table: Table, portions: list[tuple[_plan.Block, tuple[int, int]]], cores: int) -> None:
        """Compute the portions, each in tiles of its shape, and put them into the table."""
        n_pairs = sum(portion.n_pairs for portion, _ in portions)
        with Progress(n_pairs, self.progress, type(job.divergence).__name__) as progress:
            if not self._is_local:
                _dask.run(self.executor, job, portions, table, progress.advance)
                return
            stop = threading.Event()

            def compute(work: tuple[_plan.Block, tuple[int, int]]) -> None:
                answer = job.evaluate(*work, progress.advance, stop.is_set)
                if answer is not None:
                    table.put(work[0], *answer)

            workers = min(self.workers or cores, len(portions))
            with _executors.ONE_THREAD:  # the serial executor too, so that both round alike
                if self.executor == "serial" or workers == 1:
                    _executors.run_serial(compute, portions)
                else:
                    _executors.run_threads(compute, portions, workers, stop)

    @property
    def _is_local(self) -> bool:
        return isinstance(self.executor, str)

    def _for_errors(self) -> Engine:
        """Return the engine for estimated errors; they have a store of their own, inside that of the distances."""
        if self.store is None:
            return self
        store = as_store(self.store)
        return replace(self, store=replace(store, path=Path(store.path) / "error"))

    def __sklearn_clone__(self) -> Engine:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": None, "executor": self.executor if self._is_local else "threads"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


#: Used wherever no engine is given.
DEFAULT = Engine()


@overload
def pairwise(
    X: Any, Y: Any = ..., *, divergence: Divergence, engine: Engine | None = ..., squared: bool = ...,
    return_info: Literal[False] = ...,
) -> FloatArray: ...  # fmt: skip
@overload
def pairwise(
    X: Any, Y: Any = ..., *, divergence: Divergence, engine: Engine | None = ..., squared: bool = ...,
    return_info: Literal[True],
) -> tuple[FloatArray, Info]: ...  # fmt: skip
def pairwise(
    X: Any,
    Y: Any = None,
    *,
    divergence: Divergence | None = None,
    engine: Engine | None = None,
    squared: bool = False,
    return_info: bool = False,
) -> FloatArray | tuple[FloatArray, Info]:
    """Return the distances between all measures of X and Y.

    Parameters
    ----------
    X, Y : Measures, or anything ``as_measures`` takes
        Y is X by default; then each pair is computed once and the diagonal is 0.
    divergence : Divergence
        Which distance, such as ``divergences.Wasserstein(p=2)``.
    engine : Engine, optional
        How to compute it.
    squared : bool
        Return squared distances.
    return_info : bool
        Also return an :class:`Info`: status of each pair, pairs evaluated, seconds, and estimated errors where values
        are integrals.

    Returns
    -------
    ndarray of shape (len(X), len(Y)), a fresh array
        :class:`~kermes.engine.StoredDistances`, which stay on disk, if the engine has a store.
        With ``return_info``, a tuple of it and the info.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[0.0, 2.0], [1.0, 3.0]])
    >>> pairwise(X, divergence=divergences.Wasserstein(p=2))
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(Y, Divergence):
        raise InvalidParameterError(f"`Y` must be measures; got {Y!r}. Write pairwise(X, divergence=...).")
    if engine is not None and not isinstance(engine, Engine):
        raise InvalidParameterError(f"`engine` must be an Engine, such as Engine('serial'); got {engine!r}.")
    divergence = require_divergence(divergence)
    left = as_measures(X, "X")
    right = left if Y is None or Y is X else as_measures(Y, "Y")
    engine = engine or DEFAULT
    values, info = engine.evaluate(divergence, left, right)
    distances: FloatArray
    if isinstance(values, StoredDistances):  # for the type checker an array: it is indexed and converted like one
        distances = cast(FloatArray, values.squared if squared else values)
    else:
        distances = Scale.of(divergence).distances(values, squared)
    if not return_info:
        return distances
    if divergence.error_estimate is not None:
        error, _ = engine._for_errors().evaluate(divergence.error_estimate, left, right)
        info = replace(info, error=error.raw if isinstance(error, StoredDistances) else error)
    return distances, info


def require_divergence(divergence: Any) -> Divergence:
    """Return a divergence, and refuse what is none."""
    if isinstance(divergence, Divergence):
        return divergence
    raise InvalidParameterError(
        f"`divergence` must be a divergence object such as divergences.Wasserstein(p=2); got {divergence!r}."
    )


def _distinct(rows: IndexArray) -> tuple[IndexArray, IndexArray | slice]:
    """Return the distinct rows in ascending order, and the place of each row among them."""
    if (rows[1:] > rows[:-1]).all():  # the rule: folds and slices of a collection
        return rows, slice(None)
    return np.unique(rows, return_inverse=True)


def _blocks(table: PairTable, x_rows: IndexArray, y_rows: IndexArray, symmetric: bool) -> Iterator[_plan.Block]:
    """Yield the blocks of root rows that the table lacks, each unordered pair in one block only."""
    if not symmetric:
        pieces = [(x_rows, y_rows, False)]
    else:
        common = np.intersect1d(x_rows, y_rows, assume_unique=True)
        x_only = np.setdiff1d(x_rows, common, assume_unique=True)
        y_only = np.setdiff1d(y_rows, common, assume_unique=True)
        pieces = [(common, common, True), (x_only, y_rows, False), (common, y_only, False)]
    for rows, cols, triangle in pieces:
        if len(rows) and len(cols):
            missing = table.pending(*table.slots_of(rows, cols))
            for block in _plan.missing_blocks(missing, triangle):
                yield _plan.Block(rows[block.rows], cols[block.cols], block.triangle)


def _warn(info: Info, divergence: Divergence) -> None:
    if info.n_unconverged:
        warnings.warn(
            f"{info.n_unconverged} of {info.status.size} entries of {divergence!r} did not reach their tolerance; "
            "their values are estimates. pairwise(..., return_info=True) tells which.",
            ConvergenceWarning,
            stacklevel=4,
        )
