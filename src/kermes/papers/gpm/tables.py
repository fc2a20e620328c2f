"""The printed tables of the paper: failures, errors, the corrected comparison, with the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._paper import Numbers, PrintedTable
from .data import LINE, NAMES


def printed(summary: dict[str, Numbers], shown: list[int]) -> list[PrintedTable]:
    """Return the tables of the pieces in the summary; those over all samples have the columns ``shown``."""
    surfaces: dict[str, Numbers] = {name: summary[name] for name in ("figure6", "figure7") if name in summary}
    made = [_undefined(surfaces)] if surfaces else []
    if "figure8" in summary:
        made.append(_processes(summary["figure8"]))
    if "figure9" in summary:
        made.append(_failure_table(summary["figure9"]))
    if "figure10" in summary:
        found = summary["figure10"]["centred"]
        failed = [(NAMES[problem], found["failed"][problem]) for problem in LINE]
        made.append(_by_samples("Figure 10: failed fits with centred targets, %", ["samples"], failed, found))
    if "figure11" in summary:
        found = summary["figure11"]
        failed = [(name, found[name]) for name in ("cost of two rows", "cost of three rows")]
        made.append(_by_samples("Figure 11: failed fits on Bird, %", ["samples"], failed, found))
    if "figure12" in summary:
        made.append(_errors(summary["figure12"], shown))
    if "ablation" in summary:
        found = summary["ablation"]
        rows = [(NAMES[p], name, values) for p, curves in found["failed"].items() for name, values in curves.items()]
        made.append(
            _by_samples("Kernel matrix filled in four ways: failed fits, %", ["problem", "matrix"], rows, found)
        )
    if "corrected" in summary:
        made += _corrected(summary["corrected"], shown)
    if "cost" in summary:
        seconds = summary["cost"]["seconds"].items()
        cells = [
            [*name.split(", "), *(f"{found[key]:.3f}" for key in ("distances", "step"))] for name, found in seconds
        ]
        made.append(PrintedTable("Processor seconds of a process", ["N", "m", "distances, once", "each step"], cells))
    return made


def _by_samples(
    title: str,
    names: list[str],
    rows: Iterable[tuple[Any, ...]],
    found: Numbers,
    shown: list[int] | None = None,
    form: Callable[[float], str] = lambda value: f"{value:.1f}" if 0 < value < 100 else f"{value:.0f}",
) -> PrintedTable:
    """Return rows of some names and a list of values, one for each number of samples, or each of those ``shown``."""
    columns = [i for i, n in enumerate(found["samples"]) if shown is None or n in shown]
    cells = [[*first, *(form(values[i]) for i in columns)] for *first, values in rows]
    return PrintedTable(f"{title}, {found['runs']} runs", [*names, *(str(found["samples"][i]) for i in columns)], cells)


def _undefined(surfaces: dict[str, Numbers]) -> PrintedTable:
    names = next(iter(surfaces.values()))["undefined"]
    rows = [[kernel, *(f"{found['undefined'][kernel]:.1f}" for found in surfaces.values())] for kernel in names]
    header = ["kernel matrix", *(f"{name}, nugget {found['nugget']:g}" for name, found in surfaces.items())]
    return PrintedTable("Undefined likelihoods, % of the length scales", header, rows)


def _processes(found: Numbers) -> PrintedTable:
    forms = {"log likelihood": ".1f", "least eigenvalue": ".2g"}
    rows = [
        [name, *(f"{s:.2f}" for s in model["scales"]), *(f"{model[key]:{form}}" for key, form in forms.items())]
        for name, model in found.items()
    ]
    header = ["kernel", "scale 1", "scale 2", "log-likelihood", "least eigenvalue"]
    return PrintedTable("Figure 8: highest likelihoods", header, rows)


def _failure_table(found: Numbers) -> PrintedTable:
    rows = []
    for problem in LINE:
        rows.append((NAMES[problem], found["failed"][problem]))
        if problem in found["published"]:
            rows.append(("  published", found["published"][problem]))
    return _by_samples("Figure 9: failed fits, %", ["samples"], rows, found)


def _errors(found: Numbers, shown: list[int]) -> PrintedTable:
    rows = []
    for problem, by_kernel in found["errors"].items():
        for kernel, moments in by_kernel.items():
            rows.append((NAMES[problem], kernel, moments["mean"]))
            if problem in found["published"]:
                rows.append(("", "  published", found["published"][problem][kernel]))
    title, names = "Figure 12: mean RMSE of the authors' procedure", ["problem", "kernel"]
    return _by_samples(title, names, rows, found, shown, lambda value: "" if value is None else f"{value:.3g}")


def _corrected(found: Numbers, shown: list[int]) -> list[PrintedTable]:
    made = []
    for key, title, form in (
        ("rmse", "mean RMSE", "{:.3g}"),
        ("median rmse", "median RMSE", "{:.3g}"),
        ("t", "paired t of the RMSE against SE, negative: better", "{:.1f}"),
        ("median nlpd", "median negative log predictive density", "{:.2f}"),
        ("coverage", "coverage of 95 % intervals, %", "{:.0f}"),
    ):
        rows = [
            (NAMES[problem], name, scores[key])
            for problem, methods in found["scores"].items()
            for name, scores in methods.items()
            if not (key == "t" and name == "SE")
        ]
        made.append(_by_samples(f"Corrected: {title}", ["problem", "method"], rows, found, shown, form.format))
    gaps = [[NAMES[problem], *(f"{gap:.1e}" for gap in both)] for problem, both in found["theorem4"].items()]
    title = f"Theorem 4 against SE: largest differences, {found['theorem4 runs']} runs"
    return [*made, PrintedTable(title, ["problem", "kernel", "mean / standard deviation of y"], gaps)]
