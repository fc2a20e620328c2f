"""What model files hold, under names that outlive moves of modules: the list that ``save`` and ``load`` go by.

A type of kermes is called by its public path, ``kermes.LSSVMClassifier`` or ``kermes.ground.Gaussian``, and a part that
has none by its package and name, ``kermes.estimators.Moments``, wherever its module is. Nothing else of kermes is ever
looked up.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Any

#: Where public estimators, divergences, costs, point kernels and kernels are found.
PACKAGES = {
    "kermes",
    "kermes.clustering",
    "kermes.comparison",
    "kermes.definiteness",
    "kermes.divergences",
    "kermes.estimators",
    "kermes.features",
    "kermes.ground",
    "kermes.kernels",
    "kermes.optimization",
}
#: What models hold besides them, and the module it is in. A move changes the module here, never the name.
PARTS = {
    "kermes.Engine": "kermes.engine",
    "kermes.FrozenArray": "kermes._frozen",
    "kermes.Measures": "kermes.measures",
    "kermes.comparison.Candidate": "kermes.comparison",
    "kermes.comparison.DistanceGP": "kermes.comparison._candidate",
    "kermes.comparison.Fitted": "kermes.comparison._search",
    "kermes.comparison.Learner": "kermes.comparison._candidate",
    "kermes.comparison.Setting": "kermes.comparison._search",
    "kermes.comparison.WithCovariates": "kermes.comparison._auto",
    "kermes.comparison.Trial": "kermes.comparison._search",
    "kermes.definiteness.Spectrum": "kermes.definiteness",
    "kermes.divergences.Family": "kermes.divergences",
    "kermes.estimators.Moments": "kermes.estimators._streaming",
    "kermes.estimators.Rule": "kermes.estimators._neighbors",
    "kermes.estimators.TransportBounds": "kermes.estimators._neighbors",
    "kermes.estimators._Map": "kermes.estimators._lssvm_cv",
    "kermes.estimators.careful_l_bfgs": "kermes.estimators._measure_gp",  # an optimiser: a function of numbers
    "kermes.kernels.Bumps": "kermes.kernels",
    "kermes.measures.Measure": "kermes.measures",
    "kermes.measures.Mixed": "kermes.measures._mixed",
    "kermes.measures.MixedSample": "kermes.measures._mixed",
    "kermes.measures.Packed": "kermes.measures._packed",
    "kermes.measures.Support": "kermes.measures",
}
#: Names that files of the first edition have, by module and class, where its package or class is called otherwise now.
MOVED = {
    "kermes._table.Table": "kermes.FrozenArray",
    "kermes.comparison._candidate.Plan": "kermes.comparison.Trial",
    "kermes.embeddings": "kermes.features",
}
#: What fitted models of scikit-learn hold besides the estimators, which skops knows.
OTHERS = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_matrix",  # a graph of neighbours; read as arrays, without pickle
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer._RemainderColsList",  # a list, in scikit-learn 1.6 only
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.utils._bunch.Bunch",
}
#: Modules of scikit-learn whose classes hold parameters only.
PARAMETERS = {"sklearn.gaussian_process.kernels", "sklearn.model_selection._split"}


def current_name(name: str) -> str | None:
    """Return module and name of a type by its stable name, or by its module in the first edition; None if not listed.

    skops calls what a file names, with arguments from the file; so only classes count whose construction does nothing
    but keep parameters.
    """
    found = next((found for found in map(_listed, _candidates(name)) if found is not None), None)
    return None if found is None else f"{found.__module__}.{found.__qualname__}"


def stable_name(name: str) -> str | None:
    """Return the stable name of a type of kermes that is given by its module and name, None if it is not listed."""
    module, _, attribute = name.rpartition(".")
    thing = getattr(importlib.import_module(module), attribute, None)
    return next((known for known in _candidates(name) if thing is not None and _listed(known) is thing), None)


def is_listed(name: str) -> bool:
    """Whether a model may hold a type of another package that skops does not know."""
    module, _, attribute = name.rpartition(".")
    if name in OTHERS:
        return True
    return module in PARAMETERS and _is_kind(getattr(importlib.import_module(module), attribute, None), module)


def _candidates(name: str) -> Iterator[str]:
    """Yield the stable names that a type may have."""
    name = MOVED.get(name, name)
    yield name
    package = ".".join(name.split(".")[:2])
    yield from (f"{package}.{name.rpartition('.')[2]}" for package in ("kermes", MOVED.get(package, package)))


@cache
def _listed(name: str) -> Any:
    """Return the type of a stable name, None if it is not on the list."""
    package, _, attribute = name.rpartition(".")
    if name in PARTS:
        return getattr(importlib.import_module(PARTS[name]), attribute)
    if package not in PACKAGES:
        return None
    public = importlib.import_module(package)
    thing = getattr(public, attribute) if attribute in public.__all__ else None
    return thing if _is_kind(thing, "kermes.") else None


def _is_kind(thing: Any, home: str) -> bool:
    """Whether it is a class, from a module with this beginning, of the kinds that models are made of."""
    return isinstance(thing, type) and thing.__module__.startswith(home) and issubclass(thing, _kinds())


@cache
def _kinds() -> tuple[type, ...]:
    from sklearn.base import BaseEstimator
    from sklearn.gaussian_process.kernels import Hyperparameter, Kernel
    from sklearn.model_selection import BaseCrossValidator
    from sklearn.model_selection._split import _RepeatedSplits

    from ._frozen import Frozen

    return BaseEstimator, Kernel, Hyperparameter, BaseCrossValidator, _RepeatedSplits, Frozen
