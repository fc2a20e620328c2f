"""What a divergence and its parameters are, as strings: by them a store knows its own, in every process."""

from __future__ import annotations

import dataclasses
import hashlib
import numbers
import pickle
import types
from typing import Any

import numpy as np

from ..divergences import Divergence
from ..exceptions import StoreError


def describe(divergence: Divergence) -> dict[str, str]:
    """Return the name and each parameter of a divergence; equal divergences give equal strings, others do not."""
    parameters = (
        {field.name: getattr(divergence, field.name) for field in dataclasses.fields(divergence)}
        if dataclasses.is_dataclass(divergence)
        else vars(divergence)
    )
    strings = {"divergence": _name(type(divergence))}
    if not _is_ours(type(divergence)):
        strings["its code"] = _digest(_code(type(divergence)))
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
        code = "" if _is_ours(type(value)) else f" {_digest(_code(type(value)))}"
        return f"{_name(type(value))}({', '.join(fields)}){code}"
    try:
        # A function is pickled by its name, under which it may be another one tomorrow.
        return f"{_name(type(value))} {_digest(pickle.dumps(value, protocol=4) + _code(value))}"
    except Exception as error:
        raise StoreError(
            f"`{name}` of the divergence is {value!r}, which a store cannot recognise in another process ({error}). "
            "Use a function or a frozen dataclass defined in a module, or compute without a store."
        ) from None


def _name(kind: type) -> str:
    """Return the name of a class, with its module unless it is one of kermes."""
    return kind.__qualname__ if _is_ours(kind) else f"{kind.__module__}.{kind.__qualname__}"


def _is_ours(kind: type) -> bool:
    """Whether a class is one of kermes, whose version says what it does."""
    return kind.__module__.startswith("kermes.")


def _code(value: Any) -> bytes:
    """Return what a function does, or the methods of a class and of its bases; nothing of other values.

    What they call is not looked at. Line numbers and the order of sets, which differ between processes, do not count.
    """
    if isinstance(value, type):
        members = [item for kind in value.__mro__ if not _is_ours(kind) for item in vars(kind).items()]
        coded = [(name, _code(member)) for name, member in sorted(members, key=lambda item: item[0])]
        return b"".join(name.encode() + code for name, code in coded if code)  # pickling adds names without code
    value = getattr(value, "py_func", value)  # of Numba
    value = getattr(value, "fget", value)  # of a property
    value = getattr(value, "__code__", value)
    if not isinstance(value, types.CodeType):
        return b""
    constants = (_code(item) or _constant(item).encode() for item in value.co_consts)
    return b"".join([value.co_code, repr(value.co_names).encode(), *constants])


def _constant(item: Any) -> str:
    return repr(sorted(map(repr, item))) if isinstance(item, frozenset) else repr(item)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
