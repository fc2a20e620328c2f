"""The work itself: a prepared divergence that evaluates portions of pairs, in any thread or process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray, IndexArray, StatusArray
from ..core import status as codes
from ..divergences import Divergence, Route, Tile
from ..exceptions import InvalidParameterError, NumericalError
from ..measures import Measures
from . import _plan
from ._executors import ONE_THREAD

Answer = tuple[FloatArray, StatusArray]


@dataclass(frozen=True, eq=False)
class Job:
    """A divergence, and the measures it has prepared. Blocks count them from 0; errors call them by ``rows``.

    Pickles: a cluster sends it to each worker once. ``same`` numbers the measures of both sides, equal where the
    distance is 0 by definition.
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

    @classmethod
    def prepare(cls, divergence: Divergence, X: Measures, Y: Measures, same_rows: bool = False) -> Job:
        """Do the work that belongs to each measure alone. With ``same_rows`` equal row numbers are equal measures."""
        route = divergence.route(X, Y)
        with ONE_THREAD:  # the matrices of one measure are small: threads would only wait
            A = route.prepare(X)
            B = A if Y is X else route.prepare(Y)
        same = X.twins(Y) if divergence.biased else (X.rows, Y.rows) if same_rows else None
        return cls(divergence, route, A, B, same, X.rows, Y.rows, route.work(X, Y), route.row_work(X, Y))

    def tile_shape(self, block: _plan.Block, side: int | None) -> tuple[int, int]:
        """Return the shape of the tiles of a block: squares of ``side``, or by the cost of a pair."""
        if side is not None:
            return side, side
        return _plan.tile_shape(self.work, self.row_work, len(block.rows), len(block.cols))

    def evaluate(
        self,
        portion: _plan.Block,
        shape: tuple[int, int],
        advance: Callable[[int], None] = lambda n_pairs: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Answer | None:
        """Return d**power and status of a portion, tile by tile; None if ``stopped`` between two of them."""
        size = len(portion.rows), len(portion.cols)
        values, status = np.zeros(size), np.zeros(size, dtype=np.uint8)
        for tile in _plan.cut(_plan.Block(np.arange(size[0]), np.arange(size[1]), portion.triangle), shape):
            if stopped():
                return None
            place = slice(tile.rows[0], tile.rows[-1] + 1), slice(tile.cols[0], tile.cols[-1] + 1)
            values[place], status[place] = self._tile(portion.rows[tile.rows], portion.cols[tile.cols], tile.triangle)
            advance(tile.n_pairs)
        return (_mirror(values), _mirror(status)) if portion.triangle else (values, status)

    def _tile(self, rows: IndexArray, cols: IndexArray, triangle: bool) -> Answer:
        answer = self.route.tile(self.A, self.B, rows, cols, triangle)
        values, status = _checked(answer, (len(rows), len(cols)), self.divergence)
        if self.same is not None:  # equal measures are at distance 0, wherever they come from
            values[self.same[0][rows][:, None] == self.same[1][cols][None]] = 0.0
        if triangle:  # the rest may be anything
            values, status = np.triu(values, 1), np.triu(status, 1)
        self._refuse_failed(values, status, rows, cols)
        return values, status

    def _refuse_failed(self, values: FloatArray, status: StatusArray, rows: IndexArray, cols: IndexArray) -> None:
        failed = ~np.isfinite(values) | (status == codes.FAILED)
        if failed.any():
            i, j = np.argwhere(failed)[0]
            raise NumericalError(
                f"{self.divergence!r} found no finite value for measures {self.rows[rows[i]]} and "
                f"{self.cols[cols[j]]} (rows of the collections they were sliced from). Check the scale of their "
                "points and weights."
            )


def _checked(answer: Any, shape: tuple[int, int], divergence: Divergence) -> Answer:
    """Return values and status of a tile, or say what a divergence of one's own got wrong."""
    if not isinstance(answer, Tile) or np.shape(answer.values) != shape:
        raise InvalidParameterError(
            f"{type(divergence).__name__}.tile must return Tile(values, status=None, error=None) with values of shape "
            f"{shape}, and status and error of the same shape or None."
        )
    status = answer.status
    return answer.values, np.zeros(shape, dtype=np.uint8) if status is None else status


def _mirror(values: Any) -> Any:
    """Copy the upper triangle of the leading square to the lower one; its diagonal becomes 0."""
    mirrored = np.triu(values, 1)
    square = mirrored[:, : len(mirrored)]
    square += square.T.copy()
    return mirrored
