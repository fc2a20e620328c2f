"""Tables as text: separators, decimal commas, encodings, compression, standard input."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import narwhals as nw

from .._checks import missing
from .._foreign import decoding, is_compressed, open_limited, read_stream
from ..exceptions import InvalidFileError, InvalidParameterError
from ..measures._frame import InMemory

#: Columns that a table may have.
COLUMNS = 100_000
STDIN = Path("-")
#: Bytes that are parsed at a time: pieces of Arrow's own megabyte cost as much again afterwards.
PIECE = 1 << 22
#: Length that the first line may have.
LINE = 1 << 27


@dataclass(frozen=True)
class Dialect:
    """How the text is written; None for a separator that the first line tells."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def check(self) -> None:
        """Refuse what no table is written with."""
        if self.separator is not None and len(self.separator) != 1:
            raise InvalidParameterError(f"`separator` (--separator) must be one character; got {self.separator!r}.")
        if self.decimal not in (None, ".", ","):
            raise InvalidParameterError(f"`decimal` (--decimal) must be '.' or ','; got {self.decimal!r}.")
        if self.decimal is not None and self.separator == self.decimal:
            raise InvalidParameterError(f"`separator` and `decimal` are both {self.decimal!r}; they must differ.")
        if self.encoding is not None:
            try:
                "a".encode(self.encoding)
            except LookupError:
                raise InvalidParameterError(
                    f"`encoding` (--encoding) must be one that Python knows, such as latin-1; got {self.encoding!r}."
                ) from None


def source(path: Path, dialect: Dialect, columns: Sequence[str] | None, by: str | None) -> InMemory:
    """Return the table through whichever of pyarrow, pandas and polars is there; ``columns`` of it, if it has them.

    The column ``by``, or else the first one, names measures and is text: 01 and 1 are two names. None: no column is.
    """
    dialect.check()
    stdin = read_stream(sys.stdin.buffer) if path == STDIN else None
    header, dialect = _header(path, dialect, stdin)
    refuse_twice(header, path)
    names = [name for name in columns or () if name in header]
    wanted = names if columns is not None and len(names) == len(columns) else None
    text = by if by is None or by in header else header[0]
    for load in (_by_pyarrow, _by_pandas, _by_polars):
        try:
            with decoding(path, "a table"):
                table = nw.from_native(load(_content(path, dialect, stdin), dialect, wanted, text), eager_only=True)
        except ImportError:
            continue
        if not len(table):
            raise InvalidFileError(
                f"{str(path)!r} has the names of {len(table.columns)} columns and no rows; a table needs one for each "
                "point."
            )
        return InMemory(table)
    raise missing("pyarrow", "io", "Reading tables")


def refuse_twice(names: Sequence[str], path: Path) -> None:
    """Refuse two columns of one name."""
    if len(set(names)) < len(names):
        raise InvalidFileError(f"{str(path)!r} has two columns of the same name; rename one of them.")


def _by_pyarrow(content: Any, dialect: Dialect, columns: Sequence[str] | None, text: str | None) -> Any:
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    table = read_csv(
        content,
        read_options=ReadOptions(encoding=dialect.encoding or "utf8", block_size=PIECE),
        parse_options=ParseOptions(delimiter=dialect.separator),
        convert_options=ConvertOptions(
            decimal_point=dialect.decimal or ".",
            include_columns=list(dict.fromkeys(columns or ())),
            column_types={} if text is None else {text: pa.dictionary(pa.int32(), pa.binary())},
        ),
    )
    if text not in table.column_names:
        return table
    try:  # few names, in many rows
        names = [
            pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(pa.string()))
            for part in table[text].chunks
        ]
    except pa.ArrowInvalid:  # bytes that are no text in UTF-8: an error for whoever reads the column
        names = table[text].cast(pa.binary()).chunks
    return table.set_column(table.column_names.index(text), text, pa.chunked_array(names))


def _by_pandas(content: Any, dialect: Dialect, columns: Sequence[str] | None, text: str | None) -> Any:
    import pandas as pd

    return pd.read_csv(
        content,
        sep=dialect.separator,
        decimal=dialect.decimal or ".",
        encoding=dialect.encoding,
        usecols=None if columns is None else list(columns),
        dtype=None if text is None else {text: str},
    )


def _by_polars(content: Any, dialect: Dialect, columns: Sequence[str] | None, text: str | None) -> Any:
    import polars as pl

    if dialect.encoding is not None:
        raw = content.read_bytes() if isinstance(content, Path) else content.read()
        content = BytesIO(raw.decode(dialect.encoding).encode())
    return pl.read_csv(
        content,
        separator=dialect.separator or ",",
        decimal_comma=dialect.decimal == ",",
        columns=None if columns is None else list(columns),
        infer_schema_length=None,
        schema_overrides=None if text is None else {text: pl.String},
    )


def _content(path: Path, dialect: Dialect, stdin: bytes | None) -> Any:
    """Return what a library reads: the path, or a file of the content expanded."""
    if stdin is not None:
        return BytesIO(stdin)
    return open_limited(path) if is_compressed(path) else path


def _header(path: Path, dialect: Dialect, stdin: bytes | None) -> tuple[list[str], Dialect]:
    """Return the names of the columns as they stand, and the dialect with the separator of the first line."""
    try:
        with decoding(path, "text"), BytesIO(stdin) if stdin is not None else open_limited(path) as file:
            first = _first_line(file, dialect.encoding)
    except InvalidFileError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise InvalidFileError(
                f"{str(path)!r} is not text in {dialect.encoding or 'UTF-8'}; name its encoding, such as --encoding "
                "latin-1 (encoding='latin-1'), or correct its extension."
            ) from None
        raise
    if not first.strip():
        raise InvalidFileError(f"{str(path)!r} is empty; a table needs a line with the names of its columns.")
    separator = dialect.separator or _separator(first, dialect.decimal)
    if first.count(separator) >= COLUMNS:
        raise InvalidFileError(f"{str(path)!r} has more than {COLUMNS:,} columns; is its first line what it should be?")
    try:
        names = next(csv.reader([first], delimiter=separator))
    except csv.Error:  # endless fields, which no table has
        names = first.split(separator)
    return names, Dialect(separator, dialect.decimal, dialect.encoding)


def _separator(first: str, decimal: str | None) -> str:
    """Return what the first line has most of, quotes aside; beside decimal commas a comma if there is nothing else."""
    bare = "".join(first.split('"')[::2])
    found = max(",;\t" if decimal != "," else ";\t", key=bare.count)
    return found if found in bare or "," not in bare else ","


def _first_line(file: Any, encoding: str | None) -> str:
    if encoding is None:  # no further than the line: what follows may be bytes in a column of no interest
        return _line(bytes(file.readline(LINE)).decode("utf-8-sig"))
    with TextIOWrapper(file, encoding, newline="\n") as text:
        return _line(text.readline(LINE))


def _line(text: str) -> str:
    """Return the line without its end; old ones end with a carriage return alone."""
    return text.rstrip("\n").split("\r", 1)[0]
