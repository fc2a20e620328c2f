"""Learners on measures that scikit-learn lacks.

``features`` Wasserstein features · ``mixture`` features of semigroup mixtures · ``lssvm`` least-squares support vector
machines · ``lssvm_cv`` their selection · ``streaming`` the same on streams · ``neighbors`` nearest
neighbours, with bounds of ``_bounds`` · ``robust_gp`` Gaussian process regression · ``gp`` the same on weight vectors.
Behind them: ``_base`` reads samples and holds the kernel, ``_codes`` turns classes into binary problems and back,
``_solve`` the linear algebra, ``_default`` the kernel used when none is given. Imports ``kernels``, ``definiteness``
and everything below. Start reading at ``lssvm``.
"""

from __future__ import annotations

from .features import KernelFeatures
from .gp import EquivalentWassersteinGP
from .lssvm import LSSVMClassifier, LSSVMRegressor
from .lssvm_cv import LSSVMClassifierCV
from .mixture import MixtureFeatures
from .neighbors import NearestMeasures
from .robust_gp import MeasureGPRegressor
from .streaming import StreamingLSSVMClassifier, StreamingLSSVMRegressor

__all__ = [
    "EquivalentWassersteinGP",
    "KernelFeatures",
    "LSSVMClassifier",
    "LSSVMClassifierCV",
    "LSSVMRegressor",
    "MeasureGPRegressor",
    "MixtureFeatures",
    "NearestMeasures",
    "StreamingLSSVMClassifier",
    "StreamingLSSVMRegressor",
]
