"""``kermes compare``: many kernels on one file of labelled measures."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from ..exceptions import KermesError
from ._columns import covariates_of, read_with, units_of, units_option
from ._fit import labels_of, model_notes
from ._hints import say_hints, standardized
from ._options import Name, as_json, command, html_option, output, plans, reads, seed_option, split, task_option
from ._output import print_json, print_plan, printable, say, show
from ._reading import Reading

#: What is said before a comparison within a budget.
BUDGET = (
    "The budget is for the kernels: baselines always run, a fold or a compilation that was begun is finished, and the "
    "last fit and the report come after it."
)


@command(
    "kermes compare cells.csv --by patient --columns cd4,cd8 --label sick -k sliced -k mmd:sigma=1 -o best.kermes",
    "kermes compare cells.csv --by patient --columns cd4,cd8 --label sick -k sliced --covariates age",
    "kermes compare digits.npz -k euclidean -k sliced --cv 3 --html report.html",
)
@plans
@reads()
@click.option("-k", "--kernel", "names", type=Name("kernel"), multiple=True, help="A kernel to compare; several times.")
@task_option
@click.option(
    "--budget",
    metavar="TIME",
    help="For the kernels: leave out what takes longer than 30s, 5min, 1h. Reading, baselines, code compiled at first "
    "use, the last fit and the report come on top.",
)
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds of cross-validation.")
@units_option
@click.option(
    "--covariates",
    metavar="A,B,...",
    callback=split,
    help="What else is known of each measure: also linear models of these columns, of the measures, and of both.",
)
@html_option(metavar="FILE", help="Also a report for a browser.")
@seed_option
@output("Where the best model goes.")
@as_json
def compare(
    data: Path,
    reading: Reading,
    names: tuple[str, ...],
    task: str,
    budget: str | None,
    cv: int,
    units: str | None,
    covariates: tuple[str, ...] | None,
    html: Path | None,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare kernels on labelled measures; print the leaderboard.

    Kernels that suit the data are chosen unless some are named. Scores are from nested cross-validation: what is
    searched is searched within the training sets.
    """
    from .. import _persistence
    from .. import compare as run
    from .._dry_run import is_dry
    from .._quantities import as_seconds, duration
    from ..comparison import ComparisonInterrupted
    from ..comparison._plan import plan
    from ..core.jit import compilation
    from ._candidates import candidate

    if output is not None:
        _persistence.require()
        if html is not None and html.resolve() == output.resolve():
            raise click.UsageError("--html and -o name one file, for the report and for the model.")
    if budget is not None:
        as_seconds(budget, "budget")  # before the data are read
    further = covariates or ()
    found = read_with(reading, data, units=() if units is None else (units,), covariates=further)
    labels, task = labels_of(found, task)
    say_hints(found, reading)
    reading = standardized(found, reading)
    X, scaler = found.measures, reading.scaler(found.measures)
    candidates: Any = [candidate(name, task, X.dim) for name in names] or "auto"
    if is_dry():
        print_plan(plan(X, labels, task, candidates, seed, preprocessing=scaler), as_json)
        return
    if budget is not None:
        say(BUDGET)
    try:
        with compilation() as compiling:
            result = run(
                X, labels, task, candidates, cv, budget, seed,
                groups=units_of(found, units), preprocessing=scaler, covariates=covariates_of(found, further),
            )  # fmt: skip
    except ComparisonInterrupted as interruption:
        show(interruption.comparison)  # what was finished
        raise
    if budget is not None and sum(compiling) > 1.0:
        say(f"Compiling took {duration(sum(compiling))}, this time only; kermes warmup does it ahead.")
    if as_json:
        print_json({"task": task, "scoring": result.scoring, "table": result.table, "html": html, "output": output})
    else:
        show(result)
    if (html or output) and all(row["status"] != "ok" for row in result.table):
        raise KermesError("no kernel was finished, so there is nothing to write. Give a greater --budget.")
    if output is not None:
        name, model = _best(result)
        _persistence.write(model, output, model_notes(reading, found, task))
        say(f"Best model{name} written to {output}")
    if html is not None:
        result.report(html, command=printable(shlex.join(["kermes", *sys.argv[1:]])))
        say(f"Report written to {html}")


def _best(result: Any) -> tuple[str, Any]:
    """Return the best model that predicts from measures alone, as predict does; and its name, if it is not the first.

    Models beside covariates take a table of both, which only Python has.
    """
    from ..comparison._covariates import WithCovariates

    for place, row in enumerate(result.rows):
        if row.status == "ok" and not isinstance(row.candidate.learner, WithCovariates):
            return (f" without covariates, {row.name},", result.fit(row.name)) if place else ("", result.best_)
    raise KermesError("no kernel without covariates was finished, and predict takes no others. Leave out -o.")
