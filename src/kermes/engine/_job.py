"""The work itself: the only one that prepares and evaluates. It runs in any thread or process, and checks values.

``Scale`` turns the values of tiles, d**power, into distances or their squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._linalg import ONE_THREAD
from .._typing import AnyArray, FloatArray, IndexArray, StatusArray
from .._values import as_array
from ..core import status as codes
from ..divergences import Divergence, Jensen, Route, Tile
from ..divergences._base import require_same_dim, running
from ..exceptions import InvalidParameterError, NumericalError
from ..measures import Measures
from . import _executors, _tiling

#: What counts as rounding of negative values, relative to the largest of a tile; routes add to it.
ROUNDING = 1e-9
#: Numbers of which the root is taken at a time.
BAND = 1 << 17
#: By how much of itself a divergence of one's own may change when a pair is turned round: iterations may end anywhere.
ASYMMETRY = 1e-2

#: Keeps the pairs of a block.
Put = Callable[[_tiling.Block, Tile], None]
#: Makes distances of d**power, in place, and returns them; ``workers`` threads do (1 by default).
Finish = Callable[..., FloatArray]
#: Values, status and errors of a tile, as :class:`~kermes.divergences.Tile` has them.
_Parts = tuple[FloatArray, StatusArray, FloatArray | None]


class Scale(NamedTuple):
    """What has to be known of a divergence: its power, whether values below 0 are meant, its name."""

    power: float
    signed: bool
    name: str

    @classmethod
    def of(cls, divergence: Divergence) -> Scale:
        """Return the scale of a divergence."""
        return cls(float(divergence.power), bool(divergence.signed), repr(divergence))

    def distances(
        self,
        values: FloatArray,
        squared: bool,
        rows: IndexArray | None = None,
        cols: IndexArray | None = None,
        workers: int = 1,
    ) -> FloatArray:
        """Return d, or d**2, in place of d**power; ``rows`` and ``cols`` say which measures the values are of."""
        exponent = (2.0 if squared else 1.0) / self.power
        if self.signed and exponent != 1.0:
            as_it_is = f"; squared={self.power == 2.0} returns it as it is" if self.power in (1.0, 2.0) else ""
            self.refuse_negative(values, rows, cols, as_it_is)

        def finish(band: FloatArray) -> None:
            if not self.signed:
                np.maximum(band, 0.0, out=band)  # rounding
            if exponent != 1.0:
                band **= exponent  # for 0.5 and 2 the square root and the square, correctly rounded

        # In bands that stay in the cache, by all threads: one pass over the matrix instead of two.
        height = max(1, BAND // max(1, values.shape[1]))
        bands = [values[start : start + height] for start in range(0, len(values), height)]
        _executors.run(finish, bands, min(workers, len(bands)) or 1)
        return values

    def refuse_negative(
        self, values: FloatArray, rows: IndexArray | None = None, cols: IndexArray | None = None, remedy: str = ""
    ) -> None:
        """Refuse values below 0, which are meant but are no distances, and name the first pair."""
        if values.size and values.min() < 0:
            i, j = np.argwhere(values < 0)[0]
            x, y = (i if rows is None else rows[i]), (j if cols is None else cols[j])
            raise NumericalError(
                f"{self.name} is negative, {values[i, j]:.3g}, for `X[{x}]` and `Y[{y}]`, which no distance is. Use "
                f"another value or parameter of the divergence{remedy}."
            )


def require_divergence(divergence: Any) -> Divergence:
    """Return a divergence, and refuse what is none."""
    if isinstance(divergence, Divergence):
        return divergence
    remedy = (
        " A kernel gives its matrix when it is called: kernel(X)." if hasattr(divergence, "hyperparameters") else ""
    )
    raise InvalidParameterError(
        f"`divergence` must be a divergence object such as divergences.Wasserstein(p=2); got {divergence!r}.{remedy}"
    )


def check(divergence: Divergence, X: Measures, Y: Measures) -> None:
    """Refuse collections that the divergence cannot compare."""
    require_same_dim(X, Y)
    divergence.check(X)
    if Y is not X:
        divergence.check(Y)


def concentrations(divergence: Jensen, X: Measures) -> FloatArray:
    """Return h of each measure, in this thread."""
    with ONE_THREAD:
        return divergence.concentration(X)


def _numbers(
    divergence: Divergence, X: Measures, Y: Measures, rows: tuple[IndexArray, IndexArray] | None
) -> tuple[IndexArray, IndexArray] | None:
    """Return numbers of both sides, equal where the distance is 0 by definition; ``rows`` are those known to be."""
    if not divergence.biased:
        return rows
    left, right = X.twins(Y)
    if left is right:  # the same measures, so that a row equals itself
        return (left, right) if len(np.unique(left)) < len(left) else (X.rows, Y.rows)
    return (left, right) if np.isin(left, right).any() else rows


def one_row_each(X: Measures) -> Measures:
    """Return X with one row of its root for all equal measures, so that these have the same distances to others.

    Computed one by one they would differ in digits that the tolerance of a solver leaves, while their own distance is 0
    by definition: no length scale makes such a matrix definite.
    """
    rows = X._root.first_twins[X.rows]
    return X if np.array_equal(rows, X.rows) else Measures(X._root, rows)


def pair_work(divergence: Divergence, X: Measures, Y: Measures) -> float:
    """Return the estimated cost of a pair in elementary operations."""
    return divergence.route(X, Y).work(X, Y)


@dataclass(frozen=True, eq=False)
class Job:
    """A divergence, the route it chose, and the measures it has prepared, which blocks number from 0.

    Pickles: a cluster sends it to each worker once. ``same`` numbers the measures of both sides, equal where the
    distance is 0 by definition. ``rows`` and ``cols`` are what errors call them. Without ``with_error`` the estimated
    errors are not handed on.
    """

    divergence: Divergence
    route: Route
    A: Any
    B: Any
    same: tuple[IndexArray, IndexArray] | None
    rows: IndexArray
    cols: IndexArray
    work: float
    row_work: float
    with_error: bool = True

    @classmethod
    def prepare(
        cls,
        divergence: Divergence,
        X: Measures,
        Y: Measures,
        same_rows: bool = False,
        route: Route | None = None,
        workers: int = 1,
        with_error: bool = True,
    ) -> Job:
        """Do the work that belongs to each measure alone. With ``same_rows`` equal row numbers are equal measures."""
        route = divergence.route(X, Y) if route is None else route

        def run(work: Callable[[Any], None], parts: list[Any]) -> None:
            _executors.run(work, parts, max(1, min(workers, len(parts))))

        with ONE_THREAD, running(run):  # the matrices of one measure are small: threads of BLAS would only wait
            A = route.prepare(X)
            B = A if Y is X else route.prepare(Y)
        same = _numbers(divergence, X, Y, (X.rows, Y.rows) if same_rows else None)
        with_error = with_error and divergence.estimates_error
        return cls(divergence, route, A, B, same, X.rows, Y.rows, route.work(X, Y), route.row_work(X, Y), with_error)

    @classmethod
    def between(cls, divergence: Divergence, X: Measures, Y: Measures) -> Job:
        """Check two collections and prepare them: for pairs that are chosen one by one, and not remembered."""
        check(divergence, X, Y)
        return cls.prepare(divergence, X, Y)

    def distances(self, rows: IndexArray, cols: IndexArray, squared: bool = False) -> tuple[FloatArray, StatusArray]:
        """Return distances and status between ``rows`` of X and ``cols`` of Y; may be called from several threads."""
        with ONE_THREAD:
            values, status, _ = self._tile(rows, cols, False)
        return Scale.of(self.divergence).distances(values, squared, rows, cols), status

    def tile_shape(self, n: int, m: int, side: int | None) -> tuple[int, int]:
        """Return the shape of the tiles of n x m pairs: squares of ``side``, or by the cost of a pair."""
        return _tiling.tile_shape(self.work, self.row_work, n, m) if side is None else (side, side)

    def evaluate(
        self,
        batch: _tiling.Batch,
        advance: Callable[[int], None] = lambda n_pairs: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Tile | None:
        """Return d**power, status and errors of a batch, tile by tile; None if ``stopped`` between two of them."""
        (rows, cols, triangle), shape = batch
        size = len(rows), len(cols)
        if shape[0] >= size[0] and shape[1] >= size[1] and not triangle and not stopped():  # one tile, as it is
            tile = Tile(*self._tile(rows, cols, triangle))
            advance(size[0] * size[1])
            return tile
        error = np.zeros(size) if self.with_error else None
        whole = np.zeros(size), np.zeros(size, dtype=np.uint8), error
        for block in _tiling.cut(_tiling.Block(np.arange(size[0]), np.arange(size[1]), triangle), shape):
            if stopped():
                return None
            parts = self._tile(rows[block.rows], cols[block.cols], block.triangle)
            for array, part in zip(whole, parts, strict=True):
                if array is not None:
                    array[block.place] = part  # type: ignore[assignment]
            advance(block.n_pairs)
        return Tile(*(_mirror(array) for array in whole)) if triangle else Tile(*whole)

    def _tile(self, rows: IndexArray, cols: IndexArray, triangle: bool) -> _Parts:
        foreign = not is_ours(type(self.divergence))
        if foreign:  # what is handed out is not to be written to
            rows, cols = rows.view(), cols.view()
            rows.flags.writeable = cols.flags.writeable = False
        answer = self.route.tile(self.A, self.B, rows, cols, triangle)
        values, status, error = _checked(answer, (len(rows), len(cols)), self.divergence)
        if not (self.with_error or foreign):
            error = None
        if self.same is not None:  # equal measures are at distance 0, wherever they come from
            equal = self.same[0][rows][:, None] == self.same[1][cols][None]
            values[equal], status[equal] = 0.0, codes.OK
            if error is not None:
                error[equal] = 0.0
        if triangle:  # the rest may be anything
            values, status = np.triu(values, 1), np.triu(status, 1)
            error = None if error is None else np.triu(error, 1)
        self._refuse_failed(values, status, rows, cols)
        if foreign:
            self._refuse_meaningless(status, error)
            if triangle and len(cols) > 1 and not (self.same is not None and equal[0, 1]):
                self._refuse_asymmetric(float(values[0, 1]), rows[:1], cols[1:2])
        self._refuse_negative(values, status, rows, cols)
        return values, status, error if self.with_error else None

    def _refuse_meaningless(self, status: StatusArray, error: FloatArray | None) -> None:
        """Refuse what a divergence of one's own must not say of a pair, though it has the right form."""
        name = type(self.divergence).__name__
        if (status > codes.FAILED).any():
            raise InvalidParameterError(
                f"{name}.tile must give each pair the status 0 (fine), 1 (tolerance not reached) or 2 (failed)."
            )
        if error is not None and not (error >= 0).all():
            raise InvalidParameterError(f"{name}.tile must estimate errors by numbers of at least 0.")

    def _refuse_asymmetric(self, value: float, row: IndexArray, col: IndexArray) -> None:
        """Compare a pair with itself, turned round: of all others only one half is computed."""
        turned = float(np.asarray(self.route.tile(self.A, self.B, col, row, False).values)[0, 0])
        if not abs(turned - value) <= ASYMMETRY * max(abs(turned), abs(value)) + ROUNDING:
            raise InvalidParameterError(
                f"{type(self.divergence).__name__} must be symmetric; it is {value:g} for measures "
                f"{self.rows[row[0]]} and {self.cols[col[0]]}, and {turned:g} the other way round. Average both."
            )

    def _refuse_negative(self, values: FloatArray, status: StatusArray, rows: IndexArray, cols: IndexArray) -> None:
        """Refuse values below 0 that are not rounding: they are not distances, and 0 would be a wrong one."""
        if self.divergence.signed or not values.min(initial=0.0) < 0:
            return
        limit = self.route.rounding(self.A, self.B, rows, cols) + ROUNDING * float(np.abs(values).max())
        below = (values < -limit) & (status == codes.OK)
        if below.any():
            raise NumericalError(
                f"{self.divergence!r} is negative, {values[below][0]:.3g}, for {self._first(below, rows, cols)}, which "
                "rounding does not explain: d**power is at least 0. Check the scale of their points and weights; a "
                "divergence of your own may define `signed` as True if values below 0 are meant."
            )

    def _refuse_failed(self, values: FloatArray, status: StatusArray, rows: IndexArray, cols: IndexArray) -> None:
        ends = float(values.min(initial=0.0)), float(values.max(initial=0.0))  # nan if one is: no array for each pair
        if np.isfinite(ends).all() and status.max(initial=codes.OK) < codes.FAILED:
            return
        failed = ~np.isfinite(values) | (status == codes.FAILED)
        if failed.any():
            raise NumericalError(
                f"{self.divergence!r} found no finite value for {self._first(failed, rows, cols)}. Check the scale of "
                "their points and weights."
            )

    def _first(self, where: AnyArray, rows: IndexArray, cols: IndexArray) -> str:
        """Return what errors call the first pair ``where`` something is wrong."""
        i, j = np.argwhere(where)[0]
        numbers = f"{self.rows[rows[i]]} and {self.cols[cols[j]]}"
        return f"measures {numbers} (rows of the collections they were sliced from)"


def _checked(answer: Any, shape: tuple[int, int], divergence: Divergence) -> _Parts:
    """Return the parts of a tile, or say what a divergence of one's own got wrong."""
    name = type(divergence).__name__
    if not isinstance(answer, Tile) or any(part is not None and np.shape(part) != shape for part in answer):
        raise InvalidParameterError(
            f"{name}.tile must return Tile(values, status=None, error=None) with values of shape {shape}, and status "
            "and error of the same shape or None."
        )
    if (answer.error is not None) != divergence.estimates_error:
        raise InvalidParameterError(
            f"{name}.estimates_error must be True if its tiles bring errors, and False if not; got "
            f"{divergence.estimates_error}."
        )
    kind = as_array(answer.values, f"{name}.tile").dtype
    if kind.kind not in "fiub":
        raise InvalidParameterError(f"{name}.tile must return real numbers; got values of type {kind}.")
    status = np.zeros(shape, dtype=np.uint8) if answer.status is None else np.asarray(answer.status, dtype=np.uint8)
    if is_ours(type(divergence)):
        return answer.values, status, answer.error
    # Copies, which may be written to: what came back may be part of what the divergence has prepared.
    error = None if answer.error is None else np.array(answer.error, dtype=np.float64)
    return np.array(answer.values, dtype=np.float64), status, error


def is_ours(kind: type) -> bool:
    """Whether a class is one of kermes: its version says what it does, and its tiles need not be looked at."""
    return kind.__module__.split(".")[0] == __name__.split(".")[0]


def _mirror(values: Any) -> Any:
    """Copy the upper triangle of the leading square to the lower one; its diagonal becomes 0."""
    if values is None:
        return None
    mirrored = np.triu(values, 1)
    square = mirrored[:, : len(mirrored)]
    square += square.T.copy()
    return mirrored
