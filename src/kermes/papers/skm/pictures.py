"""Figures 2 to 5: principal components, the Gram matrix of the linear kernel, eigenfunctions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import Measures, ground, inspection, kernels, plot
from ...measures import Measure
from .._digits import of_digits, pair_and_mean, titles
from .._paper import AnyArray, FloatArray, Result, Run

__all__ = ["figure2", "figure3", "figure4", "figure5"]


def figure2(run: Run) -> Result:
    """Show the principal components of a one, a zero and their mean; return variances and kernel value."""
    shown = _shown(run, (1, 0))
    variances = {name: inspection.weighted_pca(measure).variances.tolist() for name, measure in shown.items()}
    X = Measures.from_samples([shown["1"].points, shown["0"].points])
    kernel = np.asarray(kernels.IGV(run.settings["linear_eta"], ground.Linear())(X))
    value = float(kernel[0, 1])
    return {"variances": variances, "kernel": value}, partial(_draw_components, shown, value)


def figure3(run: Run) -> Result:
    """Show the Gram matrix of the linear kernel on some zeros, ones and twos; return its mean within and between."""
    digits, count = run.settings["figure3"]["digits"], run.settings["figure3"]["images"]
    parts = [of_digits(digit, count, run.settings["threshold"]) for digit in digits]
    X = Measures.from_samples([measure.points for part in parts for measure in part])
    K = np.asarray(kernels.IGV(run.settings["linear_eta"], ground.Linear())(X))
    labels = np.repeat(digits, count)
    means = {
        f"{a} and {b}": float(K[np.ix_(labels == a, labels == b)].mean()) for a in digits for b in digits if a <= b
    }
    return {"mean": means}, partial(_draw_gram, K, labels)


def figure4(run: Run) -> Result:
    """Show the first eigenfunctions of a one, a zero and their mean; return the eigenvalues."""
    return _eigenfunctions(run, (1, 0))


def figure5(run: Run) -> Result:
    """Show the first eigenfunctions of a two, a zero and their mean; return the eigenvalues."""
    return _eigenfunctions(run, (2, 0))


def _shown(run: Run, digits: tuple[int, int]) -> dict[str, Measure]:
    return pair_and_mean(digits, run.published["figure2"]["variances"], run.settings["threshold"])


def _eigenfunctions(run: Run, digits: tuple[int, int]) -> Result:
    shown = _shown(run, digits)
    point_kernel = ground.Gaussian(sigma=run.settings["sigma"])
    count = run.settings["eigenfunctions"]
    eigenvalues = {
        name: inspection.covariance_spectrum(measure, point_kernel, count).eigenvalues.tolist()
        for name, measure in shown.items()
    }
    return eigenvalues, partial(plot.eigenfunctions, list(shown.values()), point_kernel, count, titles=titles(shown))


def _draw_components(shown: dict[str, Measure], kernel: float) -> Any:
    figure = plot.weighted_pca(list(shown.values()), titles(shown))
    figure.suptitle(f"normalised linear IGV kernel of both digits: {kernel:.3f}", fontsize=10)
    return figure


def _draw_gram(K: FloatArray, labels: AnyArray) -> Any:
    axes = plot.gram(K, labels)
    axes.set(title="normalised linear IGV kernel", xlabel="digit", ylabel="digit")
    return axes.figure
