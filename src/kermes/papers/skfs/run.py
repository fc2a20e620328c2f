"""Figures 1 and 2 of *Semigroup kernels on finite sets*, and its comparison with an RBF kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import ground, inspection, plot
from ...measures import Measure
from .. import _digits
from .._paper import FloatArray, Numbers, PrintedTable, Result, Run, by_name, panels


def figure1(run: Run) -> Result:
    """Show the first eigenfunction with the linear and the Gaussian point kernel; return the leading eigenvalues.

    And the kernel value of both digits that the text prints: the ratio of generalised variances, linear point kernel.
    """
    shown = _digits.pair_and_mean((1, 0), run.published["figure1"]["linear"], run.settings["threshold"])
    point_kernels = {"linear": ground.Linear(), "gaussian": ground.Gaussian(sigma=run.settings["figure1"]["sigma"])}
    eigenvalues = {
        name: {
            which: inspection.covariance_spectrum(measure, point_kernel, 2).eigenvalues.tolist()
            for which, measure in shown.items()
        }
        for name, point_kernel in point_kernels.items()
    }
    variances = {which: float(np.prod(values)) for which, values in eigenvalues["linear"].items()}
    value = np.sqrt(variances["1"] * variances["0"]) / variances["mean"]
    return {**eigenvalues, "kernel": float(value)}, partial(_draw, shown, point_kernels)


def figure2a(run: Run) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = _digits.surface(run, "figure2a", _digits.protocol(run, "figure2a", "images", "etas", "sigmas"))
    return found, partial(_digits.draw_surface, found)


def figure2b(run: Run) -> Result:
    """Measure k-IGV for each number of sampled points."""
    sizes = _digits.protocol(run, "figure2b", "images")
    found = _digits.against_points(
        run, "figure2b", sizes, lambda drawn: _digits.igv_grams(drawn.measures, sizes["eta"], sizes["sigma"])
    )
    return found, partial(_digits.draw_curves, found)


def rbf(run: Run) -> Result:
    """Measure the RBF kernel on binary images, as printed and with the square of the norm."""
    sizes = _digits.protocol(run, "rbf", "images", "sigmas")
    return _digits.against_points(run, "rbf", sizes, partial(_rbf_grams, sizes)), None


def soft_margin(run: Run) -> Result:
    """Measure the normalised k-IGV kernel for several values of C; its diagonal is 1."""
    sizes = _digits.protocol(run, "soft_margin", "images")

    def compute() -> dict[str, list[float]]:
        drawn = _digits.sample(_digits.first_of_each(sizes["images"]), sizes["threshold"], sizes["points"], 0)
        K = _digits.igv_grams(drawn.measures, sizes["eta"], sizes["sigma"])["k-IGV normalised"]
        tol = _digits.MACHINE["tol"]
        return {f"{C:g}": _digits.errors(K, drawn.labels, sizes["splits"], {"C": C, "tol": tol}) for C in sizes["Cs"]}

    found = run.keep("soft_margin", sizes, compute)
    return {"errors": found}, None


def gram_matrices(run: Run) -> Result:
    """Return the least eigenvalue and the median and greatest value off the diagonal, normalised kernel and its root.

    Of the cells of Figure 2a, for each sigma at the least and the greatest eta. Diagonals are 1.
    """
    sizes = _digits.protocol(run, "gram_matrices", "images", "etas", "sigmas")

    def compute() -> Numbers:
        X = _digits.sample(_digits.first_of_each(sizes["images"]), sizes["threshold"], sizes["points"], 0).measures
        found: Numbers = {}
        for sigma in sizes["sigmas"]:
            for eta in (sizes["etas"][0], sizes["etas"][-1]):
                for name, K in list(_digits.igv_grams(X, eta, sigma).items())[1:]:
                    found.setdefault(name, {})[f"{sigma:g}, {eta:g}"] = _of_gram(K)
        run.say("gram_matrices: done")
        return found

    return run.keep("gram_matrices", sizes, compute), None


def _of_gram(K: FloatArray) -> dict[str, float]:
    off = K[~np.eye(len(K), dtype=bool)]
    least = np.linalg.eigvalsh(K)[0]
    return {"least eigenvalue": float(least), "median": float(np.median(off)), "greatest": float(off.max())}


def _rbf_grams(sizes: Numbers, drawn: _digits.Sample) -> dict[str, FloatArray]:
    counts = drawn.pixels.sum(axis=1)
    squared = counts[:, None] + counts[None] - 2.0 * drawn.pixels @ drawn.pixels.T  # pixels that differ: exact integers
    return {
        f"{name}, sigma {sigma:g}": np.exp(-distance / (sizes["points"][0] * 2.0 * sigma**2))
        for name, distance in {"RBF": np.sqrt(squared), "RBF squared": squared}.items()
        for sigma in sizes["sigmas"]
    }


def _draw(shown: dict[str, Measure], point_kernels: dict[str, ground.PointKernel]) -> Any:
    """One row for each point kernel; the functions of each have a colour scale of their own."""
    figure, axes = panels(2, 3, (8.2, 5.4))
    for row, (name, point_kernel) in zip(axes, point_kernels.items(), strict=True):
        plot.eigenfunctions(list(shown.values()), point_kernel, 1, _digits.titles(shown), axes=row)
        row[0].set_ylabel(f"{name} point kernel")
    return figure


class _FiniteSets(_digits.DigitsPaper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return the numbers of the figures and of the comparison in the text, with the paper's."""
        paper = self.expected["paper"]
        made = []
        if "figure1" in summary:
            rows = [
                [point_kernel, name, _listed(summary["figure1"][point_kernel][name][: len(known)]), _listed(known)]
                for point_kernel, measures in paper["figure1"].items()
                for name, known in measures.items()
            ]
            rows.append(["linear", "kernel value", f"{summary['figure1']['kernel']:.3f}", f"{paper['kernel']:.3f}"])
            made.append(PrintedTable("Figure 1: eigenvalues", ["point kernel", "measure", "ours", "paper"], rows))
        if "figure2a" in summary:
            made += _digits.surface_tables("Figure 2a", summary["figure2a"])
        if "figure2b" in summary:
            found = summary["figure2b"]
            shown = [count for count in _digits.columns(found) if int(count) % 5 == 0]
            made.append(_digits.error_table("Figure 2b: error by sampled points, %", found, {}, shown))
        if "rbf" in summary:
            title = "RBF on pixels: error by sampled points, %"
            made.append(_digits.error_table(title, summary["rbf"], paper["rbf"], ["30"]))
        if "soft_margin" in summary:
            found = summary["soft_margin"]["errors"]
            rows = [["k-IGV normalised", *map(_digits.mean_and_std, found.values())]]
            made.append(PrintedTable("Error by C, %", ["kernel", *found], rows))
        if "gram_matrices" in summary:
            rows = [
                [name, *cell.split(", "), *(f"{found[key]:.2g}" for key in ("least eigenvalue", "median", "greatest"))]
                for name, cells in summary["gram_matrices"].items()
                for cell, found in cells.items()
            ]
            header = ["kernel", "sigma", "eta", "least eigenvalue", "median off the diagonal", "greatest"]
            made.append(PrintedTable("Gram matrices of Figure 2a", header, rows))
        return made


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


PAPER = _FiniteSets(__package__, by_name(figure1, figure2a, figure2b, rbf), by_name(soft_margin, gram_matrices))
