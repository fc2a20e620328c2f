"""kermes: distances and kernels between measures (images, histograms, point clouds, bags of features).

Start with :class:`Measures`, :func:`pairwise` and a divergence from :mod:`kermes.divergences`, or
hand a kernel from :mod:`kermes.kernels` to scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import divergences, ground
from ._names import public_dir
from .engine import Engine, pairwise, precompute
from .measures import Measures

if TYPE_CHECKING:
    from . import (
        clustering,
        comparison,
        datasets,
        definiteness,
        estimators,
        features,
        files,
        inference,
        inspection,
        kernels,
        optimization,
        plot,
    )
    from ._persistence import load, save
    from .comparison import compare
    from .estimators import (
        ConformalClassifier,
        ConformalRegressor,
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
    "ConformalClassifier",
    "ConformalRegressor",
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
    "estimators",
    "features",
    "files",
    "ground",
    "inference",
    "inspection",
    "kernels",
    "load",
    "optimization",
    "pairwise",
    "plot",
    "precompute",
    "save",
]
__dir__ = public_dir(__all__)

#: Names that are loaded at first use: other capitalised ones are estimators, the rest are packages.
_HOMES = {
    "KernelFeatures": "features",
    "MixtureFeatures": "features",
    "compare": "comparison",
    "load": "_persistence",
    "save": "_persistence",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kermes")
    if name in __all__:
        home = _HOMES.get(name, "estimators" if name[0].isupper() else name)
        module = importlib.import_module(f"kermes.{home}")
        return module if home == name else getattr(module, name)
    raise AttributeError(f"module 'kermes' has no attribute {name!r}")
