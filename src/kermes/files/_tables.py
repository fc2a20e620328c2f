"""Long tables: one row per point of a measure."""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import missing
from .._foreign import decoding, is_gzip, read_bytes, require_room
from .._typing import AnyArray
from ..core import ragged
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, KermesWarning
from ..measures import Measures
from ..measures._frame import empty_cells, groups, listed, require_column
from ._data import Data, without_label

#: Columns that a table may have, and rows of a Parquet file that are expanded at a time.
COLUMNS, BATCH = 100_000, 4096


def read(
    path: Path,
    by: str | None,
    columns: Sequence[str] | None,
    weights: str | None,
    label: str | None,
    drop_missing: bool,
) -> Data:
    """Read a CSV or Parquet table."""
    table = _load(path)
    if by is None:
        raise InvalidParameterError(
            f"{path.name!r} is a table: `by` (--by) must name the column that identifies its measures, one of "
            f"{listed(table)}."
        )
    for name in [by, *(columns or ()), *([] if weights is None else [weights]), *([] if label is None else [label])]:
        require_column(table, name)
        if table[name].dtype == nw.Binary:
            raise InvalidFileError(
                f"{str(path)!r}: the column {name!r} holds bytes that are no text in UTF-8; convert it."
            )
    if columns is None:
        columns = _coordinates(table, {by, weights, label}, path)
    numbers = [*columns, *([] if weights is None else [weights])]
    for name in numbers:
        _refuse_stray_string(table[name], path, [other for other in columns if other != name])
    table = _complete(table, by, numbers, drop_missing)
    X = Measures.from_frame(table.to_native(), by, list(columns), weights)
    return Data(X, None if label is None else _labels(table, by, label), by, tuple(columns), "table")


def write_columns(columns: Mapping[str, Any], path: Path) -> None:
    """Write columns of equal length as Parquet or CSV, whose numbers come back with the same bits."""
    if path.suffix.lower() == ".csv":
        with open(
            path, "w", newline="", encoding="utf-8", errors="surrogateescape"
        ) as file:  # names of files as they are
            write_csv(columns, file)
        return
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing("pyarrow", "io", "Writing Parquet") from None
    parquet.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def write_csv(columns: Mapping[str, Any], file: Any) -> None:
    """Write a line of names and the rows."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))


def _load(path: Path) -> Any:
    """Return the table through whichever of pyarrow, pandas and polars is installed."""
    separator = None if path.suffix.lower() in (".parquet", ".pq") else _separator(path)
    for load in (_by_pyarrow, _by_pandas, _by_polars):
        try:
            with decoding(path, "a table"):
                native = load(path, separator)
            return nw.from_native(native, eager_only=True)
        except ImportError:
            continue
        except nw.exceptions.DuplicateError:
            raise InvalidFileError(f"{str(path)!r} has two columns of the same name; rename one of them.") from None
    raise missing("pyarrow", "io", "Reading tables")


def _by_pyarrow(path: Path, separator: str | None) -> Any:
    import pyarrow as pa
    from pyarrow import csv as tables
    from pyarrow import parquet

    if separator is not None:
        return tables.read_csv(_content(path), parse_options=tables.ParseOptions(delimiter=separator))
    with parquet.ParquetFile(path) as file:
        require_room(path, 8 * file.metadata.num_rows * file.metadata.num_columns)
        batches, size = [], 0
        for batch in file.iter_batches(BATCH):
            batches.append(batch)
            size += batch.nbytes
            require_room(path, size)
        return pa.Table.from_batches(batches, file.schema_arrow)


def _by_pandas(path: Path, separator: str | None) -> Any:
    import pandas as pd

    return pd.read_parquet(path) if separator is None else pd.read_csv(_content(path), sep=separator)


def _by_polars(path: Path, separator: str | None) -> Any:
    import polars as pl

    if separator is None:
        return pl.read_parquet(path)
    return pl.read_csv(_content(path), separator=separator, infer_schema_length=None)


def _content(path: Path) -> Any:
    """Return what a library reads: the path, or the expanded content of a gzipped file."""
    return BytesIO(read_bytes(path)) if is_gzip(path) else path


def _separator(path: Path) -> str:
    """Return the character that divides the first line: a comma, semicolon or tab."""
    try:
        with BytesIO(read_bytes(path)) if is_gzip(path) else open(path, "rb") as file:
            first = file.readline().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFileError(f"{str(path)!r} is not UTF-8 text; convert it, or correct its extension.") from None
    if not first.strip():
        raise InvalidFileError(f"{str(path)!r} is empty; a table needs a line with the names of its columns.")
    separator = max(",;\t", key=first.count)
    if first.count(separator) >= COLUMNS:
        raise InvalidFileError(f"{str(path)!r} has more than {COLUMNS:,} columns; is its first line what it should be?")
    return separator


def _coordinates(table: Any, used: set[str | None], path: Path) -> list[str]:
    """Return the columns of numbers that have no other use."""
    free = [name for name in table.columns if name not in used]
    found = [name for name in free if table[name].dtype.is_numeric()]
    for name in free:
        _refuse_stray_string(table[name], path, found)
    if not found:
        raise InvalidMeasureError(f"no column of numbers is left for the coordinates; the table has {listed(table)}.")
    return found


def _refuse_stray_string(column: Any, path: Path, others: Sequence[str]) -> None:
    """Refuse a column of numbers that a few strings among them made a column of strings."""
    if column.dtype.is_numeric() or column.dtype not in (nw.String, nw.Categorical, nw.Object):
        return
    words = [word for word in column.unique().to_list() if isinstance(word, str) and word.strip()]
    strays = {word for word in words if not _is_number(word)}
    if not strays or len(strays) == len(words):
        return
    row, word = next((row, word) for row, word in enumerate(column.to_list()) if word in strays)
    raise InvalidFileError(
        f"{str(path)!r}: the column {column.name!r} has the string {word!r} among its numbers (row {row}); correct "
        "the cell, or leave it empty and use --drop-missing (drop_missing=True). If the column is no coordinate, name "
        f"those that are: --columns {','.join(others) or '...'}."
    )


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _complete(table: Any, by: str, names: Sequence[str], drop: bool) -> Any:
    """Return the rows that have all these numbers; refuse the others, or drop them."""
    kept = np.ones(len(table), dtype=bool)
    for name in names:
        if not table[name].dtype.is_numeric():
            continue
        finite = np.isfinite(np.asarray(table[name].cast(nw.Float64).to_numpy(), dtype=np.float64))
        if not drop and not finite.all():
            row = int(finite.argmin())
            raise InvalidMeasureError(
                f"measure {table[by].to_list()[row]!s} has no finite number in the column {name!r} (row {row}); drop "
                "such rows with --drop-missing (drop_missing=True), or fill them in."
            )
        kept &= finite
    if kept.all():
        return table
    if not kept.any():
        raise InvalidMeasureError("every row lacks a number; no measure is left.")
    left = table.filter(kept.tolist())
    _warn_of_lost(list(dict.fromkeys(table[by].to_list())), set(left[by].to_list()))
    return left


def _warn_of_lost(before: list[Any], after: set[Any]) -> None:
    lost = [str(key) for key in before if key not in after]
    if lost:
        shown = ", ".join(lost[:10]) + (" ..." if len(lost) > 10 else "")
        what = "1 measure has" if len(lost) == 1 else f"{len(lost)} measures have"
        warnings.warn(f"{what} no complete row and no place in the result: {shown}.", KermesWarning, stacklevel=2)


def _labels(table: Any, by: str, label: str) -> AnyArray:
    """Return the label of each group, in the order of the groups."""
    keys, codes = groups(table, by)
    values = np.asarray(table[label].to_numpy())
    gaps = empty_cells(table[label]) | without_label(values)
    if gaps.any():
        row = int(np.flatnonzero(gaps)[0])
        raise InvalidMeasureError(
            f"measure {keys[codes[row]]!s} has no label in the column {label!r} (row {row}); leave it out or label it."
        )
    values = values.astype(str) if values.dtype == object else values
    first = np.unique(codes, return_index=True)[1]
    differing = np.flatnonzero(values != values[first][codes])
    if len(differing):
        row = int(differing[0])
        raise InvalidMeasureError(
            f"measure {keys[codes[row]]!s} has two labels in the column {label!r}, {values[first][codes[row]]!s} and "
            f"{values[row]!s}; the label must be the same in all its rows. Is {by!r} the right column to group by?"
        )
    return np.asarray(values[first])


def long_columns(data: Data) -> dict[str, AnyArray]:
    """Return the columns of the long table."""
    X = data.measures
    owner = ragged.owners(X.offsets)
    names = data.columns or (("row", "column") if X.support is not None and X.support.shape else ())
    names = names or tuple(f"x{i}" for i in range(X.dim))
    columns = [(data.by, data.keys[owner]), *zip(names, X.points.T, strict=True), ("weight", X.weights)]
    if data.labels is not None:
        columns.append(("label", data.labels[owner]))
    if len(dict(columns)) < len(columns):
        raise InvalidParameterError(
            f"two columns would have one name: {', '.join(name for name, _ in columns)}. Rename a column of the input."
        )
    return dict(columns)
