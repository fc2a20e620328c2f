"""``kermes list``, ``warmup`` and ``completion``: the names of divergences and kernels, compiled ahead, in a shell."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from ._options import Name, Named, as_json, command
from ._output import number, print_table, printed_json, say, table_width


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
    from .._checks import choice
    from . import _naming as naming

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
    """Return what is known of one name."""
    from . import _naming as naming

    found = {
        "name": entry.name,
        "kind": kind,
        "class": f"kermes.{kind}s.{entry.cls.__name__}",
        "summary": entry.summary,
        "parameters": _parameters(entry),
        "example": entry.example,
    }
    needed = None in found["parameters"].values()
    made = getattr(naming, kind)(entry.example if needed else entry.name)
    if kind == "kernel":
        return found | {"definite": {"line": made.is_positive_definite(1), "plane": made.is_positive_definite(2)}}
    claims = {"line": made.claims(1), "plane": made.claims(2)}
    parts = {"metric": "metric", "definite up to": "negative_type", "fails at": "fails_at", "reason": "reason"}
    return found | {
        name: {where: getattr(claim, part) for where, claim in claims.items()} for name, part in parts.items()
    }


def _parameters(entry: Any) -> dict[str, Any]:
    """Return the parameters with their defaults as strings; None where one must be given."""
    plain = (bool, int, float, str, type(None))
    found: dict[str, Any] = {
        name: str(default if isinstance(default, plain) else type(default).__name__).lower()
        for name, default in entry.parameters.items()
    }
    needed = [name for name, default in entry.parameters.items() if default is inspect.Parameter.empty]
    inner = [name for name, owner in entry.accepted.items() if owner]
    return found | dict.fromkeys(needed) | dict.fromkeys(inner, "")


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
def warmup(names: tuple[Named, ...]) -> None:
    """Compile distances ahead, so that first calls are fast.

    Code is compiled at its first use, which takes some seconds, and kept on disk. This compiles the divergences named
    (all of them by default) for numbers, points in the plane, histograms and images: in the making of a container, or
    once for the workers of a cluster that share a folder (NUMBA_CACHE_DIR).
    """
    from . import _naming as naming

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
    from .. import Measures

    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.0, size=(4, 8))
    yield "numbers", Measures.from_samples(rng.normal(size=(4, 8)), weights)
    yield "points", Measures.from_samples(rng.normal(size=(4, 8, 2)), weights)
    yield "equal weights", Measures.from_samples(rng.normal(size=(4, 8, 2)))
    yield "histograms", Measures.from_histograms(weights, np.arange(8.0))
    yield "images", Measures.from_images(rng.uniform(0.1, 1.0, size=(4, 5, 5)))


def _first_call(X: Any, divergence: Any) -> float | None:
    """Return the seconds of a call within a collection and one between two; None where X does not suit."""
    import warnings

    from .. import Engine, pairwise
    from ..exceptions import UnsuitableDataError

    engine = Engine(memo=False, progress=False)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about numbers that nobody will see
        try:
            pairwise(X, divergence=divergence, engine=engine)
            pairwise(X[:2], X, divergence=divergence, engine=engine)
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
