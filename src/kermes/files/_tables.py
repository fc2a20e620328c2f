"""Long tables: one row per point of a measure."""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import missing
from .._typing import AnyArray
from ..core import ragged
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError, KermesWarning
from ..measures import Measures
from ..measures._frame import empty_cells, groups, listed, require_column
from ._data import Data, without_label


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
            f"{path.name!r} is a table: `by` (--by) must name the column that tells its measures apart, one of "
            f"{listed(table)}."
        )
    for name in [by, *(columns or ()), *([] if weights is None else [weights]), *([] if label is None else [label])]:
        require_column(table, name)
    if columns is None:
        columns = _coordinates(table, {by, weights, label})
    table = _complete(table, by, [*columns, *([] if weights is None else [weights])], drop_missing)
    X = Measures.from_frame(table.to_native(), by, list(columns), weights)
    return Data(X, None if label is None else _labels(table, by, label), by, tuple(columns), "table")


def write_csv(data: Data, path: Path) -> None:
    """Write one row per atom; numbers are written so that they come back with the same bits."""
    columns = _long(data)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_parquet(data: Data, path: Path) -> None:
    """Write one row per atom."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing("pyarrow", "io", "Writing Parquet") from None
    parquet.write_table(pa.table({name: pa.array(column) for name, column in _long(data).items()}), path)


def _load(path: Path) -> Any:
    """Return the table through whichever of pyarrow, pandas and polars is installed."""
    parquet = path.suffix in (".parquet", ".pq")
    separator = None if parquet else _separator(path)
    for load in (_by_pyarrow, _by_pandas, _by_polars):
        try:
            native = load(path, separator)
        except ImportError:
            continue
        except (OSError, MemoryError):
            raise
        except Exception as error:  # each library has errors of its own
            first = str(error).strip().splitlines()[0]
            raise InvalidFileError(f"{str(path)!r} cannot be read as a table: {first}") from error
        try:
            return nw.from_native(native, eager_only=True)
        except nw.exceptions.DuplicateError:
            raise InvalidFileError(f"{str(path)!r} has two columns of the same name; rename one of them.") from None
    raise missing("pyarrow", "io", "Reading tables")


def _by_pyarrow(path: Path, separator: str | None) -> Any:
    from pyarrow import csv as tables
    from pyarrow import parquet

    if separator is None:
        return parquet.read_table(path)
    return tables.read_csv(path, parse_options=tables.ParseOptions(delimiter=separator))


def _by_pandas(path: Path, separator: str | None) -> Any:
    import pandas as pd

    return pd.read_parquet(path) if separator is None else pd.read_csv(path, sep=separator)


def _by_polars(path: Path, separator: str | None) -> Any:
    import polars as pl

    if separator is None:
        return pl.read_parquet(path)
    return pl.read_csv(path, separator=separator, infer_schema_length=None)


def _separator(path: Path) -> str:
    """Return the character that divides the first line: a comma, semicolon or tab."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            first = file.readline()
    except UnicodeDecodeError:
        raise InvalidFileError(f"{str(path)!r} is not text in UTF-8; convert it, or name it for what it is.") from None
    if not first.strip():
        raise InvalidFileError(f"{str(path)!r} is empty; a table needs a line with the names of its columns.")
    return max(",;\t", key=first.count)


def _coordinates(table: Any, used: set[str | None]) -> list[str]:
    """Return the columns of numbers that have no other use."""
    found = [name for name in table.columns if name not in used and table[name].dtype.is_numeric()]
    if not found:
        raise InvalidMeasureError(f"no column of numbers is left for the coordinates; the table has {listed(table)}.")
    return found


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


def _long(data: Data) -> dict[str, AnyArray]:
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
