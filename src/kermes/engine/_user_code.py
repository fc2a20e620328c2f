"""What user-defined code does, as bytes: equal in every process while nothing was edited.

Functions and classes are pickled by their names, under which they may do something else tomorrow. What counts is their
code, default arguments, closures and class attributes, and what of the user's own they refer to: functions, classes and
data among the globals, and names in the user's own modules. Installed packages and kermes count by name alone.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

#: Folders of installed packages: of an environment, of the user, of the system.
_SITES = {"site-packages", "dist-packages"}


def code_of(value: Any) -> bytes:
    """Return what a function, class or callable object does; nothing of other values, and of kermes."""
    return _Reader(_package(value)).code(value)


class _Reader:
    """Reads what is reached from one value, each part once; of classes also bases in its package, ``home``."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._seen: dict[int, Any] = {}  # functions and classes: kept, so that no other object gets their numbers
        self._open: set[int] = set()  # containers that are being read

    def code(self, value: Any) -> bytes:
        value = _inner(value)
        if isinstance(value, functools.partial):
            return self.code(value.func) + self._data((value.args, value.keywords))
        if isinstance(value, types.CodeType):
            return self._compiled(value)
        if not isinstance(value, (types.FunctionType, type)):
            return self.code(type(value)) if callable(value) and not _is_installed(_package(type(value))) else b""
        if id(value) in self._seen:
            return value.__qualname__.encode()
        self._seen[id(value)] = value
        return self._class(value) if isinstance(value, type) else self._function(value)

    def _function(self, function: types.FunctionType) -> bytes:
        cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
        parts = [function.__defaults__, function.__kwdefaults__, cells, getattr(function, "__wrapped__", None)]
        return self._compiled(function.__code__) + self._data(parts) + self._globals(function)

    def _globals(self, function: types.FunctionType) -> bytes:
        """Return what the names in a function stand for, in its module and in the user's modules that it names."""
        names = sorted(set(_names(function.__code__)))
        scopes: list[Any] = [function.__globals__]
        for value in (function.__globals__.get(name) for name in names):
            if isinstance(value, types.ModuleType) and not _is_installed(_package(value)):
                scopes.append(vars(value))
        found = [(name, scope[name]) for scope in scopes for name in names if name in scope]
        return b"".join(name.encode() + self._data(value) for name, value in found)

    def _class(self, kind: type) -> bytes:
        own = [base for base in kind.__mro__ if _package(base) == self._home or not _is_installed(_package(base))]
        members = [item for base in own for item in vars(base).items()]
        return b"".join(
            name.encode() + read
            for name, member in sorted(members, key=lambda item: item[0])
            if (read := self.code(member) or (b"" if name.startswith(("__", "_abc_")) else self._data(member)))
        )

    def _compiled(self, code: types.CodeType) -> bytes:
        """Return instructions, names and constants; line numbers do not count."""
        constants = (self._data(item) for item in code.co_consts)
        return b"".join([code.co_code, repr(code.co_names).encode(), *constants])

    def _data(self, value: Any) -> bytes:
        """Return plain data and arrays by content, the user's functions and classes by code, other things by name."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return repr(value).encode()
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.dtype.hasobject):
            return f"{value.shape}{value.dtype}".encode() + value.tobytes()
        if isinstance(value, (tuple, list, set, frozenset, dict)):
            return self._container(value)
        value = _inner(value)
        if isinstance(value, (types.CodeType, functools.partial)):
            return self.code(value)
        if isinstance(value, types.ModuleType):
            return value.__name__.encode()
        kind = value if isinstance(value, (type, types.FunctionType)) else type(value)
        if _is_installed(_package(kind)):
            return f"{kind.__module__}.{kind.__qualname__}".encode()
        return self.code(kind) + (b"" if kind is value else self._container(getattr(value, "__dict__", {})))

    def _container(self, values: Any) -> bytes:
        if id(values) in self._open:
            return b"itself"
        self._open.add(id(values))
        if isinstance(values, dict):
            items = sorted(self._data(key) + b":" + self._data(value) for key, value in values.items())
        else:
            items = [self._data(value) for value in values]
            items = sorted(items) if isinstance(values, (set, frozenset)) else items
        self._open.remove(id(values))
        return b"(" + b",".join(items) + b")"


def _inner(value: Any) -> Any:
    """Return the function in a method, property, or something that Numba compiled."""
    if isinstance(value, (type, types.FunctionType)):
        return value
    for name in ("__func__", "fget", "py_func", "__wrapped__"):
        value = getattr(value, name, value)
    return value.func if isinstance(value, functools.cached_property) else value


def _names(code: types.CodeType) -> Iterable[str]:
    """Yield the names in a piece of code, and in the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _package(value: Any) -> str:
    """Return the top package of a module, function, class or object."""
    value = _inner(value)
    value = value.func if isinstance(value, functools.partial) else value
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0]
    named = value if hasattr(value, "__module__") and hasattr(value, "__qualname__") else type(value)
    return str(named.__module__ or "builtins").partition(".")[0]


@functools.cache
def _is_installed(package: str) -> bool:
    """Whether a package is kermes, of Python, or among the installed ones; the program itself, wherever, is not."""
    if package == "__main__":
        return False
    if package in sys.stdlib_module_names or package == __name__.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(package), "__file__", None)
    return file is not None and not _SITES.isdisjoint(Path(file).resolve().parts)
