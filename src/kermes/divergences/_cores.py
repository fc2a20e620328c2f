"""The compiled cores, each imported when it is first used: divergences are made without loading Numba."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["core"]


class _Package:
    """A package whose modules are imported when they are asked for: ``core.vectors``, ``core.transport.exact``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found: Any = import_module(f"{self._name}.{name}")
        found = _Package(found.__name__) if hasattr(found, "__path__") else found
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    from .. import core
else:
    core = _Package("kermes.core")
