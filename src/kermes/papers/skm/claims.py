"""What *Semigroup kernels on measures* says in its text, and cheap explanations of errors that differ from Table 1."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ... import Engine, ground, kernels
from .. import _digits
from .._paper import AnyArray, FloatArray, Numbers, PrintedTable, Result, Run
from .grams import all_grams

#: Steps after which a machine is said not to converge.
STEPS = 100_000


def discarded(run: Run) -> Result:
    """Measure the kernels that the paper tried and left out: entropies, and the linear IGV kernel."""
    sizes = _digits.protocol(run, "discarded", "eta", "sigma", "linear_eta") | {"steps": STEPS}

    def compute() -> Numbers:
        images = _digits.first_of_each(sizes["images"])
        drawn = _digits.sample(images, sizes["threshold"], sizes["points"], 0)
        found = {}
        for name, kernel in _discarded(sizes).items():
            K = np.asarray(kernel(drawn.measures))
            stuck: list[bool] = []
            errors = _digits.errors(K, drawn.labels, sizes["splits"], predict=partial(_watched, stuck))
            found[name] = {"errors": errors, "not converged": 100.0 * float(np.mean(stuck))}
            run.say(f"{name}: {np.mean(errors):.1f} %, {found[name]['not converged']:.0f} % do not converge")
        return found

    return {"rows": run.keep("discarded", sizes, compute)}, None


def _discarded(sizes: Numbers) -> dict[str, Any]:
    smoothing = ground.Gaussian(sigma=sizes["sigma"])
    return {
        "k-IGV normalised, for comparison": kernels.IGV(sizes["eta"], smoothing),
        "entropy of smoothed points": kernels.Entropy(smoothing=smoothing),
        "entropy of pixels": kernels.Entropy(),
        "linear IGV, normalised": kernels.IGV(sizes["linear_eta"]),
        "linear IGV": kernels.IGV(sizes["linear_eta"], normalized=False),
    }


def _watched(stuck: list[bool], K: FloatArray, labels: AnyArray, rows: FloatArray, machine: Numbers) -> AnyArray:
    """Predict like ``one_against_rest``, and note which machines reached the limit of steps."""
    classes, scores = np.unique(labels), []
    for digit in classes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = SVC(kernel="precomputed", max_iter=STEPS, **machine).fit(K, labels == digit)
        stuck.append(bool(fitted.n_iter_[0] >= STEPS))
        scores.append(fitted.decision_function(rows))
    return np.asarray(classes[np.argmax(scores, axis=0)])


def explanations(run: Run) -> Result:
    """Measure Table 1 in one column under other readings of its protocol, one change at a time."""
    sizes = _digits.protocol(run, "explanations", "eta", "sigma", "polynomial")
    sizes |= {"rbf_sigmas": run.settings["rbf_sigmas"]["table1"][:1]}
    found = {
        name: errors
        for pool in READINGS
        for name, errors in run.keep(f"explanations-{pool}", sizes, partial(_readings, run, sizes, pool)).items()
    }
    return {"rows": found, "points": str(sizes["points"][0])}, None


def _readings(run: Run, sizes: Numbers, pool: str) -> Numbers:
    """Return the errors of every kernel under the readings on one of the two parts of MNIST."""
    points, found = sizes["points"], {}
    images = _digits.first_of_each(sizes["images"], pool)
    drawn = _digits.sample(images, sizes["threshold"], points, (points[0], 0))
    grams = all_grams(sizes, drawn)
    for name, how in READINGS[pool].items():
        found[name] = {row: _digits.errors(K, drawn.labels, sizes["splits"], **how) for row, K in grams.items()}
        shown = ", ".join(f"{row} {np.mean(values):.1f}" for row, values in found[name].items())
        run.say(f"{name}: {shown} %")
    return found


def without_intercept(K: FloatArray, labels: AnyArray, rows: FloatArray, machine: Numbers) -> AnyArray:
    """Predict by machines without an intercept: those of the samples and their negatives, which have none."""
    doubled = np.block([[K, -K], [-K, K]])
    classes, scores = np.unique(labels), []
    for digit in classes:
        own = labels == digit
        fitted = SVC(kernel="precomputed", **machine).fit(doubled, np.concatenate([own, ~own]))
        scores.append(fitted.decision_function(np.hstack([rows, -rows])))
    return np.asarray(classes[np.argmax(scores, axis=0)])


#: The readings by the part of MNIST that images are taken from; all but the first change one thing.
READINGS: dict[str, dict[str, dict[str, Any]]] = {
    "train": {
        "as in Table 1": {},
        "one fold of three trains": {"swapped": True},
        "no intercept": {"predict": without_intercept},
    },
    "test": {"images of the test set": {}},
}


def times(run: Run) -> Result:
    """Time a Gram matrix of both kernels at each number of points of Table 1, in processor seconds, once compiled."""
    sizes = _digits.protocol(run, "table1", "eta", "sigma") | {"kernels": list(_timed(run.settings))}

    def compute() -> Numbers:
        images = _digits.first_of_each(sizes["images"])
        drawn = {points: _digits.sample(images, sizes["threshold"], [points], 0) for points in sizes["points"]}
        found: Numbers = {name: {} for name in sizes["kernels"]}
        for points, sample in drawn.items():
            for name, kernel in _timed(run.settings).items():
                kernel(sample.measures[:2])
                started = time.process_time()
                kernel(sample.measures)
                found[name][str(points)] = round(time.process_time() - started, 1)
        return found

    return {"seconds": run.keep("times", sizes, compute)}, None


def _timed(settings: Numbers) -> dict[str, Any]:
    smoothing = ground.Gaussian(sigma=settings["sigma"])
    engine = Engine(memo=False)
    return {
        "k-IGV": kernels.IGV(settings["eta"], smoothing, normalized=False, engine=engine),
        "k-B": kernels.Bhattacharyya(smoothing, settings["eta"], engine=engine),
    }


def tables(summary: dict[str, Numbers], paper: Numbers) -> list[PrintedTable]:
    """Return the tables of these pieces; a column of the paper's Table 1 stands below the readings."""
    made = []
    if "discarded" in summary:
        rows = [
            [name, _error(found["errors"]), f"{found['not converged']:.0f} %"]
            for name, found in summary["discarded"]["rows"].items()
        ]
        made.append(PrintedTable("Kernels that the paper left out", ["kernel", "error, %", "not converged"], rows))
    if "explanations" in summary:
        found, column = summary["explanations"]["rows"], summary["explanations"]["points"]
        header = list(next(iter(found.values())))
        rows = [[name, *(_error(errors[row]) for row in header)] for name, errors in found.items()]
        if paper:
            rows.append(
                ["paper", *(f"{paper[row][column]:.1f}" if column in paper.get(row, {}) else "" for row in header)]
            )
        made.append(PrintedTable(f"Table 1, {column} points, read otherwise: error, %", ["protocol", *header], rows))
    if "times" in summary:
        found = summary["times"]["seconds"]
        rows = [[name, *(f"{seconds:.1f}" for seconds in values.values())] for name, values in found.items()]
        columns = [f"{points} points" for points in next(iter(found.values()))]
        made.append(PrintedTable("A Gram matrix, processor seconds", ["kernel", *columns], rows))
    return made


def _error(values: list[float]) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else f"{values[0]:.1f}"
