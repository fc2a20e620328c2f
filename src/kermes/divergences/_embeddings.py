"""Routes to the distances of mean embeddings: by vectors, by potentials on a shared support, or by all atoms.

Estimated errors: ``doubts[i]`` is the root of the error of <mu_i, mu_i>, and a pair is off by at most the square of the
sum of two (Cauchy and Schwarz: errors are inner products of what the embeddings miss).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..core.ground_codes import GAUSSIAN
from ..ground import Gaussian, Laplacian, PointKernel
from ..measures import Measures, Support
from ._base import (
    Atoms,
    Route,
    Tile,
    batches,
    empty_tile,
    for_each,
    pair_sums,
    releasable,
    release_rows,
    underflow_of_squares,
)
from ._cores import core
from ._features import FeatureMap, Features, KernelSource
from ._support import CommonSupport, dense_rows

#: Rounding of squared distances, relative to the squared norms of the embeddings.
ROUNDING = 1e-14
#: What features may miss of a squared norm, in units of k(x, x); the pairs of other measures are left to their atoms.
MISSED = 2e-14
#: Atoms up to which the squared norm of a measure is a sum over all their pairs.
LONG = 4096
#: Atoms whose inner products are one matrix product.
CHUNK = 1024
#: Atoms whose features are computed at a time; with fewer two threads wait for the interpreter (1.4 for 1.8 times one).
POINTS = 4096
#: Operations that are prepared at a time: some milliseconds, so that all threads are busy to the end.
PART = 1e7


class Prepared(NamedTuple):
    """Measures as a route takes them, and ``doubts`` (n,); None for embeddings that are exact up to rounding."""

    core: Any
    doubts: FloatArray | None

    @classmethod
    def rounded(cls, core: Any, norms: FloatArray) -> Prepared:
        """Return measures of which rounding alone is in doubt."""
        return cls(core, np.sqrt(ROUNDING * np.abs(norms)))


def _estimated(values: FloatArray, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray) -> Tile:
    if A.doubts is None or B.doubts is None:
        return Tile(values)
    return Tile(values, error=pair_sums(A.doubts, B.doubts, rows, cols) ** 2)


class _Embeddings(Route):
    """What routes have in common that subtract inner products."""

    def rounding(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """A part of the norms, whose differences values are."""
        return 1e-12 * pair_sums(A.core.norms, B.core.norms, rows, cols)


@dataclass(frozen=True, eq=False)
class Means(Route):
    """The means of exact features: of the coordinates, or of monomials."""

    features: Features

    def prepare(self, X: Measures) -> Prepared:
        with np.errstate(over="ignore", invalid="ignore"):  # the engine refuses what is not finite
            return Prepared(X.expectation(self.features(X.points)), None)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return the squared distances of the means."""
        values = core.vectors.squared_tile(A.core, rows, B.core, cols, triangle)

        def differ(i: IndexArray, j: IndexArray) -> AnyArray:
            left, right = A.core[rows[i]], B.core[cols[j]]
            norms = np.maximum(np.abs(left), np.abs(right)).max(axis=1)
            return np.asarray(np.abs(left - right).max(axis=1) > sqrt(ROUNDING) * norms)

        return Tile(values, underflow_of_squares(values, triangle, differ))

    def work(self, X: Measures, Y: Measures) -> float:
        return float(self.features.rank)


@dataclass(frozen=True, eq=False)
class ByAxes(Route):
    r"""Explicit features of a Gaussian in few dimensions: products of features of each coordinate.

    :math:`k(x, y) = \prod_l k(x_l, y_l)`, and each factor has a low rank on the range of its coordinate: ``axes`` are
    pivoted Cholesky factors on a fine grid of it. The features of a point miss at most the sum of what those of its
    coordinates do, which is the estimated error.
    """

    axes: tuple[FeatureMap, ...]

    @property
    def rank(self) -> int:
        return prod(axis.rank for axis in self.axes)

    def prepare(self, X: Measures) -> Prepared:
        """Return the mean features, some thousands of atoms at a time."""
        vectors, doubts = releasable((len(X), self.rank)), np.empty(len(X))
        weights, offsets = X.probabilities, X.offsets

        def fill(rows: IndexArray) -> None:
            start, stop = offsets[rows[0]], offsets[rows[-1] + 1]
            points, w = X.points[start:stop], weights[start:stop]
            values = [np.ascontiguousarray(axis.unlocked(points[:, [k]])) for k, axis in enumerate(self.axes)]
            missed = np.sqrt(sum(np.maximum(1.0 - np.einsum("ik,ik->i", value, value), 0.0) for value in values))
            found = vectors[rows[0] : rows[-1] + 1]
            _sum_products(w[:, None] * values[0], _products(values[1:], len(w)), offsets[rows] - start, found)
            lost = np.add.reduceat(w * missed, offsets[rows] - start)
            doubts[rows] = np.sqrt(lost**2 + ROUNDING * np.einsum("ik,ik->i", found, found))

        for_each(fill, batches(X.sizes.astype(np.float64), POINTS))
        return Prepared(vectors, doubts)

    def release(self, A: Prepared, stop: int) -> None:
        release_rows(A.core, stop)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return _estimated(core.vectors.squared_tile(A.core, rows, B.core, cols, triangle), A, B, rows, cols)

    def work(self, X: Measures, Y: Measures) -> float:
        return float(self.rank)


def _sum_products(weighted: FloatArray, others: FloatArray, starts: IndexArray, out: FloatArray) -> None:
    """Fill out[i] = sum_j weighted_j x others_j over the atoms j of measure i: in one call where all have as many."""
    ends = np.append(starts[1:], len(weighted))
    size = int(ends[0] - starts[0])
    if (ends - starts == size).all():
        left, right = (values.reshape(len(starts), size, -1) for values in (weighted, others))
        np.matmul(left.transpose(0, 2, 1), right, out=out.reshape(len(starts), left.shape[2], -1))
        return
    for start, end, row in zip(starts, ends, out, strict=True):
        np.matmul(weighted[start:end].T, others[start:end], out=row.reshape(weighted.shape[1], -1))


def _products(factors: list[FloatArray], n: int) -> FloatArray:
    """Return f_2(x_j) x f_3(x_j) x ... in row j, for factors (n, r_l); ones if there are none."""
    found = np.ones((n, 1))
    for factor in factors:
        found = (found[:, :, None] * factor[:, None, :]).reshape(n, -1)
    return found


class Embedded(NamedTuple):
    """Measures as weighted points, and the squared norms of their embeddings."""

    atoms: Atoms
    norms: FloatArray


class LowRank(NamedTuple):
    """Embeddings (n, r) by features; the measures that these ``missed``, with atoms and norms for their pairs."""

    vectors: FloatArray
    missed: Any
    whole: Embedded


@dataclass(frozen=True, eq=False)
class ByFeatures(Route):
    r"""Explicit features of a Gaussian of low numerical rank: :math:`F(\mu) = L^{-1} \int k(\mathrm{pivots}, x) d\mu`.

    The embedding loses :math:`\langle \mu, \mu \rangle - |F(\mu)|^2 \geq 0`, which is computed for each measure: it is
    the estimated error. Where it is more than rounding, the pairs are computed from their atoms, so that they do not
    depend on the points that pivots were taken from.
    """

    source: KernelSource
    features: FeatureMap

    def prepare(self, X: Measures) -> Prepared:
        atoms, norms = self.source.atoms(X), np.empty(len(X))
        vectors, rest = np.empty((len(X), self.features.rank)), np.zeros(len(X))
        pivots, ground = np.array(self.features.pivots.T, order="C"), self.source.core

        def fill(rows: IndexArray) -> None:
            core.mmd.against(ground.code, ground.params, atoms, rows, pivots, vectors)
            values = np.array(vectors[rows].T, order="C")
            core.cholesky.solve_lower(self.features.factor, values)
            vectors[rows] = values.T

        for_each(fill, batches(8.0 * self.features.rank * X.sizes.astype(np.float64), PART))
        squares = np.einsum("ik,ik->i", vectors, vectors)
        short = X.sizes <= LONG
        _fill_norms(self.source, atoms, np.flatnonzero(short), norms)
        rest[short] = norms[short] - squares[short]
        for i in np.flatnonzero(~short):  # bounded point by point: n^2 kernel values would take too long
            own = slice(X.offsets[i], X.offsets[i + 1])
            rest[i] = (X.probabilities[own] @ np.sqrt(np.maximum(self.features.rest(X.points[own]), 0.0))) ** 2
            norms[i] = squares[i] + rest[i]
        doubts = np.sqrt(np.maximum(rest, 0.0) + ROUNDING * norms)
        return Prepared(LowRank(vectors, ~(rest <= MISSED), Embedded(atoms, norms)), doubts)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return the squared distances of the vectors; of what they missed, those of the atoms."""
        out = core.vectors.squared_tile(A.core.vectors, rows, B.core.vectors, cols, triangle)
        left, right = A.core.missed[rows], B.core.missed[cols]
        if left.any() or right.any():
            wanted = left[:, None] | right[None]
            _fill_tile(self.source, A.core.whole, rows, B.core.whole, cols, triangle, wanted, out)
        return _estimated(out, A, B, rows, cols)

    def work(self, X: Measures, Y: Measures) -> float:
        return float(self.features.rank)


class Smoothed(NamedTuple):
    """Weights w (n, m) on a shared support, potentials K w, and squared norms w'K w."""

    weights: FloatArray
    potentials: FloatArray
    norms: FloatArray


@dataclass(frozen=True, eq=False)
class OnSupport(_Embeddings):
    """Potentials of the kernel matrix K of a shared support: d^2 = <w - v, K w - K v>, without a factor of K.

    On the pixels of a grid the kernels of ``axes`` are enough if their products are K.
    """

    common: CommonSupport
    axes: tuple[FloatArray, ...]

    @classmethod
    def of(cls, ground: PointKernel, X: Measures, common: CommonSupport) -> OnSupport:
        """Tabulate the kernel of both axes of a grid, or between all points."""
        grid = grid_of(ground, X) if common.given else None
        if grid is None:
            return cls(common, (ground.table(common.points),))
        assert grid.shape is not None
        return cls(common, tuple(ground(grid.spacing * np.arange(float(side))) for side in grid.shape))

    def prepare(self, X: Measures) -> Prepared:
        weights = dense_rows(X, *self.common)
        first, *second = self.axes
        if second:
            images = weights.reshape(len(X), len(first), -1)
            potentials = (first @ images @ second[0]).reshape(weights.shape)
        else:
            potentials = weights @ first
        norms = np.einsum("ik,ik->i", weights, potentials)
        return Prepared.rounded(Smoothed(weights, potentials, norms), norms)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return _estimated(core.vectors.form_tile(A.core, rows, B.core, cols), A, B, rows, cols)

    def work(self, X: Measures, Y: Measures) -> float:
        return float(prod(len(axis) for axis in self.axes))


def grid_of(ground: PointKernel, X: Measures) -> Support | None:
    """Return the support if it is a grid on which the point kernel is a product over the axes."""
    separates = isinstance(ground, (Gaussian, Laplacian)) and X.support is not None and X.support.shape is not None
    return X.support if separates else None


@dataclass(frozen=True, eq=False)
class OnAtoms(_Embeddings):
    """Kernel values between all atoms; the squared norms of the embeddings are prepared."""

    source: KernelSource
    estimates: bool = True

    def prepare(self, X: Measures) -> Prepared:
        atoms, norms = self.source.atoms(X), np.empty(len(X))
        _fill_norms(self.source, atoms, np.arange(len(X)), norms)
        whole = Embedded(atoms, norms)
        return Prepared.rounded(whole, norms) if self.estimates else Prepared(whole, None)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return <mu, mu> + <nu, nu> - 2 <mu, nu>."""
        out = empty_tile(rows, cols)
        _fill_tile(self.source, A.core, rows, B.core, cols, triangle, np.ones(out.shape, dtype=bool), out)
        return _estimated(out, A, B, rows, cols)

    def work(self, X: Measures, Y: Measures) -> float:
        """Return some operations, and those of an exponential, for each pair of points."""
        return 0.5 * kernel_cost(X.dim) * point_pairs(X, Y)


class Centred(NamedTuple):
    """Points (N, d) less a common centre, their squared norms, weights and offsets; squared norms of embeddings."""

    points: FloatArray
    squares: FloatArray
    weights: FloatArray
    offsets: IndexArray
    norms: FloatArray


@dataclass(frozen=True, eq=False)
class ByProducts(_Embeddings):
    """A Gaussian of points in many dimensions, whose squared distances are sums of norms and a matrix product.

    What cancels in them is 1e-16 of gamma (|x - c|^2 + |y - c|^2), which the choice of this route keeps small.
    """

    gamma: float
    centre: FloatArray

    def prepare(self, X: Measures) -> Prepared:
        points = X.points - self.centre
        squares = np.einsum("ik,ik->i", points, points)
        side = Centred(points, squares, X.probabilities, np.array(X.offsets), np.empty(len(X)))
        for_each(lambda i: self._cross(side, i, side, np.array([i]), side.norms[i : i + 1]), list(range(len(X))))
        return Prepared.rounded(side, side.norms)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        out = pair_sums(A.core.norms, B.core.norms, rows, cols)
        for part in batches(np.diff(B.core.offsets)[cols].astype(np.float64), CHUNK):
            for i, row in enumerate(rows):
                wanted = part[part > i] if triangle else part
                if len(wanted):
                    cross = np.empty(len(wanted))
                    self._cross(A.core, int(row), B.core, cols[wanted], cross)
                    out[i, wanted] -= 2.0 * cross
        return _estimated(out, A, B, rows, cols)

    def _cross(self, A: Centred, row: int, B: Centred, cols: IndexArray, out: FloatArray) -> None:
        """Fill out[j] = <mu, nu_j>: one matrix product for all atoms of ``cols``."""
        own = slice(A.offsets[row], A.offsets[row + 1])
        sizes = np.diff(B.offsets)[cols]
        if (np.diff(cols) == 1).all():
            others: Any = slice(B.offsets[cols[0]], B.offsets[cols[-1] + 1])
        else:
            others = np.concatenate([np.arange(B.offsets[j], B.offsets[j + 1]) for j in cols])
        products = A.points[own] @ B.points[others].T
        core.mmd.gaussian_sums(
            self.gamma, products, A.squares[own], A.weights[own], B.squares[others], B.weights[others],
            ragged.offsets_of(sizes), out,
        )  # fmt: skip

    def work(self, X: Measures, Y: Measures) -> float:
        """Return the operations of a matrix product, and an exponential for each pair of points."""
        return (4.0 + 0.1 * X.dim) * point_pairs(X, Y)


def _fill_inners(
    source: KernelSource, A: Atoms, rows: IndexArray, B: Atoms, cols: IndexArray, same: bool, out: FloatArray
) -> None:
    """Fill out[p] = <mu, nu> for measure rows[p] of A and cols[p] of B: of a Gaussian by a core of its own."""
    if source.core.code == GAUSSIAN:
        core.mmd.gaussian_inners(source.core.params[0], A, rows, B, cols, same, out)
    else:
        core.mmd.inners(source.core, A, rows, B, cols, same, out)


def _fill_norms(source: KernelSource, atoms: Atoms, rows: IndexArray, out: FloatArray) -> None:
    """Fill out[i] = <mu_i, mu_i> for i in rows."""

    def fill(part: IndexArray) -> None:
        found = np.empty(len(part))
        _fill_inners(source, atoms, rows[part], atoms, rows[part], True, found)
        out[rows[part]] = found

    if len(rows):
        for_each(fill, batches(4.0 * np.diff(atoms.offsets)[rows].astype(np.float64) ** 2, PART))


def _fill_tile(
    source: KernelSource, A: Embedded, rows: IndexArray, B: Embedded, cols: IndexArray, triangle: bool,
    wanted: AnyArray, out: FloatArray,
) -> None:  # fmt: skip
    """Fill out[i, j] = <mu, mu> + <nu, nu> - 2 <mu, nu> where ``wanted``."""
    i, j = np.nonzero(np.triu(wanted, 1) if triangle else wanted)
    left, right, cross = rows[i], cols[j], np.empty(len(i))
    _fill_inners(source, A.atoms, left, B.atoms, right, False, cross)
    out[i, j] = A.norms[left] + B.norms[right] - 2.0 * cross


def point_pairs(X: Measures, Y: Measures) -> float:
    """Return the number of pairs of points in a pair of measures."""
    return float(X.sizes.mean() * Y.sizes.mean())


def kernel_cost(dim: int) -> float:
    """Return the operations of a kernel value."""
    return 8.0 + 0.7 * dim
