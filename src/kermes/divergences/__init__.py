"""Divergences between measures, one family per file.

Each is a frozen dataclass: parameters, formula, claims (metric? negative definite? by which theorem?),
``prepare`` once per measure and ``tile`` per block of pairs. ``_base`` says what the engine expects.
Imports ``measures``, ``ground`` and, at call time, ``core``.
"""

from __future__ import annotations

from ._base import Claims, Divergence, Route, Tile
from ._catalogue import Claimed, catalogue, claims, claims_markdown
from .bhattacharyya import Bhattacharyya
from .euclidean import Euclidean
from .exponential_family import ExponentialFamily
from .family import Family
from .gaussian_kl import GaussianKL
from .gaussian_wasserstein import GaussianWasserstein
from .generalized_variance import GeneralizedVariance
from .jensen import Functional, Jensen, JensenDifference, JensenRoute
from .jensen_shannon import JensenShannon
from .mmd import MMD
from .precomputed import Precomputed
from .sinkhorn import Sinkhorn
from .sliced import SlicedWasserstein
from .wasserstein import Wasserstein

__all__ = [
    "MMD",
    "Bhattacharyya",
    "Claimed",
    "Claims",
    "Divergence",
    "Euclidean",
    "ExponentialFamily",
    "Family",
    "Functional",
    "GaussianKL",
    "GaussianWasserstein",
    "GeneralizedVariance",
    "Jensen",
    "JensenDifference",
    "JensenRoute",
    "JensenShannon",
    "Precomputed",
    "Route",
    "Sinkhorn",
    "SlicedWasserstein",
    "Tile",
    "Wasserstein",
    "catalogue",
    "claims",
    "claims_markdown",
]
