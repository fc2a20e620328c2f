"""Long tables, one row per point of a measure; tables of samples, one row for each measure with what is known of it."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import needed, row_number
from .._typing import AnyArray, IndexArray
from .._values import written
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, KermesWarning
from ..measures import Measures
from ..measures._columns import cells, listed, require_column, whole_with_gaps
from ..measures._frame import Source, Wanted, long_columns
from ..measures._frame import read as read_measures
from . import _parquet, _text
from ._choice import Choice, is_number, refuse_bytes
from ._data import Data

#: Numbers without a sign or zeros that a number does not have; whole ones fit into 64 bits.
WHOLE, DECIMAL = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII), re.compile(r"-?\d+\.\d+", re.ASCII)
#: Whole numbers, also as spreadsheets write them.
SPREADSHEET = re.compile(r"([+-]?\d+)(\.0*)?", re.ASCII)


def read(path: Path, wanted: Wanted, drop_missing: bool, dialect: _text.Dialect) -> Data:
    """Read a CSV or Parquet table, or a folder of Parquet files."""
    source: Source
    if is_parquet := _parquet.is_parquet(path):
        source = _parquet.source(path)
    else:
        labels = [name for name in wanted.constant if name not in wanted.numbers]
        labels += [wanted.by] if wanted.by in wanted.numbers else []
        every = wanted.columns is None or wanted.by is None  # the message on a missing `by` lists all columns
        source = _text.source(path, dialect, None if every else wanted.names, wanted.by, labels)
    declared = _parquet.categories(path) if is_parquet else set()
    try:
        data = read_source(source, path, wanted, drop_missing, dialect.decimal, declared)
    except InvalidMeasureError as error:
        raise InvalidMeasureError(f"{path.name}: {error}") from None
    if is_parquet:
        return replace(data, metadata=with_categories(data.metadata, declared))
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
    choice = Choice(source.schema, path, wanted, decimal, categories)
    choice.look_at(source)
    wanted = choice.wanted
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
    try:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
    except UnicodeError:
        raise InvalidParameterError(
            "some names or labels, such as those of files, are no text in UTF-8, which Parquet needs; write .csv."
        ) from None
    parquet.write_table(table, path)


def write_csv(columns: Mapping[str, Any], file: Any) -> None:
    """Write a line of names and the rows."""
    written_columns = [written(values) for values in columns.values()]
    words = (word for column in (columns, *written_columns) for word in column)
    # Python before 3.13 leaves carriage returns without quotes.
    returns = any(isinstance(word, str) and "\r" in word for word in words)
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows(zip(*written_columns, strict=True))


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


def _first_of(keys: Any) -> str:
    return ", ".join(map(str, keys[:10])) + (" ..." if len(keys) > 10 else "")


def joined(data: Data, path: Path, wanted: Wanted, dialect: _text.Dialect) -> Data:
    """Return the measures that a table of samples (a row for each) names, with the columns that are wanted.

    ``dialect`` is that of the measures: as far as it fits, the samples are written in it, too.
    """
    columns, text = wanted.constant, not _parquet.is_parquet(path)
    table: Source = (
        _text.source(path, _text.fitting(dialect, path), None, wanted.by, [c for c in columns if c != wanted.by])
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
        refuse_bytes(table.schema, column, path)
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
        metadata=with_categories(
            {column: values[column] for column in wanted.metadata}, set() if text else _parquet.categories(path)
        ),
    )


def _warn_of_decimals(columns: Mapping[str, AnyArray], path: Path, decimal: str | None) -> None:
    """Warn of labels that are all numbers if their commas, or points, are decimal ones."""
    mark, other = (",", ".") if decimal == "," else (".", ",")
    for name, values in columns.items():
        words = [word for word in np.unique(values).tolist() if word.strip()] if values.dtype.kind == "U" else []
        if not all(is_number(word, other) for word in words) or all(is_number(word, mark) for word in words):
            continue
        marked = next(word for word in words if not is_number(word, mark))
        remedy = "read them with --decimal , (decimal=',')" if other == "," else "write decimal commas in all tables"
        warnings.warn(
            f"{path.name}: the values of the column {name!r}, such as {marked!r}, are taken as labels. If they are "
            f"numbers with a decimal {'comma' if other == ',' else 'point'}, {remedy}.",
            KermesWarning,
            stacklevel=2,
        )


def with_categories(columns: Mapping[str, AnyArray], declared: Collection[str]) -> dict[str, AnyArray]:
    """Return columns in which numbers that are declared categories are strings, so that they stay labels."""
    return {
        name: values.astype(str) if name in declared and values.dtype.kind in "iuf" else values
        for name, values in columns.items()
    }


def _rows(names: AnyArray, path: Path, column: str) -> dict[str, int]:
    """Return the row of each name; a name of a file may have its ending."""
    rows: dict[str, int] = {}
    for row, name in enumerate(written(names)):
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
