"""Figures 2 to 5: principal components, the Gram matrix of the linear kernel, eigenfunctions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import Measures, ground, inspection, kernels, plot
from ..._typing import AnyArray, FloatArray
from ...measures import Measure
from .._common import Store, read_expected
from .._digits import Say
from .._pictures import of_digits, pair_and_mean, titles

__all__ = ["figure2", "figure3", "figure4", "figure5"]

Settings = dict[str, Any]
#: Numbers, and a function that draws them.
Result = tuple[dict[str, Any], Callable[[], Any]]


def figure2(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Show the principal components of a one, a zero and their mean; return variances and kernel value."""
    shown = _shown((1, 0), settings)
    variances = {name: inspection.weighted_pca(measure).variances.tolist() for name, measure in shown.items()}
    X = Measures.from_samples([shown["1"].points, shown["0"].points])
    kernel = np.asarray(kernels.IGV(settings["linear_eta"], ground.Linear())(X))
    value = float(kernel[0, 1])
    return {"variances": variances, "kernel": value}, partial(_draw_components, shown, value)


def figure3(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Show the Gram matrix of the linear kernel on some zeros, ones and twos; return its mean within and between."""
    digits, count = settings["figure3"]["digits"], settings["figure3"]["images"]
    parts = [of_digits(digit, count, settings["threshold"]) for digit in digits]
    X = Measures.from_samples([measure.points for part in parts for measure in part])
    K = np.asarray(kernels.IGV(settings["linear_eta"], ground.Linear())(X))
    labels = np.repeat(digits, count)
    means = {
        f"{a} and {b}": float(K[np.ix_(labels == a, labels == b)].mean()) for a in digits for b in digits if a <= b
    }
    return {"mean": means}, partial(_draw_gram, K, labels)


def figure4(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Show the first eigenfunctions of a one, a zero and their mean; return the eigenvalues."""
    return _eigenfunctions((1, 0), settings)


def figure5(settings: Settings, sizes: Settings, store: Store, say: Say) -> Result:
    """Show the first eigenfunctions of a two, a zero and their mean; return the eigenvalues."""
    return _eigenfunctions((2, 0), settings)


def _shown(digits: tuple[int, int], settings: Settings) -> dict[str, Measure]:
    variances = read_expected(__package__)["paper"]["figure2"]["variances"]
    return pair_and_mean(digits, variances, settings["threshold"])


def _eigenfunctions(digits: tuple[int, int], settings: Settings) -> Result:
    shown = _shown(digits, settings)
    point_kernel = ground.Gaussian(sigma=settings["sigma"])
    count = settings["eigenfunctions"]
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
