"""``kermes demo`` and ``kermes reproduce``: from images to a leaderboard; the tables and figures of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from ..papers import KEYS, get_paper
from ._options import SEED, html
from ._output import show

#: Digits of the same kind that nobody has seen, to try the best kernel on.
NEW = 200


@click.command()
@click.option("-n", "--images", default=200, show_default=True, type=click.IntRange(60, 1500), help="Digits to use.")
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of digits, shifts and folds.")
@html(default="kermes-demo.html", show_default=True, help="Where the report goes.")
def demo(images: int, seed: int, html: Path) -> None:
    """Compare kernels and distances on handwritten digits, and read new digits with the best.

    Each digit of 8 x 8 pixels is moved by up to one pixel at random. It becomes a measure: an atom at every pixel with
    ink, as heavy as its grey value. Every row of the leaderboard is a distance between two such measures with a
    learner; "weights" is the usual RBF kernel on pixels. The report shows what stands behind the best one.

    Example: kermes demo --images 100
    """
    from sklearn.model_selection import train_test_split

    from .. import Measures, compare, datasets

    digits = datasets.load_digits()
    known, new, y, y_new = train_test_split(  # every class in its share
        digits.images, digits.target, train_size=images, test_size=NEW, stratify=digits.target, random_state=seed
    )
    X, X_new = (Measures.from_images(_moved(pictures, seed)) for pictures in (known, new))
    show(f"{X}\n")
    found = compare(X, y, random_state=seed)
    show(found)
    show("Mean ± standard deviation of the outer folds of a nested cross-validation.\n")
    right = found.best_.score(X_new, y_new)
    show(f"{found.names[0]} reads {right:.1%} of {NEW} new digits right.")
    path = found.report(html, command=f"kermes demo --images {images} --seed {seed}")
    show(f"Report: {path.resolve()}")


def _moved(pictures: Any, seed: int) -> Any:
    """Return the pictures on a margin of one pixel, each moved by up to one pixel in both directions."""
    rng = np.random.default_rng(seed)
    framed = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    shifts = rng.integers(-1, 2, size=(len(pictures), 2))
    return np.array([np.roll(p, shift, axis=(0, 1)) for p, shift in zip(framed, shifts, strict=True)])


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
