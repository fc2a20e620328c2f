"""kermes: distances and kernels between measures (images, histograms, point clouds, bags of features).

Start with :class:`Measures`, :func:`pairwise` and a divergence from :mod:`kermes.divergences`, or
hand a kernel from :mod:`kermes.kernels` to scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import divergences, ground
from .engine import Engine, pairwise, precompute
from .measures import Measures

if TYPE_CHECKING:
    from . import (
        clustering,
        comparison,
        datasets,
        definiteness,
        features,
        inspection,
        kernels,
        optimization,
        plot,
    )
    from ._persistence import load, save
    from .comparison import compare
    from .estimators import (
        DistanceMatrix,
        DistanceToKernel,
        EquivalentWassersteinGP,
        KernelMatrix,
        LSSVMClassifier,
        LSSVMClassifierCV,
        LSSVMRegressor,
        MapPoints,
        MeasureGPRegressor,
        NearestMeasures,
        StreamingLSSVMClassifier,
        StreamingLSSVMRegressor,
    )
    from .features import KernelFeatures, MixtureFeatures

__all__ = [
    "DistanceMatrix",
    "DistanceToKernel",
    "Engine",
    "EquivalentWassersteinGP",
    "KernelFeatures",
    "KernelMatrix",
    "LSSVMClassifier",
    "LSSVMClassifierCV",
    "LSSVMRegressor",
    "MapPoints",
    "MeasureGPRegressor",
    "Measures",
    "MixtureFeatures",
    "NearestMeasures",
    "StreamingLSSVMClassifier",
    "StreamingLSSVMRegressor",
    "clustering",
    "compare",
    "comparison",
    "datasets",
    "definiteness",
    "divergences",
    "features",
    "ground",
    "inspection",
    "kernels",
    "load",
    "optimization",
    "pairwise",
    "plot",
    "precompute",
    "save",
]

#: Loaded at first use: they bring scikit-learn's learners and files.
_LAZY = {
    "DistanceMatrix": "kermes.estimators",
    "DistanceToKernel": "kermes.estimators",
    "EquivalentWassersteinGP": "kermes.estimators",
    "KernelFeatures": "kermes.features",
    "KernelMatrix": "kermes.estimators",
    "LSSVMClassifier": "kermes.estimators",
    "LSSVMClassifierCV": "kermes.estimators",
    "LSSVMRegressor": "kermes.estimators",
    "MapPoints": "kermes.estimators",
    "MeasureGPRegressor": "kermes.estimators",
    "MixtureFeatures": "kermes.features",
    "NearestMeasures": "kermes.estimators",
    "StreamingLSSVMClassifier": "kermes.estimators",
    "StreamingLSSVMRegressor": "kermes.estimators",
    "clustering": "kermes.clustering",
    "compare": "kermes.comparison",
    "comparison": "kermes.comparison",
    "datasets": "kermes.datasets",
    "definiteness": "kermes.definiteness",
    "features": "kermes.features",
    "inspection": "kermes.inspection",
    "kernels": "kermes.kernels",
    "load": "kermes._persistence",
    "optimization": "kermes.optimization",
    "plot": "kermes.plot",
    "save": "kermes._persistence",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kermes")
    if name in _LAZY:
        module = importlib.import_module(_LAZY[name])
        return module if module.__name__ == f"kermes.{name}" else getattr(module, name)
    raise AttributeError(f"module 'kermes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
