"""Models in files: ``save`` and ``load``, through skops and an explicit list of types; nothing is unpickled."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, NamedTuple

from ._atomic import whole
from ._checks import needed
from ._foreign import check_arrays, decoding, read_zip
from ._model_checks import check_description, fault
from ._model_types import current_name, is_listed, stable_name
from .exceptions import InvalidFileError, InvalidParameterError

#: Of new files. Those of format 1, the first edition, name types by their modules and are read like the others.
FORMAT = 2
PACKAGES = ("kermes", "scikit-learn", "numpy", "scipy")
#: The description of the objects in an archive of skops.
SCHEMA = "schema.json"


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
    JSON, with the versions of kermes, scikit-learn, NumPy and SciPy. Types of kermes are called by their public names,
    so that files outlive moves of modules. Remembered distances are not part of it.

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
    from importlib.metadata import version

    skops = require()
    content = {
        "format": FORMAT,
        "versions": {package: version(package) for package in PACKAGES},
        "notes": notes,
        "model": model,
    }
    try:
        data = skops.dumps(content)
        found = skops.get_untrusted_types(data=data)
    except Exception as error:  # skops has no common base of its errors
        raise InvalidParameterError(f"`model` cannot be saved: {error}") from error
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members.pop(SCHEMA))
    renamed = _rename(schema, stable_name)
    for name in (kind for kind in found if kind not in renamed and not is_listed(kind)):
        why = (
            "a compiled or internal part of scikit-learn that is not on the list of what model files hold; trees and "
            "forests, for one, are not supported. Use another learner, or skops itself."
            if name.startswith("sklearn.")
            else "which a model file must not hold. Only parts of kermes, scikit-learn and NumPy are saved, no "
            "functions or classes of your own."
        )
        raise InvalidParameterError(f"`model` holds {name}, {why}")
    wrong = fault(model)
    if wrong is not None:
        raise InvalidParameterError(f"`model` {wrong}.")
    with whole(path) as temporary:
        temporary.write_bytes(_packed(schema, members, zipfile.ZIP_DEFLATED))


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model in a file with its versions and notes."""
    skops = require()
    name = os.fspath(path)
    members = read_zip(path, "a model file written by kermes.save")
    with decoding(path, "a model file written by kermes.save"):
        schema = json.loads(members.pop(SCHEMA))
        check_description(schema, {})
        check_arrays(path, members)
        renamed = _rename(schema, current_name).values()
        data = _packed(schema, members, zipfile.ZIP_STORED)
        found = skops.get_untrusted_types(data=data)
    for stranger in (kind for kind in found if kind not in renamed and not is_listed(kind)):
        raise InvalidFileError(
            f"{name!r} holds {stranger}, which is not a part of a model; the file is refused and nothing of it "
            "was run. Models are made of kermes, scikit-learn and NumPy only."
        )
    try:
        content = skops.loads(data, trusted=found)
        wrong = fault(content)
    except Exception as error:
        raise InvalidFileError(
            f"{name!r} cannot be read: {type(error).__name__}: {error}. Is it damaged, or from another version?"
        ) from error
    if wrong is not None:
        raise InvalidFileError(f"{name!r} {wrong}.")
    if not isinstance(content, dict) or not {"format", "model", "versions", "notes"} <= set(content):
        raise InvalidFileError(f"{name!r} is not a model file; it must be written by kermes.save.")
    for part in ("versions", "notes"):
        if not isinstance(content[part], dict):
            raise InvalidFileError(f"{name!r} is damaged: its {part} are {type(content[part]).__name__}, not a table.")
    if content["format"] not in (1, FORMAT):
        raise InvalidFileError(
            f"{name!r} was written by kermes {content['versions'].get('kermes')}, in another format. Upgrade kermes."
        )
    return ModelFile(content["model"], content["versions"], content["notes"])


def require() -> Any:
    """Return skops, or raise the error of a missing one: now, before the work whose result is to be saved."""
    return needed("skops.io", "persist", "Saving and loading models")


def _packed(schema: Any, members: dict[str, bytes], compression: int) -> bytes:
    """Return an archive of skops."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr(SCHEMA, json.dumps(schema))
    return file.getvalue()


def _rename(schema: Any, new_name: Callable[[str], str | None]) -> dict[str, str]:
    """Rename the types of kermes in a description where there is a new name; return the new names by the old ones."""
    renamed = {}
    for node in _kermes_nodes(schema):
        old = f"{node['__module__']}.{node['__class__']}"
        new = new_name(old)
        if new is not None:
            renamed[old] = new
            node["__module__"], _, node["__class__"] = new.rpartition(".")
    return renamed


def _kermes_nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a description that name a type of kermes."""
    if isinstance(node, dict):
        if isinstance(node.get("__class__"), str) and str(node.get("__module__")).split(".")[0] == "kermes":
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _kermes_nodes(item)
