"""Labelled measures, and where the packages that ship real data keep their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import missing
from .._typing import AnyArray, FloatArray
from ..core import ragged
from ..exceptions import InvalidFileError
from ..measures import Measures
from ..measures._build import pack


@dataclass(frozen=True, eq=False, repr=False)
class LabelledMeasures:
    """Measures with labels, and groups where samples belong together.

    Parameters
    ----------
    measures : Measures
    target : ndarray of shape (n,)
        Class numbers.
    classes : tuple of str
        Name of each class.
    groups : ndarray of shape (n,) or None
        What samples share besides their class (a session, a plate, a cell line), for the ``groups`` of splits.
    columns : tuple of str
        Names of the coordinates.
    """

    measures: Measures
    target: AnyArray
    classes: tuple[str, ...]
    groups: AnyArray | None
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.target)

    def __repr__(self) -> str:
        parts = [f"{len(self)} measures in dimension {self.measures.dim}", f"{len(self.classes)} classes"]
        if self.groups is not None:
            parts.append(f"{len(np.unique(self.groups))} groups")
        return f"LabelledMeasures({', '.join(parts)})"

    def __getitem__(self, key: Any) -> LabelledMeasures:
        """Return the measures of a slice, mask or index array."""
        groups = None if self.groups is None else self.groups[key]
        return LabelledMeasures(self.measures[key], self.target[key], self.classes, groups, self.columns)


def labelled(
    clouds: Sequence[FloatArray],
    labels: Sequence[str],
    columns: Sequence[str],
    groups: Sequence[str] | None = None,
    weights: Sequence[FloatArray] | None = None,
    keys: Sequence[str] | None = None,
) -> LabelledMeasures:
    """Return one measure for each cloud; classes are in the order of their names."""
    classes, target = np.unique(np.asarray(labels), return_inverse=True)
    points = np.concatenate(clouds)
    packed = pack(
        points,
        np.ones(len(points)) if weights is None else np.concatenate(weights),
        ragged.offsets_of(np.array([len(cloud) for cloud in clouds], dtype=np.int64)),
        keys=None if keys is None else np.asarray(keys),
        copy=False,
    )
    shared = None if groups is None else np.asarray(groups)
    return LabelledMeasures(Measures(packed), target, tuple(map(str, classes)), shared, tuple(columns))


def package_folder(package: str, inside: str, path: str | os.PathLike[str] | None, what: str) -> Path:
    """Return ``path``, or else a folder of an installed package, which is found without being imported."""
    if path is not None:
        return Path(path)
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise missing(package, "data", f"Loading {what}")
    folder = Path(spec.submodule_search_locations[0], inside)
    if not folder.is_dir():
        raise InvalidFileError(
            f"the installed package {package} has no folder {inside!r}, which held {what} in the version that kermes "
            "knows; install that one: pip install 'kermes[data]'"
        )
    return folder


def same_length(folder: Path, **counts: int) -> None:
    """Refuse files of one data set that do not have a line for each sample."""
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise InvalidFileError(f"the files in {os.fspath(folder)!r} do not belong together: they hold {found}.")
