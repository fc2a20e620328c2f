"""``kermes list``: the names of divergences and kernels, read from the classes."""

from __future__ import annotations

import inspect
from typing import Any

import click

from ._options import as_json, command
from ._output import number, print_json, print_table, table_width


@command("kermes list", "kermes list sinkhorn mmd", name="list")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@as_json
def list_names(names: tuple[str, ...], as_json: bool) -> None:
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
    chosen = [(kind, entry) for kind, entry in entries if not names or entry.name in names]
    records = [_record(kind, entry) for kind, entry in chosen]
    if as_json:
        print_json(records)
        return
    for record in records:
        record["definite up to"] = _powers(record)
    for kind, header in (("divergence", ("metric", "definite up to")), ("kernel", ("definite",))):
        rows = [
            (r["name"], r["summary"], _written(r["parameters"]), *(_claim(r[name]) for name in header))
            for r in records
            if r["kind"] == kind
        ]
        if rows:
            if table_width() < 100:  # no room for what each is
                rows = [(name, *rest) for name, _, *rest in rows]
                header = ("parameters", *header)
            else:
                header = ("", "parameters", *header)
            print_table(f"{kind.capitalize()}s", (kind, *header), rows, right=9)
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
    return found | {
        "metric": {where: claim.metric for where, claim in claims.items()},
        "definite up to": {where: claim.negative_type for where, claim in claims.items()},
        "fails at": {where: claim.fails_at for where, claim in claims.items()},
        "reason": {where: claim.reason for where, claim in claims.items()},
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


def _powers(record: dict[str, Any]) -> dict[str, Any]:
    """Return up to which power a kernel is definite; where that is unknown, the power at which it fails."""
    fails = record.get("fails at", {})
    return {
        where: f"no at {fails[where]:g}" if power is None and fails[where] is not None else power
        for where, power in record.get("definite up to", {}).items()
    }


def _claim(claim: dict[str, Any]) -> str:
    """Return one word where line and plane agree, otherwise both."""
    words = {None: "?", True: "yes", False: "no"}
    line, plane = (
        words[value] if value is None or isinstance(value, bool) else number(value) for value in claim.values()
    )
    return line if line == plane else f"{line} / {plane}"
