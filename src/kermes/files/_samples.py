"""Tables of samples: one row for each measure, with its label and whatever else is known of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import row_number
from .._typing import AnyArray
from ..exceptions import InvalidFileError, InvalidMeasureError, KermesWarning
from ..measures._frame import Source, cells, require_column
from . import _parquet, _text
from ._data import Data

#: Whole numbers, also as spreadsheets write them.
WHOLE = re.compile(r"([+-]?\d+)(\.0*)?", re.ASCII)


def joined(data: Data, path: Path, by: str | None, label: str | None, metadata: Sequence[str]) -> Data:
    """Return the measures that the table names, with the columns that are wanted."""
    text = not _parquet.is_parquet(path)
    wanted = [*([] if label is None else [label]), *metadata]
    source: Source = _text.source(path, _text.Dialect(), None, by or "", wanted) if text else _parquet.source(path)
    name = by if by is not None and by in source.schema else next(iter(source.schema))
    for column in wanted:
        try:
            require_column(source.schema, column)
        except InvalidMeasureError as error:
            raise InvalidMeasureError(f"{path.name}: {error}") from None
    row_of = _rows(_values(source, name), path, name)
    keys = [str(key) for key in data.keys]
    plain, plainer = [_plain(key) for key in keys], {_plain(key): row for key, row in row_of.items()}
    if len(set(plain)) == len(keys) and len(plainer) == len(row_of):  # 1 is 01 where nothing else is called so
        keys, row_of = plain, plainer
    kept = [i for i, key in enumerate(keys) if key in row_of]
    if not kept:
        raise InvalidFileError(
            f"{str(path)!r} names none of the measures in its column {name!r}: it has {next(iter(row_of), 'none')!r}, "
            f"the measures are {data.keys[0]!s} and so on."
        )
    lost = [str(data.keys[i]) for i, key in enumerate(keys) if key not in row_of]
    if lost:
        shown = ", ".join(lost[:10]) + (" ..." if len(lost) > 10 else "")
        warnings.warn(f"{path.name} does not name {shown}: left out ({len(lost)} in all).", KermesWarning, stacklevel=2)
    rows = np.array([row_of[keys[i]] for i in kept])
    columns = {column: _values(source, column)[rows] for column in wanted}
    return replace(
        data,
        measures=data.measures[kept] if lost else data.measures,
        labels=columns[label] if label is not None else None if data.labels is None else data.labels[kept],
        metadata={column: columns[column] for column in metadata},
    )


def _rows(names: AnyArray, path: Path, column: str) -> dict[str, int]:
    """Return the row of each name; a name of a file may have its ending."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names.tolist()):
        key = str(name).removesuffix(".fcs").removesuffix(".FCS")
        if key in rows:
            raise InvalidFileError(
                f"{str(path)!r} names {key!r} twice in the column {column!r}, in {row_number(rows[key])} and row {row}"
                "; leave one of them out."
            )
        rows[key] = row
    return rows


def _plain(name: str) -> str:
    """Return a whole number as others write it: 7 for 007 and 7.0."""
    whole = WHOLE.fullmatch(name.strip())
    return str(int(whole[1])) if whole else name


def _values(source: Any, name: str) -> AnyArray:
    """Return a whole column; missing strings are ''."""
    parts = []
    for piece in source.pieces([name]):
        values, empty = cells(piece[name])
        parts.append(np.where(empty, "", values.astype(str)) if values.dtype == object else values)
    return np.concatenate(parts)
