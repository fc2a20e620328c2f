"""Text through Arrow's parser, and what it would drop or change without a word: quotes that stay open, hexadecimals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray, IndexArray
from ..exceptions import InvalidFileError

if TYPE_CHECKING:
    from ._text import Dialect

#: Bytes that are parsed at a time: pieces of Arrow's own megabyte cost as much again afterwards.
PIECE = 1 << 22
QUOTE, BOM, LINE_END = ord('"'), b"\xef\xbb\xbf", re.compile(rb"[\r\n]")


class QuotedLineError(Exception):
    """A quoted cell has a line end where the text was to be cut."""


class Stream:
    """The bytes of a file in UTF-8, as Arrow reads them, and what was seen of them: an open cell, hexadecimal numbers.

    Unless it knows that cells have ``lines``, Arrow cuts the text at line ends in any cell, and drops what follows
    an open one.
    """

    closed = False

    def __init__(self, file: Any, dialect: Dialect, lines: bool) -> None:
        import pyarrow as pa

        encoding = dialect.encoding
        self._file = file if encoding is None else pa.transcoding_input_stream(pa.PythonFile(file), encoding, "utf-8")
        self._starts = _starts(dialect)
        self._lines, self._rest = lines, b"\n"
        self.ended, self.has_hexadecimal, self.open_cell = False, False, b""

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        piece: bytes = self._file.read(size)
        text = self._rest + (piece.removeprefix(BOM) if self._rest == b"\n" else piece)
        self.ended = not piece
        end = len(text) if self.ended else max(text.rfind(b"\n"), text.rfind(b"\r"))
        if not self._lines and b'"' in text and (first := LINE_END.search(text, len(self._rest))):
            self._refuse_cuts(text, first.start(), end)
        self.open_cell = _open_cell(text, end, self.open_cell, self._starts)
        self.has_hexadecimal = self.has_hexadecimal or _has_hexadecimal(text, self._starts)
        self._rest = text[end:]
        return piece

    def _refuse_cuts(self, text: bytes, *ends: int) -> None:
        """Refuse to be cut, after the first and the last line end of a piece, in an open cell."""
        if any(_open_cell(text, end, self.open_cell, self._starts) for end in ends):
            raise QuotedLineError

    def close(self) -> None:
        """Close nothing: whoever opened the file does."""


def _starts(dialect: Dialect) -> AnyArray:
    """Return which bytes a cell may follow."""
    return _among(f"\r\n{dialect.separator or ','}")


def _among(characters: str) -> AnyArray:
    """Return which bytes are those of the characters."""
    return np.isin(np.arange(256), list(characters.encode()))


def _has_hexadecimal(text: bytes, starts: AnyArray) -> bool:
    """Whether ``0x`` or ``0X`` stands at the start of a cell, perhaps after blanks, a sign or a quote."""
    if b"x" not in text and b"X" not in text:
        return False
    array = np.frombuffer(text, np.uint8)
    before = array[np.flatnonzero((array[1:-1] == ord("0")) & ((array[2:] | 0x20) == ord("x")))]
    return bool((starts | _among(' \t+-"'))[before].any())


def _open_cell(text: bytes, end: int, open_cell: bytes, starts: AnyArray) -> bytes:
    """Return how the quoted cell begins that is open at ``end``, after ``open_cell`` at 0; empty for none.

    Two quotes side by side change nothing: they are a character, or a cell that is empty. A single one closes an open
    cell; it opens another where that ``starts``, and is a character anywhere else, so that nothing is open after it.
    The last of these is all that must be found, mostly near the end.
    """
    if b'"' not in text:
        return open_cell
    for size in (1 << 12, 1 << 16, end):
        start = max(end - size, 0)
        while text[start] == QUOTE:  # the first character is none
            start -= 1
        array = np.frombuffer(text[start:end], np.uint8)
        quotes = _single(np.flatnonzero(array == QUOTE))
        opening = starts[array[quotes - 1]]
        others = np.flatnonzero(~opening)
        if len(others) or start == 0:
            break
    if not len(quotes):
        return open_cell
    changes = len(opening) - 1 - others[-1] if len(others) else len(opening) + bool(open_cell)
    place = start + int(quotes[-1])
    return text[place : place + 30] if changes % 2 else b""


def _single(quotes: IndexArray) -> IndexArray:
    """Return the places of quotes without those that come in pairs, side by side."""
    runs = np.flatnonzero(np.diff(quotes, prepend=-1) > 1)
    return np.asarray(quotes[runs[np.diff(runs, append=len(quotes)) % 2 == 1]])


@contextmanager
def parsing(
    content: Callable[[], Any], dialect: Dialect, path: Path, columns: Sequence[str] | None, types: Any, lines: bool
) -> Iterator[tuple[Stream, dict[str, Any]]]:
    """Yield the text for a reader of Arrow, and its options, with the ``types`` of some columns; refuse open cells.

    Cells may have ``lines``, which takes longer; or else ``QuotedLineError`` says that they do.
    """
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

    options = {
        # Threads of Arrow that call Python may wait for each other for good, at the exit of the process at the latest.
        "read_options": ReadOptions(block_size=PIECE, use_threads=False),
        "parse_options": ParseOptions(delimiter=dialect.separator, newlines_in_values=lines),
        "convert_options": ConvertOptions(
            decimal_point=dialect.decimal or ".",
            include_columns=list(dict.fromkeys(columns or ())),
            column_types=types,
        ),
    }
    with content() as file:
        stream = Stream(file, dialect, lines)
        try:
            yield stream, options
        except pa.ArrowInvalid as error:
            if not (stream.open_cell and (stream.ended or "straddling" in str(error))):
                raise
        else:
            if not (stream.open_cell and stream.ended):
                return
    raise _not_closed(path, stream.open_cell)


def refuse_open_cell(text: bytes, dialect: Dialect, path: Path) -> None:
    """Refuse a file that ends in an open cell, for parsers that drop what follows it."""
    whole = b"\n" + text.removeprefix(BOM)
    if cell := _open_cell(whole, len(whole), b"", _starts(dialect)):
        raise _not_closed(path, cell)


def _not_closed(path: Path, cell: bytes) -> InvalidFileError:
    shown = cell.decode(errors="replace").splitlines()[0]
    return InvalidFileError(
        f"{str(path)!r}: the quote that opens {shown!r} is not closed, so that all that follows would be one cell. "
        "Close it; where it is a character, quote the whole cell and write it twice."
    )


def read(
    content: Callable[[], Any], dialect: Dialect, path: Path, columns: Sequence[str] | None, types: Any
) -> tuple[Any, bool]:
    """Return the table of Arrow, and whether some of its numbers may be hexadecimal."""
    from pyarrow.csv import read_csv

    def once(lines: bool) -> tuple[Any, bool]:
        with parsing(content, dialect, path, columns, types, lines) as (stream, options):
            return read_csv(stream, **options), stream.has_hexadecimal

    try:
        return once(False)
    except QuotedLineError:
        return once(True)
