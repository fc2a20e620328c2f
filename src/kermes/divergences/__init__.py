"""Divergences between measures, one family per file.

Each is a frozen dataclass: parameters, formula, claims (metric? negative definite? by which theorem?), and the route
for the collections at hand, with ``prepare`` once per measure and ``tile`` per block of pairs. ``_base`` says what the
engine expects; ``_jensen``, ``_family``, ``_support``, ``_histograms``, ``_quantiles``, ``_features``, ``_thin``,
``_embeddings``, ``_sinkhorn_routes``, ``_wasserstein_routes`` and ``_plans`` are what families stand on, ``_catalogue``
is the table of all claims. Imports ``measures``, ``ground`` and, when they are first called (``_cores``), the cores.
Start reading at ``_base``, then ``_euclidean``.
"""

from __future__ import annotations

from .._names import public_dir
from ._base import Claims, Divergence, Route, Tile
from ._bhattacharyya import Bhattacharyya
from ._catalogue import Claimed, catalogue, claims, claims_markdown
from ._euclidean import Euclidean
from ._exponential_family import ExponentialFamily
from ._family import Family
from ._gaussian_kl import GaussianKL
from ._gaussian_wasserstein import GaussianWasserstein
from ._generalized_variance import GeneralizedVariance
from ._jensen import Functional, Jensen, JensenDifference, JensenRoute
from ._jensen_shannon import JensenShannon
from ._mmd import MMD
from ._precomputed import Precomputed
from ._sinkhorn import Sinkhorn
from ._sliced import SlicedWasserstein
from ._wasserstein import Wasserstein

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
__dir__ = public_dir(__all__)
