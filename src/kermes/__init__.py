"""kermes: distances and kernels between measures (images, histograms, point clouds, bags of features).

Start with :class:`Measures`, :func:`pairwise` and a divergence from :mod:`kermes.divergences`, or
hand a kernel from :mod:`kermes.kernels` to scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._names import public_dir

if TYPE_CHECKING:
    from . import (
        clustering,
        comparison,
        datasets,
        definiteness,
        divergences,
        estimators,
        features,
        files,
        ground,
        inference,
        inspection,
        kernels,
        optimization,
        plot,
    )
    from ._persistence import load, save
    from .comparison import compare
    from .engine import Engine, pairwise, precompute
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
    from .measures import Measures

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

#: Where names are, which are loaded at first use: other capitalised ones are estimators, the rest are packages.
_HOMES = {
    "Engine": "engine",
    "KernelFeatures": "features",
    "Measures": "measures",
    "MixtureFeatures": "features",
    "compare": "comparison",
    "load": "_persistence",
    "pairwise": "engine",
    "precompute": "engine",
    "save": "_persistence",
}
#: Packages that are found here too, beside those of ``__all__``.
_MORE = ("engine", "exceptions", "measures")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kermes")
    if name in __all__ or name in _MORE:
        home = _HOMES.get(name, "estimators" if name[0].isupper() else name)
        module = importlib.import_module(f"kermes.{home}")
        return module if home == name else getattr(module, name)
    raise AttributeError(f"module 'kermes' has no attribute {name!r}")
