"""Figures 1 to 5 and A1, A2: distances on the segment, and the test problems."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import Measures, divergences, ground, pairwise
from .._paper import FloatArray, Result, Run
from .data import LINE, NAMES, test_inputs
from .problems import simplex_problem

#: Colours that everybody can tell apart.
GREY, RED, BLUE = "#7F7F7F", "#D55E00", "#0072B2"
#: Values of a_1 that are drawn.
DRAWN = 1001
#: Costs of the experiments with the "Euclidean ground metric"; they are d^p already.
FAR, FARTHER = 2.0, 4.0


def figure1(run: Run) -> Result:
    """Compare distances from (0.5, 0.5), binary cost, p = 1 and 2; return the largest ones."""
    return _distances(0.5, [(1, 1.0), (2, 1.0)])


def figure2(run: Run) -> Result:
    """Do the same with a cost of 2."""
    return _distances(0.5, [(1, FAR), (2, FAR)])


def figure3(run: Run) -> Result:
    """Compare distances from (0.1, 0.9), p = 2, costs 1 and 2."""
    return _distances(0.1, [(2, 1.0), (2, FAR)])


def figure4(run: Run) -> Result:
    """Show problem 02 over the segment; return its least value."""
    problem = simplex_problem("problem02")
    return {"minimum": problem.minimum, "argmin": list(problem.argmin)}, _draw_function


def figure5(run: Run) -> Result:
    """Show problem 02 against distances from (0, 1); return the largest distances."""
    A = segment()
    euclidean = _euclidean(A, 0.0)
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
    return found | {"printed problem13 differs by": _printed13()}, _draw_problems


def figureA2(run: Run) -> Result:
    """Show Bird on the square and on the triangle; return its range there, and that of the printed formula."""
    A = test_inputs("bird")
    computed, printed = simplex_problem("bird")(A), _printed_bird(A)
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


def _euclidean(A: FloatArray, reference: float) -> FloatArray:
    return np.asarray(np.linalg.norm(A - [reference, 1 - reference], axis=1))


def _wasserstein(A: FloatArray, reference: float, p: int, cost: float) -> FloatArray:
    """Return W_p from (reference, 1 - reference), the cost of moving a unit being ``cost`` whatever p."""
    X, Y = (Measures.from_histograms(rows, [0.0, 1.0]) for rows in (A, [[reference, 1 - reference]]))
    binary = divergences.Wasserstein(p=p, cost=ground.Binary(cost ** (1 / p)))
    return np.asarray(pairwise(X, Y, divergence=binary))[:, 0]


def _distances(reference: float, panels: list[tuple[int, float]]) -> Result:
    A = segment()
    euclidean = _euclidean(A, reference)
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


def panels(rows: int, columns: int, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes (rows, columns)."""
    import matplotlib.pyplot as plt

    size = (4.4 * columns, 3.4 * rows)
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)


def _printed13() -> float:
    """Return how far problem 13 is from the formula in the paper, 0.889 for 0.989, at most."""
    A = segment()
    x = 0.889 * A[:, 0] + 0.001
    printed = -np.cbrt(x**2) - np.cbrt(1 - x**2)
    return float(np.abs(simplex_problem("problem13")(A) - printed).max())


def _printed_bird(A: FloatArray) -> FloatArray:
    """Return the formula in the paper: 1 - sin^2 and 1 - cos^2 in the exponents."""
    x, y = 4 * np.pi * A[:, 0] - 2 * np.pi, 4 * np.pi * A[:, 1] - 2 * np.pi
    waves = np.cos(y) * np.exp(1 - np.sin(x) ** 2) + np.sin(x) * np.exp(1 - np.cos(y) ** 2)
    return np.asarray((x - y) ** 2 + waves)
