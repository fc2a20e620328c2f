"""Figures 1 to 12, A1 and A2 of *Gaussian process regression over discrete probability measures*, and causes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor

from ... import Engine, Measures, divergences, kernels
from .._paper import Numbers, Paper, PrintedTable, Result, Run, by_name, flat, off
from . import authors, exponents, figures, tables
from .corrected import scores_of_run
from .data import LINE, NAMES, read_reference, seven_points, simplex_problem
from .series import RUNS, ahead, many, of_corrected, of_errors, of_failures, of_variants, on_bird

#: How the WSE matrix of Figures 6 and 7 may be filled; rows are sorted for the second.
FILLINGS = ("mirrored", "mirrored, sorted", "symmetrised")


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
    found = _failures(run)
    return found, partial(figures.failures, found)


def figure10(run: Run) -> Result:
    """Return the same curves for targets as they are, and for centred targets."""
    found = {"as run": _failures(run), "centred": _failures(run, centred=True)}
    return found, partial(figures.stationarity, found)


def figure11(run: Run) -> Result:
    """Return failures on the triangle: with the authors' cost matrix of two rows, and with one of three."""
    samples = run.settings["samples"]
    (runs,) = (many(run, series) for series in on_bird(run))
    found = {
        "samples": samples,
        "runs": len(runs),
        "cost of two rows": [100.0] * len(samples),  # the transport solver of the authors refuses it for three weights
        "cost of three rows": _percent(runs),
        "published SE": read_reference("failed_percent", samples).get("bird", {}).get("SE"),
    }
    return found, partial(figures.bird_failures, found)


def figure12(run: Run) -> Result:
    """Return the errors of the procedure of the authors: mean, standard deviation and median by kernel and problem."""
    count, samples = run.sizes["rmse"]["runs"], run.sizes["rmse"]["samples"]
    errors = {}
    for problem, series in zip(LINE, of_errors(run), strict=True):
        runs = many(run, series)
        errors[problem] = {
            kernel: _moments(np.array([one[kernel] for one in runs], dtype=float)) for kernel in ("SE", "WSE")
        }
    found = {"samples": samples, "runs": count, "errors": errors, "published": read_reference("rmse_mean", samples)}
    return found, partial(figures.errors, found)


def ablation(run: Run) -> Result:
    """Return failures of the same optimiser with the kernel matrix filled in four ways."""
    failed: dict[str, dict[str, list[float]]] = {}
    for series in of_variants(run):
        of_problem = failed.setdefault(series.arguments["problem"], {})
        of_problem[series.arguments["variant"]] = _percent(many(run, series))
    found = {"samples": run.settings["ablation"], "runs": run.sizes["ablation"], "failed": failed}
    return found, partial(figures.variants, found)


def corrected(run: Run) -> Result:
    """Return errors, densities and coverage of the corrected procedure, and how far Theorem 4 is from SE."""
    scores: dict[str, Any] = {}
    gaps: dict[str, list[float]] = {}
    for series in of_corrected(run):
        runs, problem = many(run, series), series.arguments["problem"]
        if series.function is scores_of_run:
            scores[problem] = _summary({name: np.array([one[name] for one in runs]) for name in runs[0]})
        else:
            gaps[problem] = np.max(runs, axis=0).tolist()
    found = {**run.sizes["corrected"], "scores": scores, "theorem4": gaps, "theorem4 runs": run.sizes["theorem4"]}
    return found, partial(figures.comparison, found)


def _surfaces(settings: Numbers, nugget: float) -> Result:
    """Compute both likelihoods over a grid of two length scales; return where they are undefined."""
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
        surfaces[name] = authors.log_likelihoods(*authors.arranged(name, A, y), grid, nugget)
    return A, y, grid, surfaces


def _failures(run: Run, centred: bool = False) -> dict[str, Any]:
    samples, count = run.settings["centred" if centred else "samples"], run.sizes["centred" if centred else "failures"]
    failed = {}
    for problem, series in zip(LINE, of_failures(run, centred), strict=True):
        first = many(run, series)
        failed[problem] = _percent([[stop is not None and n >= stop for n in samples] for stop in first])
    known = read_reference("failed_percent", samples)
    published, of_se = ({problem: both[name] for problem, both in known.items()} for name in ("WSE", "SE"))
    return {"samples": samples, "runs": count, "failed": failed, "published": published, "published SE": of_se}


def _percent(failed: list[list[Any]]) -> list[float]:
    """Return the percentage of True in each column, None left out."""
    return np.round(100 * np.nanmean(np.array(failed, dtype=float), axis=0), 2).tolist()  # type: ignore[no-any-return]


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


def cost(run: Run) -> Result:
    """Measure the processor time of the distances, which are computed once, and of a step of the likelihood."""
    sizes = run.settings["cost"]

    def compute() -> dict[str, dict[str, float]]:
        _seconds(20, 10)  # compiles
        return {f"{n}, {m}": _seconds(n, m) for n, m in sizes["pairs"]}

    return {"seconds": run.keep("cost", sizes, compute)}, None


def _seconds(n: int, m: int) -> dict[str, float]:
    """Return seconds of one thread for n measures on m points: the kernel matrix with its distances, and a step."""
    rng = np.random.default_rng(0)
    X = Measures.from_histograms(rng.dirichlet(np.ones(m), n), np.arange(float(m)))
    kernel = kernels.Exponential(divergences.Euclidean(), 0.3, engine=Engine("serial"))
    first = _timed(lambda: kernel(X))
    process = GaussianProcessRegressor(kernel, alpha=1e-6, optimizer=None).fit(X, rng.normal(size=n))
    theta = kernel.theta
    step = min(_timed(lambda: process.log_marginal_likelihood(theta, eval_gradient=True)) for _ in range(3))
    return {"distances": first, "step": step}


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


class _GaussianProcesses(Paper):
    def ahead(self, run: Run, chosen: set[str]) -> list[str]:
        """Say which runs are there, and how long the others take."""
        return [ahead(run, name, runs(run)) for name, runs in RUNS.items() if name in chosen]

    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return failures, errors and the corrected comparison, with the published numbers."""
        return tables.printed(summary, self.settings["shown"])

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


#: The figures, the causes of the failures, and the comparison with correct matrices.
PAPER = _GaussianProcesses(
    __package__,
    {
        "figure1": lambda run: figures.distances(0.5, [(1, 1.0), (2, 1.0)]),
        "figure2": lambda run: figures.distances(0.5, [(1, figures.FAR), (2, figures.FAR)]),
        "figure3": lambda run: figures.distances(0.1, [(2, 1.0), (2, figures.FAR)]),
        **by_name(figures.figure4, figures.figure5),
        "figure6": lambda run: _surfaces(run.settings, run.settings["nuggets"][0]),
        "figure7": lambda run: _surfaces(run.settings, run.settings["nuggets"][1]),
        **by_name(figure8, figure9, figure10, figure11, figure12, figures.figureA1, figures.figureA2),
        **by_name(ablation, corrected),
    },
    by_name(cost),
)
