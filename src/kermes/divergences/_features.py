"""Point kernels in feature space: explicit features, moments of measures in them, and kernel values between atoms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from math import comb, factorial, prod
from typing import NamedTuple, TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..ground import Gaussian, Laplacian, Linear, PointKernel, Polynomial
from ..measures import Measures
from ._base import Atoms, CoreGround, Route, batches, core_atoms, core_ground, pooled_points
from ._cores import core
from ._support import LARGEST_TABLE, CommonSupport, atom_ids, common_support, sparse_rows

#: Structs of the cores.
Factors: TypeAlias = "core.generalized_variance.Factors"
KernelAtoms: TypeAlias = "Atoms | core.centred_atoms.CentredAtoms"
#: Bytes of the factors kept for all measures; beyond that each is computed again where it is needed.
FACTOR_BYTES = 1 << 28
#: Largest k(x, x) in units of the ridge: rounding of kernel values then changes d^2 by less than 1e-3 of itself.
DETERMINED = 2e12
#: Monomials of a polynomial up to which they are taken, however few the atoms are: kernel values lose the digits of
#: measures that are near each other, or far from the origin.
MOST_MONOMIALS = 1024
#: Points among which pivots are looked for; the others are checked afterwards.
POOL = 4096
ROUNDS = 5
#: Points per feature among which it is found out cheaply that there are too few features.
PROBE = 4
#: Residuals of the pivoted Cholesky below this fraction of the diagonal are rounding.
ROUNDING = 1e-14
#: Bytes that the prepared measures may take in explicit features.
PREPARED_BYTES = 1 << 29


@dataclass(frozen=True)
class Coordinates:
    """The features of the linear ground: the coordinates themselves."""

    rank: int
    rounding: float = 0.0

    def __call__(self, points: FloatArray) -> FloatArray:
        return points


@dataclass(frozen=True, eq=False)
class Monomials:
    """The features of a polynomial ground, exact: monomials x^a times the roots of their coefficients in the kernel.

    A feature has the relative accuracy of its own value, while a kernel value, the sum of their products, has that of
    its largest term.
    """

    exponents: IndexArray
    scales: FloatArray
    rounding: float = 4e-16

    @classmethod
    def of(cls, ground: Polynomial, dim: int) -> Monomials:
        """Expand (gamma <x, y> + coef0)^degree by the multinomial theorem."""
        picks = combinations_with_replacement(range(dim + 1), ground.degree)
        counts = np.array([np.bincount(pick, minlength=dim + 1) for pick in picks])  # the last is of coef0
        counts = counts if ground.coef0 > 0 else counts[counts[:, -1] == 0]
        ways = [factorial(ground.degree) // prod(map(factorial, row)) for row in counts.tolist()]
        coefficients = ways * ground.coef0 ** counts[:, -1] * ground.gamma ** counts[:, :-1].sum(axis=1)
        return cls(counts[:, :-1], np.sqrt(coefficients))

    @property
    def rank(self) -> int:
        return len(self.scales)

    def __call__(self, points: FloatArray) -> FloatArray:
        values = np.tile(self.scales, (len(points), 1))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found by the callers
            for axis, exponents in enumerate(self.exponents.T):
                powers = points[:, [axis]] ** np.arange(exponents.max() + 1)
                values *= powers[:, exponents]
        return values


def exact_features(ground: PointKernel, dim: int, largest: float) -> Coordinates | Monomials | None:
    """Return features without an error of their own, if the ground has at most ``largest``."""
    if isinstance(ground, Linear):
        return Coordinates(dim) if dim <= largest else None
    if isinstance(ground, Polynomial) and comb(dim + ground.degree, ground.degree) <= largest:
        return Monomials.of(ground, dim)
    return None


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Features F(x) = L^-1 k(pivots, x), so that F(x) . F(y) is close to k(x, y): k(pivots, pivots) = L L'."""

    ground: PointKernel
    pivots: FloatArray
    factor: FloatArray
    rounding: float = 0.0

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def __call__(self, points: FloatArray) -> FloatArray:
        from scipy.linalg import solve_triangular

        values = self.ground(self.pivots, points)
        return np.asarray(solve_triangular(self.factor, values, lower=True, check_finite=False, overwrite_b=True).T)

    def unlocked(self, points: FloatArray) -> FloatArray:
        """Return the same without the interpreter lock, which SciPy keeps: for many parts in several threads."""
        values = self.ground(self.pivots, points)
        core.cholesky.solve_lower(self.factor, values)
        return values.T

    def rest(self, points: FloatArray) -> FloatArray:
        """Return k(x, x) - |F(x)|^2 for each point, which bounds every error of k by Cauchy and Schwarz."""
        parts = np.array_split(points, -(-len(points) // POOL))
        return np.concatenate([self.ground.diagonal(part) - (self(part) ** 2).sum(axis=1) for part in parts])


#: Maps of points (n, d) to explicit features (n, rank), with a relative error of ``rounding`` each.
Features: TypeAlias = Coordinates | Monomials | FeatureMap


def feature_map(
    ground: PointKernel, points: FloatArray, tolerance: float, largest: int, pool_size: int = POOL
) -> FeatureMap | None:
    """Return at most ``largest`` features whose error stays below ``tolerance`` on all points, or None."""
    if largest < 1 or tolerance < ROUNDING * ground.diagonal(points).max():
        return None
    pool = points
    if len(points) > pool_size:
        pool = points[np.random.default_rng(0).choice(len(points), pool_size, replace=False)]
    step = len(pool) // (PROBE * largest)
    if step > 1 and pivoted_cholesky(ground, pool[::step], 0.5 * tolerance, largest) is None:
        return None  # too few for some of the points, so for all
    for _ in range(ROUNDS):
        features = pivoted_cholesky(ground, pool, 0.5 * tolerance, largest)
        if features is None:
            return None
        missed = points[features.rest(points) > tolerance] if pool is not points else points[:0]
        if not len(missed):
            return features
        pool = np.concatenate([features.pivots, missed[:pool_size]])
    return None


def pivoted_cholesky(
    ground: PointKernel, points: FloatArray, tolerance: float, largest: int, give_up: bool = False
) -> FeatureMap | None:
    """Take as pivot the point that is approximated worst, until none is off by more than ``tolerance``.

    With ``give_up``, end early where it looks hopeless; not for repeated points, of which a few may suffice all of a
    sudden.
    """
    points = np.asfortranarray(points)  # cores take coordinates in turn: a copy for all pivots
    rows = np.empty((min(largest, len(points)), len(points)))
    pivots: list[int] = []
    rest = ground.diagonal(points)
    # log rest falls ever more slowly: after an eighth of the pivots an eighth of the way must be behind.
    probe = largest // 8 if give_up and len(points) > largest else -1
    hopeless = rest.max() * (tolerance / rest.max()) ** 0.125
    while (worst := int(np.argmax(rest))) >= 0 and rest[worst] > tolerance:
        k = len(pivots)
        if k == len(rows) or (k == probe and rest[worst] > hopeless):
            return None
        value = ground(points[[worst]], points)[0] - rows[:k, worst] @ rows[:k]
        rows[k] = value / np.sqrt(rest[worst])
        rest = np.maximum(rest - rows[k] ** 2, 0.0)
        rest[worst] = 0.0
        pivots.append(worst)
    return FeatureMap(ground, points[pivots], np.ascontiguousarray(rows[: len(pivots), pivots].T))


def explicit_features(
    ground: PointKernel, X: Measures, Y: Measures, tolerance: float, largest: float, entries: Callable[[int], float]
) -> Features | None:
    """Return features of a rank of at most ``largest``, if ``entries(rank)`` numbers per run fit the memory."""
    exact = exact_features(ground, X.dim, largest)
    if exact is not None and 8 * entries(exact.rank) <= PREPARED_BYTES:
        return exact
    if isinstance(ground, Linear):
        return None
    while largest >= 1 and 8 * entries(int(largest)) > PREPARED_BYTES:
        largest *= 0.9
    return feature_map(ground, pooled_points(X, Y), tolerance, int(largest))


class Centred(NamedTuple):
    """Features of measures: their means, ``means + tails`` (n, r), and factors F (n_i, r) of their covariances F'F.

    ``tails`` are what does not fit into double precision means, so that the difference of two means is exact up to
    rounding of the difference, wherever the measures are. Factors are the rows offsets[i]:offsets[i + 1] of ``packed``.
    ``rounding`` (n,) bounds the error of the features.
    """

    means: FloatArray
    tails: FloatArray
    packed: FloatArray
    offsets: IndexArray
    rounding: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray, offsets: IndexArray, error: float) -> Centred:
        """Centre the features of each measure about those of its heaviest atom, then about their mean.

        Nothing cancels: differences are rounded by 1e-16 of themselves, and large ones have little weight. About a
        light atom far away all of them would be rounded by that distance.
        """
        starts, sizes = offsets[:-1], np.diff(offsets)
        rounding = error * np.maximum.reduceat(np.abs(values).max(axis=1), starts) if error else np.zeros(len(starts))
        anchors = values[[start + weights[start:stop].argmax() for start, stop in pairwise(offsets.tolist())]]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found by the callers
            values = values - np.repeat(anchors, sizes, axis=0)
            own = (slice(start, stop) for start, stop in pairwise(offsets.tolist()))
            shifts = np.array([weights[part] @ values[part] for part in own])
            means = anchors + shifts
            parts = means - anchors
            tails = (anchors - (means - parts)) + (shifts - parts)  # of the sum, exactly (Knuth's TwoSum)
            values -= np.repeat(shifts, sizes, axis=0)
            return cls(means, tails, values * np.sqrt(weights[:, None]), offsets, rounding)

    @property
    def factors(self) -> list[FloatArray]:
        """The factor of each measure."""
        return [self.packed[start:stop] for start, stop in pairwise(self.offsets.tolist())]


def centred_features(X: Measures, features: Features) -> Iterator[tuple[slice, Centred]]:
    """Yield batches of measures, and their features: some thousand atoms at a time."""
    weights = X.probabilities
    for rows in batches(X.sizes.astype(np.float64), POOL):
        yield slice(rows[0], rows[-1] + 1), centred_part(X, weights, rows, features)


def centred_part(X: Measures, weights: FloatArray, rows: IndexArray, features: Features) -> Centred:
    """Return the features of consecutive measures, of the probabilities ``weights`` of all atoms."""
    start, stop = X.offsets[rows[0]], X.offsets[rows[-1] + 1]
    offsets = X.offsets[rows[0] : rows[-1] + 2] - start
    return Centred.of(features(X.points[start:stop]), weights[start:stop], offsets, features.rounding)


def moments(centred: Iterable[tuple[slice, Centred]], n: int, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means (n, rank), their tails, and covariances (n, rank, rank) of the features of n measures."""
    means, tails, covariances = np.empty((n, rank)), np.empty((n, rank)), np.empty((n, rank, rank))
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found by the callers
        for rows, part in centred:
            means[rows], tails[rows] = part.means, part.tails
            for factor, covariance in zip(part.factors, covariances[rows], strict=True):
                np.matmul(factor.T, factor, out=covariance)
    return means, tails, covariances


class KernelTable(NamedTuple):
    """Values of a point kernel between the points of a common support that are ``used``, sorted."""

    common: CommonSupport
    used: IndexArray
    values: FloatArray


def kernel_table(ground: PointKernel, X: Measures, Y: Measures) -> KernelTable | None:
    """Return the kernel values between all atoms of X and Y, or None if there are too many."""
    common = common_support(X, Y)
    used = np.arange(len(common.points))
    if common.given:
        used = np.union1d(atom_ids(X, *common), atom_ids(Y, *common))
    return KernelTable(common, used, ground.table(common.points[used])) if len(used) <= LARGEST_TABLE else None


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Where kernel values come from: a table, or a compiled point kernel of the points less a ``centre``.

    Only the linear ground has a centre: distances do not change.
    """

    ground: PointKernel
    table: KernelTable | None = None
    centre: FloatArray | None = None

    @classmethod
    def of(cls, ground: PointKernel, X: Measures, Y: Measures, centre: FloatArray | None = None) -> KernelSource:
        """Compute values as they are needed; tabulate those of a point kernel that is not compiled."""
        return cls(ground, None if ground.code is not None else kernel_table(ground, X, Y), centre)

    @property
    def core(self) -> CoreGround:
        """The ground as cores take it."""
        return core_ground(self.ground, None if self.table is None else self.table.values)

    def atoms(self, X: Measures) -> Atoms:
        """Return the atoms of X as cores take them; those of one number are added up."""
        if self.table is None and self.ground.code is None:
            raise UnsuitableDataError(
                f"{self.ground!r} is not compiled: its values are tabulated, for at most {LARGEST_TABLE} distinct "
                "points, and these measures have more. Take fewer points, or a point kernel of kermes.ground."
            )
        if self.table is None:
            atoms, centre = core_atoms(X), self.centre
            return atoms if centre is None else atoms._replace(coordinates=atoms.coordinates - centre[:, None])
        rows = sparse_rows(X, *self.table.common)
        ids = np.searchsorted(self.table.used, rows.ids)
        return core.points.Atoms(np.zeros((0, len(ids))), rows.weights, rows.offsets, ids)

    def within(self, atoms: KernelAtoms, start: int, stop: int) -> FloatArray:
        """Return the kernel values between the atoms ``start`` to ``stop``."""
        if self.table is not None:
            ids = atoms.ids[start:stop]
            return self.table.values[np.ix_(ids, ids)]
        return self.ground(atoms.coordinates[:, start:stop].T)

    def diagonal(self, atoms: KernelAtoms) -> FloatArray:
        if self.table is not None:
            return np.asarray(self.table.values.diagonal()[atoms.ids])
        return self.ground.diagonal(atoms.coordinates.T)


def centred_atoms(source: KernelSource, X: Measures) -> core.centred_atoms.CentredAtoms:
    """Return the atoms with the squared norm of the mean and the trace of the covariance of each measure."""
    atoms = source.atoms(X)
    norms = np.empty(len(X))
    for i, (start, stop) in enumerate(zip(atoms.offsets[:-1], atoms.offsets[1:], strict=True)):
        w = atoms.weights[start:stop]
        norms[i] = w @ source.within(atoms, start, stop) @ w
    traces = np.add.reduceat(atoms.weights * source.diagonal(atoms), atoms.offsets[:-1]) - norms
    return core.centred_atoms.CentredAtoms(*atoms, norms, np.maximum(traces, 0.0))


def undetermined(source: KernelSource, atoms: KernelAtoms, ridge: float) -> AnyArray:
    """Return for each measure whether its kernel values dwarf the ridge so much that rounding decides."""
    largest = np.maximum.reduceat(source.diagonal(atoms), atoms.offsets[:-1])
    return np.asarray(~(largest <= DETERMINED * ridge))


@dataclass(frozen=True, eq=False)
class FactorsRoute(Route):
    """Base of routes by kernel values between all atoms: a pair extends the factor of its first measure."""

    source: KernelSource
    ridge: float
    factor_bytes: float = FACTOR_BYTES

    def prepare(self, X: Measures) -> Factors:
        """Return the Cholesky factors of the regularised kernel matrices of measures; all are kept if they fit.

        What is undetermined is nan, so that the engine refuses it.
        """
        atoms = self.source.atoms(X)
        sides = core.points.padded_size(np.diff(atoms.offsets))
        areas = sides**2
        kept = bool(16 * areas.sum() <= self.factor_bytes)
        places = np.stack([ragged.offsets_of(sides)[:-1], ragged.offsets_of(areas)[:-1]], axis=1)
        length, area = (int(sides.sum()), int(areas.sum())) if kept else (0, 0)
        factors = core.generalized_variance.Factors(
            self.ridge, atoms.coordinates, atoms.ids, np.sqrt(atoms.weights / self.ridge), atoms.offsets, kept, places,
            np.empty(area), np.zeros(area), np.empty(length), np.empty(length), np.empty((len(X), 2)), np.empty(len(X)),
        )  # fmt: skip
        factors.scales[np.repeat(undetermined(self.source, atoms, self.ridge), np.diff(atoms.offsets))] = np.nan
        for rows in batches(2 / 3 * sides.astype(np.float64) ** 3):
            core.generalized_variance.prepare(self.source.core, factors, rows)
        return factors

    def rounding(self, A: Factors, B: Factors, rows: IndexArray, cols: IndexArray) -> float:
        """What rounding of kernel values (1, if they are bounded) leaves in units of the ridge."""
        largest = 1.0 / self.ridge if isinstance(self.source.ground, (Gaussian, Laplacian)) else DETERMINED
        return 1e-8 + 2e-15 * min(largest, DETERMINED)
