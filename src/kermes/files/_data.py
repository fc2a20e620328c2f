"""``read`` and ``write``: which kind of file it is, and what it gives."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._atomic import whole
from .._checks import nearest, positive, real, require_order
from .._foreign import COMPRESSED, decoding, require_file
from .._typing import AnyArray
from .._values import refuse_unwritable
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, KermesWarning
from ..measures import Measures
from ..measures._columns import without_value
from ..measures._frame import Wanted
from ..measures._packed import Packed

#: Endings of files by kind; a further ``.gz`` or other compression is allowed for text and IDX.
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
CELLS = ".h5ad"
FCS = ".fcs"
IDX = ("-ubyte", ".idx")
WRITTEN = (".npz", ".csv", ".parquet")
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
KINDS = (
    "a table (.csv, .tsv, .parquet), cells (.h5ad, .fcs), arrays (.npz, .npy), an IDX file (-ubyte, .idx) or a folder "
    "of images, of .fcs or of .parquet files"
)
#: Options that have a meaning for each kind of file; all others are refused.
MEANING = {
    "table": (
        *("by", "columns", "weights", "label", "metadata", "drop_missing", "arcsinh"),
        *("separator", "decimal", "encoding"),
    ),
    "cells": ("by", "columns", "weights", "label", "metadata", "use", "arcsinh"),
    "wells": ("columns", "arcsinh", "compensate"),
    "images": ("threshold", "binary", "spacing", "invert", "label"),
}
KIND_NAMES = {
    "table": "is a table",
    "cells": "holds annotated cells",
    "wells": "is of FCS files",
    "images": "is not a table",
}


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
    kind : 'table', 'cells', 'images' or 'measures'
        What the file holds; 'measures' is what ``Measures.save`` wrote.
    metadata : dict of str to ndarray of shape (n,)
        What else is known of each measure (age, batch, outcome): labels, groups or covariates, by the names of the
        columns. Numbers that are missing are nan, strings '', dates NaT.
    white : float or None
        Images that were inverted: the grey value without mass, which ``read(other, invert=white)`` takes for other
        images too.
    dropped : int
        Rows of a table that lacked a number and were left out (``drop_missing``).
    """

    measures: Measures
    labels: AnyArray | None = None
    by: str = "measure"
    columns: tuple[str, ...] = ()
    kind: str = "measures"
    metadata: dict[str, AnyArray] = field(default_factory=dict)
    white: float | None = None
    dropped: int = 0

    def __post_init__(self) -> None:
        require_order(self.measures, "measures", labels=self.labels, metadata=self.metadata)

    @classmethod
    def of_columns(
        cls, packed: Packed, wanted: Wanted, constants: dict[str, AnyArray], columns: Sequence[str], kind: str
    ) -> Data:
        """Return what the columns of a table or of annotated cells give."""
        labels = None if wanted.label is None else constants[wanted.label]
        metadata = {name: constants[name] for name in wanted.metadata}
        return cls(Measures(packed), labels, wanted.by, tuple(columns), kind, metadata)

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
    metadata: Sequence[str] = (),
    samples: str | os.PathLike[str] | None = None,
    drop_missing: bool = False,
    use: str | None = None,
    arcsinh: float | None = None,
    compensate: bool = False,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    threshold: float | None = None,
    binary: bool = False,
    spacing: str | float = "pixel",
    invert: bool | float = False,
) -> Data:
    """Read measures, and labels if there are any, from a file or a folder.

    Parameters
    ----------
    path : path
        - ``.csv``, ``.tsv``, also compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``), and ``.parquet``, or a folder of
          Parquet files: a long table, one row per point in any order, with the column ``by``; or a row per measure with
          columns of lists. ``-`` is such a text on standard input;
        - ``.h5ad``: annotated cells; ``by`` is a column of obs;
        - ``.fcs``, or a folder of such files, whose sub-folders are classes: a measure for each file;
        - ``.npz``: what ``Measures.save`` wrote, or a stack of images ``images`` (or the only 3-D array) with an
          optional array ``labels``;
        - ``.npy``: a stack of images, (n, height, width);
        - an IDX file of images such as ``train-images-idx3-ubyte.gz``;
        - a folder of PNG or other images of one size, whose sub-folders are classes; one picture in each file, with 8
          bits for each colour or up to 32 for grey. Files and folders whose names start with a dot are left out.
    by : str, optional
        Tables, cells: the column that says which measure a row belongs to.
    columns : list of str, optional
        Tables: the coordinates; by default all columns of numbers that have no other use and were not written as
        categories; one that is called weight or weights must have a use. ``.h5ad``: genes. ``.fcs``: channels, by
        detector or stain; all but time by default.
    weights : str, optional
        Tables, cells: the column of masses; 1 each by default.
    label : str, optional
        Tables, cells: the column of labels, which must not change within a measure. ``.npz``: the array of labels.
    labels : path, optional
        A file of labels in the order of the measures: ``.npy``, IDX, or text with one label per line.
    metadata : list of str
        Tables, cells: columns of which the value of each measure is kept in ``Data.metadata``.
    samples : path, optional
        A table with one row per measure, whose first column (or ``by``) has the names of the measures; ``label`` and
        ``metadata`` are then columns of that table. Measures that it does not name are left out. Whole numbers that it
        writes in another way (1 for 01) are taken for the same where no other name is that number; a warning names
        both.
    drop_missing : bool
        Tables: drop rows without a coordinate or weight, which are refused otherwise.
    use : str, optional
        ``.h5ad``: 'X' (default), a layer, or a key of obsm such as 'X_pca'.
    arcsinh : float, optional
        Tables, cells: take ``arcsinh(x / cofactor)`` of all coordinates but scatter (FSC, SSC) and time; 5 is usual for
        mass, 150 for flow cytometry.
    compensate : bool
        ``.fcs``: undo the spillover that each file states.
    separator, decimal, encoding : str, optional
        Text: what divides cells (comma, semicolon or tab, whichever the first line has most of), '.' or ',', and an
        encoding other than UTF-8. They hold for ``samples`` too, a separator if its first line has it and an encoding
        unless it is in UTF-8.
    threshold, binary, spacing
        Images: as in ``Measures.from_images``.
    invert : bool or float
        Images: take white less the grey value as mass, for dark ink on bright ground. White is this number, or the
        largest value of the file; it is kept in ``Data.white``. What is brighter has no mass, with a warning.

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
    from ._text import Dialect

    source = Path(path)
    if source != Path("-"):
        require_there(source)
    _require_known(source)
    known = kind(source)
    options: dict[str, Any] = dict(  # noqa: C408
        by=by, columns=columns, weights=weights, drop_missing=drop_missing, use=use, arcsinh=arcsinh,
        compensate=compensate, separator=separator, decimal=decimal, encoding=encoding, threshold=threshold,
        binary=binary, invert=invert, spacing=None if spacing == "pixel" else spacing,
    )  # fmt: skip
    if samples is None:
        options |= {"label": label, "metadata": list(metadata) or None}
    else:
        require_there(Path(samples))
        options["by"] = by if "by" in MEANING[known] else None
        if known != "table":  # how the samples are written
            options |= dict.fromkeys(("separator", "decimal", "encoding"))
    for name, value in options.items():
        if name not in MEANING[known] and value is not None and value is not False:
            shown = source.name or str(source)  # the folder "." has no name
            raise InvalidParameterError(
                f"`{name}` (--{name.replace('_', '-')}) has no meaning here: {shown!r} {KIND_NAMES[known]}"
                f"{', not images' if name in MEANING['images'] else ''}."
            )
    data = _read(source, known, options)
    if arcsinh is not None:
        from ._fcs import arcsinh as transform

        cofactor = positive(arcsinh, "arcsinh")
        data = replace(data, measures=transform(data.measures, data.columns, cofactor))
    if samples is not None:
        wanted, dialect = Wanted(by, label=label, metadata=metadata), Dialect(separator, decimal, encoding)
        data = _tables.joined(data, Path(samples), wanted, dialect)
    if labels is not None:
        if not Path(labels).exists() and not Path(labels).suffix:
            raise FileNotFoundError(
                f"there is no file {os.fspath(labels)!r}; --labels (labels) is a file of labels in the order of the "
                "measures, --label (label) the name of a column."
            )
        require_there(Path(labels))
        found = _arrays.read_labels(Path(labels))
        if found.shape != (len(data.measures),):
            raise InvalidFileError(
                f"{os.fspath(labels)!r} holds {found.shape[0] if found.ndim == 1 else found.shape} labels for "
                f"{len(data.measures)} measures; give one for each."
            )
        data = replace(data, labels=found)
    if data.labels is None:
        return data
    refuse_unwritable(data.labels, f"{source.name}: labels", InvalidFileError)
    gaps = without_value(data.labels)
    if gaps.any():
        named = "" if label is None else f" in the column {label!r}"
        raise InvalidFileError(
            f"{source.name}: measure {data.keys[gaps.argmax()]!s} has no label{named}; leave it out or label it."
        )
    return data


def _read(source: Path, known: str, given: dict[str, Any]) -> Data:
    """Read one kind of file; ``given`` has the options of all kinds."""
    from . import _arrays, _fcs, _h5ad, _tables
    from ._text import Dialect

    label = given.get("label")
    wanted = Wanted(given["by"], given["columns"], given["weights"], label, given.get("metadata") or ())
    if known == "table":
        dialect = Dialect(given["separator"], given["decimal"], given["encoding"])
        with decoding(source, "a table of measures"):
            return _tables.read(source, wanted, given["drop_missing"], dialect)
    if known == "cells":
        return _h5ad.read(source, wanted, given["use"] or "X")
    if known == "wells":
        return _fcs.read(source, given["columns"], given["compensate"])

    white: float | None = None

    def as_measures(images: AnyArray) -> Measures:
        nonlocal white
        if not images.size:
            raise InvalidMeasureError(f"images of shape {images.shape} have no pixel; every measure needs one.")
        if given["invert"] is not False and images.dtype.kind in "biuf":  # others are refused below
            images, white = _inverted(images, given["invert"], source)
        return Measures.from_images(images, given["threshold"], given["binary"], given["spacing"] or "pixel")

    if source.is_dir():
        data = _arrays.read_folder(source, as_measures)
    elif _ending(source) == ".npz":
        data = _arrays.read_npz(source, label, as_measures)
    else:
        data = Data(as_measures(_arrays.read_array(source)), kind="images")
    return replace(data, white=white)


def _inverted(images: AnyArray, invert: bool | float, source: Path) -> tuple[AnyArray, float]:
    """Return white less the grey values, and white: a number, or the largest of the values that are numbers."""
    largest = float(np.fmax.reduce(images, axis=None))
    white = largest if isinstance(invert, bool) else real(invert, "invert")
    if largest > white:
        brighter = np.count_nonzero(images > white)
        warnings.warn(
            f"{source.name}: {brighter} of {images.size} pixels are brighter than white, which is {white:g}, up to "
            f"{largest:g}; they have no mass. Are the grey values those of another camera or file format?",
            KermesWarning,
            stacklevel=2,
        )
        images = np.minimum(images, white)
    return np.subtract(white, images, dtype=np.float64), white


def kind(path: str | os.PathLike[str]) -> str:
    """Return what a file or folder holds by its name: 'table', 'cells' (annotated), 'wells' (FCS) or 'images'."""
    from . import _fcs, _parquet

    source = Path(path)
    ending = _ending(source)
    if ending in TABLES or source == Path("-"):
        return "table"
    if source.is_dir():
        return "wells" if _fcs.files_of(source) else "table" if _parquet.is_parquet(source) else "images"
    return {CELLS: "cells", FCS: "wells"}.get(ending, "images")


def write(data: Data, path: str | os.PathLike[str]) -> None:
    """Write labelled measures to ``path``: ``.npz`` (read by ``Measures.load`` too), ``.csv`` or ``.parquet``.

    Parameters
    ----------
    data : Data
    path : path
        Replaced if it exists, and only when the new file is complete. A table has one row per atom: the name of the
        measure, the coordinates, ``weight``, and ``label`` if there are labels; measures of one name would be one, and
        are refused (``Measures.with_keys``).
    """
    from . import _arrays, _tables

    ending = _ending(Path(path))
    if ending not in WRITTEN or not Path(path).name.lower().endswith(ending):  # what is compressed is read only
        raise InvalidParameterError(f"measures are written to {', '.join(WRITTEN)}; got {os.fspath(path)!r}.")
    with whole(path) as temporary:
        if ending == ".npz":
            _arrays.write_npz(data, temporary)
        else:
            _tables.write(data, temporary)


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a table."""
    return _ending(Path(path)) in TABLES


def _ending(path: Path) -> str:
    """Return the ending that says the kind, without that of a compression."""
    name = path.name.lower()
    name = next((name.removesuffix(end) for end in COMPRESSED if name.endswith(end)), name)
    return next((ending for ending in (*TABLES, CELLS, FCS, ".npz", ".npy", *IDX) if name.endswith(ending)), "")


def visible(folder: Path) -> list[Path]:
    """Return what is in a folder, in order of names, without what is hidden, such as ``.ipynb_checkpoints``."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def require_there(path: Path) -> None:
    """Refuse what is neither a regular file nor a folder; guess at the file that was meant."""
    if not path.exists():
        if path.is_symlink():
            raise FileNotFoundError(f"{os.fspath(path)!r} is a link to {os.readlink(path)!r}, which is not there")
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        close = nearest(path.name, names)
        near = "" if close is None else f". Did you mean {os.fspath(path.parent / close)!r}?"
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}{near}")
    if not path.is_dir():
        require_file(path)


def _require_known(path: Path) -> None:
    """Refuse a file or folder of no kind that can be read, before options are held against its kind."""
    if path.is_dir():
        if kind(path) == "images" and not any(path.glob("*.*")) and not any(path.glob("*/*.*")):
            raise InvalidFileError(f"the folder {os.fspath(path)!r} has no files of data; give {KINDS}.")
    elif not _ending(path) and path != Path("-"):
        if path.suffix.lower() in SPREADSHEETS:
            raise InvalidFileError(f"{path.name!r} is a spreadsheet, which is not read; save its table as .csv first.")
        raise InvalidFileError(f"{path.name!r} has an extension that kermes does not know; give {KINDS}.")
