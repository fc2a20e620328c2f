"""``kermes fit`` and ``kermes compare``: from a file of labelled measures to a model file, or to a leaderboard."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import kermes

from .._dry_run import is_dry
from .._quantities import as_seconds, counted, duration
from ..exceptions import DegenerateDataWarning, InvalidParameterError, KermesError, UnsuitableDataError
from ._naming import Named, candidate
from ._options import Name, command, html, kernel, output, reads, seed, split, task, units
from ._output import print_estimates, printable, printed_json, say, show, wants_json
from ._reading import Reading, units_of

#: What is said before a comparison within a budget.
BUDGET = (
    "The budget is for the kernels: baselines always run, a fold or a compilation that was begun is finished, and the "
    "last fit and the report come after it."
)


@command(
    "kermes fit cells.csv --by patient --columns cd4,cd8 --label sick -o model.kermes",
    "kermes fit digits.npz -k sinkhorn:epsilon=0.5 -o digits.kermes",
    "kermes fit cells.csv --by patient --columns cd4,cd8 --label age --learner gp -o age.kermes",
)
@reads()
@kernel
@task
@click.option(
    "--learner",
    type=click.Choice(["auto", "svm", "lssvm", "gp"]),
    default="auto",
    help="Support vector machine, least squares, or Gaussian process.",
)
@click.option(
    "--calibrate", is_flag=True, help="Also fit models without each of five folds, for predict --proba and --interval."
)
@units
@seed
@output("The model file.", unwritten="model.kermes")
def fit(
    reading: Reading,
    kernel: Named,
    task: str,
    learner: str,
    calibrate: bool,
    units: str | None,
    seed: int,
    output: Path,
) -> None:
    """Fit a classifier or a regression, and save it.

    Length scale and regularisation are searched by cross-validation (a Gaussian process: by marginal likelihood),
    unless the name of the kernel gives them; the score is that of a nested cross-validation, as compare has it. How the
    data were read is kept in the model file. By default classes are learnt by a support vector machine if the kernel is
    proved definite, by least squares if not; numbers by a Gaussian process.
    """
    from .. import _persistence
    from ..comparison._report._code import describe

    _persistence.require()
    if calibrate and units is not None:
        raise click.UsageError(
            "--calibrate is for measures that are exchangeable, which those of one of the --units are not."
        )
    found, labels, task = _labelled(reading, task, units=units)
    if task == "regression":
        name, constant = "R²", "the mean: 0"
        what = f"regression of numbers from {labels.min():g} to {labels.max():g}"
    else:
        counts = np.unique(labels, return_counts=True)[1]
        name, constant = "accuracy", f"the largest class: {counts.max() / len(labels):.3f}"
        what = f"classification into {counted(len(counts), 'class')}"
    if not wants_json():
        show(f"{found.measures}, {what}")
    reading.say_hints(found)
    started = time.perf_counter()
    one = candidate(kernel, task, found.measures.dim, learner)
    scaler, parts = reading.scaler(found, automatic=True), units_of(found, units)
    model, scores, settings = _fitted(found.measures, labels, task, one, seed, scaler, parts)
    kept = _calibrated(model, found.measures, labels, task, seed) if calibrate else model
    seconds = time.perf_counter() - started
    _persistence.write(kept, output, model_notes(reading, found, task))
    summary = {"measures": len(labels), "units": units, "task": task, "model": describe(model), "score": name}
    moments = {"mean": np.mean(scores), "std": np.std(scores)} if len(scores) else {}
    ending = {"settings tried": settings, "seconds": seconds, "output": output}
    if printed_json(summary | {"folds": scores} | moments | ending):
        return
    tried = f", each time the best of {settings} settings" if settings > 1 else ""
    if len(scores):
        judged = f"{name} {np.mean(scores):.3f} ± {np.std(scores):.3f} in {len(scores)}-fold cross-validation"
        judged += "" if parts is None else f" of {counted(len(np.unique(parts)), 'unit')}"
        show(f"{judged}{tried} ({constant})")
    else:
        show("Too few measures for a score by nested cross-validation.")
    show(" ".join(describe(model).split()))
    if hasattr(model.learner_, "log_marginal_likelihood_value_"):
        show(f"Kernel after the fit: {model.learner_.kernel_}")
    click.echo(f"Written to {output} in {seconds:.1f} s; use it: kermes predict {output} NEW_DATA")


def _fitted(
    X: Any, y: Any, task: str, one: Any, seed: int, preprocessing: Any, groups: Any = None
) -> tuple[Any, Any, int]:
    """Return the model, its scores (none if there are too few measures to judge it), and the number of settings."""
    from ..comparison._search import as_trial

    settings = as_trial(one, task, kermes.engine.DEFAULT).n_settings
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)  # fewer folds: the score says how many
            result = kermes.compare(X, y, task, one, random_state=seed, groups=groups, preprocessing=preprocessing)
    except UnsuitableDataError:
        if task == "regression" or np.unique(y, return_counts=True)[1].min() < 2:
            raise
        # Two of a class are enough for a search, but not for nested folds.
        one = replace(one, preprocessing=preprocessing)
        return kermes.comparison.CandidateModel(one, task, random_state=seed).fit(X, y, groups), (), settings
    row = result.rows[0]
    if row.error is not None:
        raise row.error
    for warning in row.warnings:
        warnings.warn(warning.partition(": ")[2], stacklevel=2)
    return result.best_, row.scores, settings


def _calibrated(model: Any, X: Any, y: Any, task: str, seed: int) -> Any:
    """Return the model with those of five folds, which search their settings anew."""
    kind = kermes.ConformalRegressor if task == "regression" else kermes.ConformalClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are those of the model itself
        return kind(model, random_state=seed).fit(X, y)


def model_notes(reading: Reading, data: Any, task: str) -> dict[str, Any]:
    """Return what a model file keeps besides the model: how to read new data, and the task."""
    found = {"columns": list(data.columns) or None, "white": data.white}
    kept = {name: value for name, value in found.items() if value is not None}
    return {"reading": reading.notes() | kept, "kind": data.kind, "task": task}


def _labelled(reading: Reading, task: str, **columns: Any) -> tuple[Any, Any, str]:
    """Return the data, their labels and the task, or say how to give them."""
    from ..comparison._folds import read_target

    found = reading.read(**columns)
    if found.labels is None:
        raise InvalidParameterError("`label` is needed: --label COLUMN of a table, or --labels FILE.")
    return found, *read_target(found.labels, len(found.measures), task)


@command(
    "kermes compare cells.csv --by patient --columns cd4,cd8 --label sick -k sliced -k mmd:sigma=1 -o best.kermes",
    "kermes compare cells.csv --by patient --columns cd4,cd8 --label sick -k sliced --covariates age",
    "kermes compare digits.npz -k euclidean -k sliced --cv 3 --html report.html",
)
@reads()
@click.option("-k", "--kernel", "names", type=Name("kernel"), multiple=True, help="A kernel to compare; several times.")
@task
@click.option(
    "--budget",
    metavar="TIME",
    help="For the kernels: leave out what takes longer than 30s, 5min, 1h. Reading, baselines, code compiled at first "
    "use, the last fit and the report come on top.",
)
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds of cross-validation.")
@units
@click.option(
    "--covariates",
    metavar="A,B,...",
    callback=split,
    help="What else is known of each measure: also linear models of these columns, of the measures, and of both.",
)
@html(metavar="FILE", help="Also a report for a browser.")
@seed
@output("Where the best model goes.")
def compare(
    reading: Reading,
    names: tuple[Named, ...],
    task: str,
    budget: str | None,
    cv: int,
    units: str | None,
    covariates: tuple[str, ...] | None,
    html: Path | None,
    seed: int,
    output: Path | None,
) -> None:
    """Compare kernels on labelled measures; print the leaderboard.

    Kernels that suit the data are chosen unless some are named. Scores are from nested cross-validation: what is
    searched is searched within the training sets.
    """
    from .. import _persistence
    from ..comparison._auto import frame_of
    from ..comparison._compare import estimates
    from ..core.jit import compilation

    if output is not None:
        _persistence.require()
        if html is not None and html.resolve() == output.resolve():
            raise click.UsageError("--html and -o name one file, for the report and for the model.")
    if budget is not None:
        as_seconds(budget, "budget")  # before the data are read
    if covariates and reading.label in covariates:
        raise InvalidParameterError(
            f"`covariates` (--covariates) holds the label {reading.label!r}, which is predicted."
        )
    found, labels, task = _labelled(reading, task, units=units, covariates=covariates)
    reading.say_hints(found)
    X, scaler = found.measures, reading.scaler(found, automatic=True)
    candidates: Any = [candidate(name, task, X.dim) for name in names] or "auto"
    if is_dry():
        say("Time of the distances; fits, baselines and code compiled at first use come on top.")
        print_estimates(estimates(X, labels, task, candidates, seed, preprocessing=scaler))
        return
    if budget is not None:
        say(BUDGET)
    beside = frame_of({name: found.metadata[name] for name in covariates}) if covariates else None
    try:
        with compilation() as compiling:
            result = kermes.compare(
                X, labels, task, candidates, cv, budget, seed,
                groups=units_of(found, units), preprocessing=scaler, covariates=beside,
            )  # fmt: skip
    except kermes.comparison.ComparisonInterrupted as interruption:
        show(interruption.comparison)  # what was finished
        raise
    if sum(compiling) > 1.0:
        say(f"Compiling took {duration(sum(compiling))}, this time only; kermes warmup does it ahead.")
    facts = {"task": task, "scoring": result.scoring, "table": result.table, "html": html, "output": output}
    if not printed_json(facts):
        show(result)
    if (html or output) and all(row["status"] != "ok" for row in result.table):
        raise KermesError("no kernel was finished, so there is nothing to write. Give a greater --budget.")
    if output is not None:
        name, model = _best(result)
        _persistence.write(model, output, model_notes(reading, found, task))
        say(f"Best model{name} written to {output}")
    if html is not None:
        command = printable(shlex.join(["kermes", *sys.argv[1:]]))
        result.report(html, command, [printable(name) for name in found.columns])
        say(f"Report written to {html}")


def _best(result: Any) -> tuple[str, Any]:
    """Return the best model that predicts from measures alone, as predict does; and its name, if it is not the first.

    Models beside covariates take a table of both, which only Python has.
    """
    from ..comparison._auto import WithCovariates

    for place, row in enumerate(result.rows):
        if row.status == "ok" and not isinstance(row.candidate.learner, WithCovariates):
            return (f" without covariates, {row.name},", result.fit(row.name)) if place else ("", result.best_)
    raise KermesError("no kernel without covariates was finished, and predict takes no others. Leave out -o.")
