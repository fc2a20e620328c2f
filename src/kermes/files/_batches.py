"""One table that is larger than memory, some measures at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import integer, needed
from .._foreign import decoding, require_file
from ..exceptions import InvalidFileError, InvalidParameterError
from ..measures._frame import as_source, require_column
from . import _parquet, _tables, _text
from ._data import Data


def batches(
    path: str | os.PathLike[str],
    by: str,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    label: str | None = None,
    *,
    metadata: Sequence[str] = (),
    rows: int = 1_000_000,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Iterator[Data]:
    """Read a Parquet or CSV file whose measures stand one after the other, some whole measures at a time.

    For ``partial_fit``, and for distances through a codebook of what never is in memory at once. Needs pyarrow.

    Parameters
    ----------
    path : path
        A long table, a row for each point. The rows of a measure stand together, as in a file that was sorted by it.
    by, columns, weights, label, metadata, separator, decimal, encoding
        As in :func:`read`. Names of measures in CSV files stay text.
    rows : int
        Rows of a batch, about: it ends with the last measure that is complete, and has one measure at least.

    Yields
    ------
    Data
        What :func:`read` gives, of the measures of the batch.

    Raises
    ------
    InvalidFileError
        If the rows of a measure go on after those of another one.

    Notes
    -----
    *Memory*: that of about two batches.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kermes import files
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cells.csv")
    >>> _ = path.write_text("donor,x" + chr(10) + "".join(f"d{i // 3},{i}" + chr(10) for i in range(12)))
    >>> [batch.measures.keys.tolist() for batch in files.batches(path, by="donor", rows=7)]
    [['d0', 'd1'], ['d2', 'd3']]
    """
    place, dialect = Path(path), _text.Dialect(separator, decimal, encoding)
    number = integer(rows, "rows", low=1)
    if place == _text.STDIN or place.is_dir():
        raise InvalidParameterError(
            f"`path` must be one file; got {str(path)!r}. files.read takes folders and streams."
        )
    require_file(place)
    dialect.check()
    used = None if columns is None else [by, *columns, *(n for n in (weights, label) if n is not None), *metadata]
    return _whole_measures(place, by, _read_tables(place, dialect, used, by, number), number,
                           lambda table: _tables._read(
                               as_source(table), place, by, columns, weights, label, metadata, False))  # fmt: skip


def _whole_measures(path: Path, by: str, tables: Iterator[Any], rows: int, read: Any) -> Iterator[Data]:
    """Join tables until they have so many rows, and read them up to where their last measure begins."""
    pa = needed("pyarrow", "io", "Reading files in batches")
    seen: set[Any] = set()
    held: Any = None
    for table in (whole.slice(start, rows) for whole in tables for start in range(0, len(whole), rows)):
        held = table if held is None else pa.concat_tables([held, table])
        cut = _last_begins(held[by]) if len(held) >= rows else 0
        if cut:
            yield _new(read(held.slice(0, cut)), seen, by, path)
            held = held.slice(cut)
    if held is None or not len(held):
        raise InvalidFileError(f"{str(path)!r} has no rows; a table needs one for each point.")
    yield _new(read(held), seen, by, path)


def _last_begins(names: Any) -> int:
    """Return the row after which all have the name of the last."""
    import pyarrow.compute as pc

    others = np.flatnonzero(pc.not_equal(names, names[-1]).fill_null(True).to_numpy())
    return int(others[-1]) + 1 if len(others) else 0


def _new(data: Data, seen: set[Any], by: str, path: Path) -> Data:
    """Refuse measures that were there before."""
    for name in data.keys.tolist():
        if name in seen:
            raise InvalidFileError(
                f"{str(path)!r}: the rows of the measure {name!r} stand in several places. Sort the file by {by!r}, or "
                "read it whole with files.read."
            )
        seen.add(name)
    return data


def _read_tables(path: Path, dialect: _text.Dialect, used: Sequence[str] | None, by: str, rows: int) -> Iterator[Any]:
    """Yield tables of Arrow, in order."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    names = None if used is None else list(dict.fromkeys(used))
    if _parquet.is_parquet(path):
        with decoding(path, "a table"), parquet.ParquetFile(path, memory_map=False) as file:
            for name in [by] if names is None else names:
                require_column(dict.fromkeys(file.schema_arrow.names), name)
            for batch in file.iter_batches(min(rows, 1 << 16), columns=names):
                yield pa.Table.from_batches([batch])
        return
    header, dialect = _text._header(path, dialect, None)
    _text.refuse_twice(header, path)
    for name in [by] if names is None else names:
        require_column(dict.fromkeys(header), name)
    with decoding(path, "a table"), csv.open_csv(
        _text._content(path, dialect, None),
        read_options=csv.ReadOptions(encoding=dialect.encoding or "utf8", block_size=_text.PIECE),
        parse_options=csv.ParseOptions(delimiter=dialect.separator),
        convert_options=csv.ConvertOptions(
            decimal_point=dialect.decimal or ".", include_columns=names or [], column_types={by: pa.string()}
        ),
    ) as reader:  # fmt: skip
        for batch in reader:
            yield pa.Table.from_batches([batch])
