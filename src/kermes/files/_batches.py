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
from ..measures._frame import Wanted, as_source, require_column
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
        As in :func:`read`. Names of measures in CSV files stay strings; labels and metadata are numbers where those of
        the first rows are, also those that start with zeros, and are rounded beyond 64 bits. Parquet keeps them.
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
    wanted = Wanted(by, columns, weights, label, metadata)
    number = integer(rows, "rows", low=1)
    if place == _text.STDIN or place.is_dir():
        raise InvalidParameterError(
            f"`path` must be one file; got {str(path)!r}. files.read takes folders and streams."
        )
    require_file(place)
    dialect.check()
    return _whole_measures(place, wanted, _read_batches(place, dialect, wanted, number), number)


def _whole_measures(path: Path, wanted: Wanted, batches: Iterator[Any], rows: int) -> Iterator[Data]:
    """Join batches of Arrow until they have so many rows, and read them up to where their last measure begins."""
    pa, pc = (needed(name, "io", "Reading files in batches") for name in ("pyarrow", "pyarrow.compute"))
    seen: set[Any] = set()

    def read(table: Any) -> Data:
        data = _tables.read_source(as_source(table), path, wanted)
        for name in data.keys.tolist():
            if name in seen:
                raise InvalidFileError(
                    f"{str(path)!r}: the rows of the measure {name!r} stand in several places. Sort the file by "
                    f"{wanted.by!r}, or read it whole with files.read."
                )
            seen.add(name)
        return data

    held: Any = None
    tables = (pa.Table.from_batches([batch]) for batch in batches)
    for table in (whole.slice(start, rows) for whole in tables for start in range(0, len(whole), rows)):
        held = table if held is None else pa.concat_tables([held, table])
        if len(held) < rows:
            continue
        names = held[wanted.by]
        others = np.flatnonzero(pc.not_equal(names, names[-1]).fill_null(True).to_numpy())
        if len(others):  # the last of them ends the measures that are complete
            yield read(held.slice(0, int(others[-1]) + 1))
            held = held.slice(int(others[-1]) + 1)
    if held is None or not len(held):
        raise InvalidFileError(f"{str(path)!r} has no rows; a table needs one for each point.")
    yield read(held)


def _read_batches(path: Path, dialect: _text.Dialect, wanted: Wanted, rows: int) -> Iterator[Any]:
    """Yield batches of Arrow, in order."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    names = None if wanted.columns is None else list(dict.fromkeys(wanted.names))

    def require(there: Sequence[str]) -> None:
        for name in names or [wanted.by]:
            require_column(dict.fromkeys(there), name)

    if _parquet.is_parquet(path):
        with decoding(path, "a table"), parquet.ParquetFile(path, memory_map=False) as file:
            require(file.schema_arrow.names)
            yield from file.iter_batches(min(rows, 1 << 16), columns=names)
        return
    header, dialect = _text._header(path, dialect, None)
    _text.refuse_twice(header, path)
    require(header)
    options = _text.arrow_options(dialect, names, {wanted.by: pa.string()})
    with decoding(path, "a table"), csv.open_csv(_text._content(path, None), **options) as reader:
        yield from reader
