"""``kermes fit``: from a file of labelled measures to a model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..exceptions import InvalidParameterError
from ._hints import say_hints
from ._options import Command, Name, Reading, as_json, data_argument, output, reads, seed_option
from ._output import counted, print_json


@click.command(
    cls=Command,
    examples=[
        "kermes fit cells.csv --by patient --columns cd4,cd8 --label sick -o model.kermes",
        "kermes fit digits.npz -k sinkhorn:epsilon=0.5 -o digits.kermes",
        "kermes fit cells.csv --by patient --columns cd4,cd8 --label age --learner gp -o age.kermes",
    ],
)
@data_argument()
@reads()
@click.option("-k", "--kernel", type=Name("kernel"), default="sliced", show_default=True, help="The kernel.")
@click.option(
    "--task", type=click.Choice(["auto", "classification", "regression"]), default="auto", help="By the labels."
)
@click.option(
    "--learner",
    type=click.Choice(["auto", "svm", "lssvm", "gp"]),
    default="auto",
    help="Support vector machine, least squares, or Gaussian process.",
)
@seed_option
@output("The model file.", required=True)
@as_json
def fit(
    data: Path, reading: Reading, kernel: str, task: str, learner: str, seed: int, output: Path, as_json: bool
) -> None:
    """Fit a classifier or a regression, and save it.

    Length scale and regularisation are searched by cross-validation (a Gaussian process: by marginal likelihood),
    unless the name of the kernel gives them; the score is that of the best setting, a little too good (compare has
    nested scores). How the data were read is kept in the model file. By default classes are learnt by a support vector
    machine if the kernel is proved definite, by least squares if not; numbers by a Gaussian process.
    """
    from .. import _persistence
    from . import _learners

    _persistence.require()
    reading, found = reading.fitted(data)
    labels = require_labels(found)
    task = _learners.task_of(labels) if task == "auto" else task
    if task == "regression" and labels.dtype.kind not in "biuf":
        raise InvalidParameterError("`task` (--task) regression needs labels that are numbers.")
    if not as_json:
        click.echo(f"{found.measures}, {_described(labels, task)}")
    say_hints(found, chosen=reading.columns is not None)
    started = time.perf_counter()
    fitted = _learners.fit(found.measures, labels, task, learner, kernel, seed)
    seconds = time.perf_counter() - started
    _persistence.write(fitted.model, output, model_notes(reading, found, task))
    summary = {
        "measures": len(labels),
        "task": task,
        "model": repr(fitted.model),
        "score": fitted.score_name,
        "mean": fitted.scores.mean(),
        "deviation": fitted.scores.std(),
        "folds": fitted.scores,
        "settings tried": fitted.settings,
        "seconds": seconds,
        "output": str(output),
    }
    if as_json:
        print_json(summary)
        return
    tried = f", the best of {fitted.settings} settings" if fitted.settings > 1 else ""
    click.echo(
        f"{fitted.score_name} {fitted.scores.mean():.3f} ± {fitted.scores.std():.3f} in {len(fitted.scores)}-fold "
        f"cross-validation{tried}{_baseline(labels, task)}"
    )
    click.echo(" ".join(repr(fitted.model).split()))
    if hasattr(fitted.model, "log_marginal_likelihood_value_"):
        click.echo(f"Kernel after the fit: {fitted.model.kernel_}")
    click.echo(f"Written to {output} in {seconds:.1f} s; use it: kermes predict {output} NEW_DATA")


def model_notes(reading: Reading, data: Any, task: str) -> dict[str, Any]:
    """Return what a model file keeps besides the model: how to read new data, and the task."""
    columns = {"columns": list(data.columns)} if data.columns else {}
    return {"reading": reading.notes() | columns, "kind": data.kind, "task": task}


def require_labels(data: Any) -> Any:
    """Return the labels, or say how to give them."""
    if data.labels is None:
        raise InvalidParameterError("`label` is needed: --label COLUMN of a table, or --labels FILE.")
    return data.labels


def _described(labels: Any, task: str) -> str:
    if task == "regression":
        return f"regression of numbers from {labels.min():g} to {labels.max():g}"
    return f"classification into {counted(len(np.unique(labels)), 'class', 'classes')}"


def _baseline(labels: Any, task: str) -> str:
    """Return what a constant answer would reach."""
    if task == "regression":
        return " (the mean: 0)"
    return f" (the largest class: {np.unique(labels, return_counts=True)[1].max() / len(labels):.3f})"
