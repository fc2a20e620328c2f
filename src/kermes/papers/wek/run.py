"""Table 1 and Figures 1 to 3 of *Wasserstein exponential kernels*."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ... import divergences
from .._common import Store, Table, flat, off, read_config, read_expected, save_figure
from . import figures
from .data import Split, draw
from .methods import Methods

__all__ = ["OPTIONAL", "PIECES", "config", "deviations", "expected", "reproduce", "tables"]

#: The data sets.
PIECES = ("mnist", "quickdraw", "usps")
#: Run on request only: MNIST with the distance as the paper prints it, which takes many times as long.
OPTIONAL = ("printed",)
config = partial(read_config, __package__)
expected = partial(read_expected, __package__)


def reproduce(
    size: str, folder: Path, names: tuple[str, ...] = PIECES, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run every repetition that ``folder`` does not hold yet, draw the figures, and return all errors.

    Parameters
    ----------
    size : 'quick' or 'full'
    folder : Path
        Each finished repetition is a file in it, so that an interrupted run goes on where it stopped.
    names : tuple of str
        Data sets: 'mnist', 'quickdraw', 'usps', or 'printed'.
    say : callable
        Where to report progress.
    """
    settings = config()
    store = Store(folder)
    results: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        sizes = settings[size][name]
        results[name] = [
            entry
            for repetition in range(sizes["repetitions"])
            for entry in _repetition(settings, name, sizes, repetition, store, say)
        ]
    if "mnist" in names:
        _figures(settings, size, results["mnist"], folder)
    summary = {name: summarise(entries) for name, entries in results.items()}
    store.write("summary", summary)
    return summary


def summarise(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation of each method at the largest training size, in percent."""
    largest = max(entry["size"] for entry in entries)
    errors = [entry["errors"] for entry in entries if entry["size"] == largest]
    return {
        "train": largest,
        "repetitions": len(errors),
        "mean": {name: round(100 * float(np.mean([e[name] for e in errors])), 2) for name in errors[0]},
        "deviation": {name: round(100 * float(np.std([e[name] for e in errors])), 2) for name in errors[0]},
    }


def tables(size: str, summary: dict[str, Any]) -> list[Table]:
    """Return Table 1; the paper's numbers stand beside ours where the protocol is the same."""
    paper = expected()["paper"]
    full = size == "full"
    header = ["method"]
    for name in summary:
        header += [name, "paper"] if full else [name]
    rows = []
    for method in max((found["mean"] for found in summary.values()), key=len):
        cells = [method]
        for name, found in summary.items():
            if method not in found["mean"]:
                cells += ["", ""] if full else [""]
                continue
            cells.append(f"{found['mean'][method]:.1f} ± {found['deviation'][method]:.1f}")
            if full:
                cells.append(f"{paper.get(name, paper['mnist'])[method]:.1f}")
        rows.append(cells)
    return [Table("Table 1: test error, %", header, rows)]


def deviations(size: str, summary: dict[str, Any]) -> list[str]:
    """Return the errors that differ from the recorded ones by more than the tolerance, in words.

    The full protocol is held against the paper, the quick one against what was measured when it was written.
    """
    recorded = expected()
    reference = "paper" if size == "full" else "quick"
    found = flat({name: entry["mean"] for name, entry in summary.items()})
    return off(found, flat(recorded[reference]), recorded["tolerance"][reference])


def _repetition(
    settings: dict[str, Any],
    name: str,
    sizes: dict[str, Any],
    repetition: int,
    store: Store,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the errors of one repetition at every training size, from its file if it is finished."""

    def compute() -> list[dict[str, Any]]:
        split = draw("mnist" if name == "printed" else name, sizes, repetition)
        cost, value = ("sqeuclidean", "regularized") if name == "printed" else ("euclidean", "transport")
        methods = Methods(settings, divergences.Sinkhorn(settings["epsilon"], cost=cost, value=value))
        rows = methods.rows
        if name == "printed":  # no root of negative values: machines only
            rows = {method: run for method, run in rows.items() if "W" in method and "kNN" not in method}
        entries = []
        # Largest first: it computes all distances, and the smaller ones are slices.
        for train in sorted(sizes.get("subsets", [sizes["train"]]), reverse=True):
            part = Split(split.train[:train], split.validation, split.test)
            core = round(sizes["core"] * train / sizes["train"])
            started = time.perf_counter()
            errors = {method: run(part, core) for method, run in rows.items()}
            entries.append({"size": train, "seconds": time.perf_counter() - started, "errors": errors})
            shown = ", ".join(f"{method} {100 * error:.1f}" for method, error in errors.items())
            say(f"{name} {repetition + 1}/{sizes['repetitions']}, {train} images: {shown} %")
        return entries

    kept: list[dict[str, Any]] = store.get(f"{name}-{repetition}", _protocol(settings, sizes), compute)
    return kept


def _protocol(settings: dict[str, Any], sizes: dict[str, Any]) -> dict[str, Any]:
    """Return what the result of a repetition depends on: the sizes of its data set, and the grids."""
    grids = {key: value for key, value in settings.items() if not isinstance(value, dict)}
    return {**grids, **{key: value for key, value in sizes.items() if key != "repetitions"}}


def _figures(settings: dict[str, Any], size: str, results: list[dict[str, Any]], folder: Path) -> None:
    methods = Methods(settings, divergences.Sinkhorn(settings["epsilon"], cost="euclidean"))
    images, features = settings["figure_images"][size], settings["figure_features"][size]
    count = max(images, features)
    split = draw("mnist", {"train": count, "validation": 1, "test": count}, 0)
    save_figure(folder / "figure1.png", figures.kernel_matrices, methods, split.train[:images])
    save_figure(
        folder / "figure2.png", figures.feature_matrices, methods, split.train[:features], split.test[:features]
    )
    save_figure(folder / "figure3.png", figures.error_curves, results)
