"""``Engine`` and ``pairwise``: all pairs of a divergence, each paid for once."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np
from threadpoolctl import threadpool_limits

from .._checks import choice, integer
from .._typing import FloatArray, IndexArray, StatusArray
from ..core import status as codes
from ..divergences import Divergence
from ..divergences._base import require_same_dim
from ..exceptions import ConvergenceWarning, InvalidParameterError, NumericalError
from ..measures import Measures, as_measures
from . import _executors, _plan
from ._pairs import Memo, PairTable
from ._progress import Progress
from ._shared import shared_table

__all__ = ["Engine", "Info", "pairwise"]

MEMO_BYTES = 1 << 30


@dataclass(frozen=True)
class Info:
    """How a matrix of distances came about.

    Parameters
    ----------
    status : ndarray of uint8, of the shape of the distances
        0 = fine, 1 = the tolerance was not reached.
    n_evaluated : int
        Pairs computed in this call; the others were known already.
    seconds : float
        Wall time of the call.
    error : ndarray of the shape of the distances, or None
        Estimated absolute error of d**power, where the divergence is an integral (of J = d**2 for ``JensenShannon``
        with smoothing); it takes as long as the distances.
    """

    status: StatusArray
    n_evaluated: int
    seconds: float
    error: FloatArray | None = None

    @property
    def n_unconverged(self) -> int:
        """Number of entries whose tolerance was not reached."""
        return int(np.count_nonzero(self.status == codes.UNCONVERGED))


@dataclass(frozen=True)
class Engine:
    """How pairs are computed: by whom, in which portions, remembered or not.

    Parameters
    ----------
    executor : 'threads' or 'serial'
        Both give bit-identical results.
    workers : int, optional
        Threads; all usable cores by default, or 1 inside another parallel region.
    tile : int, optional
        Side of the square blocks of pairs handed to a worker; by default their shape follows from the cost of a pair.
    memo : bool or int
        Remember distances between measures of the same root collection, so that slices, folds and
        repeated fits never pay twice; at most 1 GiB, or this many bytes. Worker processes of a search share theirs in
        a memory-mapped file; see :func:`precompute`.
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

    executor: str = "threads"
    workers: int | None = None
    tile: int | None = None
    memo: bool | int = True
    progress: bool | str = "auto"
    _memo: Memo | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        choice(self.executor, "executor", ["threads", "serial"])
        if self.workers is not None:
            integer(self.workers, "workers", low=1)
        if self.tile is not None:
            integer(self.tile, "tile", low=1)
        if not isinstance(self.progress, bool):
            choice(self.progress, "progress", ["auto"])
        if self.memo:
            limit = MEMO_BYTES if self.memo is True else integer(self.memo, "memo", low=1, remedy="Or True or False.")
            object.__setattr__(self, "_memo", Memo(limit))

    def evaluate(self, divergence: Divergence, X: Measures, Y: Measures) -> tuple[FloatArray, Info]:
        """Return d**power between all measures of X and Y as a fresh array, and how it came about."""
        started = time.perf_counter()
        require_same_dim(X, Y)
        divergence.check(X)
        divergence.check(Y)
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
        info = Info(status, sum(block.n_pairs for block in blocks), time.perf_counter() - started)
        _warn(info, divergence)
        return values, info

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
        A_measures = Measures(X._root, left)
        B_measures = A_measures if symmetric else Measures(Y._root, right)
        context = divergence.context(A_measures, B_measures)
        with threadpool_limits(limits=1):  # the matrices of one measure are small: threads would only wait
            A = divergence.prepare(A_measures, context)
            B = A if symmetric else divergence.prepare(B_measures, context)
        twins = A_measures.twins(B_measures) if divergence.biased else None

        def compute(tile: _plan.Block) -> None:
            rows, cols = np.searchsorted(left, tile.rows), np.searchsorted(right, tile.cols)
            answer = divergence.tile(A, B, rows, cols, tile.triangle)
            values, status = _checked(answer, (len(rows), len(cols)), divergence)
            if twins is not None:  # equal measures are at distance 0, wherever they come from
                values[twins[0][rows][:, None] == twins[1][cols][None]] = 0.0
            if tile.triangle:
                values, status = _mirror(values), _mirror(status)
            _refuse_failed(values, status, tile, divergence)
            with writing:
                table.write(*table.slots_of(tile.rows, tile.cols), values, status)
            progress.advance(tile.n_pairs)

        writing = threading.Lock()
        n_pairs = sum(block.n_pairs for block in blocks)
        with Progress(n_pairs, self.progress, type(divergence).__name__) as progress:
            self._run(
                compute,
                blocks,
                divergence.work(A_measures, B_measures, context),
                divergence.row_work(A_measures, B_measures, context),
                # Processes that want these pairs wait: their cores are free.
                self.workers or (_executors.usable_cores() if table.exclusive else _executors.default_workers()),
            )

    def _run(
        self, compute: _executors.Compute, blocks: list[_plan.Block], work: float, row_work: float, workers: int
    ) -> None:
        def shape(block: _plan.Block) -> tuple[int, int]:
            if self.tile:
                return self.tile, self.tile
            return _plan.tile_shape(work, row_work, len(block.rows), len(block.cols))

        tiles = [tile for block in blocks for tile in _plan.cut(block, shape(block))]
        workers = min(workers, len(tiles))
        # One level of parallelism: a BLAS call inside a tile keeps to its thread. The serial executor is
        # limited too, so that both round alike.
        with threadpool_limits(limits=1):
            if self.executor == "serial" or workers == 1:
                _executors.run_serial(compute, tiles)
            else:
                _executors.run_threads(compute, tiles, workers)

    def __sklearn_clone__(self) -> Engine:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": None}

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
    values, info = (engine or DEFAULT).evaluate(divergence, left, right)
    exponent = (2.0 if squared else 1.0) / divergence.power
    if not divergence.signed:
        np.maximum(values, 0.0, out=values)  # rounding
    elif exponent != 1.0 and (values < 0).any():
        i, j = np.argwhere(values < 0)[0]
        as_it_is = f"; squared={divergence.power == 2.0} returns it as it is" if divergence.power in (1.0, 2.0) else ""
        raise NumericalError(
            f"{divergence!r} is negative, {values[i, j]:.3g}, for `X[{i}]` and `Y[{j}]`, which no distance is. Use "
            f"another value or parameter of the divergence{as_it_is}."
        )
    distances = _raise(values, exponent)
    if not return_info:
        return distances
    estimate = divergence.error_estimate
    if estimate is not None:
        info = replace(info, error=(engine or DEFAULT).evaluate(estimate, left, right)[0])
    return distances, info


def require_divergence(divergence: Any) -> Divergence:
    """Return a divergence, and refuse what is none."""
    if isinstance(divergence, Divergence):
        return divergence
    raise InvalidParameterError(
        f"`divergence` must be a divergence object such as divergences.Wasserstein(p=2); got {divergence!r}."
    )


def _raise(values: FloatArray, exponent: float) -> FloatArray:
    """Return values**exponent."""
    if exponent == 1.0:
        return values
    return np.sqrt(values) if exponent == 0.5 else values**exponent


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


def _checked(answer: Any, shape: tuple[int, int], divergence: Divergence) -> tuple[FloatArray, StatusArray]:
    """Return values and status of a tile, or say what a divergence of one's own got wrong."""
    if not isinstance(answer, tuple) or len(answer) != 2 or np.shape(answer[0]) != shape:
        raise InvalidParameterError(
            f"{type(divergence).__name__}.tile must return (values, status) with values of shape {shape}, and status "
            "of the same shape or None."
        )
    values, status = answer
    return values, np.zeros(shape, dtype=np.uint8) if status is None else status


def _mirror(values: Any) -> Any:
    """Copy the upper triangle of the leading square to the lower one; its diagonal becomes 0."""
    mirrored = np.triu(values, 1)
    square = mirrored[:, : len(mirrored)]
    square += square.T.copy()
    return mirrored


def _refuse_failed(values: FloatArray, status: StatusArray, tile: _plan.Block, divergence: Divergence) -> None:
    failed = ~np.isfinite(values) | (status == codes.FAILED)
    if failed.any():
        i, j = np.argwhere(failed)[0]
        raise NumericalError(
            f"{divergence!r} found no finite value for measures {tile.rows[i]} and {tile.cols[j]} (rows of the "
            "collections they were sliced from). Check the scale of their points and weights."
        )


def _warn(info: Info, divergence: Divergence) -> None:
    if info.n_unconverged:
        warnings.warn(
            f"{info.n_unconverged} of {info.status.size} entries of {divergence!r} did not reach their tolerance; "
            "their values are estimates. pairwise(..., return_info=True) tells which.",
            ConvergenceWarning,
            stacklevel=4,
        )
