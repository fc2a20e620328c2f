"""Columns of lists: a row holds all points of a measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._checks import needed
from .._typing import AnyArray
from .._values import refuse_rounded
from ..exceptions import InvalidMeasureError
from ._frame import Source, Wanted


def without_lists(source: Source, wanted: Wanted) -> tuple[Source, Wanted]:
    """Return the table with a row for each point, and what its columns are; others pass as they are."""
    lists = [name for name in wanted.numbers if _is_list(source, name)]
    if not lists:
        return source, wanted
    if len(lists) < len(wanted.numbers):
        single = next(name for name in wanted.numbers if name not in lists)
        raise InvalidMeasureError(
            f"the column {lists[0]!r} holds lists and {single!r} single values; give all coordinates one form."
        )
    exploded = Exploded(source, lists)
    return exploded, wanted._replace(columns=[inner for name in wanted.columns or () for inner in exploded.inner[name]])


class Exploded:
    """A source whose columns of lists become columns of numbers; the other values of a row are repeated.

    A list of points (each a list of d numbers) becomes d columns, named with their numbers.
    """

    def __init__(self, source: Source, lists: Sequence[str]) -> None:
        self._source = source
        self._lists = list(lists)
        first = next(iter(source.pieces(lists)), None)
        if first is None:
            raise InvalidMeasureError("the table has no rows; a collection needs at least one measure.")
        widths = {name: _flat(first[name])[0].shape[1:] for name in lists}
        self.inner = {
            name: [f"{name}{i}" for i in range(width[0])] if width else [name] for name, width in widths.items()
        }
        self.schema: Mapping[str, Any] = {
            **source.schema,
            **{inner: nw.Float64() for name in lists for inner in self.inner[name]},
        }

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield a row for each point."""
        outer = [name for name in names if name in self._source.schema and name not in self._lists]
        for piece in self._source.pieces([*outer, *self._lists]):
            flat = {name: _flat(piece[name]) for name in self._lists}
            sizes = flat[self._lists[0]][1]
            for name, (_, other) in flat.items():
                if not np.array_equal(other, sizes):
                    row = int((other != sizes).argmax())
                    raise InvalidMeasureError(
                        f"a row has {sizes[row]} entries in the list {self._lists[0]!r} and {other[row]} in {name!r}; "
                        "all lists of a row must have one length."
                    )
            columns: dict[str, AnyArray] = {}
            for name, (values, _) in flat.items():
                if values.shape[1:] not in ((), (len(self.inner[name]),)):
                    raise InvalidMeasureError(f"the points in the column {name!r} differ in dimension.")
                columns |= dict(zip(self.inner[name], values.reshape(len(values), -1).T, strict=True))
            rows = np.repeat(np.arange(len(piece)), sizes)
            series = [nw.new_series(name, values, backend=piece.implementation) for name, values in columns.items()]
            if outer:
                yield piece.select(outer)[rows].with_columns(*series)
            else:
                yield series[0].to_frame().with_columns(*series[1:])


def _is_list(source: Source, name: str) -> bool:
    kind = source.schema[name]
    if kind == nw.Object:  # pandas
        first = next(iter(source.pieces([name])), None)
        values = [] if first is None else first[name].to_list()[:1]
        return bool(values) and isinstance(values[0], (list, tuple, np.ndarray))
    return bool(kind in (nw.List, nw.Array))


def _flat(column: Any) -> tuple[AnyArray, AnyArray]:
    """Return the entries of all lists, (m,) or (m, d), and the length of each list."""
    pa, compute = (needed(name, "io", "Reading columns of lists") for name in ("pyarrow", "pyarrow.compute"))
    try:
        array = column.to_arrow()
    except (pa.ArrowException, ValueError, TypeError):
        raise InvalidMeasureError(
            f"the column {column.name!r} holds lists and other things; give it one type."
        ) from None
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    lengths = compute.list_value_length(array)
    values, sizes = array.flatten(), np.asarray(lengths.fill_null(0), dtype=np.int64)
    if not sizes.all():
        raise InvalidMeasureError(
            f"the column {column.name!r} has a row without a list, or an empty one; drop such rows."
        )
    width: tuple[int, ...] = ()
    if pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type) or pa.types.is_large_list(values.type):
        inner = np.asarray(compute.list_value_length(values).fill_null(-1), dtype=np.int64)
        if len(set(inner.tolist())) > 1 or inner.min(initial=0) < 0:
            raise InvalidMeasureError(f"the points in the column {column.name!r} differ in dimension.")
        width, values = (int(inner[0]) if len(inner) else 0,), values.flatten()
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_boolean(values.type)):
        raise InvalidMeasureError(f"the column {column.name!r} holds lists of {values.type}; points must be numbers.")
    if pa.types.is_integer(values.type):
        whole = values.drop_null().to_numpy(zero_copy_only=False)
        refuse_rounded(whole, f"the column {column.name!r}", InvalidMeasureError)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)).reshape(-1, *width), sizes
