"""What commands print and write: tables, JSON, CSV and matrices; files whole or not at all."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._atomic import require_writable, whole
from .._checks import needed
from .._quantities import duration, size
from .._values import written
from ..exceptions import InvalidParameterError
from ..files._tables import write_columns, write_csv

#: Packages that write files of some names: the module, the extra that installs it, and what for.
WRITERS = {".zarr": ("zarr", "distributed", "Writing .zarr"), ".parquet": ("pyarrow", "io", "Writing Parquet")}
WRITERS |= dict.fromkeys((".png", ".pdf", ".svg"), ("matplotlib", "plot", "A picture"))
#: Columns of a terminal below which tables are set closer.
NARROW = 70
#: Characters that command a terminal, and bytes of a name that are not UTF-8.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def new_file(ctx: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Refuse, before any work, a path that cannot be written to, and one that exists unless it is to be replaced."""
    if path is None:
        return None
    if path.suffix.lower() in WRITERS:
        needed(*WRITERS[path.suffix.lower()])
    folder = is_zarr(path)
    if path.exists() and not (ctx.meta.get("force", True) or ctx.params.get("resume", False)):
        if "resume" in ctx.params and _is_ours(path):
            raise FileExistsError(
                f"{str(path)!r} exists; use --resume to go on with it if it is unfinished, or --force to start anew."
            )
        raise FileExistsError(f"{str(path)!r} exists; use --force to replace it.")
    if not path.parent.exists():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r}; make it first.")
    if folder and path.exists() and not _is_ours(path):
        raise FileExistsError(f"{str(path)!r} exists and is not a Zarr folder that kermes wrote; it is left alone.")
    require_writable(path.with_name(f"{path.name}.new") if folder else path)
    return path


def is_zarr(path: Path) -> bool:
    """Whether the name is that of a Zarr folder."""
    return path.suffix.lower() == ".zarr"


def _is_ours(path: Path) -> bool:
    """Whether a folder is a Zarr group that kermes wrote, or an empty one."""
    try:
        attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
        return bool({"kermes", "kermes_matrix"} & set(attributes))
    except (OSError, ValueError, KeyError, TypeError):
        return path.is_dir() and not any(path.iterdir())


def refuse_name(name: str, names: Iterable[str], option: str = "`by` (--by)") -> None:
    """Refuse a column of the data, given by an option, that would have the name of a column of results."""
    if name in names:
        raise InvalidParameterError(
            f"{option} is {name!r}, as a column of the result is called; rename it in the data."
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
        line, width, subsequent_indent=margin, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
    )


def printable(text: Any) -> str:
    """Return a string in which characters that command a terminal are shown by their numbers."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def wants_json() -> bool:
    """Whether the command has the option ``--json``."""
    return bool(click.get_current_context().meta.get("json"))


def printed_json(content: Any) -> bool:
    """Print one JSON document if ``--json`` asks for it, and return whether it does; what JSON lacks becomes null."""
    if wants_json():
        click.echo(printable(json.dumps(_plain(content), indent=2, ensure_ascii=False)))
    return wants_json()


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], right: int = 1) -> None:
    """Print a title and a table; columns from number ``right`` on are numbers, aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    width = table_width()
    cells = [[printable(number(cell)) for cell in row] for row in rows]
    columns = [[printable(name), *(row[i] for row in cells)] for i, name in enumerate(header)]
    gaps = [0, *[1 if width < NARROW else 2] * (len(columns) - 1)]  # beside the space between columns
    room = width - 2 - (len(columns) - 1) - sum(gaps)
    # Gaps are part of the cells: of padding of its own, rich before 14.3 counts more than it draws.
    table = Table(box=box.SIMPLE_HEAD, padding=0)
    for i, (column, gap, wide) in enumerate(zip(columns, gaps, _widths(columns, room), strict=True)):
        name = Padding(Text(column[0]), (0, 0, 0, gap))
        table.add_column(name, justify="right" if i >= right else "left", overflow="fold", width=gap + wide)
    for row in cells:
        table.add_row(*(Padding(Text(cell), (0, 0, 0, gap)) for cell, gap in zip(row, gaps, strict=True)))
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


def print_estimates(estimates: Mapping[str, Any]) -> None:
    """Print what a dry run would have computed: pairs, time and memory of each name, and of all."""
    found = list(estimates.values())
    pairs = sum(part.pairs for part in found)
    seconds = float(sum(part.seconds for part in found)) if found else None
    largest = float(max(part.bytes for part in found)) if found else None
    if printed_json({"pairs": pairs, "seconds": seconds, "bytes": largest}):
        return
    if len(found) > 1:
        for name, part in estimates.items():
            show(f"{name}: {part}")
    time = "not estimated: it goes into no pairs of measures" if seconds is None else duration(seconds)
    memory = None if largest is None else size(largest)
    title = f"{next(iter(estimates))}, not computed" if len(found) == 1 else "not computed"
    print_facts(title, {"pairs": pairs, "time": time, "memory": memory})


def number(value: Any) -> str:
    """Return a number as a string: four digits, whole numbers in full."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def write_rows(columns: Mapping[str, Any], path: Path | None) -> None:
    """Write columns of equal length as CSV or Parquet, or print them as CSV."""
    if path is not None:
        with whole(path) as temporary:
            write_columns(columns, temporary)
        return
    text = StringIO()
    write_csv(columns, text)
    click.echo(printable(text.getvalue()) if sys.stdout.isatty() else text.getvalue(), nl=False)


def _plain(value: Any) -> Any:
    """Return numbers, strings, lists and dictionaries only."""
    if isinstance(value, np.ndarray):
        return _plain(written(value))
    if isinstance(value, np.generic):
        return _plain(written([value])[0])
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
