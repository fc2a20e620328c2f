"""Frozen values: their arrays, and their parameters as searches name them, ``divergence__ground__sigma``."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import defaultdict
from typing import Any, Self

import numpy as np

from ._typing import ArrayLike, FloatArray
from ._values import refuse_masked
from .exceptions import InvalidParameterError


class Frozen:
    """Base of frozen dataclasses: ``clone`` keeps them as they are, and a changed parameter makes a new value."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of frozen values among them, ``<name>__<inner>``."""
        fields: Any = dataclasses.fields(self) if dataclasses.is_dataclass(self) else ()
        params: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields if field.init}
        return with_inner(params) if deep else params

    def with_params(self, **params: Any) -> Self:
        """Return a copy with other parameters; ``ground__sigma=2.0`` changes that of the ``ground``.

        Named unlike scikit-learn's ``set_params``, which changes an object in place.
        """
        direct, nested = split(params)
        known = self.get_params(deep=False)
        for name in (*direct, *nested):
            if name not in known:
                raise _unknown(name, self, known)
        for name, inner in nested.items():
            value = direct.get(name, known[name])
            if not isinstance(value, Frozen):
                raise _unknown(f"{name}__{next(iter(inner))}", self, self.get_params())
            direct[name] = value.with_params(**inner)
        return dataclasses.replace(self, **direct)  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take parameters from a file or another process, checked and brought into form like those of a new value."""
        for name, value in state.items():
            object.__setattr__(self, name, value)
        check = getattr(self, "__post_init__", None)
        if check is not None:
            check()


class FrozenArray:
    """An array as a field of a frozen value: read-only, compared and hashed by the ``digest`` of its content.

    ``name`` is what the error about numbers that are not finite calls it.
    """

    __slots__ = ("digest", "values")

    def __init__(self, values: ArrayLike, name: str = "values") -> None:
        refuse_masked(values, name)
        array = np.array(values, dtype=np.float64)
        if not np.isfinite(array).all():
            raise InvalidParameterError(f"`{name}` must hold finite numbers.")
        array.flags.writeable = False
        self.values = array
        self.digest = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenArray, (self.values,)

    def __repr__(self) -> str:
        return f"<{' x '.join(map(str, self.values.shape))}>"


class HoldsFrozen:
    """Mixin in front of scikit-learn's bases: ``set_params`` puts a new value where a frozen one is to change."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, ``<name>__<inner>`` those of a parameter.

        Parameters
        ----------
        **params
            Divergences, costs and point kernels are values: a new one takes the place of the old one, which others may
            hold too.
        """
        direct, nested = split(params)
        super().set_params(**direct)  # type: ignore[misc]
        for name, inner in nested.items():
            value = getattr(self, name, None)
            if isinstance(value, Frozen):
                super().set_params(**{name: value.with_params(**inner)})  # type: ignore[misc]
            else:
                super().set_params(**{f"{name}__{key}": v for key, v in inner.items()})  # type: ignore[misc]
        return self


def with_inner(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters together with those of the frozen values among them, named ``<name>__<inner>``."""
    inner = {
        f"{name}__{key}": inner
        for name, value in params.items()
        if isinstance(value, Frozen)
        for key, inner in value.get_params().items()
    }
    return {**params, **inner}


def split(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the parameters without ``__`` in their names, and the others by what stands before it."""
    direct: dict[str, Any] = {}
    nested: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in params.items():
        name, delimiter, inner = key.partition("__")
        if delimiter:
            nested[name][inner] = value
        else:
            direct[name] = value
    return direct, dict(nested)


def _unknown(name: str, value: object, known: dict[str, Any]) -> InvalidParameterError:
    listed = ", ".join(repr(key) for key in known) or "none"
    return InvalidParameterError(
        f"{type(value).__name__} has no parameter {name!r}; its parameters are {listed}. Check the spelling."
    )
