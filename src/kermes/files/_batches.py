"""One table that is larger than memory, some measures at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import integer, needed
from .._foreign import decoding, open_limited, require_file
from .._values import written
from ..exceptions import InvalidFileError, InvalidParameterError
from ..measures._columns import require_column
from ..measures._frame import Wanted, as_source
from . import _delimited, _parquet, _tables, _text
from ._choice import Choice, stray
from ._data import Data

#: What Arrow says of a cell that does not have the type of its column.
UNLIKE = re.compile(r"In CSV column #(\d+): .*conversion error to (\w+).*: invalid value '(.*)'", re.DOTALL)


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
        the first rows are, also those that start with zeros, and are rounded beyond 64 bits. Parquet keeps them. The
        coordinates are those that :func:`read` takes, and a string among their numbers is refused once it is read.
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
    return _whole_measures(place, wanted, dialect, number)


def _whole_measures(path: Path, wanted: Wanted, dialect: _text.Dialect, rows: int) -> Iterator[Data]:
    """Join batches of Arrow until they have so many rows, and read them up to where their last measure begins."""
    pa, pc = (needed(name, "io", "Reading files in batches") for name in ("pyarrow", "pyarrow.compute"))
    is_parquet = _parquet.is_parquet(path)
    declared = _parquet.categories(path) if is_parquet else set()
    batches = _of_parquet(path, wanted, rows) if is_parquet else _of_text(path, wanted, dialect)
    choice: Choice | None = None
    seen: set[Any] = set()

    def checked(table: Any) -> Any:
        nonlocal choice
        source = as_source(table)
        choice = choice or Choice(source.schema, path, wanted, dialect.decimal, declared)
        choice.look_at(source)
        return table

    def read(table: Any) -> Data:
        known = wanted if choice is None else choice.wanted
        data = _tables.read_source(as_source(table), path, known, decimal=dialect.decimal)
        for name in written(data.keys):
            if name in seen:
                raise InvalidFileError(
                    f"{str(path)!r}: the rows of the measure {name!r} stand in several places. Sort the file by "
                    f"{wanted.by!r}, or read it whole with files.read."
                )
            seen.add(name)
        return replace(data, metadata=_tables.with_categories(data.metadata, declared))

    held: Any = None
    tables = (checked(pa.Table.from_batches([batch])) for batch in batches)
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


def _of_parquet(path: Path, wanted: Wanted, rows: int) -> Iterator[Any]:
    """Yield batches of Arrow, in order."""
    from pyarrow import parquet

    with decoding(path, "a table"), parquet.ParquetFile(path, memory_map=False) as file:
        yield from file.iter_batches(min(rows, 1 << 16), columns=_require(file.schema_arrow.names, wanted))


def _of_text(path: Path, wanted: Wanted, dialect: _text.Dialect) -> Iterator[Any]:
    """Yield batches of Arrow, in order; the first rows say which columns are numbers."""
    import pyarrow as pa
    from pyarrow.csv import open_csv

    header, dialect = _text._header(path, dialect, None)
    _text.refuse_twice(header, path)
    given = (partial(open_limited, path), dialect, path, _require(header, wanted))
    names = {wanted.by: pa.string()}
    with decoding(path, "a table"):
        with _delimited.parsing(*given, names, True) as (stream, options), open_csv(stream, **options) as reader:
            schema = reader.schema
        numbers = Choice(as_source(schema.empty_table()).schema, path, wanted).wanted.numbers
        # Whole numbers may be followed by others, and Arrow would take hexadecimal ones.
        whole = [name for name in numbers if pa.types.is_integer(kind := schema.field(name).type) or kind == pa.null()]
        types = dict.fromkeys(whole, pa.float64()) | names
        try:
            with _delimited.parsing(*given, types, True) as (stream, options), open_csv(stream, **options) as reader:
                for batch in reader:
                    _refuse_rounded(batch.select(whole), path)
                    if stream.has_hexadecimal:
                        _refuse_whole(batch.select(wanted.constant), path)
                    yield batch
        except pa.ArrowInvalid as error:
            _refuse_unlike(str(error), path, header, numbers)
            raise


def _refuse_rounded(whole: Any, path: Path) -> None:
    """Refuse numbers that were whole in the text, and may have been rounded."""
    from pyarrow import compute

    for name, column in zip(whole.schema.names, whole.columns, strict=True):
        if (compute.max(compute.abs(column)).as_py() or 0.0) >= 2.0**53:
            raise InvalidFileError(
                f"{str(path)!r}: the column {name!r} has whole numbers of more than 53 bits, which doubles may round. "
                "Subtract an origin that all share (of times), or number the different values (of codes)."
            )


def _refuse_whole(labels: Any, path: Path) -> None:
    """Refuse labels that are whole numbers, in text with hexadecimal ones: 0xA and 10 would be one."""
    import pyarrow as pa

    for field in labels.schema:
        if pa.types.is_integer(field.type):
            raise InvalidFileError(
                f"{str(path)!r} has hexadecimal numbers such as 0x1F, which would be decimal ones in the column "
                f"{field.name!r}. Read it whole with files.read, where they are strings."
            )


def _refuse_unlike(message: str, path: Path, header: Sequence[str], numbers: Sequence[str]) -> None:
    """Refuse, in our words, a cell that is not what those of the first rows are."""
    if not (found := UNLIKE.search(message)):
        return
    name, kind, word = header[int(found[1])], found[2], found[3]
    if name in numbers:
        raise stray(path, name, word, None, [other for other in numbers if other != name])
    raise InvalidFileError(
        f"{str(path)!r}: the column {name!r} has {word!r}, where the first rows have the type {kind}. Write its cells "
        "in one way, name the columns that are coordinates, or read the file whole with files.read."
    )


def _require(there: Sequence[str], wanted: Wanted) -> list[str] | None:
    """Return the columns to read, None for all; refuse to read one that is not there."""
    names = None if wanted.columns is None else list(dict.fromkeys(wanted.names))
    for name in names or [wanted.by]:
        require_column(dict.fromkeys(there), name)
    return names
