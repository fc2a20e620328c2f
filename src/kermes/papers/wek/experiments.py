"""The measured errors of Table 1, a data set each, and the figures of MNIST."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

import numpy as np

from ... import divergences
from .._paper import Drawing, Numbers, Result, Run
from . import figures
from .data import Split, draw
from .methods import Methods


def errors_on(name: str, run: Run) -> Result:
    """Measure all methods on a data set, repetition by repetition; 'printed' is MNIST with the printed distance."""
    entries = [
        entry
        for repetition in range(run.sizes[name]["repetitions"])
        for entry in _repetition(run, name, run.sizes[name], repetition)
    ]
    return summarise(entries), _figures(run, entries) if name == "mnist" else None


def summarise(entries: list[Numbers]) -> Numbers:
    """Return mean, standard deviation (n - 1) and least error at the largest training size by method, in percent."""
    largest = max(entry["size"] for entry in entries)
    errors = [entry["errors"] for entry in entries if entry["size"] == largest]
    percent = {name: 100.0 * np.array([e[name] for e in errors]) for name in errors[0]}
    return {
        "train": largest,
        "repetitions": len(errors),
        "mean": {name: round(float(values.mean()), 2) for name, values in percent.items()},
        "std": {
            name: round(float(values.std(ddof=1)), 2) if len(values) > 1 else None for name, values in percent.items()
        },
        "best": {name: round(float(values.min()), 2) for name, values in percent.items()},
    }


def _repetition(run: Run, name: str, sizes: Numbers, repetition: int) -> list[Numbers]:
    """Return the errors of one repetition at every training size, from its file if it is finished."""

    def compute() -> list[Numbers]:
        split = draw("mnist" if name == "printed" else name, sizes, repetition)
        cost, value = ("sqeuclidean", "regularized") if name == "printed" else ("euclidean", "transport")
        methods = Methods(run.settings, divergences.Sinkhorn(run.settings["epsilon"], cost=cost, value=value))
        rows = methods.rows
        if name == "printed":  # no root of negative values: machines only
            rows = {method: row for method, row in rows.items() if "W" in method and "kNN" not in method}
        entries = []
        # Largest first: it computes all distances, and the smaller ones are slices.
        cores = {
            sizes["train"]: sizes["core"],
            **{int(train): core for train, core in sizes.get("smaller", {}).items()},
        }
        for train, core in sorted(cores.items(), reverse=True):
            part = Split(split.train[:train], split.validation, split.test)
            started = time.perf_counter()
            errors = {method: row(part, core) for method, row in rows.items()}
            entries.append({"size": train, "seconds": time.perf_counter() - started, "errors": errors})
            shown = ", ".join(f"{method} {100 * error:.1f}" for method, error in errors.items())
            run.say(f"{name} {repetition + 1}/{sizes['repetitions']}, {train} images: {shown} %")
        return entries

    grids = {key: value for key, value in run.settings.items() if not isinstance(value, dict)}
    protocol = {key: value for key, value in sizes.items() if key != "repetitions"}
    kept: list[Numbers] = run.keep(f"{name}-{repetition}", {**grids, **protocol}, compute)
    return kept


def _figures(run: Run, entries: list[Numbers]) -> Mapping[str, Drawing]:
    methods = Methods(run.settings, divergences.Sinkhorn(run.settings["epsilon"], cost="euclidean"))
    images, features = run.sizes["figure_images"], run.sizes["figure_features"]
    count = max(images, features)
    split = draw("mnist", {"train": count, "validation": 1, "test": count}, 0)
    return {
        "figure1": partial(figures.kernel_matrices, methods, split.train[:images]),
        "figure2": partial(figures.feature_matrices, methods, split.train[:features], split.test[:features]),
        "figure3": partial(figures.error_curves, entries),
    }
