"""Figures 1 to 12, A1 and A2 of *Gaussian process regression over discrete probability measures*, and causes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._paper import Numbers, Paper, PrintedTable, Result, Run, by_name
from . import authors, exponents, figures, report
from .corrected import scores_of_run, theorem4_gap
from .cost import cost
from .data import LINE, NAMES, read_reference, seven_points, simplex_problem
from .figures import figure1, figure2, figure3, figure4, figure5, figureA1, figureA2

#: How the WSE matrix of Figures 6 and 7 may be filled; rows are sorted for the second.
FILLINGS = ("mirrored", "mirrored, sorted", "symmetrised")


def figure6(run: Run) -> Result:
    """Compute both likelihoods over a grid of two length scales; return where they are undefined."""
    return _surfaces(run.settings, run.settings["nuggets"][0])


def figure7(run: Run) -> Result:
    """Do the same with a nugget."""
    return _surfaces(run.settings, run.settings["nuggets"][1])


def figure8(run: Run) -> Result:
    """Take the best point of each surface; return its likelihood and the least eigenvalue of its matrix."""
    A, y, grid, surfaces = _likelihoods(run.settings, run.settings["nuggets"][1])
    found, models = {}, {}
    for name, exponent in (("SE", exponents.se), ("mirrored", exponents.mirrored)):
        values = surfaces[name]
        i, j = np.unravel_index(np.nanargmax(values), values.shape)
        models[name] = authors.Fit(np.array([grid[i], grid[j], 1.0]), run.settings["nuggets"][1], -float(values[i, j]))
        K = np.exp(-0.5 * exponent(A, A) @ (models[name].parameters[:2] ** -2))
        found[name] = {
            "scales": [float(grid[i]), float(grid[j])],
            "log likelihood": float(values[i, j]),
            "least eigenvalue": float(np.linalg.eigvalsh(K)[0]),
        }
    return found, partial(figures.two_processes, A, y, models)


def figure9(run: Run) -> Result:
    """Return the percentage of failed fits by problem and number of samples, and the published one."""
    found = _failures(run, run.sizes["failures"])
    return found, partial(figures.failures, found)


def figure10(run: Run) -> Result:
    """Return the same curves for targets as they are, and for centred targets."""
    plain = _failures(run, run.sizes["failures"])
    centred = _failures(run, run.sizes["centred"], centred=True)
    found = {"as run": plain, "centred": centred}
    return found, partial(figures.stationarity, found)


def figure11(run: Run) -> Result:
    """Return failures on the triangle: with the authors' cost matrix of two rows, and with one of three."""
    samples = run.settings["samples"]
    runs = _many(run, "bird", authors.bird_with_costs, run.sizes["bird"], samples=samples)
    found = {
        "samples": samples,
        "runs": len(runs),
        "cost of two rows": _percent([authors.bird_as_run(samples)]),
        "cost of three rows": _percent(runs),
        "published SE": _published("failed_percent", samples, "se_theorem4").get("bird"),
    }
    return found, partial(figures.bird_failures, found)


def figure12(run: Run) -> Result:
    """Return the errors of the procedure of the authors: mean, standard deviation and median by kernel and problem."""
    count, samples = run.sizes["rmse"]["runs"], run.sizes["rmse"]["samples"]
    errors = {}
    for problem in LINE:
        runs = _many(run, f"rmse-{problem}", authors.rmse_of_run, count, problem=problem, sizes=samples)
        errors[problem] = {
            kernel: _moments(np.array([one[kernel] for one in runs], dtype=float)) for kernel in ("SE", "WSE")
        }
    found = {"samples": samples, "runs": count, "errors": errors, "published": _published("rmse_mean", samples)}
    return found, partial(figures.errors, found)


def ablation(run: Run) -> Result:
    """Return failures of the same optimiser with the kernel matrix filled in four ways."""
    samples, count = run.settings["ablation"], run.sizes["ablation"]
    failed: dict[str, dict[str, list[float]]] = {}
    for problem in ("problem02", "xiong"):
        failed[problem] = {}
        for variant in authors.VARIANTS:
            name = f"ablation-{problem}-{variant.replace(', ', '-')}"
            function = authors.failures_of_variant
            runs = _many(run, name, function, count, problem=problem, variant=variant, samples=samples)
            failed[problem][variant] = _percent(runs)
    found = {"samples": samples, "runs": count, "failed": failed}
    return found, partial(figures.variants, found)


def corrected(run: Run) -> Result:
    """Return errors, densities and coverage of the corrected procedure, and how far Theorem 4 is from SE."""
    samples, count = run.sizes["corrected"]["samples"], run.sizes["corrected"]["runs"]
    others = run.sizes["theorem4"]
    scores: dict[str, Any] = {}
    gaps: dict[str, list[float]] = {}
    for problem in NAMES:
        runs = _many(run, f"corrected-{problem}", scores_of_run, count, problem=problem, sizes=samples)
        scores[problem] = _summary({name: np.array([one[name] for one in runs]) for name in runs[0]})
        runs = _many(run, f"theorem4-{problem}", theorem4_gap, others, problem=problem, n=samples[-1])
        gaps[problem] = np.max(runs, axis=0).tolist()
    found = {"samples": samples, "runs": count, "scores": scores, "theorem4": gaps, "theorem4 runs": others}
    return found, partial(figures.comparison, found)


def _many(run: Run, name: str, function: Callable[..., Any], count: int, **arguments: Any) -> list[Any]:
    """Return ``function(run=..., **arguments)`` of the runs 1 to ``count``; each block of them is a file.

    The settings have the number of ``workers`` and the runs in a ``block``.
    """
    settings: Numbers = run.settings
    found: list[Any] = []
    with Parallel(n_jobs=settings["workers"]) as workers:
        for first in range(1, count + 1, settings["block"]):
            runs = range(first, min(first + settings["block"], count + 1))

            def compute(runs: range = runs) -> list[Any]:
                started = time.perf_counter()
                results = list(workers(delayed(function)(run=number, **arguments) for number in runs))
                run.say(f"{name}: runs {runs[0]} to {runs[-1]} of {count}, {time.perf_counter() - started:.0f} s")
                return results

            found += run.keep(f"{name}-{first}", {"runs": [*runs], **arguments}, compute)
    return found


def _surfaces(settings: Numbers, nugget: float) -> Result:
    _, _, grid, surfaces = _likelihoods(settings, nugget)
    undefined = {name: 100 * float(np.isnan(values).mean()) for name, values in surfaces.items()}
    highest = {name: float(np.nanmax(values)) for name, values in surfaces.items()}
    found = {"nugget": nugget, "undefined": undefined, "highest": highest}
    return found, partial(figures.likelihoods, grid, {name: surfaces[name] for name in ("SE", "mirrored")})


def _likelihoods(settings: Numbers, nugget: float) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return inputs, targets, length scales, and log-likelihoods by kernel; variance 1, nothing else is fitted."""
    A = seven_points()
    y = simplex_problem("problem02")(A)
    # Up to the largest difference of two weight vectors, in the norm of absolute values.
    grid = np.linspace(authors.SCALES[0], 2 * float(np.ptp(A[:, 0])), settings["grid"])
    surfaces = {"SE": authors.log_likelihoods(exponents.se(A, A), y, grid, nugget)}
    for name in FILLINGS:
        exponent, is_sorted = authors.VARIANTS[name]
        order = np.argsort(A[:, 0]) if is_sorted else np.arange(len(A))
        X = A[order]
        surfaces[name] = authors.log_likelihoods(exponent(X, X), y[order], grid, nugget)
    return A, y, grid, surfaces


def _failures(run: Run, count: int, centred: bool = False) -> dict[str, Any]:
    samples = run.settings["centred" if centred else "samples"]
    failed = {}
    for problem in LINE:
        name = f"{'centred' if centred else 'failures'}-{problem}"
        first = _many(run, name, authors.first_failure, count, problem=problem, last=samples[-1], centred=centred)
        failed[problem] = _percent([[stop is not None and n >= stop for n in samples] for stop in first])
    return {
        "samples": samples,
        "runs": count,
        "failed": failed,
        "published": _published("failed_percent", samples, "wse_mle"),
        "published SE": _published("failed_percent", samples, "se_theorem4"),
    }


def _published(column: str, samples: list[int], method: str | None = None) -> dict[str, Any]:
    """Return a column of the published table at some numbers of samples; empty without the table."""
    found: dict[str, Any] = {}
    for problem, lists in read_reference().items():
        kept = {
            {"se_theorem4": "SE", "wse_mle": "WSE"}[key.split()[0]]: [
                _number(values[n - authors.FIRST]) for n in samples
            ]
            for key, values in lists.items()
            if key.endswith(f" {column}") and (method is None or key.startswith(method))
        }
        found[problem] = kept if method is None else next(iter(kept.values()))
    return found


def _percent(failed: list[list[Any]]) -> list[float]:
    """Return the percentage of True in each column, None left out."""
    return np.round(100 * np.nanmean(np.array(failed, dtype=float), axis=0), 2).tolist()  # type: ignore[no-any-return]


def _number(value: float) -> float | None:
    """Return a number as JSON knows it."""
    return None if np.isnan(value) else float(value)


def _moments(errors: Any) -> dict[str, list[float | None]]:
    """Return mean, standard deviation and median over the runs that ended, None where none did."""
    columns = [column[~np.isnan(column)] for column in errors.T]
    return {
        "mean": [float(c.mean()) if len(c) else None for c in columns],
        "std": [float(c.std(ddof=1)) if len(c) > 1 else None for c in columns],
        "median": [float(np.median(c)) if len(c) else None for c in columns],
        "ended": [len(c) for c in columns],
    }


def _summary(scores: dict[str, Any]) -> dict[str, Any]:
    """Return means over runs by method; ``scores`` has shape (runs, samples, 3). t compares errors with those of SE."""
    found = {}
    for name, values in scores.items():
        gaps = values[:, :, 0] - scores["SE"][:, :, 0]
        spread = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
        found[name] = {
            "rmse": values[:, :, 0].mean(axis=0).tolist(),
            "median rmse": np.median(values[:, :, 0], axis=0).tolist(),
            "median nlpd": np.median(values[:, :, 1], axis=0).tolist(),
            "coverage": values[:, :, 2].mean(axis=0).tolist(),
            "t": np.divide(gaps.mean(axis=0), spread, out=np.zeros(len(spread)), where=spread > 0).tolist(),
        }
    return found


class _GaussianProcesses(Paper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return failures, errors and the corrected comparison, with the published numbers."""
        return report.tables(summary, self.settings["shown"])

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words what differs from the published failures, and from the errors recorded here, by too much."""
        return report.deviations(size, summary, self.expected)


#: The figures, the causes of the failures, and the comparison with correct matrices.
PAPER = _GaussianProcesses(
    __package__,
    by_name(figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, figure9, figure10, figure11)
    | by_name(figure12, figureA1, figureA2, ablation, corrected),
    by_name(cost),
)
