"""Long tables, one row per point of a measure; tables of samples, one row for each measure with what is known of it."""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import needed, row_number
from .._typing import AnyArray, IndexArray
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, KermesWarning
from ..measures import Measures
from ..measures._frame import Source, Wanted, cells, listed, long_columns, require_column, whole_with_gaps
from ..measures._frame import read as read_measures
from . import _parquet, _text
from ._data import Data

#: Numbers without a sign or zeros that a number does not have; whole ones fit into 64 bits.
WHOLE, DECIMAL = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII), re.compile(r"-?\d+\.\d+", re.ASCII)
#: What pandas calls row numbers: in text, in text that it wrote twice, in Parquet.
INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
#: What columns of masses are called; we write the first.
WEIGHTS = ("weight", "weights")
#: Whole numbers, also as spreadsheets write them.
SPREADSHEET = re.compile(r"([+-]?\d+)(\.0*)?", re.ASCII)


def read(path: Path, wanted: Wanted, drop_missing: bool, dialect: _text.Dialect) -> Data:
    """Read a CSV or Parquet table, or a folder of Parquet files."""
    source: Source
    if is_parquet := _parquet.is_parquet(path):
        source = _parquet.source(path)
    else:
        labels = [name for name in wanted.constant if name not in wanted.numbers]
        by = None if wanted.by in {*wanted.numbers, *labels} else wanted.by
        every = wanted.columns is None or wanted.by is None  # the message on a missing `by` lists all columns
        source = _text.source(path, dialect, None if every else wanted.names, by, labels)
    declared = _parquet.categories(path) if is_parquet else set()
    try:
        data = read_source(source, path, wanted, drop_missing, dialect.decimal, declared)
    except InvalidMeasureError as error:
        raise InvalidMeasureError(f"{path.name}: {error}") from None
    if is_parquet:
        return replace(data, metadata=_with_categories(data.metadata, declared))
    return replace(data, measures=Measures(replace(data.measures._packed, keys=_as_numbers(data.keys))))


def read_source(
    source: Source,
    path: Path,
    wanted: Wanted,
    drop_missing: bool = False,
    decimal: str | None = None,
    categories: Collection[str] = (),
) -> Data:
    """Read measures from the table of a file; ``categories`` are no coordinates unless they are named as such."""
    if wanted.by is None:
        raise InvalidParameterError(
            f"{path.name!r} is a table: `by` (--by) must name the column that identifies its measures, one of "
            f"{listed(source.schema)}."
        )
    for name in wanted.names:
        require_column(source.schema, name)
        _refuse_bytes(source, name, path)
    if wanted.columns is None:
        columns = _coordinates(source, {*wanted.names, *categories}, path, decimal)
        if wanted.weights is None:
            _refuse_likely_weights(columns, path)
        wanted = wanted._replace(columns=columns)
    for name in wanted.numbers:
        others = [other for other in wanted.columns or () if other != name]
        _refuse_stray_string(source, name, path, others, decimal, required=True)
    found = read_measures(source, wanted, "drop" if drop_missing else "refuse")
    _warn_of_decimals(found.constants, path, decimal)
    if len(found.lost):
        what = "1 measure has" if len(found.lost) == 1 else f"{len(found.lost)} measures have"
        message = f"{what} no complete row and no place in the result: {_first_of(found.lost)}."
        warnings.warn(message, KermesWarning, stacklevel=2)
    data = Data.of_columns(found.packed, wanted, found.constants, found.columns, "table")
    return replace(data, dropped=found.dropped)


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
        # Names of files stay as they are.
        with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
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
        columns[name] = np.asarray(values)[owner]
    write_columns(columns, path)


def _coordinates(source: Source, used: set[str], path: Path, decimal: str | None) -> list[str]:
    """Return the columns of numbers that have no other use."""
    free = [name for name in source.schema if name not in used and not INDEX.fullmatch(name)]
    found = [name for name in free if source.schema[name].is_numeric()]
    for name in free:
        _refuse_stray_string(source, name, path, found, decimal, required=False)
    if not found:
        lists = [name for name in free if source.schema[name] in (nw.List, nw.Array)]
        hint = f" Name columns of lists: --columns {','.join(lists)} (columns={lists})." if lists else ""
        raise InvalidMeasureError(
            f"no column of numbers is left for the coordinates; the table has {listed(source.schema)}.{hint}"
        )
    return found


def _refuse_likely_weights(columns: Sequence[str], path: Path) -> None:
    """Refuse to take for a coordinate what is called as weights are, also in tables that :func:`write` wrote."""
    for name in columns:
        if name.strip().casefold() in WEIGHTS:
            raise InvalidParameterError(
                f"{path.name!r} has a column {name!r} of which nothing was said: masses (--weights {name}, "
                f"weights={name!r}), or a coordinate (--columns {','.join(columns)})?"
            )


def _refuse_stray_string(
    source: Source, name: str, path: Path, others: Sequence[str], decimal: str | None, required: bool
) -> None:
    """Refuse a column of strings that a few words made of a column of numbers, or that must be one of numbers."""
    if source.schema[name] not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return
    mark, other = (",", ".") if decimal == "," else (".", ",")
    stray: tuple[int, str] | None = None
    row, numbers, marked = 0, False, False
    for piece in source.pieces([name]):
        values = piece[name].to_list()
        for word in dict.fromkeys(values):
            if not isinstance(word, str) or not word.strip():
                continue
            if _is_number(word, mark):
                numbers, marked = True, marked or mark in word
            elif stray is None:
                stray = row + values.index(word), word
        row += len(values)
        if not required and not numbers and stray is not None and not _is_number(stray[1], other):
            return  # a column of words
    if stray is None:
        return
    where = f"{str(path)!r}: the column {name!r} has"
    if _is_number(stray[1], other):
        names = {".": "point", ",": "comma"}
        remedy = (
            f"others have a decimal {names[mark]}. Write all of them in one way."
            if marked
            else f"read the file with --decimal {other} (decimal={other!r}), or name the columns that are coordinates "
            "(--columns)."
        )
        raise InvalidFileError(
            f"{where} the number {stray[1]!r} with a decimal {names[other]} in {row_number(stray[0])}; {remedy}"
        )
    if numbers:
        raise InvalidFileError(
            f"{where} the string {stray[1]!r} among its numbers in {row_number(stray[0])}; correct the cell, or "
            "leave it empty and use --drop-missing (drop_missing=True). If the column is not a coordinate, name those "
            f"that are: --columns {','.join(others) or '...'}."
        )
    if required:
        raise InvalidMeasureError(
            f"the column {name!r} has type {source.schema[name]}, such as {stray[1]!r} in {row_number(stray[0])}; "
            "coordinates and weights must be numbers. Convert or encode it first."
        )


def _is_number(word: str, mark: str) -> bool:
    """Return whether this is a number whose decimal mark, if it has any, is this one."""
    try:
        written = (mark == "." or "." not in word) and "_" not in word  # which Python would skip
        return written and math.isfinite(float(word.replace(mark, ".")))
    except ValueError:
        return False


def _first_of(keys: Any) -> str:
    return ", ".join(map(str, keys[:10])) + (" ..." if len(keys) > 10 else "")


def joined(data: Data, path: Path, wanted: Wanted, dialect: _text.Dialect) -> Data:
    """Return the measures that a table of samples (a row for each) names, with the columns that are wanted.

    ``dialect`` is that of the measures: as far as it fits, the samples are written in it, too.
    """
    columns, text = wanted.constant, not _parquet.is_parquet(path)
    table: Source = (
        _text.source(path, _text.fitting(dialect, path), None, wanted.by or "", columns)
        if text
        else _parquet.source(path)
    )
    name = wanted.by if wanted.by in table.schema else next(iter(table.schema))
    for column in columns:
        try:
            require_column(table.schema, column)
        except InvalidMeasureError as error:
            raise InvalidMeasureError(f"{path.name}: {error}") from None
    for column in (name, *columns):
        _refuse_bytes(table, column, path)
    row_of = _rows(_values(table, name), path, name)
    keys = [str(key) for key in data.keys]
    plain, plainer = [_plain(key) for key in keys], {_plain(key): key for key in row_of}
    if len(set(plain)) == len(keys) and len(plainer) == len(row_of):  # 1 is 01 where nothing else is called so
        other = {key: plainer[word] for key, word in zip(keys, plain, strict=True) if plainer.get(word, key) != key}
        if other:
            pairs = _first_of([f"{theirs} for {key}" for key, theirs in other.items()])
            message = (
                f"{path.name} writes names of measures in another way, {pairs} ({len(other)} in all): taken for the "
                "same. Write them alike, or rename those that are others."
            )
            warnings.warn(message, KermesWarning, stacklevel=2)
        row_of |= {key: row_of[theirs] for key, theirs in other.items()}
    kept = [i for i, key in enumerate(keys) if key in row_of]
    if not kept:
        raise InvalidFileError(
            f"{str(path)!r} names none of the measures in its column {name!r}: it has {next(iter(row_of), 'none')!r}, "
            f"the measures are {data.keys[0]!s} and so on."
        )
    lost = [data.keys[i] for i, key in enumerate(keys) if key not in row_of]
    if lost:
        message = f"{path.name} does not name {_first_of(lost)}: left out ({len(lost)} in all)."
        warnings.warn(message, KermesWarning, stacklevel=2)
    rows = np.array([row_of[keys[i]] for i in kept])
    values = {column: _values(table, column, rows) for column in columns}
    _warn_of_decimals(values, path, dialect.decimal)
    labels = None if data.labels is None else data.labels[kept]
    return replace(
        data,
        measures=data.measures[kept] if lost else data.measures,
        labels=labels if wanted.label is None else values[wanted.label],
        metadata=_with_categories(
            {column: values[column] for column in wanted.metadata}, set() if text else _parquet.categories(path)
        ),
    )


def _refuse_bytes(source: Source, name: str, path: Path) -> None:
    """Refuse a column whose text is not UTF-8."""
    if source.schema[name] == nw.Binary:
        raise InvalidFileError(
            f"{str(path)!r}: the column {name!r} holds bytes, not UTF-8 text. Of a text file, name the encoding, "
            "such as --encoding latin-1; in Parquet, convert the column to strings."
        )


def _warn_of_decimals(columns: Mapping[str, AnyArray], path: Path, decimal: str | None) -> None:
    """Warn of labels that are all numbers if their commas, or points, are decimal ones."""
    mark, other = (",", ".") if decimal == "," else (".", ",")
    for name, values in columns.items():
        words = [word for word in np.unique(values).tolist() if word.strip()] if values.dtype.kind == "U" else []
        if not all(_is_number(word, other) for word in words) or all(_is_number(word, mark) for word in words):
            continue
        marked = next(word for word in words if not _is_number(word, mark))
        remedy = "read them with --decimal , (decimal=',')" if other == "," else "write decimal commas in all tables"
        warnings.warn(
            f"{path.name}: the values of the column {name!r}, such as {marked!r}, are taken as labels. If they are "
            f"numbers with a decimal {'comma' if other == ',' else 'point'}, {remedy}.",
            KermesWarning,
            stacklevel=2,
        )


def _with_categories(columns: Mapping[str, AnyArray], declared: Collection[str]) -> dict[str, AnyArray]:
    """Return columns in which numbers that are declared categories are strings, so that they stay labels."""
    return {
        name: values.astype(str) if name in declared and values.dtype.kind in "iuf" else values
        for name, values in columns.items()
    }


def _rows(names: AnyArray, path: Path, column: str) -> dict[str, int]:
    """Return the row of each name; a name of a file may have its ending."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names.tolist()):
        key = str(name).removesuffix(".fcs").removesuffix(".FCS")
        if key in rows:
            raise InvalidFileError(
                f"{str(path)!r} names {key!r} twice in the column {column!r}, in {row_number(rows[key])} and row {row}"
                "; leave one of them out."
            )
        rows[key] = row
    return rows


def _plain(name: str) -> str:
    """Return a whole number as others write it: 7 for 007 and 7.0."""
    whole = SPREADSHEET.fullmatch(name.strip())
    return str(int(whole[1])) if whole else name


def _values(source: Any, name: str, rows: IndexArray | slice = slice(None)) -> AnyArray:
    """Return some rows of a column; missing strings are '', missing numbers nan."""
    parts, gaps = [], []
    for piece in source.pieces([name]):
        values, empty = cells(piece[name])
        parts.append(np.where(empty, "", values.astype(str)) if values.dtype == object else values)
        gaps.append(empty)
    found = np.concatenate(parts)[rows]
    return whole_with_gaps(found, np.concatenate(gaps)[rows]) if found.dtype.kind in "iu" else found
