"""Barycentres whose atoms move: to the means of what exact plans bring them, or of what directions ask of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import FloatArray
from ..divergences import SlicedWasserstein
from ..divergences._base import batches
from ..divergences._plans import transport
from ..divergences._quantiles import even_levels, quantile_means
from ..exceptions import InvalidParameterError
from ..ground import SqEuclidean
from ..measures import Measures
from ._barycenter_problem import BarycenterInfo, Problem, cloud, unit

#: Atoms at most by default.
MOST_ATOMS = 256


def free_support(problem: Problem) -> tuple[Measures, BarycenterInfo]:
    """Move each atom to the mean of the mass that optimal plans to all measures take from it, until none moves."""
    centre, length = unit(problem.X)
    X = problem.X.map_points(lambda points: (points - centre) / length)
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
    X = problem.X
    centre, length = unit(X)
    points, masses = _start(problem)
    if np.ptp(masses) > 1e-12 * masses.max():
        raise InvalidParameterError("`init` must have equally heavy atoms for a sliced barycentre; those given differ.")
    directions = divergence.directions(X.dim)
    targets = _mean_quantiles(X.map_points(lambda y: (y - centre) / length), problem.weights, directions, len(points))
    inverse = np.linalg.pinv(directions)  # (d, L)

    def step(x: FloatArray) -> FloatArray:
        projections = directions @ x.T
        wanted = np.empty_like(projections)
        np.put_along_axis(wanted, np.argsort(projections, axis=1, kind="stable"), targets, axis=1)
        return np.asarray(x + (inverse @ (wanted - projections)).T)

    x, info = _iterate(step, (points - centre) / length, masses / masses.sum(), problem, max_iter=1000)
    return cloud(centre + length * x), info


def _mean_quantiles(X: Measures, weights: FloatArray, directions: FloatArray, n_atoms: int) -> FloatArray:
    """Return the weighted means (L, n_atoms) of the quantile functions of all projections, over equal cells."""
    targets, levels = np.zeros((len(directions), n_atoms)), even_levels(n_atoms)
    for rows in batches(np.full(len(X), float(targets.size)), 4e6):
        means = quantile_means(X[rows], directions, levels)[0]
        targets += np.tensordot(weights[rows], means, axes=1)
    return np.asarray(targets * np.sqrt(n_atoms))


def _start(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the atoms to start from and their masses: those given, or drawn from the mixture of all measures."""
    X, init = problem.X, problem.init
    if init is not None:
        return np.array(init.points), np.array(init.weights)
    n_atoms = problem.n_atoms or int(min(MOST_ATOMS, max(1, round(float(np.median(X.sizes))))))
    chances = X.probabilities * np.repeat(problem.weights, X.sizes)
    drawn = problem.rng.choice(len(chances), n_atoms, replace=np.count_nonzero(chances) < n_atoms, p=_to_one(chances))
    return X.points[np.sort(drawn)], np.ones(n_atoms)


def _to_one(chances: FloatArray) -> FloatArray:
    return np.asarray(chances / chances.sum())


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
