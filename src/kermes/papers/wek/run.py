"""Table 1 and Figures 1 to 3 of *Wasserstein exponential kernels*."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ... import divergences
from . import figures
from .data import Split, draw
from .methods import Methods

__all__ = ["config", "deviations", "expected", "reproduce", "table"]

DATASETS = ("mnist", "quickdraw", "usps")


def config() -> dict[str, Any]:
    """Return the sizes and grids of ``config.toml``."""
    return tomllib.loads(resources.files(__package__).joinpath("config.toml").read_text())


def expected() -> dict[str, Any]:
    """Return the published errors and the ones measured here, in percent."""
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath("expected.json").read_text())
    return found


def reproduce(
    size: str, folder: Path, names: tuple[str, ...] = DATASETS, say: Callable[[str], None] = print
) -> dict[str, Any]:
    """Run every repetition that ``folder`` does not hold yet, draw the figures, and return all errors.

    Parameters
    ----------
    size : 'quick' or 'full'
    folder : Path
        Each finished repetition is a file in it, so that an interrupted run goes on where it stopped.
    names : tuple of str
        Data sets: 'mnist', 'quickdraw', 'usps'.
    say : callable
        Where to report progress.
    """
    settings = config()
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        sizes = settings[size][name]
        results[name] = [
            entry
            for repetition in range(sizes["repetitions"])
            for entry in _repetition(settings, name, sizes, repetition, folder, say)
        ]
    if "mnist" in names:
        _figures(settings, size, results["mnist"], folder)
    summary = {name: summarise(entries) for name, entries in results.items()}
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
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


def table(size: str, summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of Table 1; the paper's numbers stand beside ours where the protocol is the same."""
    paper = expected()["paper"]
    full = size == "full"
    header = ["method"]
    for name in summary:
        header += [name, "paper"] if full else [name]
    rows = []
    for method in next(iter(summary.values()))["mean"]:
        cells = [method]
        for name, found in summary.items():
            cells.append(f"{found['mean'][method]:.1f} ± {found['deviation'][method]:.1f}")
            if full:
                cells.append(f"{paper[name][method]:.1f}")
        rows.append(cells)
    return header, rows


def deviations(size: str, summary: dict[str, Any]) -> list[str]:
    """Return the errors that differ from the recorded ones by more than the tolerance, in words.

    The full protocol is held against the paper, the quick one against what was measured when it was written.
    """
    recorded = expected()
    reference = "paper" if size == "full" else "quick"
    limit = recorded["tolerance"][reference]
    return [
        f"{name}, {method}: {found['mean'][method]:.1f} % against {known:.1f} %"
        for name, found in summary.items()
        for method, known in recorded[reference].get(name, {}).items()
        if abs(found["mean"][method] - known) > limit
    ]


def _repetition(
    settings: dict[str, Any],
    name: str,
    sizes: dict[str, Any],
    repetition: int,
    folder: Path,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the errors of one repetition at every training size, from its file if it is finished."""
    path = folder / f"{name}-{repetition}.json"
    if path.exists():
        kept: list[dict[str, Any]] = json.loads(path.read_text())
        return kept
    split = draw(name, sizes, repetition)
    methods = Methods(settings, divergences.Sinkhorn(settings["epsilon"], cost="euclidean"))
    entries = []
    # Largest first: it computes all distances, and the smaller ones are slices.
    for train in sorted(sizes.get("subsets", [sizes["train"]]), reverse=True):
        part = Split(split.train[:train], split.validation, split.test)
        core = round(sizes["core"] * train / sizes["train"])
        started = time.perf_counter()
        errors = {method: run(part, core) for method, run in methods.rows.items()}
        entries.append({"size": train, "seconds": time.perf_counter() - started, "errors": errors})
        shown = ", ".join(f"{method} {100 * error:.1f}" for method, error in errors.items())
        say(f"{name} {repetition + 1}/{sizes['repetitions']}, {train} images: {shown} %")
    path.write_text(json.dumps(entries))
    return entries


def _figures(settings: dict[str, Any], size: str, results: list[dict[str, Any]], folder: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        return
    with mpl.rc_context({"backend": "agg"}):
        methods = Methods(settings, divergences.Sinkhorn(settings["epsilon"], cost="euclidean"))
        count = max(settings["figure_images"][size], settings["figure_features"][size])
        split = draw("mnist", {"train": count, "validation": 1, "test": count}, 0)
        figures.kernel_matrices(methods, split.train[: settings["figure_images"][size]], folder / "figure1.png")
        chosen = slice(0, settings["figure_features"][size])
        figures.feature_matrices(methods, split.train[chosen], split.test[chosen], folder / "figure2.png")
        figures.error_curves(results, folder / "figure3.png")
