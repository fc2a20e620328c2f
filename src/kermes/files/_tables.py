"""Long tables: one row per point of a measure."""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import needed, row_number
from .._typing import AnyArray
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, KermesWarning
from ..measures import Measures
from ..measures._export import long_columns
from ..measures._frame import Source, listed, require_column
from ..measures._frame import read as read_measures
from . import _parquet, _text
from ._data import Data

#: Numbers without a sign or zeros that a number does not have; whole ones fit into 64 bits.
WHOLE, DECIMAL = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII), re.compile(r"-?\d+\.\d+", re.ASCII)
#: What pandas calls row numbers: in text, in text that it wrote twice, in Parquet.
INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)


def read(
    path: Path,
    by: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    label: str | None,
    metadata: Sequence[str],
    drop_missing: bool,
    dialect: _text.Dialect,
) -> Data:
    """Read a CSV or Parquet table, or a folder of Parquet files."""
    named = None if columns is None else [by, *columns, weights, label, *metadata]
    source: Source
    if _parquet.is_parquet(path):
        source = _parquet.source(path)
    else:
        used = None if named is None else [name for name in named if name is not None]
        labels = [name for name in (label, *metadata) if name is not None and name not in {*(columns or ()), weights}]
        text = None if by in {*(columns or ()), weights, *labels} else by
        source = _text.source(path, dialect, used, text, labels)
    try:
        data = _read(source, path, by, columns, weights, label, metadata, drop_missing)
    except InvalidMeasureError as error:
        raise InvalidMeasureError(f"{path.name}: {error}") from None
    if _parquet.is_parquet(path):
        return data
    return replace(data, measures=Measures(replace(data.measures._packed, keys=_as_numbers(data.keys))))


def _read(
    source: Source,
    path: Path,
    by: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    label: str | None,
    metadata: Sequence[str],
    drop_missing: bool,
) -> Data:
    if by is None:
        raise InvalidParameterError(
            f"{path.name!r} is a table: `by` (--by) must name the column that identifies its measures, one of "
            f"{listed(source.schema)}."
        )
    constant = [*([] if label is None else [label]), *metadata]
    for name in [by, *(columns or ()), *([] if weights is None else [weights]), *constant]:
        require_column(source.schema, name)
        if source.schema[name] == nw.Binary:
            raise InvalidFileError(
                f"{str(path)!r}: the column {name!r} holds bytes that are no text in UTF-8; name their encoding, such "
                "as --encoding latin-1, or convert it."
            )
    if columns is None:
        columns = _coordinates(source, {by, weights, *constant}, path)
    for name in [*columns, *([] if weights is None else [weights])]:
        _refuse_stray_string(source, name, path, [other for other in columns if other != name], required=True)
    found = read_measures(source, by, columns, weights, constant, label, "drop" if drop_missing else "refuse")
    if len(found.lost):
        _warn_of_lost(found.lost)
    return Data(
        Measures(found.packed),
        None if label is None else found.constants[label],
        by,
        found.columns,
        "table",
        {name: found.constants[name] for name in metadata},
    )


def _as_numbers(names: AnyArray) -> AnyArray:
    """Return names as numbers if these are written as the names are; 007 and 1e3 stay names."""
    words = names.tolist()
    if names.dtype.kind == "U" and all(map(WHOLE.fullmatch, words)):
        return names.astype(np.int64)
    if names.dtype.kind == "U" and all(DECIMAL.fullmatch(word) and repr(float(word)) == word for word in words):
        return names.astype(np.float64)
    return names


def write_columns(columns: Mapping[str, Any], path: Path) -> None:
    """Write columns of equal length as Parquet or CSV, whose numbers come back with the same bits."""
    if path.suffix.lower() == ".csv":
        with open(
            path, "w", newline="", encoding="utf-8", errors="surrogateescape"
        ) as file:  # names of files as they are
            write_csv(columns, file)
        return
    pa, parquet = (needed(name, "io", "Writing Parquet") for name in ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def write_csv(columns: Mapping[str, Any], file: Any) -> None:
    """Write a line of names and the rows."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))


def write(data: Data, path: Path) -> None:
    """Write one row per atom, with what is known of its measure."""
    columns = long_columns(data.measures._packed, data.columns or None, data.by)
    owner = np.repeat(np.arange(len(data.measures)), data.measures.sizes)
    of_measures = ({} if data.labels is None else {"label": data.labels}) | data.metadata
    for name, values in of_measures.items():
        if name in columns:
            raise InvalidParameterError(
                f"two columns would have the name {name!r}; it is that of {', '.join(columns)}. Rename a column."
            )
        columns[name] = values[owner]
    write_columns(columns, path)


def _coordinates(source: Source, used: set[str | None], path: Path) -> list[str]:
    """Return the columns of numbers that have no other use."""
    free = [name for name in source.schema if name not in used and not INDEX.fullmatch(name)]
    found = [name for name in free if source.schema[name].is_numeric()]
    for name in free:
        _refuse_stray_string(source, name, path, found, required=False)
    if not found:
        raise InvalidMeasureError(
            f"no column of numbers is left for the coordinates; the table has {listed(source.schema)}."
        )
    return found


def _refuse_stray_string(source: Source, name: str, path: Path, others: Sequence[str], required: bool) -> None:
    """Refuse a column of strings that a few words made of a column of numbers, or that must be one of numbers."""
    if source.schema[name] not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return
    stray: tuple[int, str] | None = None
    row, numbers, words = 0, 0, 0
    for piece in source.pieces([name]):
        values = piece[name].to_list()
        for word in dict.fromkeys(values):
            if not isinstance(word, str) or not word.strip():
                continue
            words += 1
            if _is_number(word):
                numbers += 1
            elif stray is None:
                stray = row + values.index(word), word
        row += len(values)
        if not required and words and not numbers and stray is not None and not COMMA.fullmatch(stray[1].strip()):
            return  # a column of words
    if stray is None:
        return
    where = f"{str(path)!r}: the column {name!r} has"
    if COMMA.fullmatch(stray[1].strip()):
        raise InvalidFileError(
            f"{where} the number {stray[1]!r} with a decimal comma in {row_number(stray[0])}; read the file with "
            "--decimal , (decimal=','), or name the columns that are coordinates (--columns)."
        )
    if numbers:
        raise InvalidFileError(
            f"{where} the string {stray[1]!r} among its numbers in {row_number(stray[0])}; correct the cell, or "
            "leave it empty and use --drop-missing (drop_missing=True). If the column is no coordinate, name those "
            f"that are: --columns {','.join(others) or '...'}."
        )
    if required:
        raise InvalidMeasureError(
            f"the column {name!r} has type {source.schema[name]}, such as {stray[1]!r} in {row_number(stray[0])}; "
            "coordinates and weights must be numbers. Convert or encode it first."
        )


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _warn_of_lost(keys: AnyArray) -> None:
    lost = [str(key) for key in keys]
    shown = ", ".join(lost[:10]) + (" ..." if len(lost) > 10 else "")
    what = "1 measure has" if len(lost) == 1 else f"{len(lost)} measures have"
    warnings.warn(f"{what} no complete row and no place in the result: {shown}.", KermesWarning, stacklevel=2)
