"""Seeded collections whose distances are known in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._checks import integer
from .._typing import FloatArray
from ..measures import Measures, as_measures


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
