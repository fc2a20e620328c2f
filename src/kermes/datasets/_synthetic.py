"""Simulated measures: collections whose distances are known in closed form, and cytometry of two groups of donors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._checks import integer, real
from .._typing import AnyArray, FloatArray
from ..core import ragged
from ..measures import Measures, as_measures
from ..measures._build import pack


class Synthetic(NamedTuple):
    """Measures and the exact distances between them."""

    measures: Measures
    distances: FloatArray


def make_diracs(n: int = 20, dim: int = 2, seed: int = 0) -> Synthetic:
    """Return n Dirac masses at Gaussian points; W_p is the Euclidean distance, for every p."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(integer(n, "n", low=1), integer(dim, "dim", low=1)))
    return Synthetic(as_measures(points), _euclidean(points))


def make_translates(n: int = 20, dim: int = 2, n_atoms: int = 30, seed: int = 0) -> Synthetic:
    """Return one weighted Gaussian cloud moved by n vectors t_i; ``W_p = |t_i - t_j|`` for every p."""
    rng = np.random.default_rng(seed)
    moves = rng.normal(size=(integer(n, "n", low=1), integer(dim, "dim", low=1)))
    cloud = rng.normal(size=(integer(n_atoms, "n_atoms", low=1), dim))
    weights = rng.dirichlet(np.ones(n_atoms))
    return Synthetic(Measures.from_samples([cloud + move for move in moves], [weights] * n), _euclidean(moves))


def make_location_scale(n: int = 20, n_atoms: int = 50, seed: int = 0) -> Synthetic:
    """Return m_i + s_i z on the line, z standardised; ``W_2^2 = (m_i - m_j)^2 + (s_i - s_j)^2``.

    An increasing map of the line is the optimal one, so z is matched with itself.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=integer(n_atoms, "n_atoms", low=2))
    z = (z - z.mean()) / z.std()
    location = rng.normal(size=integer(n, "n", low=1))
    scale = rng.uniform(0.5, 2.0, size=n)
    samples = [m + s * rng.permutation(z) for m, s in zip(location, scale, strict=True)]
    return Synthetic(Measures.from_samples(samples), _euclidean(np.column_stack([location, scale])))


def _euclidean(points: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Cells of donors.

    Parameters
    ----------
    measures : Measures
        One for each donor; its cells are the atoms.
    target : ndarray of shape (n,)
        Group of each donor, 0 or 1.
    batch : ndarray of shape (n,)
        Day of measurement, which moves all cells of its donors.
    markers : tuple of str
        Names of the coordinates.
    """

    measures: Measures
    target: AnyArray
    batch: AnyArray
    markers: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Study({len(self.target)} donors, {int(self.measures.sizes.sum()):,} cells, {len(self.markers)} markers)"
        )


def make_study(
    n_donors: int = 20,
    n_cells: tuple[int, int] = (200, 1000),
    n_markers: int = 8,
    n_populations: int = 6,
    shift: float = 1.0,
    batch_effect: float = 0.2,
    n_batches: int = 2,
    seed: int = 0,
) -> Study:
    """Return a study of two groups of donors, on the scale of arcsinh.

    Cells come from Gaussian populations in shares that each donor draws (Dirichlet). In the donors of group 1 the
    rarest population lies ``shift`` further along the first marker: means over all cells hardly show it.

    Parameters
    ----------
    n_donors, n_markers, n_populations, n_batches : int
    n_cells : pair of int
        Least and most cells of a donor.
    shift : float
        Of one population in group 1; 0 for two equal groups.
    batch_effect : float
        Standard deviation of the move of all cells of a batch. Batches hold both groups.
    seed : int

    Examples
    --------
    >>> from kermes import datasets
    >>> datasets.make_study(n_donors=4, n_cells=(50, 50))
    Study(4 donors, 200 cells, 8 markers)
    """
    donors, markers = integer(n_donors, "n_donors", low=2), integer(n_markers, "n_markers", low=1)
    populations = integer(n_populations, "n_populations", low=1)
    low, high = (integer(value, "n_cells", low=1) for value in n_cells)
    rng = np.random.default_rng(integer(seed, "seed", low=0))
    target = np.arange(donors) % 2
    batch = np.arange(donors) // 2 % integer(n_batches, "n_batches", low=1)
    centres = rng.uniform(0, 5, size=(populations, markers))
    widths = rng.uniform(0.3, 0.8, size=(populations, markers))
    moves = real(batch_effect, "batch_effect", low=0) * rng.normal(size=(batch.max() + 1, markers))
    shares = 20 * np.arange(populations, 0, -1) / populations  # the last population is the rarest
    sizes = rng.integers(low, max(low, high) + 1, donors)
    offsets = ragged.offsets_of(sizes)
    points = np.empty((int(offsets[-1]), markers))
    for i in range(donors):
        kind = rng.choice(populations, sizes[i], p=rng.dirichlet(shares))
        cells = points[offsets[i] : offsets[i + 1]]
        rng.standard_normal(out=cells)
        cells *= widths[kind]
        cells += centres[kind] + moves[batch[i]]
        cells[kind == populations - 1, 0] += shift * target[i]
    keys = np.array([f"donor{i}" for i in range(donors)])
    packed = pack(points, np.ones(len(points)), offsets, keys=keys, copy=False)
    return Study(Measures(packed), target, batch, tuple(f"marker{j}" for j in range(markers)))
