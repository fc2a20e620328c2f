"""Models in files: ``save`` and ``load``, through skops and an explicit list of types; nothing is unpickled."""

from __future__ import annotations

import importlib
import json
import os
import zipfile
from importlib.metadata import version
from io import BytesIO
from typing import Any, NamedTuple

from ._atomic import whole
from ._checks import missing
from .exceptions import InvalidFileError, InvalidParameterError

__all__ = ["ModelFile", "load", "read", "require", "save", "write"]

FORMAT = 1
PACKAGES = ("kermes", "scikit-learn", "numpy", "scipy")

#: Packages of kermes whose estimators, divergences, costs, point kernels and kernels may be in a model.
LAYERS = (
    "ground",
    "divergences",
    "kernels",
    "definiteness",
    "estimators",
    "features",
    "clustering",
    "optimization",
    "comparison",
)
#: What models hold besides estimators, divergences, costs, point kernels and kernels.
PARTS = {
    "kermes._frozen.FrozenArray",
    "kermes.comparison._candidate.Candidate",
    "kermes.comparison._candidate.Plan",
    "kermes.comparison._learners.Learner",
    "kermes.comparison._search.Fitted",
    "kermes.comparison._search.Setting",
    "kermes.definiteness._spectrum.Spectrum",
    "kermes.divergences.family.Family",
    "kermes.engine._engine.Engine",
    "kermes.estimators._bounds.Rule",
    "kermes.estimators._bounds.TransportBounds",
    "kermes.estimators._moments.Moments",
    "kermes.estimators._lssvm_cv._Map",
    "kermes.estimators._measure_gp.careful_l_bfgs",  # the optimiser of a Gaussian process: a function of numbers
    "kermes.kernels.bumps.Bumps",
    "kermes.measures._collection.Measures",
    "kermes.measures._measure.Measure",
    "kermes.measures._packed.Packed",
    "kermes.measures._packed.Support",
}
#: What fitted models of scikit-learn hold besides the estimators, which skops knows.
OTHERS = {
    "numpy.dtype",
    "scipy.sparse._csr.csr_matrix",  # a graph of neighbours; read as arrays, without pickle
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.utils._bunch.Bunch",
}
#: Modules of scikit-learn whose classes hold parameters only.
PARAMETERS = {"sklearn.gaussian_process.kernels", "sklearn.model_selection._split"}


class ModelFile(NamedTuple):
    """What a file holds: the model, the versions it was made with, and notes of the program that made it."""

    model: Any
    versions: dict[str, str]
    notes: dict[str, Any]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that :func:`load` reads without running any code from it.

    Parameters
    ----------
    model : estimator
        An estimator of kermes or scikit-learn, fitted or not, or a pipeline of them; kernels, divergences and measures
        inside are kept. Functions and classes of your own are refused, and so are the compiled parts of scikit-learn,
        such as decision trees.
    path : path
        Replaced if it exists, and only when the new file is complete.

    Notes
    -----
    A zip archive in the format of skops (extra ``persist``): arrays as ``.npy`` and a description of the objects as
    JSON, with the versions of kermes, scikit-learn, NumPy and SciPy. Remembered distances are not part of it.

    Examples
    --------
    >>> import kermes
    >>> from kermes import LSSVMClassifier, Measures
    >>> X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [4.0, 5.0], [5.0]])
    >>> kermes.save(LSSVMClassifier().fit(X, ["a", "a", "b", "b"]), "model.kermes")  # doctest: +SKIP
    >>> kermes.load("model.kermes").predict(X)  # doctest: +SKIP
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """
    write(model, path, {})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model in a file that :func:`save` wrote.

    Parameters
    ----------
    path : path

    Raises
    ------
    InvalidFileError
        If the file is damaged, no model, or holds a type outside the list of types that models are made of; the message
        names the type. Nothing of the file is constructed before all its types are checked.
    """
    return read(path).model


def write(model: Any, path: str | os.PathLike[str], notes: dict[str, Any]) -> None:
    """Save a model with ``notes``: plain values by name."""
    skops = _skops()
    content = {
        "format": FORMAT,
        "versions": {package: version(package) for package in PACKAGES},
        "notes": notes,
        "model": model,
    }
    try:
        data = skops.dumps(content, compression=zipfile.ZIP_DEFLATED)
        strangers = _strangers(skops.get_untrusted_types(data=data))
    except Exception as error:  # skops has no common base of its errors
        raise InvalidParameterError(f"`model` cannot be saved: {error}") from error
    if strangers:
        raise InvalidParameterError(_refusal(strangers[0]))
    if _has_store(_schema(BytesIO(data))):
        raise InvalidParameterError(
            "`model` has an engine with a store, a path that means nothing elsewhere. Remove it."
        )
    with whole(path) as temporary:
        temporary.write_bytes(data)


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model in a file with its versions and notes."""
    skops = _skops()
    name = os.fspath(path)
    if not zipfile.is_zipfile(path):
        open(path, "rb").close()  # a file that is not there is an error of its own
        raise InvalidFileError(f"{name!r} is not a model file; it must be written by kermes.save.")
    try:
        found = skops.get_untrusted_types(file=name)
    except Exception as error:
        raise InvalidFileError(f"{name!r} is not a model file, or it is damaged ({error}).") from error
    strangers = _strangers(found)
    if _has_store(_schema(path)):
        raise InvalidFileError(f"{name!r} has an engine with a store, which would write to a path of its own choice.")
    if strangers:
        raise InvalidFileError(
            f"{name!r} holds {strangers[0]}, which is not a part of a model; the file is refused and nothing of it "
            "was run. Models are made of kermes, scikit-learn and NumPy only."
        )
    try:
        content = skops.load(name, trusted=found)
    except Exception as error:
        raise InvalidFileError(_unreadable(name, error)) from error
    if not isinstance(content, dict) or not {"format", "model", "versions", "notes"} <= set(content):
        raise InvalidFileError(f"{name!r} is not a model file; it must be written by kermes.save.")
    if content["format"] != FORMAT:
        raise InvalidFileError(
            f"{name!r} was written by kermes {content['versions'].get('kermes')}, in another format. Upgrade kermes."
        )
    return ModelFile(content["model"], content["versions"], content["notes"])


def require() -> None:
    """Raise the error of a missing skops now, before the work whose result is to be saved."""
    _skops()


def _refusal(name: str) -> str:
    if name.startswith("sklearn."):
        return (
            f"`model` holds {name}, a compiled or internal part of scikit-learn that is not on the list of what model "
            "files hold; trees and forests, for one, are not supported. Use another learner, or skops itself."
        )
    return (
        f"`model` holds {name}, which a model file must not hold. Only parts of kermes, scikit-learn and NumPy are "
        "saved, no functions or classes of your own."
    )


def _unreadable(name: str, error: Exception) -> str:
    return f"{name!r} cannot be read: {type(error).__name__}: {error}. Is it damaged, or from another version?"


def _schema(file: Any) -> Any:
    """Return the description of the objects in a file."""
    with zipfile.ZipFile(file) as archive:
        return json.loads(archive.read("schema.json"))


def _has_store(node: Any) -> bool:
    """Whether an engine below this node of a description has a store."""
    if isinstance(node, list):
        return any(map(_has_store, node))
    if not isinstance(node, dict):
        return False
    if node.get("__class__") == "Engine":
        store = node.get("content", {}).get("content", {}).get("store", {})
        return bool(store.get("content", "null") != "null")
    return any(map(_has_store, node.values()))


def _strangers(names: list[str]) -> list[str]:
    """Return those types that models are not made of."""
    return [name for name in names if not _known(name)]


def _known(name: str) -> bool:
    """Whether a model may hold the type: listed here, or one of the kinds of class that models are made of.

    skops calls what a file names, with arguments from the file. So only classes count, whose construction does
    nothing but keep parameters: never functions, and no class by its module's name alone.
    """
    if name in PARTS or name in OTHERS:
        return True
    module, _, attribute = name.rpartition(".")
    if not module.startswith(tuple(f"kermes.{layer}." for layer in LAYERS)) and module not in PARAMETERS:
        return False
    try:
        thing = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(thing, type) and thing.__module__ == module and issubclass(thing, _kinds())


def _kinds() -> tuple[type, ...]:
    from sklearn.base import BaseEstimator
    from sklearn.gaussian_process.kernels import Hyperparameter, Kernel
    from sklearn.model_selection import BaseCrossValidator
    from sklearn.model_selection._split import _RepeatedSplits

    from ._frozen import Frozen
    from .divergences import Divergence

    return BaseEstimator, Kernel, Hyperparameter, BaseCrossValidator, _RepeatedSplits, Divergence, Frozen


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise missing("skops", "persist", "Saving and loading models") from None
    return skops.io
