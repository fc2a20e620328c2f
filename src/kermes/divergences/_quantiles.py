"""Quantile functions: transport on one line, on many (the sliced distance), and as vectors of means over cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .._checks import integer, real
from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Claims, Divergence, Route, Tile, batches, filled, n_points, underflow_of_squares
from ._cores import core

#: Projections that are computed and sorted at a time: some 0.3 s, after which an interrupt is heard.
BLOCK = 1 << 22
#: Levels of an exact grid up to which the vectors are worth having.
MOST_LEVELS = 4096
#: Decimals to which levels are told apart: cumulated weights carry rounding.
DECIMALS = 14
#: Bytes of sorted projections that are kept at a time; beyond that, slices are taken in several passes.
PASS_BYTES = 1 << 29


def blocks(X: Measures, n_lines: int) -> Iterator[tuple[IndexArray, slice]]:
    """Yield rows of measures and ranges of lines whose projections are a block: the most that is copied at a time."""
    for rows in batches(X.sizes.astype(np.float64), BLOCK / max(1, n_lines)):
        step = max(1, BLOCK // int(X.sizes[rows].sum()))
        yield from ((rows, slice(start, min(start + step, n_lines))) for start in range(0, n_lines, step))


def sorted_halves(X: Measures, directions: FloatArray | None = None) -> core.transport.quantiles.Sorted:
    """Return measures, projected on L lines by ``directions`` (L, dim) or on the line as they are, for merging."""

    def empty(n_lines: int, X: Measures) -> core.transport.quantiles.Sorted:
        points, levels = np.zeros((2, n_lines, len(X.points) + len(X)))
        uppers, lasts = np.zeros((2, n_lines, len(X)), dtype=np.int64)
        starts = np.zeros(len(X), dtype=np.int64)
        return core.transport.quantiles.Sorted(points, levels, starts, uppers, lasts)

    n_lines = 1 if directions is None else len(directions)
    halves = empty(n_lines, X)
    for rows, lines in blocks(X, n_lines):
        part = X[rows]
        values = np.ascontiguousarray(part.points.T) if directions is None else directions[lines] @ part.points.T
        order = np.lexsort((values, np.broadcast_to(ragged.owners(part.offsets), values.shape)))
        first, where = X.offsets[rows[0]] + rows[0], slice(rows[0], rows[-1] + 1)
        atoms = slice(first, first + len(part.points) + len(part))
        out = empty(len(values), part)
        values = np.take_along_axis(values, order, axis=1)
        core.transport.quantiles.split(values, part.weights[order], np.array(part.offsets), out)
        halves.points[lines, atoms], halves.levels[lines, atoms] = out.points, out.levels
        halves.starts[where] = out.starts + first
        halves.uppers[lines, where], halves.lasts[lines, where] = out.uppers + first, out.lasts + first
    return halves


class QuantileRoute(Route):
    """Routes by quantile functions on one line or on several, which are a ``share`` of all."""

    p: float
    share: float = 1.0

    def powers(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool, p: float) -> FloatArray:
        """Return the mean of W_p^p over the lines for p = 1 and 2, otherwise its root: by a merge for each line."""
        return filled(core.transport.quantiles.tile, A, rows, B, cols, triangle, p)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return the powers; those that lost their digits have failed."""
        values = self.powers(A, B, rows, cols, triangle, self.p)
        if self.share != 1.0:
            values *= self.share
        if self.p != 2:
            return Tile(values)

        def differ(i: IndexArray, j: IndexArray) -> AnyArray:
            # W_3 bounds W_2 and is computed in units of the largest difference: 0 only where W_2 is no number.
            (r, at), (c, to) = np.unique(i, return_inverse=True), np.unique(j, return_inverse=True)
            return np.asarray(self.powers(A, B, rows[r], cols[c], False, 3.0)[at, to] > 0)

        return Tile(values, underflow_of_squares(values, triangle, differ))


@dataclass(frozen=True, eq=False)
class _Projections(QuantileRoute):
    """Measures projected on lines, (L, dim), which are a ``share`` of all."""

    directions: FloatArray
    p: float
    share: float = 1.0
    #: Numbers that are kept for each projection of an atom.
    numbers: ClassVar[int] = 1

    def work(self, X: Measures, Y: Measures) -> float:
        """Every slice merges both measures."""
        return len(self.directions) * float(X.sizes.mean() + Y.sizes.mean())


class _Aligned(_Projections):
    """Measures of m equal atoms each, p = 2: sorted projections as one row, scaled so that distances are Euclidean."""

    def prepare(self, X: Measures) -> FloatArray:
        n_lines, size = len(self.directions), int(X.sizes[0])
        prepared: FloatArray = np.empty((len(X), n_lines, size))
        for rows, lines in blocks(X, n_lines):
            values = (self.directions[lines] @ X[rows].points.T).reshape(-1, len(rows), size)
            values.sort(axis=2)
            values /= np.sqrt(n_lines * size)
            prepared[rows, lines] = values.transpose(1, 0, 2)
        return prepared.reshape(len(X), -1)

    def powers(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool, p: float) -> FloatArray:
        if p == 2:
            return core.vectors.squared_tile(A, rows, B, cols, triangle)
        return filled(core.vectors.norm_tile, A, rows, B, cols, triangle, p)


class _Uniform(_Projections):
    """Measures of equally heavy atoms: one merge serves all slices."""

    def prepare(self, X: Measures) -> core.sliced.Ranked:
        ranked: FloatArray = np.empty((len(X.points), len(self.directions)))
        for rows, lines in blocks(X, len(self.directions)):
            part = X[rows]
            projections = self.directions[lines] @ part.points.T  # slice by slice: sorting runs along memory
            for start, stop in pairwise(part.offsets):
                projections[:, start:stop].sort(axis=1)
            ranked[X.offsets[rows[0]] : X.offsets[rows[-1] + 1], lines] = projections.T
        return core.sliced.Ranked(ranked, np.array(X.offsets))

    def powers(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool, p: float) -> FloatArray:
        return filled(core.sliced.uniform_tile, A, rows, B, cols, triangle, p)


class _Weighted(_Projections):
    """Any weights: a merge for each slice."""

    numbers: ClassVar[int] = 2

    def prepare(self, X: Measures) -> core.transport.quantiles.Sorted:
        return sorted_halves(X, self.directions)


@dataclass(frozen=True)
class SlicedWasserstein(Divergence):
    r"""Sliced Wasserstein distance.

    .. math:: SW_p(\mu, \nu)^p = \frac1L \sum_{l=1}^L W_p(\mu_{\theta_l}, \nu_{\theta_l})^p

    with :math:`\mu_\theta` the projection of :math:`\mu` on a direction :math:`\theta`, drawn uniformly from the
    sphere. On the line there is one direction and :math:`SW_p = W_p`.

    Parameters
    ----------
    p : float
        Order, at least 1.
    n_slices : int
        Number L of directions; the Monte Carlo error falls as :math:`1 / \sqrt L`.
    seed : int
        Seed of the directions; the same seed gives the same distance.

    Notes
    -----
    *Returned*: :math:`SW_p`. *Metric*: triangle inequality, and zero only for equal projections; finitely many
    directions separate almost all measures, not all. *Negative type*: :math:`SW_p^h` is conditionally negative
    definite for h <= p <= 2, being a mean of distances that embed in :math:`L^p` (see ``Wasserstein``).
    *Cost*: projections are sorted once per measure, :math:`O(L n_i \log n_i)`; a pair takes
    :math:`O(L (n_i + n_j))`, and equally many, equally heavy atoms with p = 2 reduce to one matrix product.
    *Accuracy*: as ``Wasserstein`` on the line, for points to which the projections are rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([np.zeros((3, 2)), np.ones((5, 2))])
    >>> pairwise(X, divergence=divergences.SlicedWasserstein(n_slices=500)).round(1)
    array([[0., 1.],
           [1., 0.]])
    """

    p: float = 2.0
    n_slices: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        real(self.p, "p", low=1.0)
        integer(self.n_slices, "n_slices", low=1)
        integer(self.seed, "seed", low=0)

    @property
    def power(self) -> float:
        """``tile`` returns SW_2^2, and SW_p for other p: higher powers overflow and underflow."""
        return 2.0 if self.p == 2 else 1.0

    def directions(self, dim: int) -> FloatArray:
        """Return the unit vectors projected on, (L, dim)."""
        if dim == 1:
            return np.ones((1, 1))
        gaussian = np.random.default_rng(self.seed).normal(size=(self.n_slices, dim))
        return np.asarray(gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))

    def claims(self, dim: int) -> Claims:
        negative_type = float(self.p) if self.p <= 2 else None
        reason = "a mean of L^p distances of quantile functions"
        return Claims(True if dim == 1 else None, negative_type, reason, None if self.p == 2 else 2.0)

    def passes(self, X: Measures, Y: Measures) -> list[Route]:
        """Take so many slices at a time that their sorted projections fit in memory."""
        route: Route = self.route(X, Y)
        if not isinstance(route, _Projections):  # a subclass may have its own
            return [route]
        lines = route.directions
        need = 8 * route.numbers * n_points(X, Y) * len(lines)
        if need <= PASS_BYTES or route.p not in (1, 2):  # other powers are not additive: tiles are SW_p
            return [route]
        parts = np.array_split(lines, min(len(lines), -(-need // PASS_BYTES)))
        return [replace(route, directions=part, share=len(part) / len(lines)) for part in parts]

    def route(self, X: Measures, Y: Measures) -> _Projections:
        """Return the cheapest route that both collections allow."""
        sizes = np.concatenate([X.sizes, Y.sizes])
        kind: type[_Projections] = _Weighted
        if X.is_uniform and Y.is_uniform:
            kind = _Aligned if self.p == 2 and (sizes == sizes[0]).all() else _Uniform
        return kind(self.directions(X.dim), float(self.p))


def even_levels(n: int) -> FloatArray:
    """Return the upper ends of n cells of equal width."""
    return np.arange(1, n + 1) / n


def quantile_means(X: Measures, directions: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sqrt(width) times the mean quantiles of each cell, (n, L, K), and what they leave out, (n,).

    Euclidean distances between the rows of direction l are at most W_2 between the projections on it, with equality
    if all quantile functions are constant on all cells. What is left out is the norm of the rest, over all directions.
    """
    means, rest = np.empty((len(X), len(directions), len(levels))), np.empty(len(X))
    projected = directions @ X.points.T
    # Of the unit of each measure, a power of 2 in which squares are numbers; 0 where they are anyway.
    largest = np.maximum.reduceat(np.abs(X.points).max(axis=1), X.offsets[:-1])
    exponents = np.where((largest > 1e-100) & (largest < 1e100), 0, np.frexp(largest)[1])
    if exponents.any():
        projected = np.ldexp(projected, -exponents[ragged.owners(X.offsets)])
    # Fresh copies: cores are compiled for writable arrays only.
    copies = [np.array(part) for part in (X.weights, X.offsets, levels)]
    core.transport.quantiles.cell_means(projected, *copies, means, rest)
    if exponents.any():
        means = np.ldexp(means, exponents[:, None, None])
    return means, np.ldexp(np.sqrt(rest), exponents)


def jump_levels(X: Measures, directions: FloatArray, known: FloatArray) -> FloatArray:
    """Return the levels ``known`` and those at which the quantile functions of the projections jump."""
    owner, offsets, found = ragged.owners(X.offsets), np.array(X.offsets), [known]
    for direction in directions:
        order = np.lexsort((X.points @ direction, owner))
        levels = np.empty(len(order))
        core.transport.quantiles.cumulate(X.weights[order], offsets, levels)
        found.append(np.unique(levels.round(DECIMALS)))
        found[-1] = found[-1][found[-1] > 0]  # the mass below the first level would be a cell of no width
        if X.is_uniform:  # then all directions have the same levels
            break
    levels = np.unique(np.concatenate(found))
    if len(levels) > MOST_LEVELS:
        raise UnsuitableDataError(
            f"the quantile functions of these measures jump at {len(levels)} levels, more than {MOST_LEVELS}: "
            "features with one cell for each would be too long. Give a number `n_quantiles` of cells."
        )
    return levels
