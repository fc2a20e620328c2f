r"""Entropic barycentres on a common support: iterated Bregman projections, batched over measures.

Arrays of scalings are (h, n, w): rows of the grid, measures, columns. A kernel that separates, K1 (x) K2, is then two
matrix products for all measures at once; a table of costs is a grid of one row. Measures keep the box (or the
points) that they use, the barycentre has the whole grid.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._linalg import few_threads
from .._typing import FloatArray, IndexArray
from ..divergences import Sinkhorn
from ..divergences._support import LARGEST_TABLE, common_support, dense_rows
from ..exceptions import NumericalError, UnsuitableDataError
from ..ground import SqEuclidean
from ..measures import Measures, Support
from ._barycenter_free import BarycenterInfo, Problem, on_support

#: Iterations between two looks at the marginals.
STRIDE = 5
#: Atoms lighter than this part of the mass are rounding.
LIGHT = 1e-15
#: Numbers of a block of scalings that stay in the cache.
CACHED = 1 << 15
#: Iterations before steps are lengthened, and looks without a lower error before they are shortened.
PLAIN, PATIENCE = 3, 4
#: Updates of the barycentre's own scaling in one iteration, and (OWN_LONG - 1) / (OWN_LONG + 1) is their momentum.
OWN_STEPS, OWN_LONG = 3, 12.0
#: The smallest normal number.
TINY = float(np.finfo(np.float64).tiny)


class Axes(NamedTuple):
    """Costs over epsilon along both axes: between the barycentre and the measures, and within the barycentre.

    ``rows`` (H, h) and ``cols`` (W, w); ``own_rows`` (H, H) and ``own_cols`` (W, W).
    """

    rows: FloatArray
    cols: FloatArray
    own_rows: FloatArray
    own_cols: FloatArray


def entropic(problem: Problem, divergence: Sinkhorn) -> tuple[Measures, BarycenterInfo]:
    """Return the barycentre of the entropic cost, debiased if the divergence is."""
    support, axes, a = _layout(problem, divergence)
    tol, max_iter = problem.tol or float(divergence.tol), problem.max_iter or int(divergence.max_iter)
    given = axes, a, problem.weights, divergence.value == "debiased", tol, max_iter
    with few_threads(max(map(len, axes))):
        b, info = scaling(*given) or log_domain(*given)
    mass = b.ravel()
    if not np.isfinite(mass).all() or not mass.any():
        raise NumericalError("no finite entropic barycentre was found. Check the scale of the points and of epsilon.")
    mass = mass / mass.sum()
    return on_support(support, np.where(mass > LIGHT, mass, 0.0)), info


def scaling(
    axes: Axes, a: FloatArray, weights: FloatArray, debiased: bool, tol: float, max_iter: int
) -> tuple[FloatArray, BarycenterInfo] | None:
    r"""Iterate u = a / K' v, b = d prod_i (K u_i)^{w_i}, v = b / K u, and d = sqrt(d b / (K d)) if debiased.

    Measures pass in blocks that stay in the cache. After the first iterations steps of u and v are lengthened
    (over-relaxation), as long as that lowers the error. Without d these are alternating maxima of a concave function,
    and any power below 2 converges. With d, which v follows as the geometric mean of the v_i, that would overshoot:
    v is moved by the last change of d first, and only what measures differ by is lengthened. Returns the barycentre
    (H, 1, W); None where a sum is out of range: epsilon is too small for scalings. Lengthened steps: Thibault, Chizat,
    Dossal and Papadakis, Overrelaxed Sinkhorn-Knopp algorithm for regularized optimal transport, Algorithms 14 (2021).
    """
    kernels = Axes(*(np.exp(-part) for part in axes))
    H, W = len(axes.rows), len(axes.cols)
    blocks = _blocks(a, weights, H, W)
    bias, pace, b, error, iteration = Bias(H, W), Pace(), np.ones((H, 1, W)), np.inf, 0
    with np.errstate(all="ignore"):  # checked
        for iteration in range(1, max_iter + 1):
            long = pace.level > 0 and iteration > PLAIN
            for block in blocks:
                block.first_half(kernels, long)
            b = bias.d * np.exp(sum(block.log_product() for block in blocks))[:, None]
            gap = sum(block.second_half(b, bias.change, long) for block in blocks)
            own = bias.update(b, kernels, long and pace.level > 1) if debiased else 0.0
            if iteration % STRIDE == 0 or iteration == max_iter:
                if not (all(block.in_range() for block in blocks) and np.isfinite(b).all()):
                    return None
                error = max(gap, own)
                if error <= tol:
                    break
                pace.look(error)
    return b, BarycenterInfo(iteration, error, error <= tol)


class Pace:
    """How boldly to go: 2, lengthened steps, and momentum for d; 1, lengthened steps; 0, the steps of the theory.

    One less whenever the least error is PATIENCE looks old, or at once if it has doubled.
    """

    def __init__(self) -> None:
        self.level, self._least, self._age = 2, np.inf, 0

    def look(self, error: float) -> None:
        self._age = 0 if error < self._least else self._age + 1
        if self._age == PATIENCE or error > 2.0 * self._least:
            self.level, self._least, self._age = max(0, self.level - 1), error, 0
        self._least = min(self._least, error)


class Bias:
    """The scaling d of the barycentre's plan to itself, d K d = b, which debiasing puts into b."""

    def __init__(self, H: int, W: int) -> None:
        self.d, self.change = np.ones((H, 1, W)), np.ones((H, 1, W))
        self._share: FloatArray | None = None

    def update(self, b: FloatArray, kernels: Axes, long: bool) -> float:
        """Update d by steps towards d K d = b; return the L1 distance of the two before.

        A step moves what is smooth at once and details by as little as the kernel leaves of them. So the last change
        of d / K d, in which the smooth part cancels, is added once more with the factor 0.85 (momentum).
        """
        from ..core.scalings import FAR

        d, own = self.d, _apply(kernels.own_rows, kernels.own_cols, self.d)
        error = float(np.abs(d * own - b).sum())
        share, before = _part(d, own), self._share
        new = np.sqrt(share * b)
        if long and before is not None:
            for _ in range(OWN_STEPS - 1):
                new = np.sqrt(_part(new, _apply(kernels.own_rows, kernels.own_cols, new)) * b)
            ratio = share / before
            ratio[~(ratio < FAR)] = 1.0
            new *= (1.0 + OWN_LONG * ratio) / (OWN_LONG + ratio)
        self.d, self.change, self._share = new, _part(new, d), share
        return error


def _part(d: FloatArray, whole: FloatArray) -> FloatArray:
    """Return d / whole, 0 where there is nothing."""
    return np.asarray(np.divide(d, whole, out=np.zeros_like(d), where=whole > 0))


class _Block:
    """Some measures (h, n, w), their weights, u, v and the sums K u (H, n, W); ones (h, 1, w); room for products."""

    def __init__(self, a: FloatArray, weights: FloatArray, H: int, W: int, room: FloatArray, part: FloatArray) -> None:
        h, n, w = a.shape
        self.a, self.weights, self.u, self.ones = a, weights, np.ones_like(a), np.ones((h, 1, w))
        self.sums, self.v = np.ones((2, H, n, W))
        self.room, self.part = room[: a.size].reshape(a.shape), part

    def first_half(self, kernels: Axes, long: bool) -> None:
        """Update u and the sums."""
        from ..core.scalings import scale

        _apply(kernels.rows.T, kernels.cols.T, self.v, self.part, self.room)
        scale(self.a, self.ones, self.room, self.weights, long, self.u)
        _apply(kernels.rows, kernels.cols, self.u, self.part, self.sums)

    def second_half(self, b: FloatArray, change: FloatArray, long: bool) -> float:
        """Update v; return the weighted L1 error of the second marginals before."""
        from ..core.scalings import scale

        return float(scale(b, change, self.sums, self.weights, long, self.v))

    def log_product(self) -> FloatArray:
        """Return the sum (H, W) of the weighted logarithms of the sums.

        With equal weights, that of a product: exponents are added and mantissas in [1, 2) multiplied, a third of the
        time of the logarithms.
        """
        from ..core.scalings import multiply

        if (self.weights != self.weights[0]).any():
            return np.asarray(np.matmul(self.weights, np.log(self.sums)))
        H, _, W = self.sums.shape
        exponents, mantissas = np.zeros((H, W), dtype=np.int64), np.ones((H, W))
        multiply(self.sums, exponents, mantissas)
        return np.asarray(self.weights[0] * (exponents * math.log(2.0) + np.log(mantissas)))

    def in_range(self) -> bool:
        """Whether all sums are normal numbers."""
        return bool(self.sums.min() >= TINY and self.sums.max() < np.inf)


def _blocks(a: FloatArray, weights: FloatArray, H: int, W: int) -> list[_Block]:
    """Split measures (h, n, w) into blocks of at most CACHED numbers each; 512 measures at most."""
    h, n, w = a.shape
    size = min(n, 512, max(1, CACHED // (H * W)))
    room, part = np.empty(size * h * w), np.empty(size * max(H, h) * max(W, w))
    starts = [slice(start, start + size) for start in range(0, n, size)]
    return [_Block(np.ascontiguousarray(a[:, rows]), weights[rows], H, W, room, part) for rows in starts]


def log_domain(
    axes: Axes, a: FloatArray, weights: FloatArray, debiased: bool, tol: float, max_iter: int
) -> tuple[FloatArray, BarycenterInfo]:
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
            # the weighted L1 distances between the marginals of the plans and b
            error = float(weights @ np.abs(np.exp(g + sums) - np.exp(log_b)).sum(axis=(0, 2)))
        g = log_b - sums
        if debiased:
            own = _log_apply(own_rows, own_cols, e)
            error = max(error, float(np.abs(np.exp(e + own) - np.exp(log_b)).sum())) if looked else error
            e = 0.5 * (e + log_b - own)
        if looked and error <= tol:
            break
    return np.exp(log_b), BarycenterInfo(iteration, error, error <= tol)


def _apply(
    K1: FloatArray, K2: FloatArray, U: FloatArray, room: FloatArray | None = None, out: FloatArray | None = None
) -> FloatArray:
    """Return (K1 (x) K2) U for U (h, n, w): one product for all measures along each axis."""
    h, n, w = U.shape
    H, W = len(K1), len(K2)
    out = np.empty((H, n, W)) if out is None else out
    if K1.size == 1:  # a table, times 1
        np.dot(U.reshape(n, w), K2.T, out=out.reshape(n, W))
        return out
    part = np.empty(h * n * W) if room is None else room[: h * n * W]
    np.dot(U.reshape(h * n, w), K2.T, out=part.reshape(h * n, W))
    np.dot(K1, part.reshape(h, n * W), out=out.reshape(H, n * W))
    return out


def _log_apply(rows: FloatArray, cols: FloatArray, F: FloatArray) -> FloatArray:
    """Return log((exp(-rows) (x) exp(-cols)) exp(F)), term by term in units of the largest."""
    part = np.stack([_log_sum(F - line, -1) for line in cols], axis=-1)
    return part if rows.size == 1 else np.stack([_log_sum(part - line[:, None, None], 0) for line in rows])


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
        steps = [grid.spacing * np.arange(size) for size in grid.shape]
        own = [np.subtract.outer(line, line) ** 2 / epsilon for line in steps]
        axes = Axes(own[0][:, spans[0]], own[1][:, spans[1]], *own)
        return grid, axes, np.ascontiguousarray(dense[:, spans[0], spans[1]].transpose(1, 0, 2))
    places = common.points if problem.support is None else problem.support
    if max(len(places), len(common.points)) > LARGEST_TABLE:
        raise UnsuitableDataError(
            f"an entropic barycentre needs a table of costs, and there are {len(common.points)} different points and "
            f"{len(places)} places for the barycentre, more than {LARGEST_TABLE}. Put the measures on a shared support "
            "(bins, pixels, a codebook), or use divergences.Wasserstein or SlicedWasserstein."
        )
    support = Support(places) if problem.support is not None or X.support is None else X.support
    rows = dense_rows(X, *common)
    kept: IndexArray = np.flatnonzero(rows.any(axis=0))
    every = np.arange(len(places))
    if problem.support is None:
        between, within = cost.pick(places, every, kept), cost.pick(places, every, every)
    else:
        between, within = cost(places, common.points[kept]), cost(places, places)
    flat = np.zeros((1, 1))
    axes = Axes(flat, between / epsilon, flat, within / epsilon)
    return support, axes, np.ascontiguousarray(rows[:, kept])[None]
