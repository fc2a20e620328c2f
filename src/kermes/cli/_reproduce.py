"""``kermes reproduce``: the tables and figures of the papers."""

from __future__ import annotations

from pathlib import Path

import click

from ..papers import KEYS, get_paper


@click.command()
@click.argument("key", type=click.Choice(list(KEYS)))
@click.option("--quick", is_flag=True, help="Small samples, a few minutes (the default).")
@click.option("--full", is_flag=True, help="The protocol of the paper; it can be interrupted.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results and figures; kermes-KEY-SIZE by default.",
)
@click.option(
    "--only", multiple=True, help="A part to run, such as table1 or mnist; several with commas. All by default."
)
def reproduce(key: str, quick: bool, full: bool, output: Path | None, only: tuple[str, ...]) -> None:
    """Reproduce the tables and figures of a paper.

    Finished parts are kept in the output folder: run the same command again to go on. The data sets are
    looked for in the folder that the environment variable KERMES_DATA names.

    Example: kermes reproduce skm --quick --only table1
    """
    from rich.console import Console
    from rich.table import Table

    if quick and full:
        raise click.UsageError("--quick and --full exclude each other.")
    size = "full" if full else "quick"
    folder = output or Path(f"kermes-{key}-{size}")
    console = Console()
    paper = get_paper(key)
    known = [*paper.pieces, *paper.optional]
    only = tuple(part for listed in only for part in listed.split(","))
    unknown = set(only) - set(known)
    if unknown:
        raise click.BadParameter(f"{unknown.pop()!r} is not one of {', '.join(known)}.", param_hint="--only")
    summary = paper.reproduce(
        size, folder, only or tuple(paper.pieces), lambda line: console.print(line, highlight=False)
    )
    console.print(KEYS[key], highlight=False)
    for title, header, rows in paper.tables(size, summary):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    for line in paper.deviations(size, summary):
        console.print(f"Off by more than the tolerance: {line}", style="yellow", highlight=False)
    console.print(f"Results and figures: {folder}", highlight=False)
