"""How exact transport goes: quantiles on the line, total variation for the binary cost, the network simplex."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._scales import unit_of
from .._typing import FloatArray, IndexArray, StatusArray
from ..core.ragged import Rows
from ..core.status import FAILED, OK, UNCONVERGED
from ..ground import Cost, Euclidean, SqEuclidean
from ..measures import Measures
from . import _plans
from ._base import TINY, Route, Tile, core_ground, empty_tile, filled
from ._cores import core
from ._quantiles import QuantileRoute, sorted_halves
from ._support import (
    LARGEST_TABLE,
    CommonSupport,
    common_support,
    cost_table,
    sparse_rows,
)

#: Mass by which measures differ that may be the rounding of their weights.
LIGHT = 1e-13
#: Weights that differ by less than this fraction are equal.
SAME = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Line(QuantileRoute):
    """On the line: sorted atoms and their levels, merged for each pair."""

    p: float

    def prepare(self, X: Measures) -> Any:
        return sorted_halves(X)

    def plan(self, points: FloatArray, a: Rows, b: Rows) -> FloatArray:
        return _plans.on_the_line(points[a.ids, 0], a.weights, points[b.ids, 0], b.weights)


class AlignedLine(Line):
    """On the line, measures of m equal atoms each: quantile functions are rows of a matrix (n, m)."""

    def prepare(self, X: Measures) -> Any:
        return np.sort(X.points.reshape(len(X), -1), axis=1)

    def powers(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool, p: float) -> FloatArray:
        if p in (1, 2):
            out = filled(core.vectors.power_tile, A, rows, B, cols, triangle, p)
            out /= A.shape[1]
        else:
            out = filled(core.vectors.norm_tile, A, rows, B, cols, triangle, p)
            out /= A.shape[1] ** (1.0 / p)
        return out


@dataclass(frozen=True)
class TotalVariation(Route):
    """One price for all moves: all mass but min(mu, nu) moves."""

    common: CommonSupport
    price: float
    p: float

    def prepare(self, X: Measures) -> Rows:
        return sparse_rows(X, *self.common)

    def tile(self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        out = variation(A, B, rows, cols, triangle)
        for i, j in np.argwhere((out > 0.0) & (out <= LIGHT)):
            if _agree(A, rows[i], B, cols[j]):
                out[i, j] = 0.0  # as in _judge
        if self.p not in (1, 2):
            return Tile(self.price * out ** (1.0 / self.p))
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values are an error
            values = np.float64(self.price) ** self.p * out
        return Tile(values, np.where((out > 0) & (values < TINY), FAILED, OK))

    def plan(self, points: FloatArray, a: Rows, b: Rows) -> FloatArray:
        return _plans.in_place(a.ids, a.weights, b.ids, b.weights)


@dataclass(frozen=True, eq=False)
class NetworkSimplex(Route):
    """A linear program for each pair; ``table`` holds cost**p on the common support, or None if that is too large.

    Powers other than 1 and 2 are tabulated in units of the largest cost, to the next power of 2; tiles are then W_p.
    """

    cost: Cost
    p: float
    common: CommonSupport
    table: FloatArray | None
    unit: float

    @classmethod
    def of(cls, cost: Cost, p: float, X: Measures, Y: Measures, largest: int = LARGEST_TABLE) -> NetworkSimplex:
        """Tabulate the costs of at most ``largest`` points; not those of clouds that share few points, used once."""
        common, unit = common_support(X, Y, cost), 1.0
        used = len(X.points) * len(Y.points) // (2 if X is Y else 1)
        if cost.code is not None and p in (1, 2) and len(common.points) ** 2 > used:
            largest = 0
        # Squares are not made of roots: whole ones stay whole, and rounding breaks none of the ties of images.
        squares = p == 2 and isinstance(cost, Euclidean)
        table = cost_table(SqEuclidean() if squares else cost, common, largest)
        if table is not None and not squares:
            if p not in (1, 2):
                unit = float(np.exp2(np.ceil(np.log2(table.max(initial=0.0) or 1.0))))
            with np.errstate(over="ignore"):  # infinite values are an error
                table = (table / unit) ** p
        return cls(cost, p, common, table, unit)

    @cached_property
    def _coordinates(self) -> FloatArray:
        """All points (d, m), as the core takes them."""
        return np.array(self.common.points.T, order="C")

    def prepare(self, X: Measures) -> Rows:
        return sparse_rows(X, *self.common)

    def tile(self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return W_2^2, or W_p for other p; neither is rounding of weights a distance, nor underflow distance 0."""
        values, status = self._powers(A, B, rows, cols, triangle)
        moved = variation(A, B, rows, cols, triangle, enough=LIGHT)
        if triangle:
            moved[np.tri(*moved.shape) > 0] = np.inf  # not read
        if moved.min() <= LIGHT or values.min() < TINY:  # seldom, but for triangles
            self._judge(A, B, rows, cols, values, moved, status)
        return Tile(values if self.p in (1, 2) else self.unit * values ** (1.0 / self.p), status)

    def _judge(
        self,
        A: Rows,
        B: Rows,
        rows: IndexArray,
        cols: IndexArray,
        values: FloatArray,
        moved: FloatArray,
        status: StatusArray,
    ) -> None:
        """Set pairs that differ by rounding to 0, and mark those whose value underflowed."""
        lost = (values < TINY) & np.isfinite(moved)
        for i, j in np.argwhere(moved <= LIGHT):
            if _agree(A, rows[i], B, cols[j]):
                values[i, j] = 0.0  # the p-th root would make a distance of the rounding of weights
                lost[i, j] = False
        if not isinstance(self.cost, Euclidean):  # by which no two points are at cost 0
            for i, j in np.argwhere(lost & (values == 0.0)):
                lost[i, j] = self._costs_something(A, rows[i], B, cols[j])
        status[lost] = FAILED

    def plan(self, points: FloatArray, a: Rows, b: Rows) -> FloatArray:
        return np.asarray(self._optimum(points, a.ids, a.weights, b.ids, b.weights).plan)

    def _optimum(self, points: FloatArray, i: IndexArray, a: FloatArray, j: IndexArray, b: FloatArray) -> Any:
        """Return the optimum in units of the largest cost: powers neither vanish nor overflow, plans are the same."""
        costs = self.cost.pick(points, i, j)
        return _plans.transport(a, b, (costs / unit_of(costs)) ** self.p)

    def _costs_something(self, A: Rows, i: int, B: Rows, j: int) -> bool:
        """Whether W_p^p of a pair is not 0, but for underflow."""
        left, right = slice(A.offsets[i], A.offsets[i + 1]), slice(B.offsets[j], B.offsets[j + 1])
        a, b = (A.ids[left], A.weights[left]), (B.ids[right], B.weights[right])
        return bool(self._optimum(self.common.points, *a, *b).value > 0.0)

    def work(self, X: Measures, Y: Measures) -> float:
        """About n^2.5 operations, after some fixed ones."""
        return 1e4 + 2.0 * float((X.sizes.mean() + Y.sizes.mean()) ** 2.5)

    def _powers(
        self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, StatusArray]:
        """Return W_p^p in units of ``unit``, and the status of each pair."""
        out = empty_tile(rows, cols)
        status = np.zeros(out.shape, dtype=np.uint8)
        if self.table is None and self.cost.code is None:  # ask a cost of one's own for each pair
            for i, row in enumerate(rows):
                left = slice(A.offsets[row], A.offsets[row + 1])
                for j in range(i + 1 if triangle else 0, len(cols)):
                    right = slice(B.offsets[cols[j]], B.offsets[cols[j] + 1])
                    with np.errstate(over="ignore"):  # infinite values are an error
                        costs = np.asarray(self.cost.pick(self.common.points, A.ids[left], B.ids[right]) ** self.p)
                    if np.isfinite(costs).all():
                        best = _plans.search(A.weights[left], B.weights[right], costs)
                        out[i, j], status[i, j] = best.value, OK if best.proved else UNCONVERGED
                    else:
                        out[i, j] = np.inf  # an error, which names the pair
            return out, status
        ground, points = core_ground(self.cost, self.table), self._coordinates
        in_place = self.p == 1.0 and bool(self.cost.metric)
        n, m = (int((Z.offsets[of + 1] - Z.offsets[of]).max()) for Z, of in ((A, rows), (B, cols)))
        room = core.transport.exact.make_room(n, m, len(points))
        core.transport.exact.tile(ground, points, self.p, in_place, A, rows, B, cols, triangle, room, out, status)
        return out, status


def variation(
    A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool, enough: float = np.inf
) -> FloatArray:
    """Return the mass by which measures differ, or a part of it that is more than ``enough``."""
    return filled(core.vectors.variation_tile, A, rows, B, cols, triangle, enough)


def _agree(A: Rows, i: int, B: Rows, j: int) -> bool:
    """Whether two measures are equal to the rounding of their weights."""
    left, right = slice(A.offsets[i], A.offsets[i + 1]), slice(B.offsets[j], B.offsets[j + 1])
    if not np.array_equal(A.ids[left], B.ids[right]):
        return False
    a, b = A.weights[left], B.weights[right]
    return bool((np.abs(a - b) <= SAME * a).all())
