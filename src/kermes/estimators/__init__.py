"""Learners on measures that scikit-learn lacks.

``_map_points`` scikit-learn's transformers on points · ``_matrices`` distances and kernel values as pipeline steps ·
``_lssvm`` least-squares support vector machines · ``_lssvm_cv`` their selection · ``_streaming`` the same on streams ·
``_neighbors`` nearest neighbours · ``_measure_gp`` Gaussian process regression ·
``_equivalent_gp`` the same on weight vectors · ``_conformal`` intervals and sets of stated coverage. Behind them:
``_multiclass`` turns classes into binary problems and outputs into classes and probabilities, ``_solve`` the linear
algebra, ``_expected_failures`` the checks of scikit-learn that do not pass. Imports ``features``, ``definiteness`` and
everything below. Start reading at ``_lssvm``.
"""

from __future__ import annotations

from .._names import public_dir
from ._conformal import ConformalClassifier, ConformalRegressor
from ._equivalent_gp import EquivalentWassersteinGP
from ._expected_failures import expected_failed_checks
from ._lssvm import LSSVMClassifier, LSSVMRegressor
from ._lssvm_cv import LSSVMClassifierCV
from ._map_points import MapPoints
from ._matrices import DistanceMatrix, DistanceToKernel, KernelMatrix
from ._measure_gp import MeasureGPRegressor, careful_l_bfgs
from ._neighbors import NearestMeasures, Search
from ._streaming import StreamingLSSVMClassifier, StreamingLSSVMRegressor

__all__ = [
    "ConformalClassifier",
    "ConformalRegressor",
    "DistanceMatrix",
    "DistanceToKernel",
    "EquivalentWassersteinGP",
    "KernelMatrix",
    "LSSVMClassifier",
    "LSSVMClassifierCV",
    "LSSVMRegressor",
    "MapPoints",
    "MeasureGPRegressor",
    "NearestMeasures",
    "Search",
    "StreamingLSSVMClassifier",
    "StreamingLSSVMRegressor",
    "careful_l_bfgs",
    "expected_failed_checks",
]
__dir__ = public_dir(__all__)
