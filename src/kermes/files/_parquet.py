"""Parquet files, and folders of them, read in pieces and a few columns at a time."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import narwhals as nw

from .._checks import missing
from .._foreign import decoding, require_file, require_memory, require_room
from ..exceptions import InvalidFileError
from ..measures._frame import InMemory, Source
from ._text import refuse_twice

ENDINGS = (".parquet", ".pq")
#: Rows that are expanded at a time: a few repeated strings may take any room.
BATCH = 1 << 14


def is_parquet(path: Path) -> bool:
    """Whether this is a Parquet file, or a folder with such files in it or in its folders."""
    return bool(_files(path)) if path.is_dir() else path.suffix.lower() in ENDINGS


def source(path: Path) -> Source:
    """Return the table; without pyarrow, as polars or pandas read it into memory."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return InMemory(_in_memory(path))
    return Files(path)


def categories(path: Path) -> set[str]:
    """Return the columns that were written as categories, of any type: Parquet itself keeps only those of strings.

    Arrow and pandas say so in notes of their own; without pyarrow nothing is known.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return set()
    first = _files(path)[0] if path.is_dir() else path
    require_file(first)
    with decoding(first, "a table"), parquet.ParquetFile(first) as file:
        notes = file.metadata.metadata or {}
        arrow = pa.BufferReader(b64decode(notes[b"ARROW:schema"])) if b"ARROW:schema" in notes else None
        written = [] if arrow is None else pa.ipc.read_schema(arrow)
        pandas = (file.schema_arrow.pandas_metadata or {}).get("columns", [])
        found = {field.name for field in written if pa.types.is_dictionary(field.type)}
        return found | {column.get("name") for column in pandas if column.get("pandas_type") == "categorical"}


class Files:
    """Files of one table: all have its columns; folders named ``column=value`` are a column of strings."""

    schema: Mapping[str, Any]

    def __init__(self, path: Path) -> None:
        self._files = {file: _partition(file, path) for file in (_files(path) if path.is_dir() else [path])}
        schemas = {
            file: self._schema(file) | dict.fromkeys(folders, nw.String()) for file, folders in self._files.items()
        }
        first, self.schema = next(iter(schemas.items()))
        for file, schema in schemas.items():
            if set(schema) != set(self.schema):
                name = min(set(schema) ^ set(self.schema))
                raise InvalidFileError(
                    f"the column {name!r} is in only one of {str(first)!r} and {str(file)!r}; all files of a table "
                    "must have the same columns."
                )

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield batches of rows of one file after the other."""
        import pyarrow as pa
        from pyarrow import parquet

        size = 0
        for path, folders in self._files.items():
            stored = [name for name in dict.fromkeys(names) if name not in folders]
            with decoding(path, "a table"), parquet.ParquetFile(path, memory_map=False) as file:
                require_room(path, 8 * file.metadata.num_rows * len(names))
                size += 8 * file.metadata.num_rows * len(names)
                require_memory(size, "the table", "read fewer files or columns")
                # Of columns that are folders only, some column says how many rows there are.
                for batch in file.iter_batches(BATCH, columns=stored or [file.schema_arrow.names[0]]):
                    require_room(path, batch.nbytes)
                    table = pa.Table.from_batches([batch])
                    for name, value in folders.items():
                        if name in names:
                            table = table.append_column(name, pa.repeat(value, len(batch)))
                    yield nw.from_native(table, eager_only=True)

    def _schema(self, path: Path) -> dict[str, Any]:
        from pyarrow import parquet

        require_file(path)
        with decoding(path, "a table"), parquet.ParquetFile(path) as file:
            refuse_twice(file.schema_arrow.names, path)
            return dict(nw.from_native(file.schema_arrow.empty_table(), eager_only=True).schema)


def _files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder, as data sets are written: names that start with a dot or _ are others."""
    found = [path for ending in ENDINGS for path in folder.rglob(f"*{ending}") if path.is_file()]
    return sorted(path for path in found if not path.name.startswith((".", "_")))


def _partition(file: Path, folder: Path) -> Mapping[str, str]:
    """Return the columns that the names of folders give: ``donor=a``."""
    from urllib.parse import unquote

    parts = file.relative_to(folder).parts[:-1] if folder.is_dir() else ()
    pairs = [part.partition("=") for part in parts]
    return {unquote(name): unquote(value) for name, equals, value in pairs if equals and name}


def _in_memory(path: Path) -> Any:
    if path.is_dir():
        raise missing("pyarrow", "io", "Reading a folder of Parquet files")
    for library in ("polars", "pandas"):
        with decoding(path, "a table"), suppress(ImportError):
            return nw.from_native(import_module(library).read_parquet(path), eager_only=True)
    raise missing("pyarrow", "io", "Reading Parquet")
