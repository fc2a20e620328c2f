"""What a store says of itself: format, versions, divergence, data, layout, and the checksum of all this.

A divergence and its parameters are strings, by which stores and shared files know their own in every process.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import numbers
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..divergences import Divergence
from ..exceptions import StoreError
from ..measures import Measures
from ._job import Scale, is_ours
from ._user_code import code_of

FORMAT = 3
#: The file with the manifest, among the attributes of a group; each array has one of this name too.
FILE = "zarr.json"

Manifest: TypeAlias = dict[str, Any]


def contents(dtype: str, divergence: Divergence, X: Measures, Y: Measures) -> Manifest:
    """Return what the distances are, and which measures have those of an earlier one that equals them."""
    twins = [_twins(Z) if divergence.biased else {} for Z in (X, Y)]
    return {
        "format": FORMAT,
        **versions(),
        "divergence": describe(divergence),
        "scale": list(Scale.of(divergence)),
        "X": X._packed.fingerprint,
        "Y": Y._packed.fingerprint,
        "symmetric": X._packed.fingerprint == Y._packed.fingerprint,
        "shape": [len(X), len(Y)],
        "dtype": dtype,
        "error": divergence.estimates_error,
        "twins": twins,
    }


def _twins(X: Measures) -> dict[str, int]:
    """Return the first equal measure of each that has one, by their positions: keys of JSON are strings."""
    first = X._packed.first_twins
    return {str(k): int(first[k]) for k in np.flatnonzero(first != np.arange(len(X)))}


def versions() -> dict[str, str]:
    """Return the versions that may change the last digits."""
    from importlib.metadata import version

    return {"kermes": version("kermes"), "numpy": np.__version__}


def sealed(manifest: Manifest, folder: Path) -> Manifest:
    """Return a manifest with the checksums of the descriptions of all arrays in ``folder``, and one of its own."""
    files = {file.parent.name: _digest(file.read_bytes()) for file in folder.glob(f"*/{FILE}")}
    manifest = manifest | {"files": files}
    return manifest | {"checksum": _checksum(manifest)}


def read(path: Path) -> Manifest:
    """Return the manifest of a store; refuse what is none, is damaged, or was written in another way."""
    file = path / FILE
    try:
        manifest: Manifest = dict(json.loads(file.read_bytes())["attributes"]["kermes"])
    except (FileNotFoundError, NotADirectoryError, KeyError) as error:
        raise StoreError(f"`{path}` is not a store of distances written by kermes ({error!r}).") from None
    except (ValueError, TypeError) as error:
        raise damaged(file) from error
    digest = manifest.pop("checksum", None)
    intact = digest == _checksum(manifest)
    if manifest.get("format") != FORMAT and (intact or digest is None):
        raise StoreError(
            f"`{path}` was written by kermes {manifest.get('kermes')} in the store format {manifest.get('format')}; "
            f"this version reads format {FORMAT}. Use that version to read it."
        )
    if not intact:
        raise damaged(file)
    for name, digest in manifest["files"].items():
        described = path / name / FILE
        if not described.exists() or _digest(described.read_bytes()) != digest:
            raise damaged(described)
    return manifest


def damaged(file: Path) -> StoreError:
    """Return the error about a file that describes a store."""
    return StoreError(
        f"`{file}` is missing or damaged: it does not have the checksum it was written with. Restore it from a copy, "
        "or delete the store and compute it anew."
    )


def refuse_other(there: Manifest, here: Manifest, path: Path) -> None:
    """Refuse a store of something else, and name all that differs."""
    differences: list[str] = []
    if there["divergence"] != here["divergence"]:
        differences += _differences(there["divergence"], here["divergence"])
    elif there["scale"][:2] != here["scale"][:2] or there["error"] != here["error"]:
        differences.append(f"what is kept (stored {_kept(there)}, now {_kept(here)})")
    for axis, name in enumerate("XY"):
        if there[name] != here[name]:
            sizes = there["shape"][axis], here["shape"][axis]
            what = f"it has {sizes[0]} measures, not {sizes[1]}" if sizes[0] != sizes[1] else "its measures are others"
            differences.append(f"the data `{name}` ({what})")
    differences += _differences({"dtype": there["dtype"]}, {"dtype": here["dtype"]})
    if differences:
        raise StoreError(
            f"`store` {path} holds other distances; what differs: {'; '.join(differences)}. One store holds the "
            "distances of one divergence between the same measures in the same order: use another path."
        )


def _kept(manifest: Manifest) -> str:
    power, signed, _ = manifest["scale"]
    return f"d**{power:g}{', signed' if signed else ''}{', with errors' if manifest['error'] else ''}"


def _differences(there: dict[str, str], here: dict[str, str]) -> Iterable[str]:
    for name in {**there, **here}:
        stored, asked = there.get(name, "absent"), here.get(name, "absent")
        if stored != asked:
            yield f"`{name}` (stored {stored}, asked for {asked})"


def _checksum(manifest: Manifest) -> str:
    return _digest(json.dumps(manifest, sort_keys=True).encode())


def describe(divergence: Divergence) -> dict[str, str]:
    """Return the name and each parameter of a divergence; equal divergences give equal strings, others do not."""
    parameters = (
        {field.name: getattr(divergence, field.name) for field in dataclasses.fields(divergence)}
        if dataclasses.is_dataclass(divergence)
        else vars(divergence)
    )
    strings = {"divergence": _name(type(divergence))}
    if not is_ours(type(divergence)):
        strings["its code"] = _digest(code_of(type(divergence)))
    return strings | {name: _string(value, name) for name, value in parameters.items()}


def _string(value: Any, name: str) -> str:
    """Return one value as a string; arrays and unknown objects by the digest of their content."""
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, numbers.Integral) and abs(int(value)) > 2**53:  # a seed, which a float would round
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))  # 1 and 1.0 are one parameter
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_string(item, name) for item in value)})"
    if hasattr(value, "__array__"):
        array = np.ascontiguousarray(value)
        return f"array {array.shape} {array.dtype} {_digest(array.tobytes())}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f"{field.name}={_string(getattr(value, field.name), name)}" for field in dataclasses.fields(value)]
        code = "" if is_ours(type(value)) else f" {_digest(code_of(type(value)))}"
        return f"{_name(type(value))}({', '.join(fields)}){code}"
    try:
        # A function is pickled by its name, under which it may be another one tomorrow.
        return f"{_name(type(value))} {_digest(pickle.dumps(value, protocol=4) + code_of(value))}"
    except Exception as error:
        raise StoreError(
            f"`{name}` of the divergence is {value!r}, which a store cannot recognise in another process ({error}). "
            "Use a function or a frozen dataclass defined in a module, or compute without a store."
        ) from None


def _name(kind: type) -> str:
    """Return the name of a class, with its module unless it is one of kermes."""
    return kind.__qualname__ if is_ours(kind) else f"{kind.__module__}.{kind.__qualname__}"


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
