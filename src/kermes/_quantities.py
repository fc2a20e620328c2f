"""Durations, amounts of memory and counts: read from what people write, and written as people read them."""

from __future__ import annotations

import math
import re
from typing import Any

from ._checks import positive
from .exceptions import InvalidParameterError

__all__ = ["among", "as_bytes", "as_seconds", "counted", "duration", "shortened", "size"]

_TIMES = {"h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0}
_TIME = r"(\d+(?:\.\d+)?)\s*(h|min|m|s)"
_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}


def as_seconds(value: Any, name: str) -> float:
    """Return seconds from a number of them or a string such as '90s', '5min' or '1h 30min'."""
    if not isinstance(value, str):
        return positive(value, name, remedy="Or a string such as '5min'.")
    string = value.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", string):
        return positive(float(string), name)
    if not re.fullmatch(rf"({_TIME}\s*)+", string):
        raise InvalidParameterError(
            f"`{name}` must be a number of seconds, or a string such as '30s', '5min' or '1h 30min'; got {value!r}."
        )
    return positive(sum(float(number) * _TIMES[unit] for number, unit in re.findall(_TIME, string)), name)


def as_bytes(value: Any, name: str) -> float:
    """Return bytes from a number of them or a string such as '500MB', '4GB' or '1.5 GiB'."""
    if not isinstance(value, str):
        return positive(value, name, remedy="Or a string such as '4GB'.")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", value.strip().lower())
    if found is None:
        raise InvalidParameterError(
            f"`{name}` must be a number of bytes, or a string such as '500MB', '4GB' or '1.5GiB'; got {value!r}."
        )
    return positive(float(found[1]) * _SIZES[found[2] or ""], name)


def duration(seconds: float) -> str:
    """Return seconds in a form that people read."""
    if 0 < seconds < 0.1:
        return f"{1e3 * seconds:.0f} ms" if seconds >= 0.01 else f"{max(1e3 * seconds, 0.01):.2g} ms"
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 172_800:
        return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:,.0f} days"


def size(n_bytes: float) -> str:
    """Return bytes in a form that people read."""
    for unit, name in ((1e12, "TB"), (1e9, "GB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.3g} kB"


def among(value: float, low: float, high: float) -> str:
    """Return a number with about three digits of the range that it lies in: 1995 among years, not 2e+03."""
    reach, most = high - low, max(abs(low), abs(high))
    more = round(math.log10(most / reach)) if 0.0 < reach < math.inf else 0
    return f"{value:.{min(3 + max(more, 0), 17)}g}"


def counted(n: int, one: str, more: str | None = None) -> str:
    """Return "1 class", "2 classes"; ``more`` is the plural if it is an irregular one."""
    return f"{n} {one if n == 1 else more or (f'{one}es' if one.endswith('s') else f'{one}s')}"


def shortened(string: str, most: int) -> str:
    """Return a string, or its beginning if it is longer than so many characters."""
    return string if len(string) <= most else string[: most - 3] + "..."
