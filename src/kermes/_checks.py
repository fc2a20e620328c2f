"""Checks of scalar parameters, with one form of message: "<name> must be ...; got ...".

Array input is checked at one edge only, :mod:`kermes.measures`.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any

from .exceptions import InvalidParameterError, MissingDependencyError

__all__ = ["choice", "integer", "missing", "positive", "real"]


def real(
    value: Any,
    name: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    remedy: str = "",
) -> float:
    """Return ``value`` as a finite float in ``[low, high]`` (``(low, high]`` when ``open_low``)."""
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if valid:
        valid = (value > low if open_low else value >= low) and value <= high
    if not valid:
        raise InvalidParameterError(
            f"`{name}` must be a finite number{_range(low, high, open_low)}; got {value!r}. {remedy}".rstrip()
        )
    return float(value)


def positive(value: Any, name: str, remedy: str = "") -> float:
    """Return ``value`` as a finite float greater than zero."""
    return real(value, name, low=0.0, open_low=True, remedy=remedy)


def integer(value: Any, name: str, *, low: int, remedy: str = "") -> int:
    """Return ``value`` as an int of at least ``low``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        message = f"`{name}` must be an integer of at least {low}; got {value!r}. {remedy}"
        raise InvalidParameterError(message.rstrip())
    return int(value)


def choice(value: Any, name: str, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; otherwise name them and guess what was meant."""
    options = list(options)
    if isinstance(value, str) and value in options:
        return value
    listed = ", ".join(repr(option) for option in options)
    raise InvalidParameterError(f"`{name}` must be one of {listed}; got {value!r}.{guess(value, options)}")


def guess(value: Any, options: Iterable[str]) -> str:
    """Return a question, with a space before it, that names the option nearest to ``value``; '' if none is near."""
    close = difflib.get_close_matches(value, list(options), n=1) if isinstance(value, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""


def missing(package: str, extra: str, purpose: str) -> MissingDependencyError:
    """Return the error to raise when an optional package is not installed."""
    return MissingDependencyError(
        f"{purpose} needs the package {package}, which is not installed. Install it with: pip install 'kermes[{extra}]'"
    )


def _range(low: float, high: float, open_low: bool) -> str:
    if high < math.inf:
        return f" in {'(' if open_low else '['}{low:g}, {high:g}]"
    if low > -math.inf:
        return f" greater than {low:g}" if open_low else f" of at least {low:g}"
    return ""
