"""The numbers as tables to print, and which of them are off."""

from __future__ import annotations

import numpy as np

from .._paper import Numbers, PrintedTable, flat, off
from . import cost
from .data import LINE, NAMES


def tables(summary: dict[str, Numbers], shown: list[int]) -> list[PrintedTable]:
    """Return the tables of all pieces that were run, at the numbers of samples in ``shown``."""
    made = []
    if "figure6" in summary or "figure7" in summary:
        made.append(_undefined(summary))
    if "figure8" in summary:
        made.append(_processes(summary["figure8"]))
    if "figure9" in summary:
        made.append(_failures(summary["figure9"]))
    if "figure10" in summary:
        found = summary["figure10"]["centred"]
        rows = [[NAMES[problem], *_cells(found["failed"][problem])] for problem in LINE]
        made.append(
            PrintedTable(f"Figure 10: failed fits with centred targets, %, {found['runs']} runs", _head(found), rows)
        )
    if "figure11" in summary:
        found = summary["figure11"]
        rows = [[name, *_cells(found[name])] for name in ("cost of two rows", "cost of three rows")]
        made.append(PrintedTable(f"Figure 11: failed fits on Bird, %, {found['runs']} runs", _head(found), rows))
    if "figure12" in summary:
        made.append(_errors(summary["figure12"], shown))
    if "ablation" in summary:
        found = summary["ablation"]
        rows = [
            [NAMES[problem], name, *_cells(values)]
            for problem, curves in found["failed"].items()
            for name, values in curves.items()
        ]
        title = f"Kernel matrix filled in four ways: failed fits, %, {found['runs']} runs"
        made.append(PrintedTable(title, ["problem", "matrix", *map(str, found["samples"])], rows))
    if "corrected" in summary:
        made += _corrected(summary["corrected"], shown)
    if "cost" in summary:
        made.append(cost.table(summary["cost"]))
    return made


def deviations(size: str, summary: dict[str, Numbers], recorded: Numbers) -> list[str]:
    """Return in words what is off: failures by more than three standard errors, shares, errors of the quick size.

    A published share of 0 or 1 has the standard error of one run.
    """
    lines = []
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


def _undefined(summary: dict[str, Numbers]) -> PrintedTable:
    columns = [name for name in ("figure6", "figure7") if name in summary]
    kernels = list(summary[columns[0]]["undefined"])
    rows = [[kernel, *(f"{summary[name]['undefined'][kernel]:.1f}" for name in columns)] for kernel in kernels]
    header = ["kernel matrix", *(f"{name}, nugget {summary[name]['nugget']:g}" for name in columns)]
    return PrintedTable("Undefined likelihoods, % of the length scales", header, rows)


def _processes(found: Numbers) -> PrintedTable:
    rows = [
        [
            name,
            *(f"{s:.2f}" for s in model["scales"]),
            f"{model['log likelihood']:.1f}",
            f"{model['least eigenvalue']:.2g}",
        ]
        for name, model in found.items()
    ]
    return PrintedTable(
        "Figure 8: highest likelihoods", ["kernel", "scale 1", "scale 2", "log-likelihood", "least eigenvalue"], rows
    )


def _failures(found: Numbers) -> PrintedTable:
    rows = []
    for problem in LINE:
        rows.append([NAMES[problem], *_cells(found["failed"][problem])])
        if problem in found["published"]:
            rows.append(["  published", *_cells(found["published"][problem])])
    return PrintedTable(f"Figure 9: failed fits, %, {found['runs']} runs", _head(found), rows)


def _errors(found: Numbers, shown: list[int]) -> PrintedTable:
    columns = [i for i, n in enumerate(found["samples"]) if n in shown]
    rows = []
    for problem, kernels in found["errors"].items():
        for kernel, moments in kernels.items():
            rows.append([NAMES[problem], kernel, *(_error(moments["mean"][i]) for i in columns)])
            if problem in found["published"]:
                values = found["published"][problem][kernel]
                rows.append(["", "  published", *(_error(values[i]) for i in columns)])
    header = ["problem", "kernel", *(str(found["samples"][i]) for i in columns)]
    return PrintedTable(f"Figure 12: mean RMSE of the authors' procedure, {found['runs']} runs", header, rows)


def _corrected(found: Numbers, shown: list[int]) -> list[PrintedTable]:
    columns = [i for i, n in enumerate(found["samples"]) if n in shown]
    header = ["problem", "method", *(str(found["samples"][i]) for i in columns)]
    made = []
    for key, title, form in (
        ("rmse", "mean RMSE", "{:.3g}"),
        ("median rmse", "median RMSE", "{:.3g}"),
        ("t", "paired t of the RMSE against SE, negative: better", "{:.1f}"),
        ("median nlpd", "median negative log predictive density", "{:.2f}"),
        ("coverage", "coverage of 95 % intervals, %", "{:.0f}"),
    ):
        rows = [
            [NAMES[problem], name, *(form.format(scores[key][i]) for i in columns)]
            for problem, methods in found["scores"].items()
            for name, scores in methods.items()
            if not (key == "t" and name == "SE")
        ]
        made.append(PrintedTable(f"Corrected: {title}, {found['runs']} runs", header, rows))
    rows = [[NAMES[problem], *(f"{gap:.1e}" for gap in gaps)] for problem, gaps in found["theorem4"].items()]
    title = f"Theorem 4 against SE: largest differences, {found['theorem4 runs']} runs"
    return [*made, PrintedTable(title, ["problem", "kernel", "mean / standard deviation of y"], rows)]


def _head(found: Numbers) -> list[str]:
    return ["samples", *map(str, found["samples"])]


def _cells(values: list[float]) -> list[str]:
    return [f"{value:.1f}" if 0 < value < 100 else f"{value:.0f}" for value in values]


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
