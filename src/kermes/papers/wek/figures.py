"""Figures 1 to 3 of the paper: their numbers, and what draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import KernelFeatures, definiteness, kernels, pairwise
from .._paper import FloatArray, Numbers, PrintedTable
from .data import Part
from .methods import PIXELS, Methods

#: Length scales at which the negative part is measured, in units of half the median distance.
WIDER = (1, 2, 4, 8)


def kernel_matrices(methods: Methods, digits: Part) -> dict[str, FloatArray]:
    """Figure 1: the Gram matrices of both kernels on digits in order of their class."""
    ordered = digits[np.argsort(digits.labels, kind="stable")]
    return {
        "pixels, Euclidean": _median_kernel(PIXELS, ordered.pixels, methods)(ordered.pixels),
        "entropic Wasserstein": _median_kernel(methods.divergence, ordered.measures, methods)(ordered.measures),
    }


def feature_matrices(methods: Methods, train: Part, test: Part) -> dict[str, FloatArray]:
    """Figure 2: inner products of 5, 15 and 250 Wasserstein features of test digits, and the exact kernel."""
    ordered = test[np.argsort(test.labels, kind="stable")].measures
    kernel = _median_kernel(methods.divergence, train.measures, methods)
    features = KernelFeatures(kernel).fit(train.measures).transform(ordered)
    counts = sorted({min(count, features.shape[1]) for count in (5, 15, 250)})
    grams = {f"{count} features": features[:, :count] @ features[:, :count].T for count in counts}
    return {**grams, "exact": kernel(ordered)}


def thumbnail(K: FloatArray, cells: int = 30) -> list[list[float]]:
    """Return a matrix of at most ``cells`` rows, the means of blocks of a greater one, to two digits."""
    edges = np.linspace(0, len(K), min(cells, len(K)) + 1).round().astype(int)
    blocks = np.add.reduceat(np.add.reduceat(K, edges[:-1], axis=0), edges[:-1], axis=1)
    return (blocks / np.outer(np.diff(edges), np.diff(edges))).round(2).tolist()  # type: ignore[no-any-return]


def spectra(methods: Methods, digits: Part, train: Part, test: Part) -> Numbers:
    """Return extreme eigenvalues, admissible length scales, how far features are from the kernel, small matrices."""
    found: Numbers = {"eigenvalues": {}, "truncation": {}, "features": {}}
    drawn = {"figure1": kernel_matrices(methods, digits), "figure2": feature_matrices(methods, train, test)}
    found["matrices"] = {
        figure: {name: thumbnail(np.asarray(K)) for name, K in grams.items()} for figure, grams in drawn.items()
    }
    for name, divergence, X in (("pixels", PIXELS, digits.pixels), ("W", methods.divergence, digits.measures)):
        kernel = _median_kernel(divergence, X, methods)
        report = definiteness.spectrum(np.asarray(kernel(X)))
        admissible = definiteness.psd_length_scale(pairwise(X, divergence=divergence, engine=methods.engine))
        found["eigenvalues"][name] = {
            "least eigenvalue": report.min,
            "largest eigenvalue": report.max,
            "length scale, half the median distance": float(kernel.length_scale),
            "largest admissible length scale": admissible if np.isfinite(admissible) else "any",
        }
    for factor in WIDER:  # what features leave out of the kernel matrix, in the spectral norm
        wide = kernel.clone_with_theta(kernel.theta + np.log(factor))
        report = definiteness.spectrum(np.asarray(wide(digits.measures)))
        found["truncation"][f"{factor / 2:g}"] = max(0.0, -report.min) / report.max
    kernel = _median_kernel(methods.divergence, train.measures, methods)
    features = KernelFeatures(kernel).fit(train.measures).transform(test.measures)
    K = np.asarray(kernel(test.measures))
    for count in sorted({min(count, features.shape[1]) for count in (5, 15, 250)}):
        gap = features[:, :count] @ features[:, :count].T - K
        found["features"][str(count)] = float(np.linalg.norm(gap) / np.linalg.norm(K))
    return found


def spectra_table(found: Numbers) -> PrintedTable:
    """Return the numbers of :func:`spectra`."""
    rows = [
        [f"{name}: {what}", value if isinstance(value, str) else f"{value:.4g}"]
        for name, values in found["eigenvalues"].items()
        for what, value in values.items()
    ]
    rows += [
        [f"W at {factor} of the median distance: spectral norm of the negative part, of the whole", f"{x:.2g}"]
        for factor, x in found["truncation"].items()
    ]
    rows += [[f"{count} features: relative error of the matrix", f"{x:.3f}"] for count, x in found["features"].items()]
    return PrintedTable("Figures 1 and 2: spectra", ["number", "value"], rows)


def error_curves(results: list[dict[str, Any]]) -> Any:
    """Figure 3: mean error against the number of training digits, with standard deviations."""
    import matplotlib.pyplot as plt

    sizes = sorted({result["size"] for result in results})
    names = list(results[0]["errors"])
    panels = ([n for n in names if not n.startswith("RW")], [n for n in names if not n.startswith("W ")])
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    for axis, shown in zip(axes, panels, strict=True):
        for name in shown:
            rank = panels[0].index(name.removeprefix("R") if name.startswith("RW") else name)  # a colour in both panels
            errors = [[100 * r["errors"][name] for r in results if r["size"] == size] for size in sizes]
            means, stds = [np.mean(e) for e in errors], [np.std(e, ddof=1) if len(e) > 1 else 0.0 for e in errors]
            axis.errorbar(sizes, means, stds, marker="osD^vP"[rank], color=f"C{rank}", capsize=3, label=name)
        axis.set(xlabel="training digits", xscale="log", xticks=sizes, xticklabels=sizes)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    axes[0].set(ylabel="test error, %", title="Wasserstein exponential kernels")
    axes[1].set(title="reweighted")
    return figure


def _median_kernel(divergence: Any, X: Any, methods: Methods) -> Any:
    """Return the squared-exponential kernel at half the median distance."""
    D = pairwise(X, divergence=divergence, engine=methods.engine)
    return kernels.Exponential(divergence, 0.5 * float(np.median(D[D > 0])), engine=methods.engine)


def matrices(grams: Mapping[str, Any]) -> Any:
    """Return a picture of Gram matrices side by side."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(grams), figsize=(3.4 * len(grams) + 0.6, 3.6), layout="constrained")
    for axis, (name, K) in zip(axes, grams.items(), strict=True):
        image = axis.imshow(K, vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
        axis.set(title=name, xticks=[], yticks=[])
    axes[0].set_ylabel("digits, by class")
    figure.colorbar(image, ax=axes, shrink=0.8, label="kernel")
    return figure
