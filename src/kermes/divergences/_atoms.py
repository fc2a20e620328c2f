"""Atoms in the feature space of a point kernel, prepared for the cores: centred, or with their Cholesky factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..ground import Gaussian, Laplacian, PointKernel
from ..measures import Measures
from ._base import Route, batches, core_atoms, core_ground
from ._support import LARGEST_TABLE, CommonSupport, atom_ids, common_support, sparse_rows

if TYPE_CHECKING:
    from ..core.centred_atoms import CentredAtoms
    from ..core.generalized_variance import Factors
    from ..core.points import Atoms, CoreGround

#: Bytes of the factors kept for all measures; beyond that each is computed again where it is needed.
FACTOR_BYTES = 1 << 28
#: Largest k(x, x) in units of the ridge: rounding of kernel values then changes d^2 by less than 1e-3 of itself.
DETERMINED = 2e12


class KernelTable(NamedTuple):
    """Values of a point kernel between the points of a common support that are ``used``, sorted."""

    common: CommonSupport
    used: IndexArray
    values: FloatArray

    @property
    def points(self) -> FloatArray:
        """The points between which there are values."""
        return self.common.points[self.used]


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
        from ..core.points import Atoms

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
        return Atoms(np.zeros((0, len(ids))), rows.weights, rows.offsets, ids)

    def within(self, atoms: Atoms | CentredAtoms, start: int, stop: int) -> FloatArray:
        """Return the kernel values between the atoms ``start`` to ``stop``."""
        if self.table is not None:
            ids = atoms.ids[start:stop]
            return self.table.values[np.ix_(ids, ids)]
        return self.ground(atoms.coordinates[:, start:stop].T)

    def diagonal(self, atoms: Atoms | CentredAtoms) -> FloatArray:
        if self.table is not None:
            return np.asarray(self.table.values.diagonal()[atoms.ids])
        return self.ground.diagonal(atoms.coordinates.T)


def centred_atoms(source: KernelSource, X: Measures) -> CentredAtoms:
    """Return the atoms with the squared norm of the mean and the trace of the covariance of each measure."""
    from ..core.centred_atoms import CentredAtoms

    atoms = source.atoms(X)
    norms = np.empty(len(X))
    for i, (start, stop) in enumerate(zip(atoms.offsets[:-1], atoms.offsets[1:], strict=True)):
        w = atoms.weights[start:stop]
        norms[i] = w @ source.within(atoms, start, stop) @ w
    traces = np.add.reduceat(atoms.weights * source.diagonal(atoms), atoms.offsets[:-1]) - norms
    return CentredAtoms(*atoms, norms, np.maximum(traces, 0.0))


def undetermined(source: KernelSource, atoms: Atoms | CentredAtoms, ridge: float) -> AnyArray:
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
        from ..core import generalized_variance as core
        from ..core.points import padded_size

        atoms = self.source.atoms(X)
        sides = padded_size(np.diff(atoms.offsets))
        areas = sides**2
        kept = bool(16 * areas.sum() <= self.factor_bytes)
        places = np.stack([ragged.offsets_of(sides)[:-1], ragged.offsets_of(areas)[:-1]], axis=1)
        length, area = (int(sides.sum()), int(areas.sum())) if kept else (0, 0)
        factors = core.Factors(
            self.ridge, atoms.coordinates, atoms.ids, np.sqrt(atoms.weights / self.ridge), atoms.offsets, kept, places,
            np.empty(area), np.zeros(area), np.empty(length), np.empty(length), np.empty((len(X), 2)), np.empty(len(X)),
        )  # fmt: skip
        factors.scales[np.repeat(undetermined(self.source, atoms, self.ridge), np.diff(atoms.offsets))] = np.nan
        for rows in batches(2 / 3 * sides.astype(np.float64) ** 3):
            core.prepare(self.source.core, factors, rows)
        return factors

    def rounding(self, A: Factors, B: Factors, rows: IndexArray, cols: IndexArray) -> float:
        """What rounding of kernel values (1, if they are bounded) leaves in units of the ridge."""
        largest = 1.0 / self.ridge if isinstance(self.source.ground, (Gaussian, Laplacian)) else DETERMINED
        return 1e-8 + 2e-15 * min(largest, DETERMINED)
