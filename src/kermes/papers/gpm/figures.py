"""Figures 6 to 12, the causes of failures, and the corrected comparison; each function returns a matplotlib figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._paper import FloatArray
from . import authors, exponents
from .data import LINE, NAMES
from .pictures import BLUE, GREY, RED, panels, segment
from .problems import simplex_problem

#: Colours that everybody can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
METHODS = {
    "SE": (BLUE, "o"),
    "SE anisotropic": ("#56B4E9", "s"),
    "WSE": (RED, "D"),
    "WSE symmetrised": ("#CC79A7", "^"),
}
#: Log-likelihoods this far below the highest are drawn alike: near singular matrices they fall by millions.
DEPTH = 100.0
FAILED = "failed fits, %"


def likelihoods(grid: FloatArray, surfaces: dict[str, FloatArray]) -> Any:
    """Figures 6 and 7: log-likelihoods over two length scales, as surfaces and contours; grey where undefined."""
    import matplotlib.pyplot as plt

    titles = {"SE": ("SE", r"\ell"), "mirrored": ("WSE, as filled by the authors", r"\rho")}
    figure = plt.figure(figsize=(5.0 * len(surfaces), 7.6), layout="constrained")
    first, second = np.meshgrid(grid, grid, indexing="ij")
    for column, (name, values) in enumerate(surfaces.items()):
        title, scale = titles[name]
        high = float(np.nanmax(values))
        low = max(float(np.nanmin(values)), high - DEPTH)
        axis: Any = figure.add_subplot(2, len(surfaces), column + 1, projection="3d")
        there = np.isfinite(values)
        heights = np.maximum(values[there], low)
        axis.scatter(first[there], second[there], heights, c=heights, cmap="cividis", vmin=low, vmax=high, s=4)
        axis.set(title=title, xlabel=f"${scale}_1$", ylabel=f"${scale}_2$", zlabel="log-likelihood")
        axis.set_box_aspect(None, zoom=0.85)
        axis.locator_params(nbins=4)
        flat = figure.add_subplot(2, len(surfaces), len(surfaces) + column + 1, facecolor="0.75", aspect="equal")
        image = flat.pcolormesh(first, second, np.ma.masked_invalid(values), cmap="cividis", vmin=low, vmax=high)
        share = 100 * np.isnan(values).mean()
        flat.set(title=f"grey: undefined, {share:.1f} %", xlabel=f"${scale}_1$", ylabel=f"${scale}_2$")
        figure.colorbar(image, ax=flat, label="log-likelihood", extend="min", shrink=0.85)
    return figure


def two_processes(A: FloatArray, y: FloatArray, models: dict[str, authors.Fit]) -> Any:
    """Figure 8: the processes of the highest likelihood, over distances from (0, 1): W_2 and Euclidean."""
    figure, axes = panels(1, 2, sharey=True)
    new = segment()
    truth = simplex_problem("problem02")(new)
    distances = {"W_2": np.sqrt(exponents.COST * new[:, 0]), "Euclidean": np.sqrt(2.0) * new[:, 0]}
    known = {"W_2": np.sqrt(exponents.COST * A[:, 0]), "Euclidean": np.sqrt(2.0) * A[:, 0]}
    shown = {
        "W_2": (("SE", "Theorem 4 (the SE process)", BLUE, "-"), ("mirrored", "WSE, highest likelihood", RED, "--")),
        "Euclidean": (("SE", "SE", BLUE, "-"),),
    }
    for axis, (metric, curves) in zip(axes.flat, shown.items(), strict=True):
        axis.plot(distances[metric], truth, ":", color=GREY, label="f")
        for name, label, colour, line in curves:
            exponent = exponents.se if name == "SE" else exponents.mirrored
            mean, std = _process(exponent(A, A), exponent(new, A), y, models[name])
            axis.plot(distances[metric], mean, line, color=colour, label=label)
            axis.fill_between(distances[metric], mean - std, mean + std, color=colour, alpha=0.15, lw=0)
        axis.plot(known[metric], y, "k.", label="samples")
        axis.set(xlabel=f"${metric}$ distance from (0, 1)" if metric == "W_2" else "Euclidean distance from (0, 1)")
        axis.legend(frameon=False, fontsize=8)
    axes.flat[0].set_ylabel("f")
    axes.flat[0].set_yscale("symlog", linthresh=2.0)
    return figure


def failures(found: dict[str, Any]) -> Any:
    """Figure 9: failures by problem; marks are the published ones."""
    figure, axes = panels(2, 2, sharex=True, sharey=True)
    samples = found["samples"]
    for axis, problem in zip(axes.flat, LINE, strict=True):
        axis.plot(samples, found["failed"][problem], color=RED, label=f"WSE, {found['runs']} runs")
        if problem in found["published"]:
            published = {"mfc": "none", "ms": 5, "ls": ""}
            axis.plot(samples, found["published"][problem], marker="o", color="k", label="WSE, published", **published)
            values = found["published SE"][problem]
            axis.plot(samples, values, marker="s", color=BLUE, label="SE (Theorem 4), published", **published)
        axis.set(title=NAMES[problem])
    return _finished(figure, axes, FAILED)


def stationarity(found: dict[str, Any]) -> Any:
    """Figure 10: the four curves together, for targets as they are and for centred ones."""
    figure, axes = panels(1, 2, sharex=True, sharey=True)
    titles = {"as run": "targets as they are, prior mean 0", "centred": "centred targets"}
    for axis, (name, title) in zip(axes.flat, titles.items(), strict=True):
        curves = found[name]
        _marked(axis, curves["samples"], {NAMES[problem]: curves["failed"][problem] for problem in LINE}, ms=4)
        axis.set(title=f"{title}, {curves['runs']} runs")
    return _finished(figure, axes, FAILED)


def bird_failures(found: dict[str, Any]) -> Any:
    """Figure 11: failures on the triangle."""
    figure, axes = panels(1, 1)
    axis = axes[0, 0]
    axis.plot(found["samples"], found["cost of two rows"], "o-", ms=4, color=RED, label="WSE, 2 x 2 cost, as run")
    label = f"WSE, 3 x 3 cost, {found['runs']} runs"
    axis.plot(found["samples"], found["cost of three rows"], "s--", ms=4, color=COLOURS[3], label=label)
    if found["published SE"] is not None:
        axis.plot(found["samples"], found["published SE"], ":", color=BLUE, label="SE (Theorem 4), published")
    return _finished(figure, axes, FAILED)


def errors(found: dict[str, Any]) -> Any:
    """Figure 12: errors of the procedure of the authors, with standard deviations; circles are the published means."""
    figure, axes = panels(2, 2, sharex=True)
    samples = np.array(found["samples"])
    for axis, problem in zip(axes.flat, LINE, strict=True):
        for kernel, colour, label in (("WSE", RED, "WSE"), ("SE", BLUE, "SE (Theorem 4)")):
            moments = found["errors"][problem][kernel]
            mean, std = (np.array(moments[key], dtype=float) for key in ("mean", "std"))
            axis.plot(samples, mean, color=colour, label=f"{label}, {found['runs']} runs")
            axis.fill_between(samples, mean - std, mean + std, color=colour, alpha=0.15, lw=0)
            if problem in found["published"]:
                values = np.array(found["published"][problem][kernel], dtype=float)
                axis.plot(samples, values, "o", mfc="none", color=colour, ms=4, label=f"{label}, published")
        axis.set(title=NAMES[problem], ylim=(0, None))
    return _finished(figure, axes, "RMSE")


def variants(found: dict[str, Any]) -> Any:
    """Failures of one optimiser with four ways to fill the matrix."""
    figure, axes = panels(1, len(found["failed"]), sharey=True)
    for axis, (problem, curves) in zip(axes.flat, found["failed"].items(), strict=True):
        _marked(axis, found["samples"], curves, mfc="none", ms=7)
        axis.set(title=f"{NAMES[problem]}, {found['runs']} runs")
    return _finished(figure, axes, FAILED)


def comparison(found: dict[str, Any]) -> Any:
    """Mean errors of the corrected procedure."""
    figure, axes = panels(2, 3, sharex=True)
    for axis, (problem, methods) in zip(axes.flat, found["scores"].items(), strict=False):
        for name, scores in methods.items():
            colour, mark = METHODS[name]
            axis.plot(found["samples"], scores["rmse"], f"{mark}-", ms=4, color=colour, label=name)
        axis.set(title=NAMES[problem], yscale="log")
        axis.legend(frameon=False, fontsize=8)
    axes.flat[-1].set_axis_off()
    return _finished(figure, axes, "mean RMSE")


def _marked(axis: Any, samples: list[int], curves: dict[str, list[float]], **marks: Any) -> None:
    """Draw curves in colours and with marks that can be told apart."""
    for (name, values), colour, mark in zip(curves.items(), COLOURS, "osD^", strict=True):
        axis.plot(samples, values, f"{mark}-", color=colour, label=name, **marks)


def _process(F: FloatArray, cross: FloatArray, y: FloatArray, model: authors.Fit) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation; an indefinite matrix makes variances that are negative, drawn as 0."""
    rates = 0.5 / model.parameters[:2] ** 2
    K, k = np.exp(-F @ rates) + model.nugget * np.eye(len(y)), np.exp(-cross @ rates)
    variance = 1.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    return authors.predict(F, cross, y, model), np.sqrt(np.maximum(variance, 0.0))


def _finished(figure: Any, axes: Any, label: str) -> Any:
    """Return a figure of curves over the number of samples, with a grid, a legend and labels."""
    from matplotlib.ticker import MaxNLocator

    for axis in axes.flat:
        axis.grid(alpha=0.3, which="both")
    axes[0, 0].legend(frameon=False, fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("samples")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for row in axes:
        row[0].set_ylabel(label)
    return figure
