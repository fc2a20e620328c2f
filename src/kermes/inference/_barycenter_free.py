"""Barycentres off a fixed support: quantile functions on the line, atoms that move, covariances of Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray
from ..divergences import SlicedWasserstein
from ..divergences._base import batches
from ..divergences._plans import transport
from ..divergences._quantiles import even_levels, quantile_means
from ..exceptions import InvalidParameterError, NumericalError
from ..ground import SqEuclidean
from ..measures import Measures, Support

#: Halvings of an interval, after which its ends are equal up to rounding.
HALVINGS = 60
#: Atoms at most by default.
MOST_ATOMS = 256
#: Eigenvalues below this part of the largest are rounding.
NEGLIGIBLE = 1e-14
#: Levels of quantile functions that are nearer to each other are one: cumulated weights carry rounding.
APART = 1e-14


class BarycenterInfo(NamedTuple):
    """How a barycentre was found: iterations made, the last error, and whether that is within the tolerance."""

    n_iter: int
    error: float
    converged: bool


#: Of a closed form.
EXACT = BarycenterInfo(0, 0.0, True)


class Problem(NamedTuple):
    """Measures, their weights (n,) that are positive and sum to 1, and the options given, None if not."""

    X: Measures
    weights: FloatArray
    n_atoms: int | None = None
    support: FloatArray | None = None
    init: Measures | None = None
    rng: Any = None
    max_iter: int | None = None
    tol: float | None = None


def on_support(support: Support, mass: FloatArray) -> Measures:
    """Return the measure with the masses (m,) at the points of a support; it shares the support."""
    if support.shape is None:
        return Measures.from_histograms(mass[None], support.points)
    return Measures.from_images(mass.reshape(1, *support.shape), spacing=float(support.spacing))


def cloud(points: FloatArray, weights: FloatArray | None = None) -> Measures:
    """Return the measure with these atoms (m, d), equally heavy by default."""
    if not np.isfinite(points).all():
        raise NumericalError("the barycentre has coordinates that are not finite. Scale the points.")
    weights = np.full(len(points), 1.0 / len(points)) if weights is None else weights
    return Measures.from_samples([points], [weights])


def in_units(X: Measures) -> tuple[FloatArray, float, Measures]:
    """Return a centre (d,), a length, and the measures in these units: all coordinates are within [-1, 1]."""
    low, high = X.points.min(axis=0), X.points.max(axis=0)
    centre = 0.5 * low + 0.5 * high
    length = float(np.abs(X.points - centre).max()) or 1.0
    return centre, length, X.map_points(lambda points: (points - centre) / length)


def on_the_line(problem: Problem, order: float) -> tuple[Measures, BarycenterInfo]:
    """Return the measure of least sum of w_i W_p^p, with p the order; of ``n_atoms`` equal atoms if they are given."""
    X, weights, n_atoms = problem.X, problem.weights, problem.n_atoms
    if n_atoms is not None and order != 2:
        raise InvalidParameterError(
            f"`n_atoms` must be None for the exact barycentre of order {order:g} on the line; got {n_atoms}. "
            "Order 2 takes a number of atoms."
        )
    if n_atoms is None:  # all levels at which a quantile function jumps, and 1; the first of those within rounding
        points, tops = _steps(X)
        found = np.sort(tops)
        found = found[np.diff(found, prepend=0.0) > APART]
        levels = np.append(found[found < 1.0 - APART], 1.0)
    else:
        levels = even_levels(n_atoms)
    widths = np.diff(levels, prepend=0.0)
    if order == 2:
        values = np.zeros(len(levels))
        for rows in batches(np.full(len(X), float(len(levels))), 4e6):
            means = quantile_means(X[rows], np.ones((1, 1)), levels)[0][:, 0]  # times the roots of the widths
            values += weights[rows] @ np.asarray(means / np.sqrt(widths))
    else:
        values = np.concatenate(
            [_center(Q, weights, order) for Q in _by_levels(X, points, tops, levels - 0.5 * widths)]
        )
    places, cells = np.unique(values, return_inverse=True)
    masses = np.bincount(cells.ravel(), weights=widths).astype(np.float64)
    return cloud(places[:, None], masses), EXACT


def _steps(X: Measures) -> tuple[FloatArray, FloatArray]:
    """Return the atoms of each measure, ascending, and the levels up to which its quantile function stays at them."""
    from ..core import ragged
    from ..core.transport.quantiles import cumulate

    order = np.lexsort((X.points[:, 0], ragged.owners(X.offsets)))
    tops = np.empty(len(order))
    cumulate(X.weights[order], np.array(X.offsets), tops)
    return X.points[order, 0], tops


def _by_levels(X: Measures, points: FloatArray, tops: FloatArray, levels: FloatArray) -> Iterator[FloatArray]:
    """Yield the values of all quantile functions, (n, K) for some levels at a time."""
    for rows in batches(np.full(len(levels), float(len(X))), 4e6):
        Q = np.empty((len(X), len(rows)))
        for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
            cells = np.searchsorted(tops[start:stop], levels[rows])
            Q[i] = points[start + np.minimum(cells, stop - start - 1)]
        yield Q


def _center(Q: FloatArray, weights: FloatArray, order: float) -> FloatArray:
    """Return for every column the number x of least sum_i w_i |x - Q_i|^order, the middle one if there are several."""
    if order == 1:
        return _median(Q, weights)
    low, high = Q.min(axis=0), Q.max(axis=0)
    half = 0.5 * high - 0.5 * low  # the whole may overflow
    half[half == 0.0] = 1.0
    for _ in range(HALVINGS):  # of the derivative, which increases, find the zero
        middle = 0.5 * low + 0.5 * high
        gaps = (0.5 * middle - 0.5 * Q) / half
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


def free_support(problem: Problem) -> tuple[Measures, BarycenterInfo]:
    """Move each atom to the mean of the mass that optimal plans to all measures take from it, until none moves."""
    centre, length, X = in_units(problem.X)
    points, masses = _start(problem)
    masses = masses / masses.sum()
    clouds = [(measure.points, measure.weights / measure.mass) for measure in X]
    cost = SqEuclidean()

    def step(x: FloatArray) -> FloatArray:
        new = np.zeros_like(x)
        for weight, (y, mass) in zip(problem.weights, clouds, strict=True):
            new += weight * (transport(masses, mass, cost(x, y)).plan @ y)
        return np.asarray(new / masses[:, None])

    x, info = _iterate(step, (points - centre) / length, masses, problem, max_iter=100)
    return cloud(centre + length * x, masses), info


def sliced(problem: Problem, divergence: SlicedWasserstein) -> tuple[Measures, BarycenterInfo]:
    r"""Move equally heavy atoms to the least squares of the mean quantiles :math:`t_{l}` along every direction.

    .. math:: x \leftarrow x + (t_{l, \mathrm{rank}(\theta_l^\top x)} - \theta_l^\top x)_l \, \Theta^+

    Both halves, the ranks and the least squares, lower the sum of squared distances.
    """
    centre, length, X = in_units(problem.X)
    points, masses = _start(problem)
    if np.ptp(masses) > 1e-12 * masses.max():
        raise InvalidParameterError("`init` must have equally heavy atoms for a sliced barycentre; those given differ.")
    directions = divergence.directions(X.dim)
    # The weighted means (L, n_atoms) of the quantile functions of all projections, over equal cells.
    targets, levels = np.zeros((len(directions), len(points))), even_levels(len(points))
    for rows in batches(np.full(len(X), float(targets.size)), 4e6):
        targets += np.tensordot(problem.weights[rows], quantile_means(X[rows], directions, levels)[0], axes=1)
    targets *= np.sqrt(len(points))
    inverse = np.linalg.pinv(directions)  # (d, L)

    def step(x: FloatArray) -> FloatArray:
        projections = directions @ x.T
        wanted = np.empty_like(projections)
        np.put_along_axis(wanted, np.argsort(projections, axis=1, kind="stable"), targets, axis=1)
        return np.asarray(x + (inverse @ (wanted - projections)).T)

    x, info = _iterate(step, (points - centre) / length, masses / masses.sum(), problem, max_iter=1000)
    return cloud(centre + length * x), info


def _start(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the atoms to start from and their masses: those given, or drawn from the mixture of all measures."""
    X, init = problem.X, problem.init
    if init is not None:
        return np.array(init.points), np.array(init.weights)
    n_atoms = problem.n_atoms or int(min(MOST_ATOMS, max(1, round(float(np.median(X.sizes))))))
    chances = X.probabilities * np.repeat(problem.weights, X.sizes)
    several = np.count_nonzero(chances) < n_atoms
    drawn = problem.rng.choice(len(chances), n_atoms, replace=several, p=chances / chances.sum())
    return X.points[np.sort(drawn)], np.ones(n_atoms)


def _iterate(
    step: Callable[[FloatArray], FloatArray], x: FloatArray, masses: FloatArray, problem: Problem, max_iter: int
) -> tuple[FloatArray, BarycenterInfo]:
    """Repeat a step until atoms move by at most ``tol`` of the unit in the mean square, or after ``max_iter``."""
    tol, max_iter, moved, iteration = problem.tol or 1e-6, problem.max_iter or max_iter, np.inf, 0
    while moved > tol and iteration < max_iter:
        new = step(x)
        moved = float(np.sqrt(masses @ ((new - x) ** 2).sum(axis=1)))
        x, iteration = new, iteration + 1
    return x, BarycenterInfo(iteration, moved, moved <= tol)


def of_gaussians(problem: Problem) -> tuple[Measures, BarycenterInfo]:
    """Return sigma points of the barycentre of the Gaussians with the moments of the measures.

    These are 2 r equally heavy points with its mean and covariance of rank r, on the principal axes; the mean if r = 0.
    """
    centre, length, X = in_units(problem.X)
    means, covariances = moments(X)
    S, info = bures_mean(covariances, problem.weights, problem.tol or 1e-9, problem.max_iter or 1000)
    values, axes = np.linalg.eigh(S)
    kept = values > NEGLIGIBLE * max(values[-1], 0.0)
    mean, steps = problem.weights @ means, (axes[:, kept] * np.sqrt(kept.sum() * values[kept])).T[::-1]
    points = np.concatenate([mean + steps, mean - steps]) if len(steps) else mean[None]
    return cloud(centre + length * points), info


def moments(X: Measures) -> tuple[FloatArray, FloatArray]:
    """Return the means (n, d) and covariances (n, d, d)."""
    means, weights = X.expectation(X.points), X.probabilities
    covariances = np.empty((len(X), X.dim, X.dim))
    for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
        centred = X.points[start:stop] - means[i]
        covariances[i] = centred.T @ (weights[start:stop, None] * centred)
    return means, covariances


def bures_mean(
    covariances: FloatArray, weights: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, BarycenterInfo]:
    r"""Return the covariance S of least :math:`\sum_i w_i B(S, \Sigma_i)^2`, B the Bures distance.

    .. math:: S \leftarrow S^{-1/2} \Big(\sum_i w_i (S^{1/2} \Sigma_i S^{1/2})^{1/2}\Big)^2 S^{-1/2}

    from :math:`(\sum_i w_i \Sigma_i^{1/2})^2`, which is the answer if all covariances commute, and whose range holds
    theirs: on it S is inverted. It stops at a relative change of at most ``tol``.
    """
    S = _mean_root(covariances, weights)
    S, change = S @ S, 0.0
    for iteration in range(1, max_iter + 1):
        values, axes = np.linalg.eigh(S)
        kept = values > NEGLIGIBLE * max(values[-1], 0.0)
        if not kept.any():
            return np.zeros_like(S), BarycenterInfo(iteration, 0.0, True)
        roots, axes = np.sqrt(values[kept]), axes[:, kept]
        half, inverse = (axes * roots) @ axes.T, (axes / roots) @ axes.T
        map_ = inverse @ _mean_root(half @ covariances @ half, weights)
        new = map_ @ map_.T
        change = float(np.linalg.norm(new - S) / np.linalg.norm(S))
        S = new
        if change <= tol:
            break
    return S, BarycenterInfo(iteration, change, change <= tol)


def _mean_root(matrices: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the symmetric roots of positive semidefinite matrices (n, d, d)."""
    values, axes = np.linalg.eigh(matrices)
    scaled = axes * np.sqrt(np.sqrt(np.maximum(values, 0.0)))[:, None, :]
    return np.asarray(np.einsum("n,nij,nkj->ik", weights, scaled, scaled, optimize=True))
