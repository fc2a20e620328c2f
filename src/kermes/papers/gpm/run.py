"""Figures 1 to 12, A1 and A2 of *Gaussian process regression over discrete probability measures*, and causes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.gaussian_process import GaussianProcessRegressor

from ... import Engine, Measures, divergences, kernels
from .._paper import Numbers, Result, Run, by_name
from . import authors, exponents, figures
from .corrected import scores_of_run, theorem4_gap
from .data import LINE, NAMES, read_reference, seven_points, simplex_problem
from .report import GaussianProcesses

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
    runs = _many(run, "bird", authors.bird_with_costs, run.sizes["bird"], samples=samples)
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
    for problem in LINE:
        runs = _many(run, f"rmse-{problem}", authors.rmse_of_run, count, problem=problem, sizes=samples)
        errors[problem] = {
            kernel: _moments(np.array([one[kernel] for one in runs], dtype=float)) for kernel in ("SE", "WSE")
        }
    found = {"samples": samples, "runs": count, "errors": errors, "published": read_reference("rmse_mean", samples)}
    return found, partial(figures.errors, found)


def ablation(run: Run) -> Result:
    """Return failures of the same optimiser with the kernel matrix filled in four ways."""
    samples, count = run.settings["ablation"], run.sizes["ablation"]
    failed: dict[str, dict[str, list[float]]] = {"problem02": {}, "xiong": {}}
    for problem, of_variants in failed.items():
        for variant in authors.VARIANTS:
            name, about = f"ablation-{problem}-{variant.replace(', ', '-')}", {"problem": problem, "variant": variant}
            of_variants[variant] = _percent(
                _many(run, name, authors.failures_of_variant, count, **about, samples=samples)
            )
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
    block, found = run.settings["block"], []
    with Parallel(n_jobs=run.settings["workers"]) as workers:
        for first in range(1, count + 1, block):
            runs = range(first, min(first + block, count + 1))

            def compute(runs: range = runs) -> list[Any]:
                started = time.perf_counter()
                results = list(workers(delayed(function)(run=number, **arguments) for number in runs))
                run.say(f"{name}: runs {runs[0]} to {runs[-1]} of {count}, {time.perf_counter() - started:.0f} s")
                return results

            found += run.keep(f"{name}-{first}", {"runs": [*runs], **arguments}, compute)
    return found


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
    what = "centred" if centred else "failures"
    samples, count = run.settings["centred" if centred else "samples"], run.sizes[what]
    failed = {}
    for problem in LINE:
        first = _many(
            run, f"{what}-{problem}", authors.first_failure, count, problem=problem, last=samples[-1], centred=centred
        )
        failed[problem] = _percent([[stop is not None and n >= stop for n in samples] for stop in first])
    known = read_reference("failed_percent", samples)
    published, of_se = ({problem: kernels[name] for problem, kernels in known.items()} for name in ("WSE", "SE"))
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


#: The figures, the causes of the failures, and the comparison with correct matrices.
PAPER = GaussianProcesses(
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
