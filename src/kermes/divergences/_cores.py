"""The compiled cores, each imported when it is first used: divergences are made without loading Numba."""
# ruff: noqa: F401, I001

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["core"]


class _Package:
    """A package whose modules are imported when they are asked for: ``core.vectors``, ``core.transport.exact``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by tools that look at every object
            raise AttributeError(name)
        found: Any = import_module(f"{self._name}.{name}")
        found = _Package(found.__name__) if hasattr(found, "__path__") else found
        setattr(self, name, found)
        return found


if TYPE_CHECKING:  # modules are named, since checkers of types know those only that somebody imports
    from .. import core
    from ..core import bhattacharyya, centred_atoms, exponential_family, gaussian_kl, gaussian_wasserstein
    from ..core import generalized_variance, jensen_shannon, mmd, moments, points, sinkhorn, sliced, smoothing
    from ..core import transport, vectors
    from ..core.sinkhorn import grid, points as coordinates, self_terms, stabilised, table
    from ..core.transport import exact, network_simplex, quantiles
else:
    core = _Package("kermes.core")
