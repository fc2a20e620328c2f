"""Entropic optimal transport."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._checks import choice, integer, positive, real
from .._typing import AnyArray, FloatArray, IndexArray, StatusArray
from ..core import ragged
from ..core.status import RETRY
from ..exceptions import ConvergenceWarning, UnsuitableDataError
from ..ground import Cost, Euclidean, SqEuclidean, as_cost
from ..measures import Measure, Measures, Support
from ._base import Claims, Divergence, batches, empty_tile
from ._plans import entropic
from ._support import LARGEST_TABLE, Rows, atom_costs, common_support, cost_table, couple, sparse_rows

__all__ = ["Sinkhorn"]

#: Marginal error from which single precision is safe (tests compare with double precision).
SINGLE = 1e-5
#: Below max(cost) / eps of this, scalings leave the range of double precision for nearly every pair.
STEEP = 1500.0
#: Pairs of a tile on which the working precision is tried.
TRIAL = 8
#: Above this multiple of the largest cost the debiased value has reached its limit (to 1e-6), and a larger epsilon
#: would only cancel digits.
LIMIT = 1e6
#: Marginal error of the self terms of the debiased value; they are paid once per measure.
SELF_TOL = 1e-4
#: Marginal errors of a plan below this are rounding.
ROUNDING = 1e-12


class _Route(NamedTuple):
    """How a run proceeds: by the axes of a grid, by a table of costs, or by coordinates (``points`` is None)."""

    points: FloatArray | None
    given: bool
    table: FloatArray | None
    grid: Support | None
    steep: bool
    epsilon: float
    kernels: dict[Any, tuple[AnyArray, ...]]  # Gibbs kernels by precision, made when first needed


class _Prepared(NamedTuple):
    """Measures ready for the cores, with the parts that the route needs."""

    route: _Route
    rows: Rows
    coordinates: FloatArray | None
    images: FloatArray | None
    boxes: IndexArray | None
    offset: FloatArray  # per measure, what turns the core's value into the one asked for


@dataclass(frozen=True)
class Sinkhorn(Divergence):
    r"""Entropic transport cost.

    With :math:`P` the plan of least :math:`\langle P, C \rangle + \varepsilon \, \mathrm{KL}(P \,|\, a b^\top)`
    among all couplings of the probabilities a and b:

    - ``value="transport"``: :math:`\langle P, C \rangle`;
    - ``value="regularized"``: :math:`\langle P, C \rangle + \varepsilon \sum_{ij} P_{ij} \log P_{ij}`, as printed
      in the paper `wek`; negative where entropy outweighs cost;
    - ``value="debiased"``: :math:`S(a, b) - (S(a, a) + S(b, b)) / 2` with :math:`S` the minimum above; zero for equal
      measures.

    Parameters
    ----------
    epsilon : float
        Strength of the entropy, in units of the cost: a few percent of the median cost between points is a fair start.
        Smaller is closer to exact transport, and slower.
    cost : ground cost, name, array of shape (m, m), or function
        Cost C of moving a unit of mass. Names are 'sqeuclidean', 'euclidean', 'binary', 'torus' and those of SciPy's
        distances such as 'cityblock'. A function takes points (n, d) and (m, d) and returns the (n, m) costs, or it is
        compiled by Numba and takes two points. An array holds the costs between the m points of a shared support.
        'torus' has period 1; for another use ``ground.Torus(period)``.
    value : {'transport', 'regularized', 'debiased'}
    tol : float
        Largest L1 error of the marginals of P: one is exact, the other off by at most this much.
    max_iter : int
        Iterations after which a pair is given up; it is then counted in a warning.

    Notes
    -----
    *Returned*: the root of the value for squared Euclidean cost (an entropic :math:`W_2`), the value itself for
    other costs (an entropic :math:`W_1`), also for a cost matrix. The distance between two measures with the same
    atoms is 0 by definition, also where the value is not: the transport and regularised values jump there, and
    ``value="debiased"`` does not. Kernels of a negative regularised value exceed their diagonal of 1. *Metric*: no.
    *Negative type*: unknown. *Cost*: :math:`O(n_i n_j)` per iteration, some 25 iterations at the default tolerance;
    squared Euclidean cost on a pixel grid separates into rows and columns.

    Iterations are over-relaxed, in single precision for ``tol >= 1e-5``; a pair that this does not suit goes on
    in double precision, then in the log domain, so that any epsilon works. The value is corrected to first
    order for the marginal error left: at ``tol=1e-3`` it is within 0.03 % of the converged one on MNIST.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[[0.0, 0.0], [1.0, 0.0]], [[3.0, 4.0]]])
    >>> pairwise(X, divergence=divergences.Sinkhorn(epsilon=0.1, cost="euclidean")).round(3)
    array([[0.   , 4.736],
           [4.736, 0.   ]])
    """

    epsilon: float
    cost: Any = SqEuclidean()
    value: str = "transport"
    tol: float = 1e-3
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon", remedy="For exact transport use divergences.Wasserstein.")
        choice(self.value, "value", ["transport", "regularized", "debiased"])
        real(self.tol, "tol", low=0.0, high=1.0, open_low=True)
        integer(self.max_iter, "max_iter", low=1)
        object.__setattr__(self, "cost", as_cost(self.cost))

    @property
    def power(self) -> float:
        """The value is a squared distance for squared Euclidean cost, a distance for the others."""
        return 2.0 if self.cost.squared else 1.0

    @property
    def biased(self) -> bool:
        """The plan between equal measures is not the identity; the debiased value corrects for it."""
        return self.value != "debiased"

    @property
    def signed(self) -> bool:
        """The regularised value may be negative."""
        return self.value == "regularized"

    def claims(self, dim: int) -> Claims:
        """Nothing is proved."""
        # A counterexample for one epsilon is one for all: scale the points.
        scalable = isinstance(self.cost, (Euclidean, SqEuclidean)) and self.value != "regularized"
        return Claims(False, None, "entropic costs violate the triangle inequality", 2.0 if scalable else None)

    def check(self, X: Measures) -> None:
        """A cost matrix needs measures on a shared support of its size."""
        self.cost.check(X)

    def context(self, X: Measures, Y: Measures) -> _Route:
        """Tabulate the costs of a small common support; use the axes of a pixel grid where that is cheaper."""
        cost = self.cost
        common = common_support(X, Y, cost)
        table = cost_table(cost, common)
        if table is None and cost.code is None:
            raise UnsuitableDataError(
                f"the cost {cost!r} is not compiled: Sinkhorn needs a table of it, and `X` and `Y` have atoms at "
                f"{len(common.points)} different points. Put them on a shared support of at most {LARGEST_TABLE} "
                "points, or use divergences.Wasserstein."
            )
        reach = float(table.max()) if table is not None and cost.code is None else _farthest(X, Y, cost)
        steep = reach > STEEP * self.epsilon
        epsilon = float(self.epsilon)
        if self.value == "debiased" and reach > 0:
            epsilon = min(epsilon, LIMIT * reach)
        if table is None:
            return _Route(None, False, None, None, steep, epsilon, {})
        separable = common.given and isinstance(cost, SqEuclidean) and _separates(X, Y)
        return _Route(common.points, common.given, table, X.support if separable else None, steep, epsilon, {})

    def prepare(self, X: Measures, context: _Route) -> _Prepared:
        """Normalise, number or lay out the atoms, and compute the self terms, once per measure."""
        from ..core.sinkhorn_grid import bounding_boxes

        coordinates = images = boxes = None
        if context.points is None:
            rows = Rows(np.zeros(0, dtype=np.int64), X.probabilities, np.array(X.offsets))
            coordinates = np.array(X.points.T, order="C")
        else:
            rows = sparse_rows(X, context.points, context.given)
        if context.grid is not None:
            assert context.grid.shape is not None
            height, width = context.grid.shape
            images = np.zeros((len(X), height, width))
            images[ragged.owners(rows.offsets), rows.ids // width, rows.ids % width] = rows.weights
            boxes = bounding_boxes(images)
        prepared = _Prepared(context, rows, coordinates, images, boxes, np.zeros(len(X)))
        return prepared._replace(offset=self._offsets(prepared))

    def tile(
        self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, StatusArray]:
        """Return the values, by the fastest route that is safe for each pair."""
        out = empty_tile(rows, cols)
        status = np.zeros(out.shape, dtype=np.uint8)
        if A.route.steep:
            status[np.triu_indices(len(rows), 1) if triangle else ...] = RETRY
        else:
            self._scale(A, B, rows, cols, triangle, out, status)
        if (status == RETRY).any():
            self._stabilise(A, B, rows, cols, out, status)
        return out + A.offset[rows][:, None] + B.offset[cols][None], status

    def plan(self, mu: Measure, nu: Measure) -> FloatArray:
        r"""Return the entropic plan P between two measures, the same for every ``value``.

        Parameters
        ----------
        mu, nu : Measure
            Members of collections, such as ``X[0]`` and ``X[3]``.

        Returns
        -------
        ndarray of shape (n_atoms of mu, n_atoms of nu)
            The rows add up to the probabilities of mu, the columns to those of nu within ``tol`` in all.

        Examples
        --------
        >>> from kermes import Measures, divergences
        >>> X = Measures.from_samples([[0.0, 1.0], [0.0, 1.0]])
        >>> divergences.Sinkhorn(epsilon=0.5).plan(X[0], X[1]).round(3)
        array([[0.44, 0.06],
               [0.06, 0.44]])
        """
        X, Y, common = couple(mu, nu, self.cost)
        C = atom_costs(X, Y, common, self.cost)
        plan = entropic(X.probabilities, Y.probabilities, C, float(self.epsilon), float(self.tol), int(self.max_iter))
        gap = float(np.abs(plan.sum(axis=0) - Y.probabilities).sum())
        if gap > max(float(self.tol), ROUNDING):
            warnings.warn(
                f"the plan of {self!r} did not reach its tolerance: its columns are off by {gap:.1e} in all. Raise "
                "epsilon or max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return plan

    def plan_costs(self, mu: Measure, nu: Measure) -> FloatArray:
        """Return the costs between the atoms of two measures; ``(plan * costs).sum()`` is the transport value."""
        return atom_costs(*couple(mu, nu, self.cost), self.cost)

    def work(self, X: Measures, Y: Measures, context: Any) -> float:
        """About 25 iterations over the block of costs; more when epsilon is small against the costs.

        Measured on MNIST for max(cost) / epsilon from 100 to 10,000, and with squared costs, most of which are small.
        """
        reach = _farthest(X, Y, self.cost) / self.epsilon
        steepness = reach if self.power == 1.0 else reach**0.75
        return float(5.0 * X.sizes.mean() * Y.sizes.mean() * max(1.0, 0.016 * steepness))

    @property
    def _code(self) -> int:
        from ..core.sinkhorn_ops import REGULARIZED, TRANSPORT

        return TRANSPORT if self.value == "transport" else REGULARIZED

    def _options(self, route: _Route) -> tuple[float, float, int, int]:
        return route.epsilon, float(self.tol), int(self.max_iter), self._code

    def _scale(
        self, A: _Prepared, B: _Prepared, rows: IndexArray, cols: IndexArray, triangle: bool, out: FloatArray,
        status: StatusArray,
    ) -> None:  # fmt: skip
        """Plain scaling in single precision, then in double for the pairs that need it; RETRY marks the rest.

        The first pairs tell whether single precision is worth trying: at small epsilon nearly none passes.
        """
        single = self.tol >= SINGLE
        if single:
            ahead = (rows[:1], cols[-TRIAL:])
            trial = np.zeros((1, len(ahead[1]))), np.zeros((1, len(ahead[1])), dtype=np.uint8)
            self._scaling(np.float32, A, B, *ahead, False, False, *trial)
            single = bool(np.count_nonzero(trial[1] == RETRY) <= len(ahead[1]) // 2)
        if single:
            self._scaling(np.float32, A, B, rows, cols, triangle, False, out, status)
        if not single or (status == RETRY).any():
            self._scaling(np.float64, A, B, rows, cols, triangle, single, out, status)

    def _scaling(
        self, dtype: type, A: _Prepared, B: _Prepared, rows: IndexArray, cols: IndexArray, triangle: bool, again: bool,
        out: FloatArray, status: StatusArray,
    ) -> None:  # fmt: skip
        from ..core import sinkhorn, sinkhorn_grid, sinkhorn_points

        iterations = np.zeros(out.shape, dtype=np.int32)
        run = (rows, cols, triangle, again)
        ends = (*self._options(A.route), out, status, iterations)
        left, right = A.rows, B.rows
        if A.route.grid is not None:
            kernels = self._kernels(A.route, dtype)
            sinkhorn_grid.tile_grid(*kernels, A.images, A.boxes, B.images, B.boxes, *run, *ends)
        elif A.route.table is not None:
            kernels = self._kernels(A.route, dtype)
            sinkhorn.tile_table(
                *kernels, left.weights, left.offsets, left.ids, right.weights, right.offsets, right.ids, *run, *ends
            )
        else:
            cost = self.cost
            sinkhorn_points.tile_points(
                np.empty(0, dtype), A.coordinates, left.weights, left.offsets, B.coordinates, right.weights,
                right.offsets, *run, cost.code, cost.params, *ends,
            )  # fmt: skip

    def _kernels(self, route: _Route, dtype: type) -> tuple[AnyArray, ...]:
        """Return exp(-cost / eps), of the table or of both axes; two threads may make the same ones at first."""
        from ..core.sinkhorn import gibbs_tables
        from ..core.sinkhorn_grid import grid_tables

        if dtype not in route.kernels:
            if route.grid is not None:
                assert route.grid.shape is not None
                axes = [route.grid.spacing * np.arange(side) for side in route.grid.shape]
                rows, columns = ((axis[:, None] - axis[None]) ** 2 for axis in axes)
                route.kernels[dtype] = grid_tables(rows, columns, route.epsilon, dtype)
            else:
                assert route.table is not None
                route.kernels[dtype] = gibbs_tables(route.table, route.epsilon, dtype)
        return route.kernels[dtype]

    def _stabilise(
        self, A: _Prepared, B: _Prepared, rows: IndexArray, cols: IndexArray, out: FloatArray, status: StatusArray
    ) -> None:
        """Log-domain iterations for the pairs marked RETRY."""
        from ..core import sinkhorn, sinkhorn_points

        iterations = np.zeros(out.shape, dtype=np.int32)
        ends = (*self._options(A.route), out, status, iterations)
        left, right = A.rows, B.rows
        if A.route.table is not None:
            sinkhorn.retry_table(
                A.route.table, left.weights, left.offsets, left.ids, right.weights, right.offsets, right.ids,
                rows, cols, *ends,
            )  # fmt: skip
        else:
            cost = self.cost
            sinkhorn_points.retry_points(
                A.coordinates, left.weights, left.offsets, B.coordinates, right.weights, right.offsets,
                rows, cols, cost.code, cost.params, *ends,
            )  # fmt: skip

    def _offsets(self, A: _Prepared) -> FloatArray:
        """Return what each measure adds to the KL-relative value to give the one asked for.

        KL(P | a b') = sum P log P - sum a log a - sum b log b, so the paper's form adds eps sum a log a for either
        measure; the debiased one subtracts half of each self term.
        """
        weights, offsets = A.rows.weights, A.rows.offsets
        if self.value == "regularized":
            return self.epsilon * ragged.segment_sums(weights * np.log(weights), offsets)
        if self.value == "debiased":
            return -0.5 * self._self_values(A)
        return np.zeros(len(offsets) - 1)

    def _self_values(self, A: _Prepared) -> FloatArray:
        from ..core import sinkhorn_points

        weights, offsets = A.rows.weights, A.rows.offsets
        values = np.zeros(len(offsets) - 1)
        for rows in batches(1e3 * np.diff(offsets).astype(np.float64) ** 2):
            out, status = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.uint8)
            ends = (A.route.epsilon, min(float(self.tol), SELF_TOL), int(self.max_iter), out, status)
            if A.route.table is not None:
                sinkhorn_points.self_table(A.route.table, weights, offsets, A.rows.ids, rows, *ends)
            else:
                cost = self.cost
                sinkhorn_points.self_points(A.coordinates, weights, offsets, rows, cost.code, cost.params, *ends)
            values[rows] = out
        return values


def _separates(X: Measures, Y: Measures) -> bool:
    """Whether two products with the axes of the grid are cheaper than one with the block of costs.

    On 28 x 28 pixels an iteration took 1.8 us against 3.5 us for the 145 x 145 block of MNIST digits, whose boxes
    cover half of the grid.
    """
    assert X.support is not None
    if X.support.shape is None:
        return False
    height, width = X.support.shape
    return bool(height * width * (height + width) < 3.0 * X.sizes.mean() * Y.sizes.mean())


def _farthest(X: Measures, Y: Measures, cost: Cost) -> float:
    """Return an upper estimate of the largest cost: between the corners of the box around all points."""
    low = np.minimum(X.points.min(axis=0), Y.points.min(axis=0))
    high = np.maximum(X.points.max(axis=0), Y.points.max(axis=0))
    return cost.largest(low, high)
