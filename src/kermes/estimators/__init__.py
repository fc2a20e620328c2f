"""Learners on measures that scikit-learn lacks.

``matrices`` distances and kernel values as steps of pipelines · ``features`` Wasserstein features · ``mixture``
features of semigroup mixtures · ``lssvm`` least-squares support vector machines · ``lssvm_cv`` their selection ·
``robust_gp`` Gaussian process regression · ``gp`` the same on weight vectors.
Behind them: ``_base`` reads samples and holds the kernel, ``_codes`` turns classes into binary problems and back,
``_solve`` the linear algebra, ``_default`` the kernel used when none is given, ``expected_failures`` the checks of
scikit-learn that do not pass. Imports ``kernels``, ``definiteness`` and everything below. Start reading at ``lssvm``.
"""

from __future__ import annotations

from .features import KernelFeatures
from .gp import EquivalentWassersteinGP
from .lssvm import LSSVMClassifier, LSSVMRegressor
from .lssvm_cv import LSSVMClassifierCV
from .matrices import DistanceMatrix, DistanceToKernel, KernelMatrix
from .mixture import MixtureFeatures
from .robust_gp import MeasureGPRegressor

__all__ = [
    "DistanceMatrix",
    "DistanceToKernel",
    "EquivalentWassersteinGP",
    "KernelFeatures",
    "KernelMatrix",
    "LSSVMClassifier",
    "LSSVMClassifierCV",
    "LSSVMRegressor",
    "MeasureGPRegressor",
    "MixtureFeatures",
]
