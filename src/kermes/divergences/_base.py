"""What a divergence is: parameters, claims, and a route for the collections at hand."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import isabstract
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._frozen import Frozen
from .._typing import AnyArray, FloatArray, IndexArray, StatusArray
from ..core.status import FAILED, OK
from ..exceptions import UnsuitableDataError
from ..ground import Cost, PointKernel
from ..measures import Measures
from ._cores import core

#: Structs of the cores.
Atoms: TypeAlias = "core.points.Atoms"
CoreGround: TypeAlias = "core.points.CoreGround"
#: Bytes from which prepared arrays are worth freeing row by row.
RELEASABLE = 1 << 24
#: The smallest normal number.
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Claims:
    """What is known about a divergence d, and why.

    Parameters
    ----------
    metric : bool or None
        Whether d satisfies the triangle inequality and separates measures; None = unknown.
    negative_type : float or None
        Largest known h such that d**h is conditionally negative definite, so that
        exp(-(d / l)**h' / 2) is positive definite for every l > 0 and 0 < h' <= h (Schoenberg).
        None = unknown, 0 = known to fail for every h that matters.
    reason : str
        The theorem or argument.
    fails_at : float or None
        A power h at which d**h is known not to be conditionally negative definite, for measures on R^dim; then no
        greater power is either. None = unknown.
    """

    metric: bool | None
    negative_type: float | None
    reason: str
    fails_at: float | None = None


class Tile(NamedTuple):
    """What a block of pairs comes to.

    Parameters
    ----------
    values : ndarray of shape (rows, cols)
        d**power of each pair.
    status : ndarray of uint8, optional
        The codes of :mod:`kermes.core.status`; None means that all went well.
    error : ndarray, optional
        Estimated absolute error of each value; None means that values are exact up to rounding.
    """

    values: FloatArray
    status: StatusArray | None = None
    error: FloatArray | None = None


class Route:
    """One way to compute the pairs of two collections; chosen by :meth:`Divergence.route`.

    The engine calls :meth:`prepare` once per collection and :meth:`tile` for every block of pairs, the latter from
    several threads at once: it must not write to what ``prepare`` returned.
    """

    def prepare(self, X: Measures) -> Any:
        """Do the work that belongs to each measure alone; the result is read by many threads."""
        raise TypeError(f"{type(self).__name__} must define prepare(X) and tile(A, B, rows, cols, triangle), or route.")

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return d**power between prepared measures ``rows`` of A and ``cols`` of B.

        With ``triangle`` only the entries above the diagonal are read.
        """
        raise TypeError(f"{type(self).__name__} must define prepare(X) and tile(A, B, rows, cols, triangle), or route.")

    def release(self, A: Any, stop: int) -> None:
        """Free what is prepared for the measures before ``stop``, which no later tile reads; by default nothing."""

    def work(self, X: Measures, Y: Measures) -> float:
        """Return the estimated cost of one pair in elementary operations; it sizes the tiles."""
        return float(X.sizes.mean() + Y.sizes.mean())

    def rounding(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray) -> FloatArray | float:
        """Return how far below 0 rounding may carry the values of a tile; the engine refuses what is below that.

        It adds 1e-9 of the largest value, and asks only where values are negative.
        """
        return 1e-9

    def row_work(self, X: Measures, Y: Measures) -> float:
        """Return what each row of a tile costs once, whatever its columns; with it tiles are wide strips.

        The tile with ``triangle`` then has more columns than rows: its first columns are its rows.
        """
        return 0.0


class Divergence(Frozen, Route, ABC):
    """Base of all divergences: frozen values that compare and hash by their parameters.

    A subclass is a frozen dataclass. One that knows a single way to compute its pairs is its own route: it defines
    :meth:`prepare` and :meth:`tile`. One that knows several chooses among them in :meth:`route`. Masses are normalised
    to 1 by every divergence.

    Searches reach the parameters, ``divergence__ground__sigma``: :meth:`with_params` makes the changed value.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse tiles of a subclass that would never be called: those of a divergence that chooses among routes."""
        super().__init_subclass__(**options)
        choosers = [base for base in cls.__mro__[1:] if "route" in vars(base) and not isabstract(base)]
        own = [name for name in ("prepare", "tile", "work") if name in vars(cls)]
        if choosers and own and "route" not in vars(cls):
            raise TypeError(
                f"{cls.__name__} defines {own[0]}, but {choosers[0].__name__} computes pairs by what its method route "
                "returns. Define route(X, Y) instead, or subclass Divergence."
            )

    @property
    def power(self) -> float:
        """Tiles hold d**power: 2 for a divergence that is naturally squared, p for W_p^p."""
        return 2.0

    @property
    def biased(self) -> bool:
        """Whether tiles may give equal measures a value other than 0, if only by the root of a rounding.

        The engine then sets it to 0 where probabilities agree to 12 digits, for which it compares the contents of
        measures. False saves that where equal measures are at 0 anyway, however they are written.
        """
        return True

    @property
    def signed(self) -> bool:
        """Whether tiles may hold values below 0 that are not rounding."""
        return False

    @property
    def estimates_error(self) -> bool:
        """Whether tiles bring ``error``, the estimated error of each value: where values are integrals."""
        return False

    @abstractmethod
    def claims(self, dim: int) -> Claims:
        """Return what is known for measures on R^dim."""

    def check(self, X: Measures) -> None:
        """Raise :class:`UnsuitableDataError` if measures like these cannot be compared."""

    def route(self, X: Measures, Y: Measures) -> Route:
        """Return how the pairs of X and Y are computed: by default by this divergence itself."""
        return self

    def passes(self, X: Measures, Y: Measures) -> list[Route]:
        """Return routes whose values add up to those of :meth:`route`, taken one after another.

        Several where all that one route prepares would not fit in memory, such as the projections on all slices.
        """
        return [self.route(X, Y)]

    def pair_bytes(self, X: Measures, Y: Measures) -> float:
        """Return the memory that the largest pair takes while it is computed, where that grows with n x m atoms.

        Asked before anything is prepared: the engine refuses pairs for which there is no memory.
        """
        return 0.0


def require_same_dim(X: Measures, Y: Measures) -> None:
    """Refuse collections whose points have different dimensions."""
    if X.dim != Y.dim:
        raise UnsuitableDataError(
            f"`X` has points of dimension {X.dim}, `Y` of dimension {Y.dim}; distances need one common dimension."
        )


def batches(work: FloatArray, limit: float = 1.5e8) -> list[IndexArray]:
    """Return row numbers in batches of about ``limit`` operations, so that an interrupt is heard between them."""
    return np.split(np.arange(len(work)), np.flatnonzero(np.diff(np.cumsum(work) // limit)) + 1)


def _in_turn(work: Callable[[Any], None], parts: list[Any]) -> None:
    for part in parts:
        work(part)


#: Who runs the parts of a preparation: calls work(part) for each of them, in any order.
Run: TypeAlias = Callable[[Callable[[Any], None], list[Any]], None]
_RUN: ContextVar[Run] = ContextVar("run", default=_in_turn)


def for_each(work: Callable[[Any], None], parts: list[Any]) -> None:
    """Call work(part) for each of the parts, which write to different places: by threads where an engine has some."""
    _RUN.get()(work, parts)


@contextmanager
def running(run: Run) -> Iterator[None]:
    """Let ``run`` call what :func:`for_each` is given."""
    token = _RUN.set(run)
    try:
        yield
    finally:
        _RUN.reset(token)


def core_ground(ground: Cost | PointKernel, table: FloatArray | None = None) -> CoreGround:
    """Return a cost or point kernel as cores take it: by its code, or by a table of its values."""
    if table is not None:
        return core.points.CoreGround(core.points.TABLE, ground.params, table)
    return core.points.CoreGround(ground.code, ground.params, np.empty((0, 0)))


def core_atoms(X: Measures) -> Atoms:
    """Return the measures as cores take them. Fresh copies: cores are compiled for writable arrays only."""
    ids = np.zeros(len(X.points), dtype=np.int64)  # of use with a table only
    return core.points.Atoms(np.array(X.points.T, order="C"), X.probabilities, np.array(X.offsets), ids)


def n_prepared(X: Measures, Y: Measures) -> int:
    """Return the number of measures that are prepared."""
    return len(X) + (0 if X is Y else len(Y))


def n_points(X: Measures, Y: Measures) -> int:
    """Return the number of atoms of these measures."""
    return len(X.points) + (0 if X is Y else len(Y.points))


def pooled_points(X: Measures, Y: Measures) -> FloatArray:
    """Return the points of both collections."""
    return X.points if X is Y else np.concatenate([X.points, Y.points])


def pair_sums(a: FloatArray, b: FloatArray, rows: IndexArray, cols: IndexArray) -> FloatArray:
    """Return a[i] + b[j] for i in rows and j in cols."""
    return np.asarray(a[rows][:, None] + b[cols][None])


def releasable(shape: tuple[int, ...]) -> FloatArray:
    """Return an array whose first rows :func:`release_rows` can free, where the system allows it."""
    size = 8 * prod(shape)
    if size < RELEASABLE or not hasattr(mmap, "MADV_DONTNEED"):
        return np.empty(shape)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy asks for
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype=np.float64).reshape(shape)


def release_rows(array: FloatArray, stop: int) -> None:
    """Free the memory of the rows before ``stop`` of an array of :func:`releasable`: they must not be read again."""
    pages: Any = array
    while isinstance(pages, np.ndarray):
        pages = pages.base
    pages = pages.obj if isinstance(pages, memoryview) else pages
    length = stop * array.strides[0] // mmap.PAGESIZE * mmap.PAGESIZE
    if isinstance(pages, mmap.mmap) and length:
        pages.madvise(mmap.MADV_DONTNEED, 0, length)


def empty_tile(rows: IndexArray, cols: IndexArray) -> FloatArray:
    """Return the array a tile core fills; zeros, since a triangle leaves the rest untouched."""
    return np.zeros((len(rows), len(cols)))


def underflow_of_squares(
    values: FloatArray, triangle: bool, differ: Callable[[IndexArray, IndexArray], AnyArray]
) -> StatusArray | None:
    """Return FAILED for squares below the smallest normal number of pairs that differ: they have lost their digits.

    ``differ(i, j)`` is asked about all pairs (i[k], j[k]) of the tile whose squares are so small.
    """
    if not triangle and values.min(initial=np.inf) >= TINY:  # nearly always: a tenth of the time of W_2 on the line
        return None
    i, j = np.nonzero(np.triu(values < TINY, 1) if triangle else values < TINY)
    if not len(i):
        return None
    status = np.zeros(values.shape, dtype=np.uint8)
    status[i, j] = np.where(differ(i, j), FAILED, OK)
    return status


def filled(core: Callable[..., None], A: Any, rows: IndexArray, B: Any, cols: IndexArray, *options: Any) -> FloatArray:
    """Return what a tile core writes for the pairs of ``rows`` of A and ``cols`` of B."""
    out = empty_tile(rows, cols)
    core(A, rows, B, cols, *options, out)
    return out
