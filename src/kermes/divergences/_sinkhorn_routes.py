"""Routes of entropic transport: by the axes of a pixel grid, by a table of costs, by coordinates.

All of them scale in single precision where that is safe, then in double; what neither suits goes to the log domain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray, StatusArray
from ..core import ragged
from ..core.sinkhorn.structs import Answers, Bounds, Images, Options, Trees, no_trees
from ..core.status import OK, RETRY
from ..measures import Measures
from ._base import Atoms, CoreGround, Route, Tile, batches, core_atoms, empty_tile
from ._cores import core
from ._support import CommonSupport, sparse_rows

#: Marginal error from which single precision is safe (tests compare with double precision).
SINGLE = 1e-5
#: Costs beyond this overflow in single precision.
LARGEST_SINGLE = 1e38
#: Pairs of a tile on which the working precision is tried.
TRIAL = 8
#: Least marginal error that pairs of the debiased value are solved to, and their self terms, which are paid once per
#: measure: what it leaves, about epsilon LEAST_TOL^2, is rounding. Times the largest cost, ROUNDED_TOL is.
LEAST_TOL, ROUNDED_TOL = 1e-8, 1e-14
#: Error of a dual value in units of epsilon: NOISE times the square of the marginal error, at least SINGLE_ERROR in
#: single precision.
NOISE, SINGLE_ERROR = 10.0, 1e-6
#: Error of a debiased value that is proved, in units of tol times the value and SMALL epsilon.
PROVED, SMALL = 5.0, 1e-4
#: Groups of atoms at the cost g exchange exp(-g / epsilon) of their mass: what is below ``tol`` and goes unseen moves
#: potentials by about epsilon log(1 + exp(g / epsilon) tol), which is small up to epsilon (log(1 / tol) - LINKED).
LINKED = 5.0
#: Costs beyond this are the largest.
FARTHEST = 1e300


class Prepared(NamedTuple):
    """Measures as plain scaling takes them, and as the log domain does.

    ``offset`` is what each measure adds to the value of the cores to give the one asked for, ``status`` how that went.
    """

    scaled: Atoms | Images
    atoms: Atoms
    offset: FloatArray
    status: StatusArray
    trees: Trees


class Pairs(NamedTuple):
    """The pairs of a tile: measures ``rows`` of A and ``cols`` of B."""

    A: Prepared
    rows: IndexArray
    B: Prepared
    cols: IndexArray


@dataclass(frozen=True, eq=False)
class SinkhornRoute(Route, ABC):
    """Base of the routes: options of the cores, the value asked for, and what the log domain takes costs from.

    ``reach``: the largest cost. ``steep``: scalings leave the range of double precision for nearly every pair.
    ``effort``: iterations over those at a moderate epsilon. ``metric``: whether the cost is one; ``squared``: or the
    square of one.
    """

    options: Options
    value: str
    ground: CoreGround
    reach: float
    steep: bool
    effort: float
    metric: bool
    squared: bool

    @abstractmethod
    def atoms(self, X: Measures) -> Atoms:
        """Return the measures as the log domain takes them."""

    def scaled(self, atoms: Atoms) -> Atoms | Images:
        """Return the measures as `scale` takes them."""
        return atoms

    @abstractmethod
    def scale(self, dtype: type, pairs: Pairs, options: Options, out: Answers) -> None:
        """Scale the pairs whose status is RETRY, in this precision; leave it to those that this does not suit."""

    def prepare(self, X: Measures) -> Prepared:
        """Normalise, number or lay out the atoms, and compute the self terms, once per measure."""
        atoms = self.atoms(X)
        trees = no_trees(len(X), len(atoms.weights))
        values, status, _ = self._offsets(atoms, trees)
        return Prepared(self.scaled(atoms), atoms, values, status, trees)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return the values, by the fastest way that is safe for each pair."""
        pairs, retry = Pairs(A, rows, B, cols), np.full((len(rows), len(cols)), RETRY)
        out = Answers(empty_tile(rows, cols), np.triu(retry, 1) if triangle else retry)
        if self.value == "debiased":
            apart, way = self._apart(pairs)
            gaps, missed = np.full(apart.shape, np.inf), np.zeros(apart.shape)
            trees, most = (A.trees, B.trees), self.reach / self.options.epsilon
            out = out._replace(bounds=Bounds(gaps, missed, apart, trees, most))
        wanted = out.status == RETRY
        single = self._single_suits(pairs, out)
        if single:
            self.scale(np.float32, pairs, self.options, out)
        self._solve(pairs, self.options, out)
        offset = A.offset[rows][:, None] + B.offset[cols][None]
        if self.value == "debiased":
            self._sharpen(pairs, wanted, offset, way, single, out)
        status = np.maximum(A.status[rows][:, None], B.status[cols][None])
        return Tile(out.values + offset, np.maximum(out.status, status))

    def _solve(self, pairs: Pairs, options: Options, out: Answers) -> None:
        """Solve the pairs whose status is RETRY in double precision, then in the log domain."""
        A, rows, B, cols = pairs
        if not self.steep and (out.status == RETRY).any():
            self.scale(np.float64, pairs, options, out)
        if (out.status == RETRY).any():
            core.sinkhorn.stabilised.retry(self.ground, A.atoms, rows, B.atoms, cols, options, out)

    def _sharpen(
        self, pairs: Pairs, wanted: AnyArray, offset: FloatArray, way: FloatArray, single: bool, out: Answers
    ) -> None:
        """Solve debiased pairs again, more closely, until the noise of their values is below ``tol`` times the value.

        The debiased value is a difference: that of measures near each other is far below its terms, whose noise grows
        with epsilon. The noise is quadratic in the marginal error where all atoms exchange mass, but for that of light
        atoms, which may miss all of theirs; where groups of atoms do not, it is what their masses differ by, below the
        marginal error, times the cost of the way between them, unless the plan proves that less is left.
        """
        assert out.bounds is not None
        options, noise = self.options, SINGLE_ERROR if single else 0.0
        tol = options.tol
        while tol > ROUNDED_TOL:
            values = out.values + offset
            proved = PROVED * options.tol * (np.maximum(values, 0.0) + SMALL * options.epsilon)
            light = np.minimum(tol * self.reach, options.epsilon * out.bounds.missed)
            close = np.minimum(np.maximum(tol * way, light), options.epsilon * out.bounds.gaps) > proved
            if tol > LEAST_TOL:
                close |= values < options.epsilon * max(NOISE * tol**2, noise) / options.tol
            close &= wanted & (out.status == OK)
            if not close.any():
                return
            tol, noise, out.status[close] = max(0.01 * tol, LEAST_TOL if tol > LEAST_TOL else ROUNDED_TOL), 0.0, RETRY
            self._solve(pairs, options._replace(tol=tol), out)

    def _apart(self, pairs: Pairs) -> tuple[AnyArray, AnyArray]:
        """Return which pairs have groups of atoms that may exchange too little, and what it may cost, per unsent mass.

        Potentials of two atoms differ by at most the cost between them, for a metric; for squared distances links h and
        h' of the two measures exchange partners at 2 h h'. One measure without groups links those of the other one.
        """
        A, rows, B, cols = pairs
        (h, ways), (k, other_ways) = A.trees.links[rows].T[:, :, None], B.trees.links[cols].T[:, None]
        if self.metric:
            apart, way = np.minimum(h, k), np.minimum(ways, other_ways)
        elif self.squared:
            with np.errstate(over="ignore"):  # the largest cost is no longer way
                apart, way = 2.0 * h * k, 2.0 * np.minimum(ways * k, h * other_ways)
        else:
            apart = way = np.full((len(rows), len(cols)), self.reach)
        epsilon, seen = self.options.epsilon, -self.options.epsilon * float(np.log(self.options.tol))
        groups = apart > max(seen - LINKED * epsilon, 0.0)
        moved = epsilon * np.logaddexp(0.0, (np.minimum(apart, FARTHEST) - seen) / epsilon)
        left = np.minimum(way, self.reach) * np.minimum(moved / np.where(groups, apart, np.inf), 1.0)
        return groups, np.where(groups, left, 0.0)

    def rounding(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray) -> float:
        """What the marginal error leaves of values that are corrected for it."""
        tol = self.options.tol
        return tol * (self.options.epsilon + tol * self.reach) + 1e-12 * self.reach

    def work(self, X: Measures, Y: Measures) -> float:
        """About 25 iterations over the block of costs at a moderate epsilon."""
        return float(5.0 * X.sizes.mean() * Y.sizes.mean() * self.effort)

    def _single_suits(self, pairs: Pairs, out: Answers) -> bool:
        """Whether single precision is worth trying, by some pairs: at small epsilon nearly none passes.

        If it is, these pairs are done.
        """
        if self.steep or self.options.tol < SINGLE or self.reach > LARGEST_SINGLE:
            return False
        few = pairs._replace(rows=pairs.rows[:1], cols=pairs.cols[-TRIAL:])
        values, status = out.values[:1, -TRIAL:], out.status[:1, -TRIAL:]
        trial = Answers(values.copy(), status.copy())
        if out.bounds is not None:
            gaps, missed, apart = (part[:1, -TRIAL:] for part in out.bounds[:3])
            trial = trial._replace(bounds=out.bounds._replace(gaps=gaps, missed=missed, apart=apart))
        self.scale(np.float32, few, self.options, trial)
        if 2 * np.count_nonzero(trial.status == RETRY) > np.count_nonzero(status == RETRY):
            return False
        values[:], status[:] = trial.values, trial.status
        return True

    def _offsets(self, A: Atoms, trees: Trees) -> Answers:
        """Return what each measure adds to the KL-relative value to give the one asked for.

        KL(P | a b') = sum P log P - sum a log a - sum b log b, so the paper's form adds eps sum a log a for either
        measure; the debiased one subtracts half of each self term, and needs the trees.
        """
        n, options = len(A.offsets) - 1, self.options
        offsets = Answers(np.zeros(n), np.zeros(n, dtype=np.uint8))
        if self.value == "regularized":
            offsets.values[:] = options.epsilon * ragged.segment_sums(A.weights * np.log(A.weights), A.offsets)
        elif self.value == "debiased":
            closely = options._replace(tol=min(options.tol, LEAST_TOL))
            for rows in batches(1e3 * np.diff(A.offsets).astype(np.float64) ** 2):
                core.sinkhorn.self_terms.self_values(self.ground, A, rows, closely, offsets, self.squared, trees)
            offsets.values[:] *= -0.5
        return offsets


@dataclass(frozen=True, eq=False)
class ByPoints(SinkhornRoute):
    """Costs computed from coordinates for each pair."""

    def atoms(self, X: Measures) -> Atoms:
        """Lay out the points; repeated ones are added up, as in a table."""
        return core_atoms(X.merged())

    def scale(self, dtype: type, pairs: Pairs, options: Options, out: Answers) -> None:
        """Fill the kernel of each pair."""
        A, rows, B, cols = pairs
        core.sinkhorn.points.tile_points(self.ground, np.empty(0, dtype), A.scaled, rows, B.scaled, cols, options, out)


@dataclass(frozen=True, eq=False)
class ByTable(SinkhornRoute):
    """A common support whose costs are tabulated, and so is their Gibbs kernel."""

    common: CommonSupport
    kernels: dict[type, Any] = field(default_factory=dict)  # by precision, made when first needed

    def atoms(self, X: Measures) -> Atoms:
        ids, weights, offsets = sparse_rows(X, *self.common)
        return core.points.Atoms(np.empty((0, 0)), weights, offsets, ids)

    def scale(self, dtype: type, pairs: Pairs, options: Options, out: Answers) -> None:
        """Take blocks of the kernel; two threads may make the same kernel at first."""
        if dtype not in self.kernels:
            self.kernels[dtype] = core.sinkhorn.table.gibbs_table(self.ground.table, self.options.epsilon, dtype)
        A, rows, B, cols = pairs
        core.sinkhorn.table.tile_table(self.kernels[dtype], A.scaled, rows, B.scaled, cols, options, out)


@dataclass(frozen=True, eq=False, kw_only=True)
class ByAxes(ByTable):
    """Squared Euclidean cost on the pixels of a grid, which separates into rows and columns."""

    shape: tuple[int, int]
    spacing: float

    def scaled(self, atoms: Atoms) -> Images:
        """Draw the images."""
        n = len(atoms.offsets) - 1
        images: FloatArray = np.zeros((n, *self.shape))
        images.reshape(n, -1)[ragged.owners(atoms.offsets), atoms.ids] = atoms.weights
        return Images(images, core.sinkhorn.grid.bounding_boxes(images))

    def scale(self, dtype: type, pairs: Pairs, options: Options, out: Answers) -> None:
        """Multiply by the kernels of both axes."""
        if dtype not in self.kernels:
            axes, epsilon = (self.spacing * np.arange(float(side)) for side in self.shape), self.options.epsilon
            self.kernels[dtype] = tuple(core.sinkhorn.grid.axis_kernel(axis, epsilon, dtype) for axis in axes)
        A, rows, B, cols = pairs
        core.sinkhorn.grid.tile_grid(self.kernels[dtype], A.scaled, rows, B.scaled, cols, options, out)
