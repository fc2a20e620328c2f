"""Long tables (pandas, polars, pyarrow, whatever speaks Arrow) to packed arrays, in pieces and in any order of rows.

And packed arrays back to long tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np

from .._checks import choice, needed, row_number
from .._typing import AnyArray, FloatArray
from ..core import ragged
from ..exceptions import InvalidMeasureError, InvalidParameterError, MissingDependencyError
from ._build import pack
from ._columns import cells, numbers, require_column, require_numbers, whole_with_gaps, without_value
from ._gather import Numbering, gather
from ._packed import Packed, objects

#: Rows of a table in memory that are looked at at a time.
PIECE = 1 << 18


class Source(Protocol):
    """A table that is read in pieces, as often as needed; ``schema`` has the types of its columns by name, in order."""

    schema: Mapping[str, Any]

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield some columns of consecutive rows, as narwhals tables."""
        ...


class InMemory:
    """A table in memory as a source."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.schema: Mapping[str, Any] = table.schema

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield slices."""
        table = self._table.select(list(dict.fromkeys(names)))
        for start in range(0, len(table), PIECE):
            yield table[start : start + PIECE]


class Wanted(NamedTuple):
    """Which columns of a table are read, and as what. ``columns`` of lists have a row for each measure, or a part."""

    by: Any  # a name; None, if it is still to be asked for
    columns: Sequence[str] | None = None  # None: all that have no other use
    weights: str | None = None
    label: str | None = None
    metadata: Sequence[str] = ()

    @property
    def numbers(self) -> list[str]:
        """Coordinates, and weights if there are any."""
        return [name for name in (*(self.columns or ()), self.weights) if name is not None]

    @property
    def constant(self) -> list[str]:
        """Columns with one value for each measure; that of the label must not be missing."""
        return [name for name in (self.label, *self.metadata) if name is not None]

    @property
    def names(self) -> list[str]:
        """All that are named."""
        return [*([] if self.by is None else [self.by]), *self.numbers, *self.constant]


class Read(NamedTuple):
    """What a table gives: measures, and the values of columns that are the same in all rows of a measure."""

    packed: Packed
    constants: dict[str, AnyArray]
    columns: tuple[str, ...]
    lost: AnyArray  # names of measures without a complete row
    dropped: int = 0  # rows that lack a number


def from_frame(frame: Any, by: str, columns: str | Sequence[str], weights: str | None) -> Packed:
    """Pack the rows of each group of ``by``; groups keep the order of their first row."""
    source = as_source(frame)
    if not isinstance(by, str):
        raise InvalidMeasureError(f"`by` must be the name of one column; got {by!r}. Join several into one first.")
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise InvalidMeasureError("`columns` must name at least one coordinate column.")
    for name in names:
        if not isinstance(name, str):
            raise InvalidMeasureError(
                f"`columns` must be names, which are strings; got {name!r}. Rename: frame.columns.astype(str)."
            )
    return read(source, Wanted(by, names, weights)).packed


def as_source(frame: Any) -> InMemory:
    """Return a table of any library that narwhals or Arrow knows, as a source."""
    try:
        return InMemory(nw.from_native(frame, eager_only=True))
    except nw.exceptions.DuplicateError:
        raise InvalidMeasureError("`frame` has two columns of the same name; rename one of them.") from None
    except ValueError as error:  # of decimals that end in zeros before the point
        raise InvalidMeasureError(
            f"`frame` has a column of a type that is not read ({error}); make numbers of it."
        ) from None
    except TypeError:  # no table that narwhals knows
        pass
    lazy = hasattr(frame, "collect")
    if not hasattr(frame, "__arrow_c_stream__") or lazy:
        remedy = " Call .collect() first." if lazy else ""
        raise InvalidMeasureError(
            f"`frame` must be a pandas, polars or pyarrow table, or give Arrow batches; got "
            f"{type(frame).__name__}.{remedy}"
        )
    pa = needed("pyarrow", "io", "Reading a stream of Arrow batches")  # such as a DuckDB relation
    return InMemory(nw.from_native(pa.table(frame), eager_only=True))


def read(source: Source, wanted: Wanted, gaps: str = "pass") -> Read:
    """Read measures in two passes: which group each row belongs to, then the numbers of all rows.

    Rows that lack a number are refused as measures are ('pass'), with their number ('refuse'), or left out ('drop').
    """
    from ._lists import without_lists

    for name in wanted.names:
        require_column(source.schema, name)
    source, wanted = without_lists(source, wanted)
    for name in wanted.numbers:
        require_numbers(source.schema, name)
    by, constant, columns = wanted.by, wanted.constant, tuple(wanted.columns or ())
    values = (
        {name: cells(piece[name], coded=name == by and by not in constant) for name in piece.columns}
        for piece in source.pieces([by, *constant])
    )
    keys, codes, constants = groups(values, wanted)
    complete = np.ones(len(codes), dtype=bool) if gaps == "drop" else None
    blocks = _blocks(source, wanted, complete, (keys, codes) if gaps == "refuse" else None)
    points, weights, offsets = gather(codes, len(keys), blocks, len(columns))
    lost = keys[:0]
    if complete is not None and not complete.all():  # rows of weight 0 go when they are packed, groups of such here
        left = np.bincount(codes[complete], minlength=len(keys)) > 0
        if not left.any():
            raise InvalidMeasureError("every row lacks a number; no measure is left.")
        rows = np.repeat(left, np.diff(offsets))
        points, weights, offsets = points[rows], weights[rows], ragged.offsets_of(np.diff(offsets)[left])
        keys, lost = keys[left], keys[~left]
        constants = {name: values[left] for name, values in constants.items()}
    dropped = 0 if complete is None else int(np.count_nonzero(~complete))
    return Read(pack(points, weights, offsets, keys=keys, copy=False), constants, columns, lost, dropped)


def groups(
    pieces: Iterable[Mapping[str, tuple[Any, AnyArray]]], wanted: Wanted
) -> tuple[AnyArray, AnyArray, dict[str, AnyArray]]:
    """Return the names of the groups, the group of each row, and the constants of each group.

    ``pieces`` has the values of the columns of consecutive rows, and where there is none.
    """
    by, numbering = wanted.by, Numbering(wanted.by)
    codes: list[AnyArray] = []
    constants = {name: Constant(name, by, name == wanted.label) for name in wanted.constant}
    row = 0
    for piece in pieces:
        values, empty = piece[by]
        if empty.any():
            raise InvalidMeasureError(
                f"{row_number(row + int(empty.argmax()))} has no value in the column {by!r}; every row must belong to "
                "a measure. Drop such rows."
            )
        codes.append(numbering.codes(values))
        for name, known in constants.items():
            known.add(*piece[name], codes[-1], numbering, row)
        row += len(codes[-1])
    joined = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64)
    if not len(joined):
        raise InvalidMeasureError("the table has no rows; a collection needs at least one measure.")
    return numbering.keys(), joined, {name: known.array() for name, known in constants.items()}


class Constant:
    """A column with one value for each group; that of a label is ``required``."""

    def __init__(self, name: str, by: str, required: bool) -> None:
        self._name, self._by, self._required = name, by, required
        self._values: list[Any] = []  # of groups 0, 1, ...; None where there is none

    def add(self, values: AnyArray, empty: AnyArray, codes: AnyArray, groups: Numbering, row: int) -> None:
        """Take the values of a piece that starts at ``row``; refuse a second value of a group."""
        empty = empty | without_value(values)
        if self._required and empty.any():
            bad = int(empty.argmax())
            raise InvalidMeasureError(
                f"measure {groups.keys()[codes[bad]]!s} has no label in the column {self._name!r}, "
                f"{row_number(row + bad)}; leave it out or label it."
            )
        values = values.astype(str).astype(object) if values.dtype.kind in "OT" else values
        unique, first = np.unique(codes, return_index=True)
        for group, index in zip(unique.tolist(), first.tolist(), strict=True):
            if group == len(self._values):  # groups are numbered as they come
                self._values.append(None if empty[index] else values[index])
        known = self._known(values.dtype)[codes]
        given = np.array([value is not None for value in self._values])[codes]
        differing: AnyArray = np.where(empty, given, np.asarray(known != values))
        if differing.any():
            bad = int(differing.argmax())
            now = None if empty[bad] else values[bad]
            before, now = ("nothing" if value is None else str(value) for value in (known[bad], now))
            raise InvalidMeasureError(
                f"measure {groups.keys()[codes[bad]]!s} has two values in the column {self._name!r}, {before} and "
                f"{now} in {row_number(row + bad)}; it must be the same in all rows of a measure. Is {self._by!r} the "
                "right column to group by?"
            )

    def _known(self, kind: np.dtype[Any]) -> AnyArray:
        """Return the values of the groups as they can be compared with an array: times in nanoseconds as times."""
        if kind.kind not in "mM":
            return objects(self._values)
        return np.array([kind.type("NaT") if value is None else value for value in self._values], dtype=kind)

    def array(self) -> AnyArray:
        """Return the values; nan among numbers, '' among strings, and NaT among dates, where there is none."""
        first = next((value for value in self._values if value is not None), np.nan)
        dates = isinstance(first, (np.datetime64, np.timedelta64))
        lacking = "" if isinstance(first, str) else type(first)("NaT") if dates else np.nan
        if isinstance(first, np.integer):
            gaps = np.array([value is None for value in self._values])
            return whole_with_gaps(np.array([0 if value is None else value for value in self._values]), gaps)
        return np.array([lacking if value is None else value for value in self._values])


def _blocks(
    source: Source, wanted: Wanted, complete: AnyArray | None, refuse: tuple[AnyArray, AnyArray] | None
) -> Iterator[tuple[list[FloatArray], FloatArray | None]]:
    """Yield the columns of all rows, and weights; those of rows with a gap are 0 where ``complete`` is to say so."""
    row, names = 0, wanted.numbers
    for piece in source.pieces(names):
        values = [numbers(piece[name]) for name in names]
        points, mass = (values, None) if wanted.weights is None else (values[:-1], values[-1])
        finite = (refuse is None and complete is None) or all(np.isfinite(column).all() for column in values)
        if not finite:
            kept = np.isfinite(values)
            if refuse is not None:
                bad, place = np.argwhere(~kept.T)[0]
                raise InvalidMeasureError(
                    f"measure {refuse[0][refuse[1][row + bad]]!s} has no finite number in the column {names[place]!r}, "
                    f"{row_number(row + bad)}; drop such rows with --drop-missing (drop_missing=True), or fill them in."
                )
            if complete is not None:
                whole = np.asarray(kept.all(axis=0))
                complete[row : row + len(whole)] = whole
                points = [np.where(whole, column, 0.0) for column in points]
                mass = np.where(whole, 1.0 if mass is None else mass, 0.0)
        yield points, mass
        row += len(piece)


def to_frame(packed: Packed, columns: Sequence[str] | None, by: str, library: str) -> Any:
    """Return the long table of a data-frame library."""
    backend: Any = choice(library, "library", ("pandas", "polars", "pyarrow"))
    try:
        __import__(library)
    except ImportError:
        raise MissingDependencyError(
            f"`library` is {library!r}, which is not installed: pip install {library}"
        ) from None
    return nw.from_dict(long_columns(packed, columns, by), backend=backend).to_native()


def long_columns(packed: Packed, columns: Sequence[str] | None, by: str) -> dict[str, AnyArray]:
    """Return the columns of the long table by their names: measure, coordinates, weight."""
    dim = packed.points.shape[1]
    grid = packed.support is not None and packed.support.shape is not None
    names = list(columns or (("row", "column") if grid else (f"x{i}" for i in range(dim))))
    if len(names) != dim:
        raise InvalidParameterError(f"`columns` must name the {dim} coordinates; got {len(names)} names.")
    keys = np.arange(len(packed)) if packed.keys is None else packed.keys
    _require_different(keys)
    pairs = [(by, keys[ragged.owners(packed.offsets)]), *zip(names, packed.points.T, strict=True)]
    pairs.append(("weight", packed.weights))
    if len(dict(pairs)) < len(pairs):
        raise InvalidParameterError(
            f"two columns would have one name: {', '.join(name for name, _ in pairs)}. Rename a column."
        )
    return dict(pairs)


def _require_different(keys: AnyArray) -> None:
    """Refuse names that several measures have: in a long table these would be one."""
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[codes] != np.arange(len(keys)))
    if len(again):
        i = int(again[0])
        raise InvalidParameterError(
            f"measures {first[codes[i]]} and {i} have one name, {keys[i]!s}, and would be one measure in a table "
            f"(repeated names: {len(again)} in all). Name them apart, X.with_keys(names), or take their numbers, "
            "X.with_keys(None)."
        )
