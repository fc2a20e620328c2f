"""Kernels on measures: scikit-learn ``Kernel`` objects over the distances of the engine.

``_radial`` profiles of a distance · ``_semigroup`` functions of the mean of two measures · ``_bhattacharyya`` overlap
of Gaussians · ``_mixture`` explicit feature maps · ``_masses`` kernels that see masses · ``_anisotropic`` a length
scale for each point of the support · ``_columns`` measures beside numbers. Behind them: ``_base``, the only module here
that names scikit-learn's class.
Imports ``engine``, ``divergences`` and everything below. Start reading at ``_radial``.
"""

from __future__ import annotations

from .._names import public_dir
from ._anisotropic import AnisotropicWasserstein, inverse_squared_rho
from ._base import MeasureKernel
from ._bhattacharyya import Bhattacharyya
from ._columns import Columns
from ._masses import MassLaplace, MassWeighted
from ._mixture import Bumps, SemigroupMixture
from ._radial import Exponential, Matern
from ._semigroup import IGV, Entropy, Semigroup

__all__ = [
    "IGV",
    "AnisotropicWasserstein",
    "Bhattacharyya",
    "Bumps",
    "Columns",
    "Entropy",
    "Exponential",
    "MassLaplace",
    "MassWeighted",
    "Matern",
    "MeasureKernel",
    "Semigroup",
    "SemigroupMixture",
    "inverse_squared_rho",
]
__dir__ = public_dir(__all__)
