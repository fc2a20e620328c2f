"""``kermes compare``: many kernels on one file of labelled measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..exceptions import InvalidParameterError
from ._fit import require_labels
from ._learners import task_of
from ._options import Command, Reading, as_json, data_argument, output, reads, seed_option
from ._output import print_json, print_table, refuse_existing, say


@click.command(
    cls=Command,
    examples=[
        "kermes compare cells.csv --by patient --columns cd4,cd8 --label sick --html report.html",
    ],
)
@data_argument()
@reads()
@click.option(
    "--task", type=click.Choice(["auto", "classification", "regression"]), default="auto", help="By the labels."
)
@click.option("--budget", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop after so long.")
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds of cross-validation.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Also a report for a browser.")
@seed_option
@output("Where the best model goes.")
@as_json
def compare(
    data: Path,
    reading: Reading,
    task: str,
    budget: float | None,
    cv: int,
    html: Path | None,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare kernels on labelled measures; print the leaderboard."""
    from .. import persistence

    run = _function()
    if html is not None:
        refuse_existing(html)
    reading, found = reading.fitted(data)
    labels = require_labels(found)
    task = task_of(labels) if task == "auto" else task
    options = {} if budget is None else {"budget": budget}
    result = run(found.measures, labels, task=task, cv=cv, random_state=seed, **options)
    records = _records(result.table)
    if html is not None:
        result.report(html)
    if output is not None:
        notes = {"reading": reading.notes() | ({"columns": list(found.columns)} if found.columns else {}), "task": task}
        persistence.write(result.best_, output, notes)
    if as_json:
        print_json({"task": task, "table": records, "html": html, "output": output})
        return
    header = list(records[0])
    print_table(f"{found.measures}, {task}", header, [[row[name] for name in header] for row in records])
    for path in (html, output):
        if path is not None:
            say(f"Written to {path}")


def _function() -> Any:
    """Return ``kermes.compare``."""
    import kermes

    found = getattr(kermes, "compare", None)
    if not callable(found):
        raise InvalidParameterError("this version of kermes has no `compare` yet.")
    return found


def _records(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a leaderboard: records, columns, or a data frame."""
    if isinstance(table, (list, tuple)):
        return [dict(row) if isinstance(row, dict) else row._asdict() for row in table]
    if isinstance(table, dict):
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    import narwhals as nw

    return list(nw.from_native(table, eager_only=True).rows(named=True))
