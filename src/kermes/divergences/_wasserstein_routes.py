"""How exact transport is computed: quantiles on the line, total variation, network simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._scales import unit_of
from .._typing import FloatArray, IndexArray, StatusArray
from ..core.ragged import Rows
from ..core.status import FAILED, OK
from ..ground import Cost, Euclidean
from ..measures import Measures
from . import _plans
from ._base import Route, Tile, core_ground, empty_tile, filled
from ._quantiles import QuantileRoute, sorted_halves
from ._support import LARGEST_TABLE, CommonSupport, common_support, cost_table, sparse_rows

#: Mass by which measures differ that may be the rounding of their weights.
LIGHT = 1e-13
#: Weights that differ by less than this fraction are equal.
SAME = 8 * float(np.finfo(np.float64).eps)


class Exact(Route):
    """A route that also knows an optimal plan of one pair."""

    def plan(self, points: FloatArray, a: Rows, b: Rows) -> FloatArray:
        """Return an optimal plan between two measures, each the only one of its rows."""
        raise TypeError(f"{type(self).__name__} must define plan.")


@dataclass(frozen=True)
class Line(QuantileRoute, Exact):
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
        from ..core import vectors

        if p in (1, 2):
            return np.asarray(filled(vectors.power_tile, A, rows, B, cols, triangle, p) / A.shape[1])
        return np.asarray(filled(vectors.norm_tile, A, rows, B, cols, triangle, p) / A.shape[1] ** (1.0 / p))


@dataclass(frozen=True)
class TotalVariation(Exact):
    """One price for all moves: all mass but min(mu, nu) moves."""

    common: CommonSupport
    price: float
    p: float

    def prepare(self, X: Measures) -> Rows:
        return sparse_rows(X, *self.common)

    def tile(self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        out = variation(A, B, rows, cols, triangle)
        if self.p not in (1, 2):
            return Tile(self.price * out ** (1.0 / self.p))
        with np.errstate(over="ignore", invalid="ignore"):  # infinite values are an error
            values = np.float64(self.price) ** self.p * out
        return Tile(values, np.where((out > 0) & (values < np.finfo(np.float64).tiny), FAILED, OK))

    def plan(self, points: FloatArray, a: Rows, b: Rows) -> FloatArray:
        return _plans.in_place(a.ids, a.weights, b.ids, b.weights)


@dataclass(frozen=True, eq=False)
class NetworkSimplex(Exact):
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
        table = cost_table(cost, common, largest)
        if table is not None:
            if p not in (1, 2):
                unit = float(np.exp2(np.ceil(np.log2(table.max(initial=0.0) or 1.0))))
            with np.errstate(over="ignore"):  # infinite values are an error
                table = (table / unit) ** p
        return cls(cost, p, common, table, unit)

    def prepare(self, X: Measures) -> Rows:
        return sparse_rows(X, *self.common)

    def tile(self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return W_2^2, or W_p for other p; neither is rounding of weights a distance, nor underflow distance 0."""
        values, status = self._powers(A, B, rows, cols, triangle)
        moved = variation(A, B, rows, cols, triangle)
        if triangle:
            moved[np.tri(*moved.shape) > 0] = np.inf  # not read
        for i, j in np.argwhere(moved <= LIGHT):
            if _agree(A, rows[i], B, cols[j]):
                values[i, j] = 0.0  # the p-th root would make a distance of the rounding of weights
        if isinstance(self.cost, Euclidean):  # no two points are at cost 0: this is underflow
            status[(values < np.finfo(np.float64).tiny) & np.isfinite(moved) & (moved > LIGHT)] = FAILED
        return Tile(values if self.p in (1, 2) else self.unit * values ** (1.0 / self.p), status)

    def plan(self, points: FloatArray, a: Rows, b: Rows) -> FloatArray:
        costs = self.cost.pick(points, a.ids, b.ids)
        # In units of the largest cost powers neither vanish nor overflow, and plans are the same.
        return _plans.transport(a.weights, b.weights, (costs / unit_of(costs)) ** self.p).plan

    def work(self, X: Measures, Y: Measures) -> float:
        """About n^2.5 operations, after some fixed ones."""
        return 1e4 + 2.0 * float((X.sizes.mean() + Y.sizes.mean()) ** 2.5)

    def _powers(
        self, A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, StatusArray]:
        """Return W_p^p in units of ``unit``, and the status of each pair."""
        from ..core.transport import exact
        from ..core.transport.network_simplex import make_tree

        out = empty_tile(rows, cols)
        status = np.zeros(out.shape, dtype=np.uint8)
        if self.table is None and self.cost.code is None:  # ask a cost of one's own for each pair
            for i, row in enumerate(rows):
                left = slice(A.offsets[row], A.offsets[row + 1])
                for j in range(i + 1 if triangle else 0, len(cols)):
                    right = slice(B.offsets[cols[j]], B.offsets[cols[j] + 1])
                    costs = self._costs(A.ids[left], B.ids[right])
                    if np.isfinite(costs).all():
                        out[i, j] = _plans.transport(A.weights[left], B.weights[right], costs).value
                    else:
                        out[i, j] = np.inf  # an error, which names the pair
            return out, status
        ground, points = core_ground(self.cost, self.table), np.array(self.common.points.T, order="C")
        in_place = self.p == 1.0 and bool(self.cost.metric)
        tree = make_tree(int(np.diff(A.offsets).max() + np.diff(B.offsets).max()))
        exact.tile(ground, points, self.p, in_place, A, rows, B, cols, triangle, tree, out, status)
        return out, status

    def _costs(self, a_ids: IndexArray, b_ids: IndexArray) -> FloatArray:
        if self.table is not None:
            return self.table[np.ix_(a_ids, b_ids)]
        with np.errstate(over="ignore"):  # infinite values are an error
            return np.asarray(self.cost.pick(self.common.points, a_ids, b_ids) ** self.p)


def variation(A: Rows, B: Rows, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
    """Return the mass by which measures differ."""
    from ..core import vectors

    return filled(vectors.variation_tile, A, rows, B, cols, triangle)


def _agree(A: Rows, i: int, B: Rows, j: int) -> bool:
    """Whether two measures are equal to the rounding of their weights."""
    left, right = slice(A.offsets[i], A.offsets[i + 1]), slice(B.offsets[j], B.offsets[j + 1])
    if not np.array_equal(A.ids[left], B.ids[right]):
        return False
    a, b = A.weights[left], B.weights[right]
    return bool((np.abs(a - b) <= SAME * a).all())
