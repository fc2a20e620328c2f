"""Barycentres on the line: quantile functions are vectors, and their means and medians are quantile functions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import FloatArray
from ..divergences._base import batches
from ..divergences._quantiles import DECIMALS, even_levels, quantile_means
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._barycenter_problem import EXACT, BarycenterInfo, Problem, cloud

#: Halvings of an interval, after which its ends are equal up to rounding.
HALVINGS = 60


def on_the_line(problem: Problem, order: float) -> tuple[Measures, BarycenterInfo]:
    """Return the measure of least sum of w_i W_p^p, with p the order; of ``n_atoms`` equal atoms if they are given."""
    X, weights, n_atoms = problem.X, problem.weights, problem.n_atoms
    if n_atoms is not None and order != 2:
        raise InvalidParameterError(
            f"`n_atoms` must be None for the exact barycentre of order {order:g} on the line; got {n_atoms}. "
            "Order 2 takes a number of atoms."
        )
    levels = jumps(X) if n_atoms is None else even_levels(n_atoms)
    widths = np.diff(levels, prepend=0.0)
    if order == 2:
        values = np.zeros(len(levels))
        for rows in batches(np.full(len(X), float(len(levels))), 4e6):
            values += weights[rows] @ cell_values(X[rows], levels, widths)
    else:
        values = np.concatenate([center(Q, weights, order) for Q in _by_levels(X, levels, widths)])
    points, cells = np.unique(values, return_inverse=True)
    masses = np.bincount(cells.ravel(), weights=widths).astype(np.float64)
    return cloud(points[:, None], masses), EXACT


def jumps(X: Measures) -> FloatArray:
    """Return all levels at which a quantile function jumps, and 1, ascending; told apart to 14 decimals."""
    from ..core import ragged
    from ..core.transport.quantiles import cumulate

    order = np.lexsort((X.points[:, 0], ragged.owners(X.offsets)))
    levels = np.empty(len(order))
    cumulate(X.weights[order], np.array(X.offsets), levels)
    levels = np.unique(levels.round(DECIMALS))
    return np.append(levels[(levels > 0) & (levels < 1)], 1.0)


def cell_values(X: Measures, levels: FloatArray, widths: FloatArray) -> FloatArray:
    """Return the means (n, K) of the quantile functions over the cells below each level."""
    return np.asarray(quantile_means(X, np.ones((1, 1)), levels)[0][:, 0] / np.sqrt(widths))


def center(Q: FloatArray, weights: FloatArray, order: float) -> FloatArray:
    """Return for every column the number x of least sum_i w_i |x - Q_i|^order, the middle one if there are several."""
    if order == 1:
        return _median(Q, weights)
    low, high = Q.min(axis=0), Q.max(axis=0)
    length = np.where(high > low, high - low, 1.0)
    for _ in range(HALVINGS):  # of the derivative, which increases, find the zero
        middle = 0.5 * low + 0.5 * high
        gaps = (middle - Q) / length
        rising = weights @ (np.sign(gaps) * np.abs(gaps) ** (order - 1.0)) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray(0.5 * low + 0.5 * high)


def _median(Q: FloatArray, weights: FloatArray) -> FloatArray:
    ranks = np.argsort(Q, axis=0, kind="stable")
    ordered = np.take_along_axis(Q, ranks, axis=0)
    below = np.cumsum(weights[ranks], axis=0)
    ends = [(below >= 0.5 - rounding).argmax(axis=0) for rounding in (1e-12, -1e-12)]
    lower, upper = (np.take_along_axis(ordered, end[None], axis=0)[0] for end in ends)
    return np.asarray(0.5 * lower + 0.5 * upper)


def _by_levels(X: Measures, levels: FloatArray, widths: FloatArray) -> Iterator[FloatArray]:
    """Yield the values of all quantile functions, (n, K) for some levels at a time."""
    from ..core import ragged
    from ..core.transport.quantiles import cumulate

    order = np.lexsort((X.points[:, 0], ragged.owners(X.offsets)))
    points, tops = X.points[order, 0], np.empty(len(order))
    cumulate(X.weights[order], np.array(X.offsets), tops)
    middles = levels - 0.5 * widths
    for rows in batches(np.full(len(levels), float(len(X))), 4e6):
        Q = np.empty((len(X), len(rows)))
        for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
            cells = np.searchsorted(tops[start:stop], middles[rows])
            Q[i] = points[start + np.minimum(cells, stop - start - 1)]
        yield Q
