r"""Entropic barycentres on a common support: iterated Bregman projections, batched over measures.

Arrays of scalings are (h, n, w): rows of the grid, measures, columns. A kernel that separates, K1 (x) K2, is then two
matrix products for all measures at once; a table of costs is a grid of one column. Measures keep the box (or the
points) that they use, the barycentre has the whole grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._linalg import few_threads
from .._typing import FloatArray, IndexArray
from ..divergences import Sinkhorn
from ..divergences._support import LARGEST_TABLE, common_support, dense_rows
from ..exceptions import NumericalError, UnsuitableDataError
from ..ground import SqEuclidean
from ..measures import Measures, Support
from ._barycenter_problem import BarycenterInfo, Problem, on_support

#: Iterations between two looks at the marginals.
STRIDE = 10
#: Atoms lighter than this part of the mass are rounding.
LIGHT = 1e-15
#: Numbers of a block of scalings that stay in the cache.
CACHED = 1 << 15
#: The smallest normal number, and the bits of a double that are its mantissa, and that are 1.
TINY, MANTISSA, ONE = float(np.finfo(np.float64).tiny), (1 << 52) - 1, 1023 << 52


class Axes(NamedTuple):
    """Costs over epsilon along both axes: between the barycentre and the measures, and within the barycentre.

    ``rows`` (H, h) and ``cols`` (W, w); ``own_rows`` (H, H) and ``own_cols`` (W, W).
    """

    rows: FloatArray
    cols: FloatArray
    own_rows: FloatArray
    own_cols: FloatArray


class State(NamedTuple):
    """The barycentre (H, 1, W), how it was reached, and whether all numbers stayed in range."""

    mass: FloatArray
    info: BarycenterInfo
    sound: bool = True


def entropic(problem: Problem, divergence: Sinkhorn) -> tuple[Measures, BarycenterInfo]:
    """Return the barycentre of the entropic cost, debiased if the divergence is."""
    support, axes, a = _layout(problem, divergence)
    tol, max_iter = problem.tol or float(divergence.tol), problem.max_iter or int(divergence.max_iter)
    debiased = divergence.value == "debiased"
    with few_threads(max(map(len, axes))):
        state = scaling(axes, a, problem.weights, debiased, tol, max_iter)
        if not state.sound:
            state = log_domain(axes, a, problem.weights, debiased, tol, max_iter)
    mass = state.mass.ravel()
    if not np.isfinite(mass).all() or not mass.any():
        raise NumericalError("no finite entropic barycentre was found. Check the scale of the points and of epsilon.")
    mass = mass / mass.sum()
    return on_support(support, np.where(mass > LIGHT, mass, 0.0)), state.info


def scaling(axes: Axes, a: FloatArray, weights: FloatArray, debiased: bool, tol: float, max_iter: int) -> State:
    r"""Iterate u = a / K' v, b = d prod_i (K u_i)^{w_i}, v = b / K u, and d = sqrt(d b / (K d)) if debiased.

    Measures pass in blocks that stay in the cache. Without d these are alternating maxima of a concave function, and
    after some iterations steps of u and v are lengthened by the factor 1.75 (over-relaxation), as long as that lowers
    the error. ``sound`` is False where a sum is out of range: epsilon is too small for scalings.
    """
    kernels = Axes(*(np.exp(-part) for part in axes))
    H, W = len(axes.rows), len(axes.cols)
    blocks = _blocks(a, weights, H, W)
    d, b, error, sound, iteration, long, longer = np.ones((H, 1, W)), np.ones((H, 1, W)), np.inf, True, 0, False, True
    with np.errstate(all="ignore"):  # checked
        for iteration in range(1, max_iter + 1):
            looked = iteration % STRIDE == 0 or iteration == max_iter
            gap = sum(block.first_half(kernels, long, looked) for block in blocks)
            b = d * np.exp(sum(block.log_product() for block in blocks))[:, None]
            gap += sum(block.second_half(b, long, looked) for block in blocks)
            if looked:
                sound = all(block.in_range() for block in blocks) and bool(np.isfinite(b).all())
                longer = longer and gap <= 2.0 * error
                long, error = longer and not debiased, gap
            if debiased:
                own = _apply(kernels.own_rows, kernels.own_cols, d)
                error = max(error, float(np.abs(d * own - b).sum())) if looked else error
                d = np.sqrt(d * b / own)
            if looked and (error <= tol or not sound):
                break
    return State(b, BarycenterInfo(iteration, error, error <= tol), sound)


@dataclass(frozen=True, eq=False)
class _Block:
    """Some measures (h, n, w) and where they have no mass, their weights, the sums K u, v (H, n, W), u; room."""

    a: FloatArray
    blank: FloatArray
    weights: FloatArray
    sums: FloatArray
    v: FloatArray
    u: FloatArray
    rooms: list[FloatArray]
    part: FloatArray

    def first_half(self, kernels: Axes, long: bool, looked: bool) -> float:
        """Update u and the sums; return the weighted L1 error of the first marginals before, if looked at and long."""
        room = self.rooms[0]
        _apply(kernels.rows.T, kernels.cols.T, self.v, self.part, room)
        gap = 0.0
        if long:
            room *= self.u
            gap = _gap(room, self.a, self.weights) if looked else 0.0
            room += self.blank
            np.divide(self.a, room, out=room)
            _lengthen(room, self.u, self.rooms[1])
        else:
            np.divide(self.a, room, out=self.u)
        _apply(kernels.rows, kernels.cols, self.u, self.part, self.sums)
        return gap

    def second_half(self, b: FloatArray, long: bool, looked: bool) -> float:
        """Update v; return the weighted L1 error of the second marginals before, if looked at."""
        room, gap = self.rooms[2], 0.0
        if long or looked:
            np.multiply(self.v, self.sums, out=room)
            gap = _gap(room, b, self.weights) if looked else 0.0
        if long:
            np.divide(b, room, out=room)
            _lengthen(room, self.v, self.rooms[3])
        else:
            np.divide(b, self.sums, out=self.v)
        return gap

    def log_product(self) -> FloatArray:
        """Return the sum (H, W) of the weighted logarithms of the sums.

        With equal weights, that of a product: exponents are added and mantissas in [1, 2) multiplied, a third of the
        time of the logarithms.
        """
        if (self.weights != self.weights[0]).any():
            return np.asarray(np.matmul(self.weights, np.log(self.sums)))
        bits = self.sums.view(np.int64)
        exponents = (bits >> 52).sum(axis=1) - 1023 * bits.shape[1]
        mantissas = ((bits & MANTISSA) | ONE).view(np.float64).prod(axis=1)
        return np.asarray(self.weights[0] * (exponents * math.log(2.0) + np.log(mantissas)))

    def in_range(self) -> bool:
        """Whether all sums are normal numbers."""
        return bool(self.sums.min() >= TINY and self.sums.max() < np.inf)


def _lengthen(ratio: FloatArray, scaling: FloatArray, room: FloatArray) -> None:
    """Multiply a scaling by ratio ** 1.75; roots are cheap, other powers are not."""
    scaling *= ratio
    np.sqrt(ratio, out=ratio)
    np.sqrt(ratio, out=room)
    ratio *= room
    scaling *= ratio


def _blocks(a: FloatArray, weights: FloatArray, H: int, W: int) -> list[_Block]:
    """Split measures (h, n, w) into blocks of at most CACHED numbers each; 512 measures at most."""
    h, n, w = a.shape
    size = min(n, 512, max(1, CACHED // (H * W)))
    rooms = [np.empty(size * numbers) for numbers in (h * w, h * w, H * W, H * W, max(H, h) * max(W, w))]
    blocks = []
    for start in range(0, n, size):
        part = np.ascontiguousarray(a[:, start : start + size])
        m = part.shape[1]
        shaped = [room[: m * h * w].reshape(h, m, w) for room in rooms[:2]]
        shaped += [room[: m * H * W].reshape(H, m, W) for room in rooms[2:4]]
        u, (sums, v) = np.ones_like(part), np.ones((2, H, m, W))
        blank = (part == 0).astype(np.float64)
        blocks.append(_Block(part, blank, weights[start : start + size], sums, v, u, shaped, rooms[4]))
    return blocks


def log_domain(axes: Axes, a: FloatArray, weights: FloatArray, debiased: bool, tol: float, max_iter: int) -> State:
    """Iterate the same on logarithms: any epsilon, for an exponential in every term of every sum."""
    rows, cols, own_rows, own_cols = axes
    H, n, W = len(rows), a.shape[1], len(cols)
    with np.errstate(divide="ignore"):
        log_a = np.log(a)
    g, e, log_b, error, iteration = np.zeros((H, n, W)), np.zeros((H, 1, W)), np.zeros((H, 1, W)), np.inf, 0
    for iteration in range(1, max_iter + 1):
        sums = _log_apply(rows, cols, log_a - _log_apply(rows.T, cols.T, g))
        log_b = e + np.matmul(weights, sums)[:, None]
        if looked := (iteration % STRIDE == 0 or iteration == max_iter):
            error = _gap(np.exp(g + sums), np.exp(log_b), weights)
        g = log_b - sums
        if debiased:
            own = _log_apply(own_rows, own_cols, e)
            error = max(error, float(np.abs(np.exp(e + own) - np.exp(log_b)).sum())) if looked else error
            e = 0.5 * (e + log_b - own)
        if looked and error <= tol:
            break
    return State(np.exp(log_b), BarycenterInfo(iteration, error, error <= tol))


def _gap(marginals: FloatArray, b: FloatArray, weights: FloatArray) -> float:
    """Return the weighted sum over measures of the L1 distances between the marginals of their plans and b."""
    return float(weights @ np.abs(marginals - b).sum(axis=(0, 2)))


def _apply(
    K1: FloatArray, K2: FloatArray, U: FloatArray, room: FloatArray | None = None, out: FloatArray | None = None
) -> FloatArray:
    """Return (K1 (x) K2) U for U (h, n, w): one product for all measures along each axis."""
    h, n, w = U.shape
    H, W = len(K1), len(K2)
    out = np.empty((H, n, W)) if out is None else out
    part = U if K2.size == 1 else np.empty((h, n, W)) if room is None else room.reshape(-1)[: h * n * W]
    if K2.size > 1:
        np.dot(U.reshape(h * n, w), K2.T, out=part.reshape(h * n, W))
    np.dot(K1, part.reshape(h, n * W), out=out.reshape(H, n * W))
    return out


def _log_apply(rows: FloatArray, cols: FloatArray, F: FloatArray) -> FloatArray:
    """Return log((exp(-rows) (x) exp(-cols)) exp(F)), term by term in units of the largest."""
    part = F if cols.size == 1 else np.stack([_log_sum(F - line, -1) for line in cols], axis=-1)
    return np.stack([_log_sum(part - line[:, None, None], 0) for line in rows])


def _log_sum(terms: FloatArray, axis: int) -> FloatArray:
    top = terms.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - top).sum(axis=axis)) + top.squeeze(axis))


def _layout(problem: Problem, divergence: Sinkhorn) -> tuple[Support, Axes, FloatArray]:
    """Return where the barycentre lives, the costs over epsilon, and the probabilities (h, n, w) of all measures."""
    X, cost, epsilon = problem.X, divergence.cost, float(divergence.epsilon)
    common = common_support(X, X, cost)
    grid = X.support if problem.support is None and isinstance(cost, SqEuclidean) else None
    if grid is not None and grid.shape is not None:
        dense = dense_rows(X, *common).reshape(len(X), *grid.shape)
        used = [np.flatnonzero(dense.any(axis=tuple({0, 1, 2} - {axis}))) for axis in (1, 2)]
        spans = [slice(int(part[0]), int(part[-1]) + 1) for part in used]
        own = [_squares(size, grid.spacing) / epsilon for size in grid.shape]
        axes = Axes(own[0][:, spans[0]], own[1][:, spans[1]], *own)
        return grid, axes, np.ascontiguousarray(dense[:, spans[0], spans[1]].transpose(1, 0, 2))
    places = common.points if problem.support is None else problem.support
    _refuse_large(len(places), len(common.points))
    support = Support(places) if problem.support is not None or X.support is None else X.support
    rows = dense_rows(X, *common)
    kept: IndexArray = np.flatnonzero(rows.any(axis=0))
    every = np.arange(len(places))
    if problem.support is None:
        between, within = cost.pick(places, every, kept), cost.pick(places, every, every)
    else:
        between, within = cost(places, common.points[kept]), cost(places, places)
    flat = np.zeros((1, 1))
    axes = Axes(between / epsilon, flat, within / epsilon, flat)
    return support, axes, np.ascontiguousarray(rows[:, kept].T)[:, :, None]


def _squares(size: int, spacing: float) -> FloatArray:
    steps = spacing * np.arange(size)
    return np.asarray((steps[:, None] - steps[None]) ** 2)


def _refuse_large(n_places: int, n_points: int) -> None:
    if max(n_places, n_points) > LARGEST_TABLE:
        raise UnsuitableDataError(
            f"an entropic barycentre needs a table of costs, and there are {n_points} different points and "
            f"{n_places} places for the barycentre, more than {LARGEST_TABLE}. Put the measures on a shared support "
            "(bins, pixels, a codebook), or use divergences.Wasserstein or SlicedWasserstein."
        )
