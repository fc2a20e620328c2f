"""Measures smoothed by a Gaussian, as non-negative vectors over nodes that a whole run shares.

A node x_k has a weight w_k, and a measure of density p becomes the vector w_k p(x_k). The terms of the Jensen-Shannon
divergence are homogeneous, w f(p, q) = f(w p, w q): the divergence of the vectors *is* the quadrature of the integral,
and it is the exact divergence of probability vectors, hence negative definite whatever the nodes are.

The nodes come in two parts, each of which is a quadrature of its own; every vector has the mass 1/2 on each part. J is
the sum of both parts, and their difference estimates its error. (Entropies of single measures would not do: those of
Dirac masses are exact on any lattice, those of their means are not.)

*Lattice* (up to three dimensions, if it fits into memory): cubic, cut into blocks, of which a measure keeps those near
its atoms. The parts are the nodes of even and of odd coordinate sum. For a spacing s in units of sigma the trapezoidal
rule converges like exp(-6.9 / s^(2/3)), whatever the measures: at a height y in the complex plane a mixture vanishes
only where atoms pi / y apart balance, and there it is small. So one spacing serves all; it needs no search.

*Sobol points* (beyond): drawn from the mean of all smoothed measures, w_k = 1 / (N times the density of that mean). The
parts are two scrambled sequences. Their length is doubled until sampled pairs agree.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import batches, empty_tile

#: Spacing of the even nodes in units of sigma. At 0.4 they agree with the odd ones to 4e-7 for every mixture tried (the
#: worst are pairs of atoms 5 to 6 sigma apart); ``test_the_lattice_is_fine_enough``.
SPACING = 0.4
#: Spacing of all nodes over that of the even ones: the length of their shortest dual vectors, sqrt(dim) / 2.
FINER = {1: 0.5, 2: math.sqrt(0.5), 3: math.sqrt(0.75)}
#: Side of a block of nodes.
SIDE = {1: 64, 2: 16, 3: 8}
#: Where a Gaussian ends, in units of sigma: the mass beyond is 8e-11 per coordinate.
REACH = 6.5
#: Entries of all vectors of a run (512 MB); a lattice with more gives way to Sobol points.
LARGEST = 1 << 26
#: Error of J that both parts of a lattice share, by dimension: cut tails, and waves along an axis, which even and odd
#: nodes sample alike (measured at most 3e-10, 5e-9 and 5e-8; ``test_two_diracs_on_the_lattice``).
SHARED = {1: 1e-9, 2: 1e-8, 3: 1e-7}
#: Error of J that is called converged.
LATTICE_TOLERANCE, SOBOL_TOLERANCE = 1e-6, 5e-3
#: Fewest and most Sobol points, as powers of 2.
SOBOL_POWERS = (11, 17)
#: Measures whose pairs decide on the number of Sobol points.
SAMPLED = 24
#: Of the scrambling of both parts.
SEEDS = (0, 1)


class Blocks(NamedTuple):
    """Vectors as numbered dense blocks, (T, width), the first part up to ``half``; measure i owns offsets[i]:[i + 1].

    ``own``: sums of p and of p ln(2p) over both parts of each block. ``entropies``: of each measure.
    ``tolerance``: error of J from which a pair has not converged; ``floor``: the error that all pairs have at least.
    """

    values: FloatArray
    ids: IndexArray
    offsets: IndexArray
    own: FloatArray
    half: int
    entropies: FloatArray
    tolerance: float = math.inf
    floor: float = 0.0


class Lattice(NamedTuple):
    """Nodes at origin + step k; ``axes`` holds the block coordinates in use, by dimension."""

    origin: FloatArray
    step: float
    sigma: float
    axes: list[IndexArray]


class Sobol(NamedTuple):
    """Nodes (d, N); their least squared distance to an atom; the logarithm of w_k exp(-rate shift)."""

    nodes: FloatArray
    shift: FloatArray
    log_weights: FloatArray
    rate: float
    floor: float


def blocks(values: FloatArray, ids: IndexArray, offsets: IndexArray, half: int) -> Blocks:
    """Return vectors with their own sums; their entropies are those of unit node weights."""
    from ..core import entropy

    own = np.empty((len(values), 2, 2))
    entropy.own_sums(values, half, own)
    total = np.add.reduceat(own[:, 0] + own[:, 1], offsets[:-1], axis=0)
    return Blocks(values, ids, offsets, own, half, total[:, 0] * math.log(2.0) - total[:, 1])


def divergence_tile(
    A: Blocks, B: Blocks, rows: IndexArray, cols: IndexArray, triangle: bool
) -> tuple[FloatArray, FloatArray]:
    """Return J of all pairs, and the differences between their parts."""
    from ..core import entropy

    out, gap = empty_tile(rows, cols), empty_tile(rows, cols)
    entropy.block_tile(
        A.values, A.ids, A.own, A.offsets, rows, B.values, B.ids, B.own, B.offsets, cols, A.half, triangle, out, gap
    )
    return out, gap


def choose(X: Measures, Y: Measures, sigma: float) -> Lattice | Sobol:
    """Return the nodes for the measures of one run."""
    points = X.points if X is Y else np.concatenate([X.points, Y.points])
    if np.spacing(np.abs(points).max()) > 1e-4 * sigma:
        raise UnsuitableDataError(
            f"`smoothing` has a length sigma of {sigma:g}, which is lost in the rounding of points as large as "
            f"{np.abs(points).max():g}; subtract a common centre from the points, or use a greater sigma."
        )
    if X.dim <= 3:
        lattice = _lattice(points, sigma)
        if _fits([X] if X is Y else [X, Y], lattice):
            return lattice
    return _sobol(X, Y, sigma)


def smooth(X: Measures, nodes: Lattice | Sobol) -> Blocks:
    """Return the vectors of the smoothed measures."""
    return _on_lattice(X, nodes) if isinstance(nodes, Lattice) else _on_sobol(X, nodes)


def nodes_per_pair(X: Measures, Y: Measures, sigma: float) -> float:
    """Return about how many nodes a pair takes, from the spread of all points."""
    if X.dim > 3:
        return float(1 << SOBOL_POWERS[1])
    step = SPACING * FINER[X.dim] * sigma
    width = np.maximum(np.ptp(X.points, axis=0), np.ptp(Y.points, axis=0)) + 2 * REACH * sigma
    apart = float(X.sizes.mean() + Y.sizes.mean()) * (2 * REACH * sigma / step) ** X.dim
    return min(float(np.prod(width / step)), apart)


# -- lattice ------------------------------------------------------------------------------------


def _lattice(points: FloatArray, sigma: float) -> Lattice:
    dim = points.shape[1]
    step = SPACING * FINER[dim] * sigma
    origin = points.min(axis=0)  # moves with the points
    homes = _homes(points, origin, step)
    around = np.arange(-_margin(dim), _margin(dim) + 1)
    axes = [np.unique(np.unique(homes[:, d])[:, None] + around) for d in range(dim)]
    return Lattice(origin, step, sigma, axes)


def _homes(points: FloatArray, origin: FloatArray, step: float) -> IndexArray:
    """Return the coordinates of the block that each point lies in."""
    return np.floor((points - origin) / (step * SIDE[points.shape[1]])).astype(np.int64)


def _margin(dim: int) -> int:
    """Return how many blocks a Gaussian reaches beyond its own."""
    return math.ceil(REACH / (SPACING * FINER[dim] * SIDE[dim]))


def _fits(collections: list[Measures], lattice: Lattice) -> bool:
    """Whether all blocks of these measures can be numbered and kept."""
    cells = math.prod(len(axis) for axis in lattice.axes)
    most = LARGEST // SIDE[len(lattice.axes)] ** len(lattice.axes)
    if cells * max(len(Z) for Z in collections) >= 2**62:
        return False
    # The blocks that hold atoms first: they are the fewer, and quickly listed.
    return all(sum(len(listed(Z, lattice)) for Z in collections) <= most for listed in (_owned, _cubes))


def _owned(X: Measures, lattice: Lattice) -> IndexArray:
    """Return owner * cells + number of each block that holds an atom, ascending and distinct."""
    shape = tuple(len(axis) for axis in lattice.axes)
    homes = _homes(X.points, lattice.origin, lattice.step)
    ranks = tuple(np.searchsorted(axis, homes[:, d]) for d, axis in enumerate(lattice.axes))
    numbers = np.ravel_multi_index(ranks, shape)
    return np.unique(ragged.owners(X.offsets) * math.prod(shape) + numbers)


def _cubes(X: Measures, lattice: Lattice) -> IndexArray:
    """Return owner * cells + number of each block near an atom of its owner, ascending and distinct.

    Neighbours on an axis are neighbours in rank there: all blocks within reach of an atom are listed.
    """
    shape = tuple(len(axis) for axis in lattice.axes)
    strides = np.array([math.prod(shape[d + 1 :]) for d in range(X.dim)])
    reach = _margin(X.dim)
    around = strides @ (np.indices((2 * reach + 1,) * X.dim).reshape(X.dim, -1) - reach)
    homes = _owned(X, lattice)
    pieces = [np.unique(homes[k : k + 4096, None] + around) for k in range(0, len(homes), 4096)]
    return np.unique(np.concatenate(pieces))


def _on_lattice(X: Measures, lattice: Lattice) -> Blocks:
    from ..core import smoothing

    shape = tuple(len(axis) for axis in lattice.axes)
    owners, ids = np.divmod(_cubes(X, lattice), math.prod(shape))
    cubes = np.stack([axis[place] for axis, place in zip(lattice.axes, np.unravel_index(ids, shape), strict=True)])
    side, dim = SIDE[X.dim], X.dim
    parity = np.indices((side,) * dim).sum(axis=0).ravel() % 2
    places = np.empty(side**dim, dtype=np.int64)
    places[np.argsort(parity, kind="stable")] = np.arange(side**dim)
    values = np.empty((len(owners), side**dim))
    points, weights, offsets = np.array(X.points), X.probabilities, np.array(X.offsets)
    corners = np.ascontiguousarray(cubes.T * float(side))
    sides = np.array([1] * (3 - dim) + [side] * dim)
    rate = 0.5 / lattice.sigma**2
    for some in batches(X.sizes[owners].astype(np.float64) * side**dim):
        smoothing.fill_blocks(
            points, weights, offsets, owners, corners, lattice.origin, lattice.step, rate, REACH * lattice.sigma,
            sides, places, some[0], values[some[0] : some[-1] + 1],
        )  # fmt: skip
    starts = ragged.offsets_of(np.bincount(owners, minlength=len(X)))
    _normalize(values, owners, starts, side**dim // 2)
    prepared = blocks(values, ids, starts, side**dim // 2)
    # w p = u with w = step^dim, so that -int p ln p = -sum u ln u + ln w.
    entropies = prepared.entropies + dim * math.log(lattice.step)
    return prepared._replace(entropies=entropies, tolerance=LATTICE_TOLERANCE, floor=SHARED[dim])


def _normalize(values: FloatArray, owners: IndexArray, starts: IndexArray, half: int) -> None:
    """Give both parts of every vector the mass 1/2, in place."""
    for part in (values[:, :half], values[:, half:]):
        part *= (0.5 / np.add.reduceat(part.sum(axis=1), starts[:-1]))[owners][:, None]


# -- Sobol points -------------------------------------------------------------------------------


def _sobol(X: Measures, Y: Measures, sigma: float) -> Sobol:
    """Return points drawn from the mean of all measures: more and more until sampled pairs agree, or memory ends."""
    n = len(X) if X is Y else len(X) + len(Y)
    largest = max(SOBOL_POWERS[0], min(SOBOL_POWERS[1], int(math.log2(LARGEST / n))))
    for power in range(SOBOL_POWERS[0], largest + 1):
        nodes = _draw(X, Y, sigma, power)
        gaps = _sampled_gaps(X, Y, nodes)
        if gaps.max() <= SOBOL_TOLERANCE / 2:
            break
    return nodes._replace(floor=float(np.sqrt(np.mean(gaps**2))))


def _draw(X: Measures, Y: Measures, sigma: float, power: int) -> Sobol:
    """Return 2^power scrambled Sobol points: one coordinate draws the atom, the others the Gaussian around it."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    from ..core import smoothing

    sides = [X] if X is Y else [X, Y]
    points = np.concatenate([Z.points for Z in sides])
    weights = np.concatenate([Z.probabilities for Z in sides])
    order = np.lexsort(points.T[::-1])  # neither the order nor the splitting of atoms matters
    cumulated = np.cumsum(weights[order])
    parts = [qmc.Sobol(X.dim + 1, seed=np.random.default_rng(seed)).random_base2(power - 1) for seed in SEEDS]
    uniform = np.clip(np.concatenate(parts), 1e-15, 1.0 - 1e-15)
    atoms = order[np.minimum(np.searchsorted(cumulated, uniform[:, 0] * cumulated[-1]), len(order) - 1)]
    nodes = np.ascontiguousarray((points[atoms] + sigma * ndtri(uniform[:, 1:])).T)
    coordinates = np.array(points.T, order="C")
    rate = 0.5 / sigma**2
    shift, mean = np.empty(len(atoms)), np.empty((1, len(atoms)))
    smoothing.nearest(nodes, coordinates, shift)
    everything = np.array([0, len(weights)])
    smoothing.mixtures(nodes, shift, coordinates, weights / cumulated[-1], everything, np.arange(1), rate, mean)
    return Sobol(nodes, shift, -np.log(mean[0] * len(atoms)), rate, 0.0)


def _sampled_gaps(X: Measures, Y: Measures, nodes: Sobol) -> FloatArray:
    """Return the differences between the parts of J, over all pairs of a sample of measures."""
    sides = [X] if X is Y else [X, Y]
    some = [_on_sobol(Z[np.unique(np.linspace(0, len(Z) - 1, SAMPLED).astype(np.int64))], nodes) for Z in sides]
    gaps = [
        divergence_tile(A, B, np.arange(len(A.values)), np.arange(len(B.values)), False)[1].ravel()
        for A, B in itertools.combinations_with_replacement(some, 2)
    ]
    return np.concatenate(gaps)


def _on_sobol(X: Measures, nodes: Sobol) -> Blocks:
    from ..core import smoothing

    n, size = len(X), nodes.nodes.shape[1]
    values = np.empty((n, size))
    coordinates, weights, offsets = np.array(X.points.T, order="C"), X.probabilities, np.array(X.offsets)
    for rows in batches((2.0 + X.dim) * X.sizes.astype(np.float64) * size):
        smoothing.mixtures(nodes.nodes, nodes.shift, coordinates, weights, offsets, rows, nodes.rate, values)
    values *= np.exp(nodes.log_weights)
    starts = np.arange(n + 1)
    _normalize(values, np.arange(n), starts, size // 2)
    prepared = blocks(values, np.zeros(n, dtype=np.int64), starts, size // 2)
    # u = w p, w = 1 / (N q): the density q of the mean is exp(-rate shift) (rate / pi)^(dim / 2) times what was summed.
    log_w = nodes.log_weights + nodes.rate * nodes.shift + 0.5 * X.dim * math.log(math.pi / nodes.rate)
    return prepared._replace(
        entropies=prepared.entropies + values @ log_w, tolerance=SOBOL_TOLERANCE, floor=nodes.floor
    )
