"""Tables as text: separators, decimal commas, encodings, compression, standard input."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw

from .._checks import missing
from .._foreign import decoding, open_limited, read_stream
from ..exceptions import InvalidFileError, InvalidParameterError
from ..measures._frame import InMemory
from . import _delimited

#: Columns that a table may have.
COLUMNS = 100_000
STDIN = Path("-")
#: A whole number, also one that starts with a zero, as no number does: a name.
WHOLE, ZEROS = re.compile(rb"\s*[+-]?\d+\s*"), re.compile(rb"\s*[+-]?0\d+\s*")
#: What Arrow takes for a number, too.
HEXADECIMAL = r"^\s*[+-]?0[xX]"
#: Length that the first line may have.
LINE = 1 << 27


@dataclass(frozen=True)
class Dialect:
    """How the text is written; None for a separator that the first line shows."""

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


def fitting(dialect: Dialect, path: Path) -> Dialect:
    """Return a dialect as far as it fits another table: its separator if that is in the first line, and its encoding.

    Text in UTF-8 is hardly ever valid by chance: it needs no other encoding.
    """
    dialect.check()
    with decoding(path, "text"), open_limited(path) as file:
        content = file.read()
    try:
        content.decode("utf-8")
        encoding = None
    except UnicodeDecodeError:
        encoding = dialect.encoding
    first = content.split(b"\n", 1)[0].decode(encoding or "utf-8", errors="replace")
    separator = dialect.separator if dialect.separator is not None and dialect.separator in first else None
    return replace(dialect, separator=separator, encoding=encoding)


def source(
    path: Path, dialect: Dialect, columns: Sequence[str] | None, by: str | None, labels: Sequence[str] = ()
) -> InMemory:
    """Return the table through whichever of pyarrow, pandas and polars is there; ``columns`` of it, if it has them.

    The column ``by``, or else the first one, names measures and is read as strings: 01 and 1 are two names.
    Columns of ``labels`` are read as strings where :func:`are_names` says so; ``by`` may be one of them, and is then
    read as strings also where one number has two names.
    """
    dialect.check()
    if path == STDIN and sys.stdin is None:
        raise InvalidFileError("'-' stands for the standard input, which is closed.")
    stdin = read_stream(sys.stdin.buffer) if path == STDIN else None
    header, dialect = _header(path, dialect, stdin)
    refuse_twice(header, path)
    wanted = None if columns is None or not set(columns) <= set(header) else list(dict.fromkeys(columns))
    by = by if by in header else header[0]
    labels = [name for name in dict.fromkeys(labels) if name in header]
    for load in (_by_pyarrow, _by_pandas, _by_polars):
        try:
            with decoding(path, "a table"):
                content = partial(_content, path, stdin)
                table = nw.from_native(load(Request(content, dialect, wanted, by, labels, path)), eager_only=True)
        except ImportError:
            continue
        if not len(table):
            raise InvalidFileError(
                f"{str(path)!r} has the names of {len(header)} columns and no rows; a table needs one for each point."
            )
        return InMemory(table)
    raise missing("pyarrow", "io", "Reading tables")


def are_names(words: Collection[bytes]) -> bool:
    """Whether whole numbers among the words are names.

    One of them starts with a zero or does not fit into 64 bits, or would be rounded beside decimals or gaps, which make
    all of them numbers of 53 bits; or one is hexadecimal.
    """
    if any(re.match(HEXADECIMAL.encode(), word) for word in words):
        return True
    whole = [word.strip() for word in words if WHOLE.fullmatch(word)]
    if any(ZEROS.fullmatch(word) or len(word) > 20 for word in whole):  # a sign and 19 digits
        return True
    numbers = set(map(int, whole))
    if any(not -(2**63) <= number < 2**63 for number in numbers):
        return True
    return len(whole) < len(words) and any(int(float(number)) != number for number in numbers)


def have_one_number(words: Collection[bytes], decimal: str | None) -> bool:
    """Whether two of the words, which differ, are one number."""
    written = [word.replace((decimal or ".").encode(), b".").strip() for word in words]
    try:
        return len({int(word) if WHOLE.fullmatch(word) else float(word) for word in written}) < len(written)
    except ValueError:  # some are no numbers, so that all are strings
        return False


def refuse_twice(names: Sequence[str], path: Path) -> None:
    """Refuse two columns of one name."""
    if len(set(names)) < len(names):
        raise InvalidFileError(f"{str(path)!r} has two columns of the same name; rename one of them.")


class Request(NamedTuple):
    """What is read: ``columns`` of a file (None: all); those of ``by`` are strings, ``labels`` may be."""

    content: Callable[[], Any]
    dialect: Dialect
    columns: list[str] | None
    by: str
    labels: list[str]
    path: Path

    def are_names(self, name: str, words: Collection[bytes]) -> bool:
        """Whether the words of one of the labels are names."""
        return are_names(words) or (name == self.by and have_one_number(words, self.dialect.decimal))


def _by_pyarrow(wanted: Request) -> Any:
    import pyarrow as pa

    content, dialect, columns, by, labels, path = wanted
    coded = list(dict.fromkeys([by, *labels]))
    types = dict.fromkeys(coded, pa.dictionary(pa.int32(), pa.binary()))  # few words, in many rows
    table, has_hexadecimal = _delimited.read(content, dialect, path, columns, types)
    if has_hexadecimal:
        table = _without_hexadecimal(table, wanted)
    for name in coded:
        if name in table.column_names:
            column = _labels(table[name], name, wanted) if name in labels else _names(table[name])
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _without_hexadecimal(table: Any, wanted: Request) -> Any:
    """Return the table with strings in columns of whole numbers of which some are hexadecimal."""
    import pyarrow as pa
    from pyarrow import compute

    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole:
        return table
    words, _ = _delimited.read(wanted.content, wanted.dialect, wanted.path, whole, dict.fromkeys(whole, pa.string()))
    for name in whole:
        if compute.any(compute.match_substring_regex(words[name], HEXADECIMAL)).as_py():
            table = table.set_column(table.column_names.index(name), name, words[name])
    return table


def _names(column: Any) -> Any:
    """Return coded bytes as coded strings; bytes where they are not UTF-8 text, an error for whoever reads them."""
    import pyarrow as pa

    try:
        parts = [pa.DictionaryArray.from_arrays(p.indices, p.dictionary.cast(pa.string())) for p in column.chunks]
    except pa.ArrowInvalid:
        return column.cast(pa.binary())
    return pa.chunked_array(parts, pa.dictionary(pa.int32(), pa.string()))


def _labels(column: Any, name: str, wanted: Request) -> Any:
    """Return coded bytes as Arrow reads them from text, or as names."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ReadOptions, read_csv

    column = column.unify_dictionaries()
    words = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    if not words or wanted.are_names(name, words) or any(b"\n" in word or b"\r" in word for word in words):
        return _names(column)
    table = read_csv(
        pa.BufferReader(b"".join(b'"' + word.replace(b'"', b'""') + b'"\n' for word in words)),
        read_options=ReadOptions(column_names=["label"], block_size=LINE),
        convert_options=ConvertOptions(decimal_point=wanted.dialect.decimal or "."),
    )
    values = table["label"].combine_chunks()
    return pa.chunked_array([values.take(part.indices) for part in column.chunks], values.type)


def _by_pandas(wanted: Request) -> Any:
    import pandas as pd

    content, dialect, *_ = wanted

    def read(columns: list[str] | None, strings: Sequence[str]) -> Any:
        with content() as file:
            return pd.read_csv(
                file,
                sep=dialect.separator,
                decimal=dialect.decimal or ".",
                encoding=dialect.encoding,
                usecols=columns,
                dtype=dict.fromkeys(strings, str),
            )

    return _read_typed(read, wanted)


def _by_polars(wanted: Request) -> Any:
    import polars as pl

    content, dialect, *_ = wanted

    def load(columns: list[str] | None, strings: Sequence[str], inferred: int | None = None) -> Any:
        with content() as file:
            raw = file.read()
        text = raw if dialect.encoding is None else raw.decode(dialect.encoding).encode()
        _delimited.refuse_open_cell(text, dialect, wanted.path)  # polars of old leaves out what follows
        return pl.read_csv(
            text,
            separator=dialect.separator or ",",
            decimal_comma=dialect.decimal == ",",
            columns=columns,
            infer_schema_length=inferred,
            schema_overrides=dict.fromkeys(strings, pl.String),
        )

    def read(columns: list[str] | None, strings: Sequence[str]) -> Any:
        try:
            return load(columns, strings)
        except pl.exceptions.ComputeError:  # polars of old takes numbers of 20 digits for those of 64 bits, and fails
            words = load(columns, (), inferred=0)  # all are strings
            long = [name for name in words.columns if are_names({str(word).encode() for word in words[name]})]
            return load(columns, [*strings, *long])

    return _read_typed(read, wanted)


def _read_typed(read: Callable[[list[str] | None, Sequence[str]], Any], wanted: Request) -> Any:
    """Return the table, whose labels are read as strings first: are they names?"""
    strings = [] if wanted.by in wanted.labels else [wanted.by]
    if wanted.labels:
        words = nw.from_native(read(wanted.labels, wanted.labels), eager_only=True)
        seen = {name: {str(word).encode() for word in words[name].to_list()} for name in wanted.labels}
        strings += [name for name in wanted.labels if wanted.are_names(name, seen[name])]
    return read(wanted.columns, strings)


def _content(path: Path, stdin: bytes | None) -> Any:
    """Return an open file of the content, expanded."""
    return open_limited(path) if stdin is None else BytesIO(stdin)


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
    return names, replace(dialect, separator=separator)


def _separator(first: str, decimal: str | None) -> str:
    """Return what the first line has most of, quotes aside; beside decimal commas a comma if there is nothing else."""
    bare = "".join(first.split('"')[::2])
    found = max(",;\t" if decimal != "," else ";\t", key=bare.count)
    return found if found in bare or "," not in bare else ","


def _first_line(file: Any, encoding: str | None) -> str:
    """Return the first line without its end; old ones end with a carriage return alone."""
    if encoding is None:  # no further than the line: what follows may be bytes in a column of no interest
        line = bytes(file.readline(LINE)).decode("utf-8-sig")
    else:
        with TextIOWrapper(file, encoding, newline="\n") as text:
            line = text.readline(LINE)
    return line.rstrip("\n").split("\r", 1)[0]
