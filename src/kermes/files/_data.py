"""``read`` and ``write``: which kind of file it is, and what it gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._atomic import whole
from .._foreign import decoding, require_file
from .._typing import AnyArray
from ..exceptions import InvalidFileError, InvalidParameterError
from ..measures import Measures

#: Endings of files by kind; a further ``.gz`` is allowed for text and IDX.
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
IDX = ("-ubyte", ".idx")
WRITTEN = (".npz", ".csv", ".parquet")
#: Labels in lower case that say that there is none.
NO_LABEL = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")
KINDS = "a table (.csv, .tsv, .parquet), arrays (.npz, .npy), an IDX file (-ubyte, .idx) or a folder of images"


@dataclass(frozen=True, eq=False)
class Data:
    """Measures with what a file says about them.

    Parameters
    ----------
    measures : Measures
    labels : ndarray of shape (n,) or None
        Class or target of each measure.
    by : str
        What the keys are called: the column that names the measures, or 'measure'.
    columns : tuple of str
        Names of the coordinates.
    kind : 'table', 'images' or 'measures'
        What the file holds; 'measures' is what ``Measures.save`` wrote.
    """

    measures: Measures
    labels: AnyArray | None = None
    by: str = "measure"
    columns: tuple[str, ...] = ()
    kind: str = "measures"

    @property
    def keys(self) -> AnyArray:
        """Names of the measures; their numbers where they have none."""
        return np.arange(len(self.measures)) if self.measures.keys is None else self.measures.keys


def read(
    path: str | os.PathLike[str],
    *,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    label: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    drop_missing: bool = False,
    threshold: float | None = None,
    binary: bool = False,
    spacing: str | float = "pixel",
    invert: bool = False,
) -> Data:
    """Read measures, and labels if there are any, from a file or a folder.

    Parameters
    ----------
    path : path
        - ``.csv``, ``.tsv`` (also ``.gz``), ``.parquet``: a long table, one row per point, with the column ``by``;
        - ``.npz``: what ``Measures.save`` wrote, or a stack of images ``images`` (or the only 3-D array) with an
          optional array ``labels``;
        - ``.npy``: a stack of images, (n, height, width);
        - an IDX file of images such as ``train-images-idx3-ubyte.gz``;
        - a folder of PNG or other images of one size, whose sub-folders are classes.
    by : str, optional
        Tables: the column that says which measure a row belongs to.
    columns : list of str, optional
        Tables: the coordinates; by default all columns of numbers that have no other use.
    weights : str, optional
        Tables: the column of masses; 1 each by default.
    label : str, optional
        Tables: the column of labels, which must not change within a measure. ``.npz``: the array of labels.
    labels : path, optional
        A file of labels in the order of the measures: ``.npy``, IDX, or text with one label per line.
    drop_missing : bool
        Tables: drop rows without a coordinate or weight, which are refused otherwise.
    threshold, binary, spacing
        Images: as in ``Measures.from_images``.
    invert : bool
        Images: take the largest value less the grey value as mass, for dark ink on bright ground.

    Returns
    -------
    Data

    Examples
    --------
    >>> from kermes import files
    >>> data = files.read("cells.csv", by="patient", columns=["cd4", "cd8"], label="sick")  # doctest: +SKIP
    >>> data.measures, data.labels  # doctest: +SKIP
    """
    from . import _arrays, _tables

    source = Path(path)
    _require_there(source)
    kind = _ending(source)
    given: dict[str, Any]
    if kind in TABLES:
        given = {"threshold": threshold, "binary": binary, "spacing": spacing != "pixel", "invert": invert}
        _refuse(given, f"{source.name!r} is a table, not images")
        with decoding(source, "a table of measures"):
            data = _tables.read(source, by, columns, weights, label, drop_missing)
    else:
        given = {"by": by, "columns": columns, "weights": weights, "drop_missing": drop_missing}
        _refuse(given, f"{source.name!r} is not a table")
        as_measures = partial(_arrays.stack, threshold=threshold, binary=binary, spacing=spacing, invert=invert)
        if source.is_dir():
            data = _arrays.read_folder(source, as_measures)
        elif kind == ".npz":
            data = _arrays.read_npz(source, label, as_measures)
        elif kind == ".npy" or kind in IDX:
            data = Data(as_measures(_arrays.read_array(source)), kind="images")
        else:
            raise InvalidFileError(f"{source.name!r} has an unknown file extension; give {KINDS}.")
    if labels is not None:
        _require_there(Path(labels))
        data = _labelled(data, _arrays.read_labels(Path(labels)), os.fspath(labels))
    gaps = np.zeros(0, dtype=bool) if data.labels is None else without_label(data.labels)
    if gaps.any():
        raise InvalidFileError(f"measure {data.keys[gaps.argmax()]!s} has no label; leave it out or label it.")
    return data


def write(data: Data, path: str | os.PathLike[str]) -> None:
    """Write labelled measures to ``path``: ``.npz`` (read by ``Measures.load`` too), ``.csv`` or ``.parquet``.

    Parameters
    ----------
    data : Data
    path : path
        Replaced if it exists, and only when the new file is complete. A table has one row per atom: the name of the
        measure, the coordinates, ``weight``, and ``label`` if there are labels.
    """
    from . import _arrays, _tables

    ending = _ending(Path(path))
    if ending not in WRITTEN:
        raise InvalidParameterError(f"measures are written to {', '.join(WRITTEN)}; got {os.fspath(path)!r}.")
    with whole(path) as temporary:
        if ending == ".npz":
            _arrays.write_npz(data, temporary)
        else:
            _tables.write_columns(_tables.long_columns(data), temporary)


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a table."""
    return _ending(Path(path)) in TABLES


def _ending(path: Path) -> str:
    """Return the ending that says the kind, without ``.gz``."""
    name = path.name.lower().removesuffix(".gz")
    return next((ending for ending in (*TABLES, ".npz", ".npy", *IDX) if name.endswith(ending)), "")


def _require_there(path: Path) -> None:
    """Refuse what is neither a regular file nor a folder; guess at the file that was meant."""
    if not path.exists():
        if path.is_symlink():
            raise FileNotFoundError(f"{os.fspath(path)!r} is a link to {os.readlink(path)!r}, which is not there")
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, names, n=1)
        near = f". Did you mean {os.fspath(path.parent / close[0])!r}?" if close else ""
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}{near}")
    if not path.is_dir():
        require_file(path)


def _refuse(options: dict[str, Any], reason: str) -> None:
    for name, value in options.items():
        if value is not None and value is not False:
            raise InvalidParameterError(f"`{name}` (--{name.replace('_', '-')}) has no meaning here: {reason}.")


def without_label(labels: AnyArray) -> AnyArray:
    """Return where a label is missing: not a number, or a string that stands for nothing."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind not in "OUT":
        return np.zeros(labels.shape, dtype=bool)
    return np.array([isinstance(label, str) and label.strip().casefold() in NO_LABEL for label in labels.tolist()])


def _labelled(data: Data, labels: AnyArray, name: str) -> Data:
    if labels.shape != (len(data.measures),):
        raise InvalidFileError(
            f"{name!r} holds {labels.shape[0] if labels.ndim == 1 else labels.shape} labels for {len(data.measures)} "
            "measures; give one for each."
        )
    return replace(data, labels=labels)
