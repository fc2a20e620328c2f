"""Long tables (pandas, polars, pyarrow, whatever speaks Arrow) to packed arrays, in pieces and in any order of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np

from .._checks import guess, needed, row_number
from .._typing import AnyArray, FloatArray
from ..exceptions import InvalidMeasureError
from ._build import pack
from ._gather import PIECE, Coded, Numbering, gather
from ._packed import Packed

#: Rows of a table in memory that are looked at at a time.
SLICE = 4 * PIECE
#: Strings in lower case that stand for no value.
NO_VALUE = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")


class Source(Protocol):
    """A table that is read in pieces, as often as needed."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """Types of the columns by their names, in order."""
        ...

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
        for start in range(0, len(table), SLICE):
            yield table[start : start + SLICE]


class Read(NamedTuple):
    """What a table gives: measures, and the values of columns that are the same in all rows of a measure."""

    packed: Packed
    constants: dict[str, AnyArray]
    columns: tuple[str, ...]
    lost: AnyArray  # names of measures without a complete row


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
    return read(source, by, names, weights).packed


def as_source(frame: Any) -> InMemory:
    """Return a table of any library that narwhals or Arrow knows, as a source."""
    try:
        return InMemory(nw.from_native(frame, eager_only=True))
    except TypeError:
        return InMemory(_by_arrow(frame))
    except nw.exceptions.DuplicateError:
        raise InvalidMeasureError("`frame` has two columns of the same name; rename one of them.") from None


def _by_arrow(frame: Any) -> Any:
    """Return the content of a stream of Arrow batches, such as a DuckDB relation, as a table."""
    lazy = hasattr(frame, "collect")
    if not hasattr(frame, "__arrow_c_stream__") or lazy:
        remedy = " Call .collect() first." if lazy else ""
        raise InvalidMeasureError(
            f"`frame` must be a pandas, polars or pyarrow table, or give Arrow batches; got "
            f"{type(frame).__name__}.{remedy}"
        )
    pa = needed("pyarrow", "io", "Reading a stream of Arrow batches")
    return nw.from_native(pa.table(frame), eager_only=True)


def read(
    source: Source,
    by: str,
    columns: Sequence[str],
    weights: str | None,
    constant: Sequence[str] = (),
    label: str | None = None,
    gaps: str = "pass",
) -> Read:
    """Read measures in two passes: which group each row belongs to, then the numbers of all rows.

    Parameters
    ----------
    source : Source
    by, columns, weights
        Names of columns. Columns of lists have a row for each measure, or for a part of one.
    constant : list of str
        Columns whose value of each measure is wanted.
    label : str, optional
        The one of these that every measure must have.
    gaps : 'pass', 'refuse' or 'drop'
        Rows that lack a number: refused as measures are, refused with their number, or left out.
    """
    from ._lists import without_lists

    for name in [by, *columns, *([] if weights is None else [weights]), *constant]:
        require_column(source.schema, name)
    source, columns = without_lists(source, columns, weights)
    numbers = [*columns, *([] if weights is None else [weights])]
    for name in numbers:
        require_numbers(source.schema, name)
    pieces = source.pieces([by, *constant])
    values = (
        {name: cells(piece[name], coded=name == by and by not in constant) for name in piece.columns}
        for piece in pieces
    )
    keys, codes, constants = groups(values, by, constant, label)
    complete = np.ones(len(codes), dtype=bool) if gaps == "drop" else None
    blocks = _blocks(source, columns, weights, complete, (keys, codes) if gaps == "refuse" else None)
    packed = gather(codes, len(keys), blocks, len(columns))
    lost = keys[:0]
    if complete is not None and not complete.all():
        left = np.bincount(codes[complete], minlength=len(keys)) > 0
        packed, lost, keys = _without_gaps(packed, left), keys[~left], keys[left]
        constants = {name: values[left] for name, values in constants.items()}
    return Read(pack(*packed, keys=keys, copy=False), constants, tuple(columns), lost)


def groups(
    pieces: Iterable[Mapping[str, tuple[Any, AnyArray]]],
    by: str,
    constant: Sequence[str] = (),
    label: str | None = None,
) -> tuple[AnyArray, AnyArray, dict[str, AnyArray]]:
    """Return the names of the groups, the group of each row, and the constants of each group.

    ``pieces`` has the values of the columns of consecutive rows, and where there is none.
    """
    numbering = Numbering(by)
    codes: list[AnyArray] = []
    constants = {name: Constant(name, by) for name in constant}
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
            if name == label:
                _refuse_without_label(*piece[name], name, codes[-1], numbering, row)
            known.add(*piece[name], codes[-1], numbering, row)
        row += len(codes[-1])
    joined = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64)
    if not len(joined):
        raise InvalidMeasureError("the table has no rows; a collection needs at least one measure.")
    return numbering.keys(), joined, {name: known.array() for name, known in constants.items()}


def _refuse_without_label(
    values: AnyArray, empty: AnyArray, name: str, codes: AnyArray, numbering: Numbering, row: int
) -> None:
    lacking = empty | without_value(values)
    if lacking.any():
        bad = int(lacking.argmax())
        raise InvalidMeasureError(
            f"measure {numbering.keys()[codes[bad]]!s} has no label in the column {name!r}, {row_number(row + bad)}; "
            "leave it out or label it."
        )


class Constant:
    """A column with one value for each group."""

    def __init__(self, name: str, by: str) -> None:
        self._name, self._by = name, by
        self._values: list[Any] = []  # of groups 0, 1, ...; None where there is none

    def add(self, values: AnyArray, empty: AnyArray, codes: AnyArray, groups: Numbering, row: int) -> None:
        """Take the values of a piece that starts at ``row``; refuse a second value of a group."""
        empty = empty | without_value(values)
        values = values.astype(str).astype(object) if values.dtype.kind in "OT" else values
        unique, first = np.unique(codes, return_index=True)
        for group, index in zip(unique.tolist(), first.tolist(), strict=True):
            if group == len(self._values):  # groups are numbered as they come
                self._values.append(None if empty[index] else values[index])
        known = np.empty(len(self._values), dtype=object)
        known[:] = self._values
        known = known[codes]
        lacking = np.array([value is None for value in self._values])[codes]
        differing: AnyArray = np.where(empty, ~lacking, np.asarray(known != values))
        if differing.any():
            bad = int(differing.argmax())
            before, now = map(_shown, (known[bad], None if empty[bad] else values[bad]))
            raise InvalidMeasureError(
                f"measure {groups.keys()[codes[bad]]!s} has two values in the column {self._name!r}, {before} and "
                f"{now} in {row_number(row + bad)}; it must be the same in all rows of a measure. Is {self._by!r} the "
                "right column to group by?"
            )

    def array(self) -> AnyArray:
        """Return the values; nan among numbers, and '' among strings, where there is none."""
        given = [value for value in self._values if value is not None]
        lacking = "" if given and isinstance(given[0], str) else np.nan
        return np.array([lacking if value is None else value for value in self._values])


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


def without_value(values: AnyArray) -> AnyArray:
    """Return where a value is missing: not a number, or a string that stands for nothing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind not in "OUT":
        return np.zeros(values.shape, dtype=bool)
    none = {word for word in set(values.tolist()) if isinstance(word, str) and word.strip().casefold() in NO_VALUE}
    return np.array([value in none for value in values.tolist()], dtype=bool)


def _blocks(
    source: Source,
    columns: Sequence[str],
    weights: str | None,
    complete: AnyArray | None,
    refuse: tuple[AnyArray, AnyArray] | None,
) -> Iterator[tuple[list[FloatArray], FloatArray | None]]:
    """Yield the columns of all rows, and weights; those of rows with a gap are 0 where ``complete`` is to say so."""
    row = 0
    names = [*columns, *([] if weights is None else [weights])]
    for piece in source.pieces(names):
        values = [numbers(piece[name]) for name in names]
        points, mass = values[: len(columns)], None if weights is None else values[-1]
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


def _without_gaps(packed: Any, left: AnyArray) -> Any:
    """Return the groups that have a complete row; rows of weight 0 go when they are packed."""
    points, weights, offsets = packed
    if not left.any():
        raise InvalidMeasureError("every row lacks a number; no measure is left.")
    rows = np.repeat(left, np.diff(offsets))
    return points[rows], weights[rows], np.concatenate([[0], np.cumsum(np.diff(offsets)[left])])


def cells(column: Any, coded: bool = False) -> tuple[Any, AnyArray]:
    """Return the values of a column, and where there is none; strings of Arrow may stay ``coded``."""
    if column.implementation.is_pyarrow() and column.dtype in (nw.String, nw.Categorical):
        strings, empty = _strings(column.to_native())
        names = np.array([*strings.names, None], dtype=object)
        return strings if coded and not empty.any() else names[strings.numbers], empty
    values = np.asarray(column.to_numpy())
    return values, empty_cells(values, np.array(column.is_null().to_numpy(), dtype=bool))


def _strings(column: Any) -> tuple[Coded, AnyArray]:
    """Return a column of Arrow: each different string is made and looked at once; the number of none is last."""
    encoded = column.combine_chunks()
    if not hasattr(encoded, "dictionary"):
        encoded = encoded.dictionary_encode()
    names = [name or "" for name in encoded.dictionary.to_pylist()]
    numbers = encoded.indices.fill_null(len(names)).to_numpy()
    empty = np.array([*(not name.strip() for name in names), True])
    return Coded(names, numbers), empty[numbers]


def empty_cells(values: AnyArray, gaps: AnyArray) -> AnyArray:
    """Return where there is no value: a gap, not a number, or a string without a letter."""
    if values.dtype.kind == "f":
        return np.asarray(gaps | np.isnan(values))
    if values.dtype.kind in "OUT":
        blank = {value for value in set(values.tolist()) if isinstance(value, str) and not value.strip()}
        if blank:
            return np.asarray(gaps | np.array([value in blank for value in values.tolist()], dtype=bool))
    return gaps


def require_column(schema: Mapping[str, Any], name: str) -> None:
    """Refuse a name that is none of the columns'; guess at the one that was meant."""
    if name in schema:
        return
    raise InvalidMeasureError(f"there is no column {name!r}; the table has {listed(schema)}.{guess(name, schema)}")


def listed(schema: Mapping[str, Any]) -> str:
    """Return the names of the columns; one without a name, such as an index that pandas wrote, as ''."""
    return ", ".join(name or "''" for name in map(str, schema))


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers; whole ones of over 53 bits are rounded."""
    if column.implementation.is_pyarrow() and column.dtype.is_numeric():  # whose casts refuse to round
        array = column.to_native().combine_chunks().cast("float64", safe=False)
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def require_numbers(schema: Mapping[str, Any], name: str) -> None:
    kind = schema[name]
    if not kind.is_numeric() and kind != nw.Boolean:
        raise InvalidMeasureError(
            f"the column {name!r} has type {kind}; coordinates and weights must be numbers. Convert or encode it first."
        )
