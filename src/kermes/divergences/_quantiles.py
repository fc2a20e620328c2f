"""Quantile functions on one line or on many: routes by them, and vectors of their means over cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Route, Tile, batches, filled, for_each, underflow_of_squares
from ._cores import core

#: Projections that are computed and sorted at a time: 2 MB, which stay in the cache, and enough parts for all threads.
BLOCK = 1 << 18
#: Levels of an exact grid up to which the vectors are worth having.
MOST_LEVELS = 4096
#: Decimals to which levels are told apart: cumulated weights carry rounding.
DECIMALS = 14


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

    def fill(block: tuple[IndexArray, slice]) -> None:
        rows, lines = block
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

    for_each(fill, list(blocks(X, n_lines)))
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
