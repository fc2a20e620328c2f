"""The remark of the conclusions: learning costs N^3 for N measures, whatever the size m of their support."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor

from ... import Engine, Measures, divergences, kernels
from .._paper import Numbers, PrintedTable, Result, Run


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


def table(found: Numbers) -> PrintedTable:
    """Return the seconds."""
    rows = [
        [*name.split(", "), f"{seconds['distances']:.3f}", f"{seconds['step']:.3f}"]
        for name, seconds in found["seconds"].items()
    ]
    return PrintedTable("Processor seconds of a process", ["N", "m", "distances, once", "each step"], rows)
