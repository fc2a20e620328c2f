"""kermes: distances and kernels between measures (images, histograms, point clouds, bags of features).

Start with :class:`Measures`, :func:`pairwise` and a divergence from :mod:`kermes.divergences`, or
hand a kernel from :mod:`kermes.kernels` to scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import divergences, ground
from .engine import Engine, pairwise
from .measures import Measures

if TYPE_CHECKING:
    from . import clustering, datasets, definiteness, diagnostics, embeddings, equivalence, kernels, plot
    from .estimators import (
        EquivalentWassersteinGP,
        KernelFeatures,
        LSSVMClassifier,
        LSSVMClassifierCV,
        LSSVMRegressor,
        MeasureGPRegressor,
        MixtureFeatures,
        NearestMeasures,
        StreamingLSSVMClassifier,
        StreamingLSSVMRegressor,
    )

__all__ = [
    "Engine",
    "EquivalentWassersteinGP",
    "KernelFeatures",
    "LSSVMClassifier",
    "LSSVMClassifierCV",
    "LSSVMRegressor",
    "MeasureGPRegressor",
    "Measures",
    "MixtureFeatures",
    "NearestMeasures",
    "StreamingLSSVMClassifier",
    "StreamingLSSVMRegressor",
    "clustering",
    "datasets",
    "definiteness",
    "diagnostics",
    "divergences",
    "embeddings",
    "equivalence",
    "ground",
    "kernels",
    "pairwise",
    "plot",
]

#: Loaded at first use: they bring scikit-learn's learners and files.
_LAZY = {
    "EquivalentWassersteinGP": "kermes.estimators",
    "KernelFeatures": "kermes.estimators",
    "LSSVMClassifier": "kermes.estimators",
    "LSSVMClassifierCV": "kermes.estimators",
    "LSSVMRegressor": "kermes.estimators",
    "MeasureGPRegressor": "kermes.estimators",
    "MixtureFeatures": "kermes.estimators",
    "NearestMeasures": "kermes.estimators",
    "StreamingLSSVMClassifier": "kermes.estimators",
    "StreamingLSSVMRegressor": "kermes.estimators",
    "clustering": "kermes.clustering",
    "datasets": "kermes.datasets",
    "definiteness": "kermes.definiteness",
    "diagnostics": "kermes.diagnostics",
    "embeddings": "kermes.embeddings",
    "equivalence": "kermes.equivalence",
    "kernels": "kermes.kernels",
    "plot": "kermes.plot",
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
