"""Columns that say something of each measure beside its label: units that stay together, blocks, covariates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..exceptions import InvalidParameterError, UnsuitableDataError
from ._hints import say_hints
from ._options import Renamed
from ._reading import Reading

units_option = click.option(
    *("--units", "--groups"),
    cls=Renamed,
    metavar="COLUMN",
    help="What has several measures (donor, batch): those of one unit are never parted by a split.",
)

blocks_option = click.option(
    "--blocks", metavar="COLUMN", help="Permute within these only: site, batch, donor seen twice."
)
assigned_option = click.option(
    "--units", metavar="COLUMN", help="What labels were assigned to, if it has several measures: donor."
)


def read_with(reading: Reading, path: Path, **columns: tuple[str, ...]) -> Any:
    """Read measures with columns of them, named by the options that ask for them; each measure must have a value."""
    from ..files import kind
    from ..files._data import MEANING
    from ..measures._frame import without_value

    asked = {name: option for option, names in columns.items() for name in names}
    if not asked:
        return reading.read(path)
    if reading.samples is None and path.exists() and "metadata" not in MEANING[kind(path)]:
        option = next(iter(asked.values()))
        raise InvalidParameterError(
            f"`{option}` (--{option}) must name a column, which {path.name!r} does not have; give --samples TABLE, a "
            "table with a row for each measure."
        )
    found = replace(reading, metadata=tuple(asked)).read(path)
    for name, option in asked.items():
        gaps = without_value(found.metadata[name])
        if gaps.any():
            raise InvalidParameterError(
                f"`{option}` (--{option}): measure {found.keys[gaps.argmax()]!s} has no value in the column {name!r}; "
                "leave it out or fill it in."
            )
    return found


def read_groups(
    reading: Reading, path: Path, numbers: bool = False, **columns: str | None
) -> tuple[Any, dict[str, Any]]:
    """Read measures with labels, which name groups unless they are ``numbers``, and the columns that options name."""
    asked = {option: (name,) for option, name in columns.items() if name is not None}
    found = read_with(reading, path, **asked)
    if found.labels is None:
        raise InvalidParameterError("`label` (--label) must name the groups; for files of images also --labels FILE.")
    if not numbers:
        _require_groups(found.labels, reading.label or "label")
    say_hints(found, reading)
    return found, {option: None if name is None else found.metadata[name] for option, name in columns.items()}


def _require_groups(labels: Any, name: str) -> None:
    """Refuse labels that make no groups of two measures or more."""
    groups, sizes = np.unique(labels, return_counts=True)
    if len(groups) < 2:
        raise UnsuitableDataError(f"all measures have {groups[0]!s} in {name!r}; there must be two groups or more.")
    if sizes.min() < 2:
        number = " If it is a number (age, dose): kermes test --trend." if labels.dtype.kind in "iuf" else ""
        raise UnsuitableDataError(
            f"every group must have two measures or more; group {groups[sizes.argmin()]!s} of {name!r} has one. Leave "
            f"it out, or join it with another.{number}"
        )


def units_of(data: Any, units: str | None) -> Any:
    """Return the unit of each measure, or None if no column was named; one unit cannot be divided."""
    if units is None:
        return None
    values = data.metadata[units]
    if (values == values[0]).all():
        raise InvalidParameterError(
            f"`units` (--units): all measures have {values[0]!s} in the column {units!r}; a split needs two units."
        )
    return values


def covariates_of(data: Any, names: tuple[str, ...]) -> Any:
    """Return the covariates as a data frame, or None if there are none."""
    if not names:
        return None
    from ..comparison._covariates import frame_of

    return frame_of({name: data.metadata[name] for name in names})
