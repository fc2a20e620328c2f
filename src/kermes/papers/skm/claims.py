"""Claims of the text, kernels that the paper left out; and other readings of its protocol."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ... import ground, kernels
from .. import _digits
from .._paper import AnyArray, FloatArray, Numbers, Result, Run
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

    def fit(own: AnyArray) -> SVC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = SVC(kernel="precomputed", max_iter=STEPS, **machine).fit(K, own)
        stuck.append(bool(fitted.n_iter_[0] >= STEPS))
        return fitted

    return _highest(fit, labels, rows)


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
    doubled, machines = np.block([[K, -K], [-K, K]]), SVC(kernel="precomputed", **machine)
    return _highest(lambda own: machines.fit(doubled, np.r_[own, ~own]), labels, np.hstack([rows, -rows]))


def _highest(fit: Callable[[AnyArray], SVC], labels: AnyArray, rows: FloatArray) -> AnyArray:
    """Return the classes whose machines, fitted to which samples are their own, have the highest scores."""
    classes = np.unique(labels)
    scores = [fit(labels == digit).decision_function(rows) for digit in classes]
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
