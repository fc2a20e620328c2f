"""All figures: ``distances``, ``figure4``, ``figure5``, A1 and A2 are pieces, the others draw what ``run`` found."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import Measures, divergences, ground, pairwise
from .._paper import FloatArray, Result, Run, panels
from . import authors, exponents
from .data import LINE, NAMES, bird, problem13, simplex_problem, test_inputs

#: Log-likelihoods this far below the highest are drawn alike: near singular matrices they fall by millions.
DEPTH = 100.0
FAILED = "failed fits, %"
#: Colours that everybody can tell apart.
GREY, RED, BLUE = "#7F7F7F", "#D55E00", "#0072B2"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
METHODS = {
    "SE": (BLUE, "o"),
    "SE anisotropic": ("#56B4E9", "s"),
    "WSE": (RED, "D"),
    "WSE symmetrised": ("#CC79A7", "^"),
}
#: Values of a_1 that are drawn.
DRAWN = 1001
#: Costs of the experiments with the "Euclidean ground metric"; they are d^p already.
FAR, FARTHER = 2.0, 4.0


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
    se, wse = (exponents.se, models["SE"], BLUE, "-"), (exponents.mirrored, models["mirrored"], RED, "--")
    a, known = new[:, 0], A[:, 0]
    both = {"Theorem 4 (the SE process)": se, "WSE, highest likelihood": wse}
    for axis, metric, x, at, curves in (
        (axes[0, 0], "$W_2$", np.sqrt(exponents.COST * a), np.sqrt(exponents.COST * known), both),
        (axes[0, 1], "Euclidean", np.sqrt(2.0) * a, np.sqrt(2.0) * known, {"SE": se}),
    ):
        axis.plot(x, truth, ":", color=GREY, label="f")
        for label, (exponent, model, colour, line) in curves.items():
            mean, std = _process(exponent(A, A), exponent(new, A), y, model)
            axis.plot(x, mean, line, color=colour, label=label)
            axis.fill_between(x, mean - std, mean + std, color=colour, alpha=0.15, lw=0)
        axis.plot(at, y, "k.", label="samples")
        axis.set(xlabel=f"{metric} distance from (0, 1)")
        axis.legend(frameon=False, fontsize=8)
    axes.flat[0].set_ylabel("f")
    axes.flat[0].set_yscale("symlog", linthresh=2.0)
    return figure


def failures(found: dict[str, Any], of_se: dict[str, Any] | None = None) -> Any:
    """Figure 9: failures by problem; marks are the published ones. ``of_se``: what Figure 12 found, which has SE."""
    figure, axes = panels(2, 2, sharex=True, sharey=True)
    samples = found["samples"]
    for axis, problem in zip(axes.flat, LINE, strict=True):
        axis.plot(samples, found["failed"][problem], color=RED, label=f"WSE, {found['runs']} runs")
        if of_se is not None:
            failed = [100.0 * (1.0 - ended / of_se["runs"]) for ended in of_se["errors"][problem]["SE"]["ended"]]
            axis.plot(of_se["samples"], failed, color=BLUE, label=f"SE, {of_se['runs']} runs")
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
    """Figure 12: errors of the procedure of the authors, with standard deviations; circles are the published means.

    Their range sets the axis: a run of WSE with an error of a thousand would leave nothing else to be seen.
    """
    figure, axes = panels(2, 2, sharex=True)
    samples = np.array(found["samples"])
    for axis, problem in zip(axes.flat, LINE, strict=True):
        top = None
        for kernel, colour, label in (("WSE", RED, "WSE"), ("SE", BLUE, "SE (Theorem 4)")):
            moments = found["errors"][problem][kernel]
            mean, std = (np.array(moments[key], dtype=float) for key in ("mean", "std"))
            axis.plot(samples, mean, color=colour, label=f"{label}, {found['runs']} runs")
            axis.fill_between(samples, mean - std, mean + std, color=colour, alpha=0.15, lw=0)
            if problem in found["published"]:
                values = np.array(found["published"][problem][kernel], dtype=float)
                axis.plot(samples, values, "o", mfc="none", color=colour, ms=4, label=f"{label}, published")
                top = max(top or 0.0, 1.5 * np.nanmax(values))
        axis.set(title=NAMES[problem], ylim=(0, top))
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


def figure4(run: Run) -> Result:
    """Show problem 02 over the segment; return its least value."""
    problem = simplex_problem("problem02")
    return {"minimum": problem.minimum, "argmin": list(problem.argmin)}, _draw_function


def figure5(run: Run) -> Result:
    """Show problem 02 against distances from (0, 1); return the largest distances."""
    A = segment()
    euclidean = np.linalg.norm(A - [0.0, 1.0], axis=1)
    wasserstein = {cost: _wasserstein(A, 0.0, 2, cost) for cost in (FAR, FARTHER)}
    found = {
        "Euclidean": float(euclidean.max()),
        **{f"W_2, cost {c:g}": float(d.max()) for c, d in wasserstein.items()},
    }
    y = simplex_problem("problem02")(A)
    curves = {f"cost {cost:g}": ((euclidean, y), (d, y), "$W_2$") for cost, d in wasserstein.items()}
    return found, partial(_draw_curves, curves, "distance from (0, 1)", "f", None)


def figureA1(run: Run) -> Result:
    """Show the four problems on the segment; return their least values, and by how much printed formulas differ."""
    found: dict[str, Any] = {name: simplex_problem(name).minimum for name in LINE}
    gaps = problem13(segment()) - problem13(segment(), 0.889)
    return found | {"printed problem13 differs by": float(np.abs(gaps).max())}, _draw_problems


def figureA2(run: Run) -> Result:
    """Show Bird on the square and on the triangle; return its range there, and that of the printed formula."""
    A = test_inputs("bird")
    computed, printed = bird(A), bird(A, lambda wave: 1 - wave**2)
    found = {
        "range": [float(computed.min()), float(computed.max())],
        "range of the printed formula": [float(printed.min()), float(printed.max())],
        "printed formula differs by": float(np.abs(computed - printed).max()),
        "error of predicting 0": float(np.sqrt(np.mean(computed**2))),
    }
    return found, _draw_bird


def segment() -> FloatArray:
    """Return the weights that are drawn, (1001, 2)."""
    a = np.linspace(0, 1, DRAWN)
    return np.column_stack([a, 1 - a])


def _wasserstein(A: FloatArray, reference: float, p: int, cost: float) -> FloatArray:
    """Return W_p from (reference, 1 - reference), the cost of moving a unit being ``cost`` whatever p."""
    X, Y = (Measures.from_histograms(rows, [0.0, 1.0]) for rows in (A, [[reference, 1 - reference]]))
    binary = divergences.Wasserstein(p=p, cost=ground.Binary(cost ** (1 / p)))
    return np.asarray(pairwise(X, Y, divergence=binary))[:, 0]


def distances(reference: float, panels: list[tuple[int, float]]) -> Result:
    """Figures 1 to 3: compare distances from (reference, 1 - reference) for some p and costs; return the largest."""
    A = segment()
    euclidean = np.linalg.norm(A - [reference, 1 - reference], axis=1)
    a, curves = A[:, 0], {}
    found: dict[str, Any] = {"Euclidean": float(euclidean.max())}
    for p, cost in panels:
        values = _wasserstein(A, reference, p, cost)
        larger = values >= euclidean - 1e-12
        found[f"W_{p}, cost {cost:g}"] = {"largest": float(values.max()), "at least Euclidean": bool(larger.all())}
        curves[f"p = {p}, cost {cost:g}"] = ((a, euclidean), (a, values), f"$W_{p}$")
    label = f"distance from ({reference:g}, {1 - reference:g})"
    return found, partial(_draw_curves, curves, "$a_1$", label, reference)


def _draw_curves(curves: dict[str, tuple[Any, Any, str]], x_label: str, y_label: str, mark: float | None) -> Any:
    """Draw a panel for each title: (x and y with the Euclidean distance, x and y with W_p, name of W_p)."""
    figure, axes = panels(1, len(curves), sharey=True)
    for axis, (title, (euclidean, wasserstein, name)) in zip(axes.flat, curves.items(), strict=True):
        axis.plot(*euclidean, "--", color=GREY, label="Euclidean")
        axis.plot(*wasserstein, color=RED, label=name)
        if mark is not None:
            axis.axvline(mark, color="0.8", lw=0.8, zorder=0)
        axis.set(title=title, xlabel=x_label)
        axis.legend(frameon=False)
    axes.flat[0].set_ylabel(y_label)
    return figure


def _draw_function() -> Any:
    import matplotlib.pyplot as plt

    A = segment()
    y = simplex_problem("problem02")(A)
    figure = plt.figure(figsize=(5.2, 4.6), layout="constrained")
    axis: Any = figure.add_subplot(projection="3d")
    axis.plot(A[:, 0], A[:, 1], y, color=BLUE)
    axis.plot(A[:, 0], A[:, 1], np.full(len(A), y.min()), color=GREY)  # the simplex itself
    axis.set(xlabel="$a_1$", ylabel="$a_2$", zlabel="f(a)")
    axis.set_box_aspect(None, zoom=0.85)
    return figure


def _draw_problems() -> Any:
    A = segment()
    figure, axes = panels(2, 2)
    for axis, name in zip(axes.flat, LINE, strict=True):
        axis.plot(A[:, 0], simplex_problem(name)(A), color=BLUE)
        axis.set(title=NAMES[name], xlabel="$a_1$", ylabel="f")
    return figure


def _draw_bird() -> Any:
    import matplotlib.pyplot as plt

    side = np.linspace(0, 1, 201)
    x, y = np.meshgrid(side, side)
    f = simplex_problem("bird")
    values = f(np.column_stack([x.ravel(), y.ravel(), 1 - x.ravel() - y.ravel()])).reshape(x.shape)
    inside = np.where(x + y <= 1 + 1e-9, values, np.nan)
    figure = plt.figure(figsize=(9.5, 8.0), layout="constrained")
    for row, (shown, title) in enumerate(((values, "original function"), (inside, "on the simplex"))):
        surface: Any = figure.add_subplot(2, 2, 2 * row + 1, projection="3d")
        surface.plot_surface(x, y, shown, cmap="cividis", vmin=values.min(), vmax=values.max(), rstride=4, cstride=4)
        surface.set(title=title, xlabel="$x_1$", ylabel="$x_2$", zlabel="f")
        surface.set_box_aspect(None, zoom=0.85)
        flat = figure.add_subplot(2, 2, 2 * row + 2, aspect="equal")
        image = flat.contourf(x, y, shown, 20, cmap="cividis", vmin=values.min(), vmax=values.max())
        flat.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
        figure.colorbar(image, ax=flat, label="f")
    return figure
