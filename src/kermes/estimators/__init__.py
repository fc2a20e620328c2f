"""Learners on measures that scikit-learn lacks.

``map_points`` scikit-learn's transformers on points · ``matrices`` distances and kernel values as steps of pipelines ·
``features`` Wasserstein features · ``mixture`` features of semigroup mixtures · ``lssvm`` least-squares support vector
machines · ``lssvm_cv`` their selection · ``robust_gp`` Gaussian process regression · ``gp`` on weight vectors.
machines · ``lssvm_cv`` their selection · ``streaming`` the same on streams · ``neighbors`` nearest
neighbours, with bounds of ``_bounds`` · ``robust_gp`` Gaussian process regression · ``gp`` the same on weight vectors.
Behind them: ``_base`` reads samples and holds the kernel, ``_codes`` turns classes into binary problems and back,
``_solve`` the linear algebra, ``_default`` the kernel used when none is given, ``expected_failures`` the checks of
scikit-learn that do not pass. Imports ``kernels``, ``definiteness`` and everything below. Start reading at ``lssvm``.
"""

from __future__ import annotations

from .features import KernelFeatures
from .gp import EquivalentWassersteinGP
from .lssvm import LSSVMClassifier, LSSVMRegressor
from .lssvm_cv import LSSVMClassifierCV
from .map_points import MapPoints
from .matrices import DistanceMatrix, DistanceToKernel, KernelMatrix
from .mixture import MixtureFeatures
from .neighbors import NearestMeasures
from .robust_gp import MeasureGPRegressor
from .streaming import StreamingLSSVMClassifier, StreamingLSSVMRegressor

__all__ = [
    "DistanceMatrix",
    "DistanceToKernel",
    "EquivalentWassersteinGP",
    "KernelFeatures",
    "KernelMatrix",
    "LSSVMClassifier",
    "LSSVMClassifierCV",
    "LSSVMRegressor",
    "MapPoints",
    "MeasureGPRegressor",
    "MixtureFeatures",
    "NearestMeasures",
    "StreamingLSSVMClassifier",
    "StreamingLSSVMRegressor",
]
