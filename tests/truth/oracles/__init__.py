"""Definitions in exact or very long arithmetic. Measures are ``Exact``: distinct points, fractions that sum to 1."""

from .numbers import Exact, exact, measures

__all__ = ["Exact", "exact", "measures"]
