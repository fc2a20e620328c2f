"""Kernels on measures: scikit-learn ``Kernel`` objects over the distances of the engine.

``_base`` is the only module that names scikit-learn's class. Imports ``engine``, ``divergences``, ``core``.
"""

from __future__ import annotations

from ._base import MeasureKernel
from ._equivalence import inverse_squared_rho
from .anisotropic import AnisotropicWasserstein
from .bhattacharyya import Bhattacharyya
from .bumps import Bumps
from .entropy import Entropy
from .exponential import Exponential
from .mass_weighted import MassWeighted
from .mixture import SemigroupMixture
from .semigroup import IGV, Semigroup

__all__ = [
    "IGV",
    "AnisotropicWasserstein",
    "Bhattacharyya",
    "Bumps",
    "Entropy",
    "Exponential",
    "MassWeighted",
    "MeasureKernel",
    "Semigroup",
    "SemigroupMixture",
    "inverse_squared_rho",
]
