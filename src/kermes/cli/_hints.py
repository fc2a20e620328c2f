"""What commands say about data before they learn from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core import ragged
from ._output import say
from ._reading import Reading

#: Coordinates whose standard deviations differ by more than this factor should be standardised.
UNEQUAL = 10.0
STANDARDIZE = "The coordinates have very different standard deviations: --standardize, unless their units are the same."


def say_hints(data: Any, reading: Any) -> None:
    """Say what may be wrong with the coordinates, and which they are unless they were chosen."""
    if data.columns and reading.columns is None and data.kind != "measures":
        say(f"Coordinates: {', '.join(name or repr(name) for name in data.columns)} (choose others with --columns)")
        constant = [name or repr(name) for name in constant_columns(data)]
        if constant:
            say(
                f"Warning: {', '.join(constant)}: the same in all rows of each measure, so likely a label or a number "
                "of the measure; name the coordinates with --columns."
            )
        if data.measures.sizes.max() == 1 and data.measures.dim > 1:
            say(
                "Warning: every measure has one row, so it is a single point. Histograms have a row for each bin: "
                "--columns BIN --weights COUNT."
            )


def say_units(X: Any) -> None:
    """Say that one coordinate decides all distances, if it does."""
    if unequal(X.points.std(axis=0)):
        say(f"Hint: {STANDARDIZE}")


def standardized(data: Any, reading: Reading) -> Reading:
    """Return the reading, with standardised coordinates where nothing was said and scales differ much; say so."""
    if reading.standardize is not None or not unequal(data.measures.points.std(axis=0)):
        return reading
    say(
        "Each coordinate is divided by its standard deviation, since these differ more than tenfold; --no-standardize "
        "leaves them, if their units are the same."
    )
    return replace(reading, standardize=True)


def unequal(stds: Any) -> bool:
    """Whether coordinates have scales so different that one of them decides all distances."""
    return bool(min(stds) > 0 and max(stds) > UNEQUAL * min(stds))


def constant_columns(data: Any) -> list[str]:
    """Return the coordinates that do not change within any measure, where some measure has two atoms."""
    X = data.measures
    if X.sizes.max() < 2:
        return []
    constant = (X.points == X.points[X.offsets[:-1]][ragged.owners(X.offsets)]).all(axis=0)
    return [data.columns[i] for i in np.flatnonzero(constant)]
