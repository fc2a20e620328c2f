"""``kermes demo``, ``list``, ``reproduce``, ``warmup`` and ``completion``: the commands that read no data."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

import kermes

from .._checks import choice
from ..exceptions import UnsuitableDataError
from ..papers import KEYS, get_paper
from . import _naming as naming
from ._options import SEED, Name, as_json, command, html
from ._output import number, print_table, printed_json, say, show, table_width

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

    digits = kermes.datasets.load_digits()
    known, new, y, y_new = train_test_split(  # every class in its share
        digits.images, digits.target, train_size=images, test_size=NEW, stratify=digits.target, random_state=seed
    )
    X, X_new = (kermes.Measures.from_images(_moved(pictures, seed)) for pictures in (known, new))
    show(f"{X}\n")
    found = kermes.compare(X, y, random_state=seed)
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


@command("kermes list", "kermes list sinkhorn mmd", name="list")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@as_json
def list_names(names: tuple[str, ...]) -> None:
    """List divergences and kernels: parameters, what is proved.

    A name is followed by its parameters: sinkhorn:epsilon=0.4,cost=euclidean. Every divergence d is a kernel too,
    exp(-(d / length_scale)^power / 2). "Definite up to" is the largest power for which that kernel is proved positive
    definite, on the line and in the plane, with the parameters shown (those of the example where one must be given);
    "no at 2" says that it is known not to be at that power, ? is unknown.
    """
    entries = naming.entries()
    for name in names:
        choice(name, "name", [entry.name for _, entry in entries])
    records = [_record(kind, entry) for kind, entry in entries if not names or entry.name in names]
    if printed_json(records):
        return
    for record in records:  # up to which power; where that is unknown, the power at which it fails
        fails = record.get("fails at", {})
        record["definite up to"] = {
            where: f"no at {fails[where]:g}" if power is None and fails[where] is not None else power
            for where, power in record.get("definite up to", {}).items()
        }
    what = ["summary"] if table_width() >= 100 else []  # otherwise there is no room for what each is
    for kind, header in (("divergence", ("metric", "definite up to")), ("kernel", ("definite",))):
        rows = [
            (r["name"], *(r[name] for name in what), _written(r["parameters"]), *(_claim(r[name]) for name in header))
            for r in records
            if r["kind"] == kind
        ]
        if rows:
            print_table(f"{kind.capitalize()}s", (kind, *("" for _ in what), "parameters", *header), rows, right=9)
    if names:
        for r in records:
            click.echo(f"Example: {r['example']}")


def _record(kind: str, entry: Any) -> dict[str, Any]:
    """Return what is known of one name; parameters have their defaults as strings, None where one must be given."""
    plain = (bool, int, float, str, type(None))
    parameters: dict[str, Any] = {
        name: str(default if isinstance(default, plain) else type(default).__name__).lower()
        for name, default in entry.parameters.items()
    }
    needed = [name for name, default in entry.parameters.items() if default is inspect.Parameter.empty]
    inner = [name for name, owner in entry.accepted.items() if owner]
    parameters |= dict.fromkeys(needed) | dict.fromkeys(inner, "")
    found = {
        "name": entry.name,
        "kind": kind,
        "class": f"kermes.{entry.target}",
        "summary": entry.summary,
        "parameters": parameters,
        "example": entry.example,
    }
    made = getattr(naming, kind)(entry.example if needed else entry.name)
    if kind == "kernel":
        return found | {"definite": {"line": made.is_positive_definite(1), "plane": made.is_positive_definite(2)}}
    claims = {"line": made.claims(1), "plane": made.claims(2)}
    parts = {"metric": "metric", "definite up to": "negative_type", "fails at": "fails_at", "reason": "reason"}
    return found | {
        name: {where: getattr(claim, part) for where, claim in claims.items()} for name, part in parts.items()
    }


def _written(parameters: dict[str, Any]) -> str:
    """Return ``epsilon=?, cost=euclidean, scale``: ? must be given."""
    shown = {name: "=?" if value is None else f"={value}" if value else "" for name, value in parameters.items()}
    return ", ".join(name + value for name, value in shown.items())


def _claim(claim: dict[str, Any]) -> str:
    """Return one word where line and plane agree, otherwise both."""
    words = {None: "?", True: "yes", False: "no"}
    line, plane = (
        words[value] if value is None or isinstance(value, bool) else number(value) for value in claim.values()
    )
    return line if line == plane else f"{line} / {plane}"


@command("kermes warmup", "kermes warmup sinkhorn:epsilon=0.4 mmd:sigma=2")
@click.argument("names", nargs=-1, type=Name("divergence"), metavar="[DIVERGENCE]...")
@as_json
def warmup(names: tuple[naming.Named, ...]) -> None:
    """Compile distances ahead, so that first calls are fast.

    Code is compiled at its first use, which takes some seconds, and kept on disk. This compiles the divergences named
    (all of them by default) for numbers, points in the plane, histograms and images: in the making of a container, or
    once for the workers of a cluster that share a folder (NUMBA_CACHE_DIR).
    """
    chosen = {named.name: named.made for named in names} or {
        entry.example: naming.divergence(entry.example) for entry in naming.DIVERGENCES.values()
    }
    data, seconds = dict(_data()), {}
    for name, divergence in chosen.items():
        say(f"Compiling {name} ...")
        seconds[name] = {kind: _first_call(X, divergence) for kind, X in data.items()}
    if printed_json(seconds):
        return
    rows = [(name, *("" if s is None else f"{s:.1f} s" for s in found.values())) for name, found in seconds.items()]
    print_table("First calls", ("divergence", *data), rows, right=1)


def _data() -> Iterator[tuple[str, Any]]:
    """Yield a few measures of each kind that has compiled code of its own."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.0, size=(4, 8))
    yield "numbers", kermes.Measures.from_samples(rng.normal(size=(4, 8)), weights)
    yield "points", kermes.Measures.from_samples(rng.normal(size=(4, 8, 2)), weights)
    yield "equal weights", kermes.Measures.from_samples(rng.normal(size=(4, 8, 2)))
    yield "histograms", kermes.Measures.from_histograms(weights, np.arange(8.0))
    yield "images", kermes.Measures.from_images(rng.uniform(0.1, 1.0, size=(4, 5, 5)))


def _first_call(X: Any, divergence: Any) -> float | None:
    """Return the seconds of a call within a collection and one between two; None where X does not suit."""
    engine = kermes.Engine(memo=False, progress=False)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about numbers that nobody will see
        try:
            kermes.pairwise(X, divergence=divergence, engine=engine)
            kermes.pairwise(X[:2], X, divergence=divergence, engine=engine)
        except UnsuitableDataError:
            return None
    return time.perf_counter() - started


@command("kermes completion zsh")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    Put the line eval "$(kermes completion bash)" into ~/.bashrc, or the same with zsh into ~/.zshrc; for fish, the
    line kermes completion fish | source into ~/.config/fish/config.fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "kermes", "_KERMES_COMPLETE").source())
