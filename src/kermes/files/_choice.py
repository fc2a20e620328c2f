"""Which columns of a table are read, and whether those of numbers hold numbers only."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw

from .._checks import row_number
from ..exceptions import InvalidFileError, InvalidMeasureError, InvalidParameterError
from ..measures._columns import listed, require_column
from ..measures._frame import Source, Wanted
from . import _parquet

#: What pandas calls row numbers: in text, in text that it wrote twice, in Parquet.
INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
#: What columns of masses are called; we write the first.
WEIGHTS = ("weight", "weights")
STRINGS = (nw.String, nw.Categorical, nw.Enum, nw.Object)


class Choice:
    """The columns that are read, as their types say; their rows, which may come in parts, must agree.

    Coordinates, unless they are named, are the columns of numbers that have no other use.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        path: Path,
        wanted: Wanted,
        decimal: str | None = None,
        categories: Collection[str] = (),
    ) -> None:
        for name in wanted.names:
            require_column(schema, name)
            refuse_bytes(schema, name, path)
        self._schema, self._path, self._guessed = schema, path, wanted.columns is None
        used = {*wanted.names, *categories}
        self._free = [name for name in schema if self._guessed and name not in used and not INDEX.fullmatch(name)]
        if self._guessed:
            wanted = wanted._replace(columns=[name for name in self._free if schema[name].is_numeric()])
        self.wanted = wanted
        self._strings = [
            _Strings(name, path, wanted, decimal)
            for name in dict.fromkeys((*self._free, *wanted.numbers))
            if schema[name] in STRINGS
        ]

    def look_at(self, source: Source) -> None:
        """Take the next rows; refuse a string among numbers, and columns that cannot be read as what they are to be."""
        for column in self._strings:
            for piece in source.pieces([column.name]):
                column.add(piece[column.name].to_list())
                if column.are_words:
                    break
            column.refuse(self._schema[column.name])
        if self._guessed:
            self._refuse_guess()
        if self.wanted.by in self.wanted.numbers and self._schema[self.wanted.by] in STRINGS:
            raise InvalidFileError(
                f"{str(self._path)!r}: the column {self.wanted.by!r} names the measures, as strings: numbers would not "
                "keep names such as 01 and 1 apart. Copy it to another column for the numbers."
            )

    def _refuse_guess(self) -> None:
        """Refuse to find no coordinate, and to take for one what is called as weights are, also in our own tables."""
        columns = self.wanted.columns or ()
        if not columns:
            lists = [name for name in self._free if self._schema[name] in (nw.List, nw.Array)]
            hint = f" Name columns of lists: --columns {','.join(lists)} (columns={lists})." if lists else ""
            raise InvalidMeasureError(
                f"no column of numbers is left for the coordinates; the table has {listed(self._schema)}.{hint}"
            )
        for name in columns:
            if self.wanted.weights is None and name.strip().casefold() in WEIGHTS:
                raise InvalidParameterError(
                    f"{self._path.name!r} has a column {name!r} of which nothing was said: masses (--weights {name}, "
                    f"weights={name!r}), or a coordinate (--columns {','.join(columns)})?"
                )


class _Strings:
    """A column of strings, which a few words may have made of one of numbers, or which is to be one of numbers."""

    def __init__(self, name: str, path: Path, wanted: Wanted, decimal: str | None) -> None:
        self.name, self._path, self._required = name, path, name in wanted.numbers
        self._others = [other for other in wanted.columns or () if other != name]
        self._mark, self._other = (",", ".") if decimal == "," else (".", ",")
        self._rows, self._numbers, self._marked = 0, False, False
        self._stray: tuple[int, str] | None = None

    def add(self, values: list[Any]) -> None:
        """Take the values of the next rows."""
        for word in dict.fromkeys(values):
            if not isinstance(word, str) or not word.strip():
                continue
            if is_number(word, self._mark):
                self._numbers, self._marked = True, self._marked or self._mark in word
            elif self._stray is None:
                self._stray = self._rows + values.index(word), word
        self._rows += len(values)

    @property
    def are_words(self) -> bool:
        """Whether so many rows have words only that numbers among later ones would be words, too."""
        if self._required or self._numbers or self._stray is None or self._rows < _parquet.BATCH:
            return False
        return not is_number(self._stray[1], self._other)

    def refuse(self, kind: Any) -> None:
        """Refuse a string among numbers so far, and in a column of numbers any."""
        if self._stray is None:
            return
        row, word = self._stray
        if is_number(word, self._other):
            names = {".": "point", ",": "comma"}
            remedy = (
                f"others have a decimal {names[self._mark]}. Write all of them in one way."
                if self._marked
                else f"read the file with --decimal {self._other} (decimal={self._other!r}), or name the columns that "
                "are coordinates (--columns)."
            )
            raise InvalidFileError(
                f"{str(self._path)!r}: the column {self.name!r} has the number {word!r} with a decimal "
                f"{names[self._other]} in {row_number(row)}; {remedy}"
            )
        if self._numbers:
            raise stray(self._path, self.name, word, row, self._others)
        if self._required:
            raise InvalidMeasureError(
                f"the column {self.name!r} has type {kind}, such as {word!r} in {row_number(row)}; coordinates and "
                "weights must be numbers. Convert or encode it first."
            )


def stray(path: Path, name: str, word: str, row: int | None, others: Collection[str]) -> InvalidFileError:
    """Return the error for a string among the numbers of a column, in this row if it is known."""
    where = "" if row is None else f" in {row_number(row)}"
    return InvalidFileError(
        f"{str(path)!r}: the column {name!r} has the string {word!r} among its numbers{where}; correct the cell, or "
        "leave it empty and use --drop-missing (drop_missing=True). If the column is not a coordinate, name those "
        f"that are: --columns {','.join(others) or '...'}."
    )


def refuse_bytes(schema: Mapping[str, Any], name: str, path: Path) -> None:
    """Refuse a column whose text is not UTF-8."""
    if schema[name] == nw.Binary:
        raise InvalidFileError(
            f"{str(path)!r}: the column {name!r} holds bytes, not UTF-8 text. Of a text file, name the encoding, "
            "such as --encoding latin-1; in Parquet, convert the column to strings."
        )


def is_number(word: str, mark: str) -> bool:
    """Return whether this is a number whose decimal mark, if it has any, is this one."""
    try:
        # Python would skip underscores, and knows digits of all scripts.
        written = (mark == "." or "." not in word) and "_" not in word and word.isascii()
        return written and math.isfinite(float(word.replace(mark, ".")))
    except ValueError:
        return False
