"""``kermes predict``: one row per measure, the prediction last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from .._values import written
from ..exceptions import InvalidMeasureError, InvalidParameterError
from ..files import is_table
from ..files._data import require_there
from ._options import command, output, reads
from ._output import printed_json, refuse_name, say, wants_json, write_rows
from ._reading import Reading

#: Stands between the classes of a set: names often have spaces.
BETWEEN = "|"


@command(
    "kermes predict model.kermes new.csv -o predictions.csv",
    "kermes predict model.kermes new.csv --by patient --columns cd4,cd8",
    "kermes predict age.kermes new.csv --std -o ages.csv",
)
@click.argument("model", type=click.Path(path_type=Path))
@reads()
@click.option("--proba", is_flag=True, help="Also the probability of each class.")
@click.option("--std", is_flag=True, help="Also the standard deviation of each number.")
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    help="Also an interval, or a set of classes, of this coverage.",
)
@output("The file to write: .csv or .parquet; printed by default.", ".csv", ".parquet")
def predict(model: Path, reading: Reading, proba: bool, std: bool, interval: float | None, output: Path | None) -> None:
    """Predict with a saved model, a row for each measure.

    The prediction is the last column. The file is read as the training data were, unless options say otherwise; how a
    text is written (--separator, --decimal, --encoding) is said for each file. With --label the score is said too, on
    the error stream. Saved measures are taken as they are: transformations (--arcsinh, --threshold, ...) must be in
    them, but not --standardize, which the model does. Of a model fitted with --calibrate, --interval 0.9 gives the
    columns low and high, or the set of classes, that hold the truth for about nine of ten new measures.
    """
    from .. import _persistence

    require_there(model)
    file = _persistence.read(model)
    found = _read(reading, file.notes)
    results = _covered(file.model, found.measures, interval) | _predictions(file.model, found.measures, proba, std)
    refuse_name(found.by, results)
    columns = {found.by: found.keys} | results
    if wants_json():
        rows = zip(*map(written, columns.values()), strict=True)
        printed_json([dict(zip(columns, row, strict=True)) for row in rows])
    if output is not None or not wants_json():
        write_rows(columns, output)
    if found.labels is not None:
        say(_score(columns["prediction"], found.labels, file.model))
    if output is not None:
        say(f"{len(found.measures)} predictions written to {output}")


def _read(reading: Reading, notes: dict[str, Any]) -> Any:
    """Read data as those of the model were; refuse what would give it other coordinates than it knows."""
    reading = reading.or_else(notes.get("reading", {}))
    if reading.standardize:
        raise InvalidParameterError(
            "`standardize` (--standardize) is for fit: the model divides new data as it divided its own."
        )
    if is_table(reading.path):
        _refuse_other_kind("table", notes, reading.path)
    known = tuple(notes.get("reading", {}).get("columns") or ())
    fitted = f"the model was fitted with {', '.join(known)}, in this order."
    if known and reading.columns is not None and reading.columns != known:
        raise InvalidParameterError(
            f"`columns` (--columns) are {', '.join(reading.columns)}, {fitted} Leave --columns out, or rename the "
            "columns of the file."
        )
    try:
        found = reading.read()
    except InvalidMeasureError as error:
        if "there is no column" not in str(error) or not reading.columns:
            raise
        raise InvalidMeasureError(
            f"{error} The model was fitted with the columns {', '.join(reading.columns)} of each {reading.by}; rename "
            "those of the file, or name the last one with --by."
        ) from None
    _refuse_other_kind(found.kind, notes, reading.path)
    if found.white is not None and reading.white is None:  # a model of an earlier edition, or --invert for this one
        say(f"White is {found.white:g}, the largest value of {reading.path.name}: the model file does not say it.")
    if known and found.columns and tuple(found.columns) != known:  # saved measures; tables are read by these names
        raise InvalidParameterError(
            f"{reading.path.name!r} has the coordinates {', '.join(found.columns)}, {fitted} Predict from the table, "
            f"or convert it with --columns {','.join(known)}."
        )
    if found.kind == "measures":
        _say_what_is_trusted(notes.get("reading", {}), found, reading.path.name)
    return found


def _say_what_is_trusted(notes: dict[str, Any], found: Any, name: str) -> None:
    """Say what cannot be seen in saved measures: the names of their coordinates, and how they were made."""
    if notes.get("columns") and not found.columns:
        say(f"{name} has no names of coordinates: they are taken for {', '.join(notes['columns'])}, in this order.")
    steps = [
        f"--{step}" if notes[step] is True else f"--{step} {notes[step]}"
        for step in ("arcsinh", "compensate", "threshold", "binary", "spacing", "invert")
        if notes.get(step)
    ]
    if steps:
        say(
            f"Warning: the data of the model were read with {' '.join(steps)}, and {name} is taken as it is: it must "
            "have been converted so, too. Otherwise predict from the file it was made of."
        )


def _refuse_other_kind(kind: str, notes: dict[str, Any], data: Path) -> None:
    """Refuse images for a model of tables, and tables for one of images; saved measures may come from either."""
    words = {"table": "a table", "images": "images"}
    known = str(notes.get("kind"))
    if kind != known and kind in words and known in words:
        raise InvalidParameterError(
            f"{data.name!r} holds {words[kind]}, but the model was fitted to {words[known]}; give it data of that kind."
        )


def _predictions(model: Any, X: Any, proba: bool, std: bool) -> dict[str, Any]:
    """Return the columns of the answer, the prediction last."""
    columns: dict[str, Any] = {}
    if not hasattr(model, "predict"):
        raise InvalidParameterError(f"the model file holds {type(model).__name__}, which does not predict.")
    if proba:
        if not hasattr(model, "predict_proba"):
            raise InvalidParameterError(
                "this model has no probabilities; fit with --learner gp or --calibrate for them (classes)."
            )
        columns |= {f"p_{name}": p for name, p in zip(model.classes_, model.predict_proba(X).T, strict=True)}
    if not std:
        return columns | {"prediction": model.predict(X)}
    try:
        prediction, std = getattr(model, "estimator_", model).predict(X, return_std=True)
    except TypeError:
        raise InvalidParameterError(
            "this model has no standard deviations; fit with --learner gp for them (numbers)."
        ) from None
    return columns | {"std": std, "prediction": prediction}


def _covered(model: Any, X: Any, coverage: float | None) -> dict[str, Any]:
    """Return the ends of intervals, or sets of classes, of this coverage."""
    if coverage is None:
        return {}
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X, coverage).T
        if not (np.isfinite(low) & np.isfinite(high)).all():
            raise InvalidParameterError(
                f"`interval` (--interval) {coverage:g} is too much for a model of {len(model.residuals_)} measures; "
                f"the largest coverage with finite intervals is {1 - 1 / (len(model.residuals_) + 1):.3g}."
            )
        return {"low": low, "high": high}
    if hasattr(model, "predict_set"):
        held, names = model.predict_set(X, coverage), np.array([str(name) for name in model.classes_])
        divided = [str(name) for name in names if BETWEEN in name]
        if divided:
            raise InvalidParameterError(
                f"`interval` (--interval) writes classes with {BETWEEN!r} between them, and {divided[0]!r} has one; "
                "predict_set of the model gives the sets in Python."
            )
        return {"set": np.array([BETWEEN.join(names[row]) for row in held])}
    raise InvalidParameterError("this model has no intervals; fit with --calibrate for them.")


def _score(prediction: Any, labels: Any, model: Any) -> str:
    """Return how well the predictions agree with the labels: classes that are numbers are compared as numbers."""
    from sklearn.base import is_classifier
    from sklearn.metrics import r2_score

    predicted, classes = np.asarray(prediction), np.asarray(getattr(model, "classes_", prediction))
    numbers = predicted.dtype.kind in "biuf" and labels.dtype.kind in "biuf"
    if not is_classifier(model) and predicted.dtype.kind in "biuf":
        if not numbers:
            return f"No score: the labels are words such as {labels[0]!s}, the model predicts numbers."
        return f"R² {r2_score(labels, predicted):.3f}"
    if not numbers:
        predicted, classes, labels = predicted.astype(str), classes.astype(str), labels.astype(str)
    unknown = labels[~np.isin(labels, classes)]
    if len(unknown) == len(labels):
        return (
            f"No score: no label of the file is a class of the model. Labels are {_some(labels)}, classes are "
            f"{_some(classes)}; write them as in the training data."
        )
    also = (
        f"; {len(unknown)} of {len(labels)} labels are no class of the model: {_some(unknown)}" if len(unknown) else ""
    )
    return f"accuracy {np.mean(predicted == labels):.3f}{also}"


def _some(values: Any) -> str:
    found = np.unique(values)
    return ", ".join(map(str, found[:5])) + (" ..." if len(found) > 5 else "")
