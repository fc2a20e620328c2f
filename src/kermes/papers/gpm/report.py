"""The numbers as tables to print, and which of them are off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._paper import Numbers, Paper, PrintedTable, flat, off
from .data import LINE, NAMES


class GaussianProcesses(Paper):
    """The paper `gpm`."""

    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return failures, errors and the corrected comparison, with the published numbers."""
        shown = self.settings["shown"]
        surfaces: dict[str, Numbers] = {name: summary[name] for name in ("figure6", "figure7") if name in summary}
        made = [_undefined(surfaces)] if surfaces else []
        if "figure8" in summary:
            made.append(_processes(summary["figure8"]))
        if "figure9" in summary:
            made.append(_failures(summary["figure9"]))
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
            rows = [
                (NAMES[p], name, values) for p, curves in found["failed"].items() for name, values in curves.items()
            ]
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
            made.append(
                PrintedTable("Processor seconds of a process", ["N", "m", "distances, once", "each step"], cells)
            )
        return made

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words what is off: failures by more than three standard errors, shares, errors of the quick size.

        A published share of 0 or 1 has the standard error of one run.
        """
        lines, recorded = [], self.expected
        paper, tolerance = recorded["paper"], recorded["tolerance"]["paper"]
        for name in ("figure6", "figure7"):
            if name in summary:
                found = {f"{name}, {kernel}": share for kernel, share in summary[name]["undefined"].items()}
                lines += off(found, flat({name: paper["undefined"][name]}), tolerance["undefined"])
        if "figure9" in summary:
            for problem, wanted in paper["failed"].items():
                lines += _beyond(summary["figure9"], problem, wanted, tolerance["standard errors"])
        if "corrected" in summary and size == "quick":
            lines += _other_errors(summary["corrected"], recorded["quick"], recorded["tolerance"]["quick"])
        return lines


def _other_errors(found: Numbers, known: Numbers, tolerance: float) -> list[str]:
    """Name the mean errors that differ from the recorded ones by more than a fraction of them."""
    return [
        f"corrected, {NAMES[problem]}, {method}, {n} samples: RMSE {error:.3g} against {wanted:.3g}"
        for problem, methods in known.items()
        for method, values in methods.items()
        for n, error, wanted in zip(found["samples"], found["scores"][problem][method]["rmse"], values, strict=True)
        if abs(error - wanted) > tolerance * wanted
    ]


def _beyond(found: Numbers, problem: str, wanted: list[float], factor: float) -> list[str]:
    shares = np.clip(np.array(wanted) / 100, 1 / found["runs"], 1 - 1 / found["runs"])
    limits = 100 * factor * np.sqrt(shares * (1 - shares) / found["runs"])
    return [
        f"failed fits, {NAMES[problem]}, {n} samples: {value:.1f} % against {known:.1f} %, which has +-{limit:.1f} %"
        for n, value, known, limit in zip(found["samples"], found["failed"][problem], wanted, limits, strict=True)
        if abs(value - known) > limit
    ]


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
    kernels = next(iter(surfaces.values()))["undefined"]
    rows = [[kernel, *(f"{found['undefined'][kernel]:.1f}" for found in surfaces.values())] for kernel in kernels]
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


def _failures(found: Numbers) -> PrintedTable:
    rows = []
    for problem in LINE:
        rows.append((NAMES[problem], found["failed"][problem]))
        if problem in found["published"]:
            rows.append(("  published", found["published"][problem]))
    return _by_samples("Figure 9: failed fits, %", ["samples"], rows, found)


def _errors(found: Numbers, shown: list[int]) -> PrintedTable:
    rows = []
    for problem, kernels in found["errors"].items():
        for kernel, moments in kernels.items():
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
