"""What a divergence and its parameters are, as strings: by them a store knows its own, in every process."""

from __future__ import annotations

import dataclasses
import hashlib
import numbers
import pickle
from typing import Any

import numpy as np

from ..divergences import Divergence
from ..exceptions import StoreError

__all__ = ["describe"]


def describe(divergence: Divergence) -> dict[str, str]:
    """Return the name and each parameter of a divergence; equal divergences give equal strings, others do not."""
    parameters = (
        {field.name: getattr(divergence, field.name) for field in dataclasses.fields(divergence)}
        if dataclasses.is_dataclass(divergence)
        else vars(divergence)
    )
    return {"divergence": _name(type(divergence)), **{name: _string(value, name) for name, value in parameters.items()}}


def _string(value: Any, name: str) -> str:
    """Return one value as a string; arrays and unknown objects by the digest of their content."""
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, numbers.Real):
        return repr(float(value))  # 1 and 1.0 are one parameter
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_string(item, name) for item in value)})"
    if hasattr(value, "__array__"):
        array = np.ascontiguousarray(value)
        return f"array {array.shape} {array.dtype} {_digest(array.tobytes())}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f"{field.name}={_string(getattr(value, field.name), name)}" for field in dataclasses.fields(value)]
        return f"{_name(type(value))}({', '.join(fields)})"
    try:
        return f"{_name(type(value))} {_digest(pickle.dumps(value, protocol=4))}"
    except Exception as error:
        raise StoreError(
            f"`{name}` of the divergence is {value!r}, which a store cannot recognise in another process ({error}). "
            "Use a function or a frozen dataclass defined in a module, or compute without a store."
        ) from None


def _name(kind: type) -> str:
    """Return the name of a class, with its module unless it is one of kermes."""
    return kind.__qualname__ if kind.__module__.startswith("kermes.") else f"{kind.__module__}.{kind.__qualname__}"


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
