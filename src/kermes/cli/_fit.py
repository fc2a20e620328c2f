"""``kermes fit``: from a file of labelled measures to a model file; a comparison with one candidate."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._quantities import counted
from ..exceptions import DegenerateDataWarning, InvalidParameterError, UnsuitableDataError
from ._columns import read_with, units_of, units_option
from ._hints import say_hints, standardized
from ._options import as_json, command, kernel_option, output, plans, reads, seed_option, task_option
from ._output import print_json, show
from ._reading import Reading


@command(
    "kermes fit cells.csv --by patient --columns cd4,cd8 --label sick -o model.kermes",
    "kermes fit digits.npz -k sinkhorn:epsilon=0.5 -o digits.kermes",
    "kermes fit cells.csv --by patient --columns cd4,cd8 --label age --learner gp -o age.kermes",
)
@plans
@reads()
@kernel_option
@task_option
@click.option(
    "--learner",
    type=click.Choice(["auto", "svm", "lssvm", "gp"]),
    default="auto",
    help="Support vector machine, least squares, or Gaussian process.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Also fit models without each of five folds, for predict --proba and --interval.",
)
@units_option
@seed_option
@output("The model file.", unwritten="model.kermes")
@as_json
def fit(
    data: Path,
    reading: Reading,
    kernel: str,
    task: str,
    learner: str,
    calibrate: bool,
    units: str | None,
    seed: int,
    output: Path,
    as_json: bool,
) -> None:
    """Fit a classifier or a regression, and save it.

    Length scale and regularisation are searched by cross-validation (a Gaussian process: by marginal likelihood),
    unless the name of the kernel gives them; the score is that of a nested cross-validation, as compare has it. How the
    data were read is kept in the model file. By default classes are learnt by a support vector machine if the kernel is
    proved definite, by least squares if not; numbers by a Gaussian process.
    """
    from .. import _persistence
    from ..comparison._report import describe
    from ._candidates import candidate

    _persistence.require()
    if calibrate and units is not None:
        raise click.UsageError(
            "--calibrate is for measures that are exchangeable, which those of one of the --units are not."
        )
    found = read_with(reading, data, units=() if units is None else (units,))
    labels, task = labels_of(found, task)
    if not as_json:
        show(f"{found.measures}, {_described(labels, task)}")
    say_hints(found, reading)
    reading = standardized(found, reading)
    started = time.perf_counter()
    one = candidate(kernel, task, found.measures.dim, learner)
    scaler, parts = reading.scaler(found.measures), units_of(found, units)
    model, scores, settings = _fitted(found.measures, labels, task, one, seed, scaler, parts)
    kept = _calibrated(model, found.measures, labels, task, seed) if calibrate else model
    seconds = time.perf_counter() - started
    _persistence.write(kept, output, model_notes(reading, found, task))
    name = "accuracy" if task == "classification" else "R²"
    if as_json:
        summary = {
            "measures": len(labels),
            "units": units,
            "task": task,
            "model": describe(model),
            "score": name,
            "folds": scores,
        }
        moments = {"mean": np.mean(scores), "std": np.std(scores)} if len(scores) else {}
        ending = {"settings tried": settings, "seconds": seconds, "output": str(output)}
        print_json(summary | moments | ending)
        return
    tried = f", each time the best of {settings} settings" if settings > 1 else ""
    if len(scores):
        judged = f"{name} {np.mean(scores):.3f} ± {np.std(scores):.3f} in {len(scores)}-fold cross-validation"
        judged += "" if parts is None else f" of {counted(len(np.unique(parts)), 'unit')}"
        show(f"{judged}{tried}{_baseline(labels, task)}")
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
    from dataclasses import replace

    from .. import compare
    from ..comparison import CandidateModel
    from ..comparison._candidate import as_trial
    from ..comparison._search import n_settings
    from ..engine import DEFAULT

    settings = n_settings(as_trial(one, task, DEFAULT))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)  # fewer folds: the score says how many
            result = compare(X, y, task, one, random_state=seed, groups=groups, preprocessing=preprocessing)
    except UnsuitableDataError:
        if task == "regression" or np.unique(y, return_counts=True)[1].min() < 2:
            raise
        # Two of a class are enough for a search, but not for nested folds.
        one = replace(one, preprocessing=preprocessing)
        return CandidateModel(one, task, random_state=seed).fit(X, y, groups), (), settings
    row = result.rows[0]
    if row.error is not None:
        raise row.error
    for warning in row.warnings:
        warnings.warn(warning.partition(": ")[2], stacklevel=2)
    return result.best_, row.scores, settings


def _calibrated(model: Any, X: Any, y: Any, task: str, seed: int) -> Any:
    """Return the model with those of five folds, which search their settings anew."""
    from ..estimators import ConformalClassifier, ConformalRegressor

    kind = ConformalRegressor if task == "regression" else ConformalClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are those of the model itself
        return kind(model, random_state=seed).fit(X, y)


def model_notes(reading: Reading, data: Any, task: str) -> dict[str, Any]:
    """Return what a model file keeps besides the model: how to read new data, and the task."""
    columns = {"columns": list(data.columns)} if data.columns else {}
    return {"reading": reading.notes() | columns, "kind": data.kind, "task": task}


def labels_of(data: Any, task: str) -> tuple[Any, str]:
    """Return the labels and the task, or say how to give them."""
    from ..comparison._folds import read_target

    if data.labels is None:
        raise InvalidParameterError("`label` is needed: --label COLUMN of a table, or --labels FILE.")
    return read_target(data.labels, len(data.measures), task)


def _described(labels: Any, task: str) -> str:
    if task == "regression":
        return f"regression of numbers from {labels.min():g} to {labels.max():g}"
    return f"classification into {counted(len(np.unique(labels)), 'class')}"


def _baseline(labels: Any, task: str) -> str:
    """Return what a constant answer would reach."""
    if task == "regression":
        return " (the mean: 0)"
    return f" (the largest class: {np.unique(labels, return_counts=True)[1].max() / len(labels):.3f})"
