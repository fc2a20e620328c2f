"""What commands print and write: tables, JSON, CSV and matrices; files whole or not at all."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._atomic import require_writable, whole
from .._checks import needed
from ..exceptions import InvalidParameterError

MATRICES = (".npy", ".npz", ".csv", ".zarr")
ROWS = (".csv", ".parquet")
#: Columns of a terminal below which tables are set closer.
NARROW = 70
#: Characters that command a terminal, and bytes of a name that are not UTF-8.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def check_output(path: Path, replace: bool, can_resume: bool = False) -> None:
    """Refuse, before any work, a path that cannot be written to, and one that exists unless it is to be replaced."""
    folder = is_zarr(path)
    if path.exists() and not replace:
        if can_resume and _is_ours(path):
            raise FileExistsError(
                f"{str(path)!r} exists; use --resume to go on with it if it is unfinished, or --force to start anew."
            )
        raise FileExistsError(f"{str(path)!r} exists; use --force to replace it.")
    if not path.parent.exists():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}; make it first.")
    if folder and path.exists() and not _is_ours(path):
        raise FileExistsError(f"{str(path)!r} exists and is not a Zarr folder that kermes wrote; it is left alone.")
    require_writable(path.with_name(f"{path.name}.new") if folder else path)


def is_zarr(path: Path) -> bool:
    """Whether the name is that of a Zarr folder."""
    return path.suffix.lower() == ".zarr"


@contextmanager
def replacing(path: Path, resumable: bool) -> Iterator[Path]:
    """Yield a folder beside ``path`` that takes its place at the end; ``path`` itself if it is new and resumable.

    What is resumable and was interrupted is kept.
    """
    beside = path.exists() or not resumable
    draft = path.with_name(f"{path.stem}.new{path.suffix}") if beside else path
    if beside and draft.exists():
        raise FileExistsError(
            f"{str(draft)!r} is in the way, of an interrupted run? Go on with -o {draft} --resume, or remove it."
        )
    try:
        yield draft
    except BaseException as error:
        if resumable and isinstance(error, KeyboardInterrupt) and draft.exists():
            say(f"What was finished is in {draft}: go on with -o {draft} --resume")
        elif beside:
            shutil.rmtree(draft, ignore_errors=True)
        raise
    if beside:
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            if path.exists():
                path.rename(old / "old")
            draft.rename(path)
        finally:
            if not path.exists() and (old / "old").exists():  # interrupted between the two
                (old / "old").rename(path)
            shutil.rmtree(old)


def _is_ours(path: Path) -> bool:
    """Whether a folder is a Zarr group that kermes wrote, or an empty one."""
    try:
        attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
        return bool({"kermes", "kermes_matrix"} & set(attributes))
    except (OSError, ValueError, KeyError, TypeError):
        return path.is_dir() and not any(path.iterdir())


def refuse_ending(path: Path | None, endings: Sequence[str]) -> None:
    """Refuse a kind of file that cannot be written, before any work."""
    if path is not None and path.suffix.lower() not in endings:
        raise InvalidParameterError(f"`output` (-o) must end in {', '.join(endings)}; got {path.name!r}.")


def refuse_name(by: str, names: Iterable[str]) -> None:
    """Refuse a column of names that would have the name of a column of results."""
    if by in names:
        raise InvalidParameterError(
            f"`by` (--by) is {by!r}, as a column of the result is called; rename it in the data."
        )


def say(message: str) -> None:
    """Print a line about the work to the error stream, which scripts do not read."""
    show(message, err=True)


def show(text: Any, err: bool = False) -> None:
    """Print lines for people: those that a terminal has no room for are broken between words."""
    stream = sys.stderr if err else sys.stdout
    lines = printable(text).split("\n")
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in _broken(line, width)]
    click.echo("\n".join(lines), err=err)


def _broken(line: str, width: int) -> list[str]:
    """Return a line in parts of at most ``width``, if words are no longer; later parts are set in as its text is."""
    if len(line) <= width:
        return [line]
    margin = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=margin,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: Any) -> str:
    """Return a string in which characters that command a terminal are shown by their numbers."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def print_json(content: Any) -> None:
    """Print one JSON document; numbers that JSON lacks become null."""
    click.echo(printable(json.dumps(_plain(content), indent=2, ensure_ascii=False)))


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], right: int = 1) -> None:
    """Print a title and a table; columns from number ``right`` on are numbers, aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = table_width()
    cells = [[printable(number(cell)) for cell in row] for row in rows]
    close = width < NARROW
    columns = [[printable(name), *(row[i] for row in cells)] for i, name in enumerate(header)]
    room = width - 2 - (len(columns) - 1) * (2 if close else 3)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=close)
    for i, (column, wide) in enumerate(zip(columns, _widths(columns, room), strict=True)):
        table.add_column(column[0], justify="right" if i >= right else "left", overflow="fold", width=wide)
    for row in cells:
        table.add_row(*map(Text, row))
    if title:
        show(title)
    Console(width=width, file=sys.stdout).print(table)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return how wide columns are: the widest give way until all fit, those first that break no word."""
    widths = [max(map(len, column)) for column in columns]
    least = [max((len(word) for text in column for word in text.split()), default=1) for column in columns]
    for bounds in (least, [1] * len(columns)):
        while sum(widths) > room and (wide := [i for i, w in enumerate(widths) if w > bounds[i]]):
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def table_width() -> int:
    """Return the width of tables: that of the terminal, 140 in files."""
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else 140


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print names and values in two columns; what is None is left out."""
    shown = {name: number(value) for name, value in facts.items() if value is not None}
    width = max(map(len, shown), default=0)
    show(title)
    for name, value in shown.items():
        show(f"  {name.ljust(width)}  {value}")


def print_plan(estimates: Mapping[str, Any], as_json: bool) -> None:
    """Print what a dry run would have computed: pairs, time and memory of each name, and of all."""
    from .._quantities import duration, size

    if not estimates and as_json:  # nothing that the engine would do
        print_json({"pairs": 0, "seconds": None, "bytes": None})
        return
    if not estimates:
        print_facts("not computed", {"pairs": 0, "time": "not estimated: it goes into no pairs of measures"})
        return
    total = {
        "pairs": sum(found.pairs for found in estimates.values()),
        "seconds": float(sum(found.seconds for found in estimates.values())),
        "bytes": float(max((found.bytes for found in estimates.values()), default=0.0)),
    }
    if as_json:
        print_json(total)
        return
    for name, found in estimates.items() if len(estimates) > 1 else ():
        show(f"{name}: {found}")
    names = f"{next(iter(estimates))}, " if len(estimates) == 1 else ""
    facts = {"pairs": total["pairs"], "time": duration(total["seconds"]), "memory": size(total["bytes"])}
    print_facts(f"{names}not computed", {name: str(value) for name, value in facts.items()})


def number(value: Any) -> str:
    """Return a number as a string: four digits, whole numbers in full."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def write_rows(columns: Mapping[str, Any], path: Path | None) -> None:
    """Write columns of equal length as CSV or Parquet, or print them as CSV."""
    from ..files._tables import write_columns, write_csv

    if path is not None:
        with whole(path) as temporary:
            write_columns(columns, temporary)
        return
    text = StringIO()
    write_csv(columns, text)
    click.echo(printable(text.getvalue()) if sys.stdout.isatty() else text.getvalue(), nl=False)


def write_matrix(matrix: Any, keys: Any, by: str, name: str, path: Path) -> None:
    """Write a square matrix with the names of its rows (``.npy``: without)."""
    kind = path.suffix.lower()
    if kind == ".zarr":
        with replacing(path, resumable=False) as folder:
            group = _open_group(folder, "w", {"kermes_matrix": name})
            group.create_array(name, data=np.asarray(matrix))
            _create_keys(group, keys)
    elif kind == ".csv":
        columns = {by: keys} | {str(key): column for key, column in zip(keys, matrix.T, strict=True)}
        if len(columns) <= len(keys):
            raise InvalidParameterError("two measures have one name, so a CSV cannot hold both; use .npz.")
        write_rows(columns, path)
    else:
        with whole(path) as temporary, open(temporary, "wb") as file:
            if kind == ".npz":
                np.savez_compressed(file, **{name: matrix, "keys": keys})
            else:
                np.save(file, matrix, allow_pickle=False)


def write_keys(keys: Any, path: Path) -> None:
    """Write the names of the measures into a Zarr group, as its array ``keys``."""
    _create_keys(_open_group(path, "r+", None), keys)


def _create_keys(group: Any, keys: Any) -> None:
    names = np.asarray(keys)
    kind = str if names.dtype.kind == "U" else names.dtype  # strings of any length; the other kind has no standard
    group.create_array("keys", shape=names.shape, dtype=kind, overwrite=True)[:] = names


def _open_group(path: Path, mode: Any, attributes: dict[str, Any] | None) -> Any:
    zarr = needed("zarr", "distributed", "Writing .zarr")
    # A string with "::" would be an address.
    return zarr.open_group(zarr.storage.LocalStore(path), mode=mode, attributes=attributes)


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
