"""What commands print and write: tables, JSON, CSV and matrices; files whole or not at all."""

from __future__ import annotations

import csv
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._atomic import whole
from .._checks import missing
from ..exceptions import InvalidParameterError

MATRICES = (".npy", ".npz", ".csv", ".zarr")
ROWS = (".csv", ".parquet")


def refuse_existing(path: Path, can_resume: bool = False) -> None:
    """Refuse to replace a file, and to write into a folder that is not there."""
    if can_resume and _is_store(path):
        raise FileExistsError(
            f"{str(path)!r} exists; use --resume to go on with it if it is unfinished, or --force to start anew."
        )
    if path.exists():
        raise FileExistsError(f"{str(path)!r} exists; use --force to replace it.")
    if not path.parent.exists():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}; make it first.")


def remove_store(path: Path) -> None:
    """Remove a folder of Zarr, and no other folder."""
    if not path.exists():
        return
    if not _is_store(path):
        raise FileExistsError(f"{str(path)!r} exists and is not a Zarr folder; it is left alone.")
    shutil.rmtree(path)


def _is_store(path: Path) -> bool:
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def refuse_ending(path: Path | None, endings: Sequence[str]) -> None:
    """Refuse a kind of file that cannot be written, before any work."""
    if path is not None and path.suffix not in endings:
        raise InvalidParameterError(f"`output` (-o) must end in {', '.join(endings)}; got {path.name!r}.")


def say(message: str) -> None:
    """Print a line about the work to the error stream, which scripts do not read."""
    click.echo(message, err=True)


def print_json(content: Any) -> None:
    """Print one JSON document; numbers that JSON lacks become null."""
    click.echo(json.dumps(_plain(content), indent=2, ensure_ascii=False))


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], right: int = 1) -> None:
    """Print a title and a table; columns from number ``right`` on are numbers, aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i >= right else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(cell if isinstance(cell, str) else number(cell)) for cell in row])
    console = Console()
    if not console.is_terminal:
        console = Console(width=140, file=sys.stdout)
    if title:
        click.echo(title)
    console.print(table)


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print names and values in two columns; what is None is left out."""
    shown = {name: number(value) for name, value in facts.items() if value is not None}
    width = max(map(len, shown), default=0)
    click.echo(title)
    for name, value in shown.items():
        click.echo(f"  {name.ljust(width)}  {value}")


def number(value: Any) -> str:
    """Return a number as a string: four digits, whole numbers in full."""
    if value is None:
        return ""
    if isinstance(value, (int, np.integer)) or not isinstance(value, (float, np.floating)):
        return str(value)
    return f"{value:.4g}"


def counted(n: int, one: str, more: str) -> str:
    """Return "1 class", "2 classes"."""
    return f"{n} {one if n == 1 else more}"


def write_rows(columns: Mapping[str, Any], path: Path | None) -> None:
    """Write columns of equal length as CSV or Parquet, or print them as CSV."""
    lists = {name: np.asarray(values) for name, values in columns.items()}
    if path is None:
        _write_csv(lists, sys.stdout)
        return
    with whole(path) as temporary:
        if path.suffix == ".parquet":
            _write_parquet(lists, temporary)
            return
        with open(temporary, "w", newline="", encoding="utf-8") as file:
            _write_csv(lists, file)


def write_matrix(matrix: Any, keys: Any, by: str, name: str, path: Path) -> None:
    """Write a square matrix with the names of its rows (``.npy``: without)."""
    if path.suffix == ".zarr":
        _write_zarr(matrix, keys, name, path)
        return
    with whole(path) as temporary:
        if path.suffix == ".csv":
            columns = {by: keys} | {str(key): column for key, column in zip(keys, matrix.T, strict=True)}
            if len(columns) <= len(keys):
                raise InvalidParameterError("two measures have one name, so a CSV cannot hold both; use .npz.")
            with open(temporary, "w", newline="", encoding="utf-8") as file:
                _write_csv(columns, file)
        elif path.suffix == ".npz":
            with open(temporary, "wb") as file:
                np.savez_compressed(file, **{name: matrix, "keys": keys})
        else:
            with open(temporary, "wb") as file:
                np.save(file, matrix, allow_pickle=False)


def write_keys(keys: Any, path: Path) -> None:
    """Write the names of the measures into a Zarr group, as its array ``keys``."""
    _create_keys(_zarr().open_group(str(path), mode="r+"), keys)


def _create_keys(group: Any, keys: Any) -> None:
    names = np.asarray(keys)
    kind = str if names.dtype.kind == "U" else names.dtype  # strings of any length; the other kind has no standard
    group.create_array("keys", shape=names.shape, dtype=kind, overwrite=True)[:] = names


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise missing("zarr", "distributed", "Writing .zarr") from None
    return zarr


def _write_zarr(matrix: Any, keys: Any, name: str, path: Path) -> None:
    """Write a zarr group with the matrix and the keys, in a folder that is renamed when it is complete."""
    zarr = _zarr()
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        group = zarr.open_group(str(folder / "new"), mode="w")
        group.create_array(name, data=np.asarray(matrix))
        _create_keys(group, keys)
        remove_store(path)
        (folder / "new").rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_csv(columns: Mapping[str, Any], file: Any) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))


def _write_parquet(columns: Mapping[str, Any], path: Path) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing("pyarrow", "io", "Writing Parquet") from None
    parquet.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def _plain(value: Any) -> Any:
    """Return numbers, strings, lists and dictionaries only."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
