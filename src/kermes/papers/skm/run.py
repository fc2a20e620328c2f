"""Table 1 and Figures 2 to 7 of *Semigroup kernels on measures*; Figure 1 explains a notion."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import Measures, ground, inspection, kernels, plot
from ...measures import Measure
from .. import _digits, _figures
from .._paper import AnyArray, FloatArray, Numbers, PrintedTable, Result, Run, by_name
from . import claims
from .grams import all_grams, igv_and_rbf

#: Numbers of points whose errors are printed of Figure 7, or the nearest measured ones; all are in the figure.
SHOWN = (10, 20, 35, 60, 100, 200)


def table1(run: Run) -> Result:
    """Measure all kernels for each number of sampled points."""
    sizes = _digits.protocol(run, "table1", "eta", "sigma", "polynomial")
    sizes |= {"rbf_sigmas": run.settings["rbf_sigmas"]["table1"]}
    return _digits.against_points(run, "table1", sizes, partial(all_grams, sizes)), None


def figure2(run: Run) -> Result:
    """Show the principal components of a one, a zero and their mean; return variances and kernel value."""
    shown = _shown(run, (1, 0))
    variances = {name: inspection.weighted_pca(measure).variances.tolist() for name, measure in shown.items()}
    value = float(_linear_gram(run, [shown["1"], shown["0"]])[0, 1])
    return {"variances": variances, "kernel": value}, partial(_draw_components, shown, value)


def figure3(run: Run) -> Result:
    """Show the Gram matrix of the linear kernel on some zeros, ones and twos; return its mean within and between."""
    digits, count = run.settings["figure3"]["digits"], run.settings["figure3"]["images"]
    parts = [_digits.of_digits(digit, count, run.settings["threshold"]) for digit in digits]
    K = _linear_gram(run, [measure for part in parts for measure in part])
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


def figure6(run: Run) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = _digits.surface(run, "figure6", _digits.protocol(run, "figure6", "etas", "sigmas"))
    return found, partial(_figures.surface, found)


def figure7(run: Run) -> Result:
    """Measure k-IGV and an RBF kernel for many numbers of sampled points."""
    sizes = _digits.protocol(run, "figure7", "eta", "sigma")
    first, last, count = (sizes["points"][key] for key in ("first", "last", "count"))
    sizes |= {
        "points": np.linspace(first, last, count).round().astype(int).tolist(),
        "rbf_sigmas": run.settings["rbf_sigmas"]["figure7"],
    }
    found = _digits.against_points(run, "figure7", sizes, partial(igv_and_rbf, sizes))
    return found, partial(_figures.curves, found, 17.5, "RBF in the paper at 200 points")


def _linear_gram(run: Run, measures: list[Measure]) -> FloatArray:
    X = Measures.from_samples([measure.points for measure in measures])
    return np.asarray(kernels.IGV(run.settings["linear_eta"], ground.Linear())(X))


def _shown(run: Run, digits: tuple[int, int]) -> dict[str, Measure]:
    return _digits.pair_and_mean(digits, run.published["figure2"]["variances"], run.settings["threshold"])


def _eigenfunctions(run: Run, digits: tuple[int, int]) -> Result:
    shown = _shown(run, digits)
    point_kernel = ground.Gaussian(sigma=run.settings["sigma"])
    count, names = run.settings["eigenfunctions"], _digits.titles(shown)
    eigenvalues = {
        name: inspection.covariance_spectrum(measure, point_kernel, count).eigenvalues.tolist()
        for name, measure in shown.items()
    }
    return eigenvalues, partial(plot.eigenfunctions, list(shown.values()), point_kernel, count, titles=names)


def _draw_components(shown: dict[str, Measure], kernel: float) -> Any:
    figure = plot.weighted_pca(list(shown.values()), _digits.titles(shown))
    figure.suptitle(f"normalised linear IGV kernel of both digits: {kernel:.3f}", fontsize=10)
    return figure


def _draw_gram(K: FloatArray, labels: AnyArray) -> Any:
    axes = plot.gram(K, labels)
    axes.set(title="normalised linear IGV kernel", xlabel="digit", ylabel="digit")
    return axes.figure


class _SemigroupKernels(_digits.DigitsPaper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return Table 1 and the numbers of the figures, with the paper's."""
        paper = self.expected["paper"]
        made = []
        if "table1" in summary:
            found = summary["table1"]
            known = paper["table1"] if size == "full" else {}  # the quick size has half the images
            title = "Table 1: error by sampled points, %"
            made.append(_digits.error_table(title, found, known, _digits.columns(found)))
        if "figure2" in summary:
            found = summary["figure2"]
            rows = [
                [name, *(f"{v:.4f}" for v in [*found["variances"][name], *known])]
                for name, known in paper["figure2"]["variances"].items()
            ]
            rows.append(["kernel value", f"{found['kernel']:.3f}", "", f"{paper['figure2']['kernel']:.3f}", ""])
            made.append(PrintedTable("Figure 2: variances", ["measure", "first", "second", "paper", "paper"], rows))
        if "figure3" in summary:
            rows = [[pair, f"{value:.2f}"] for pair, value in summary["figure3"]["mean"].items()]
            made.append(PrintedTable("Figure 3: mean kernel value", ["digits", "linear IGV"], rows))
        if "figure6" in summary:
            made.append(_digits.best_table("Figure 6", summary["figure6"]))
        if "figure7" in summary:
            found = summary["figure7"]
            nearest = [min(_digits.columns(found), key=lambda column: abs(int(column) - wanted)) for wanted in SHOWN]
            title = "Figure 7: error by sampled points, %"
            made.append(_digits.error_table(title, found, paper["figure7"], list(dict.fromkeys(nearest))))
        return made + claims.tables(summary, paper["table1"] if size == "full" else {})  # quick: fewer images


PAPER = _SemigroupKernels(
    __package__,
    by_name(table1, figure2, figure3, figure4, figure5, figure6, figure7),
    by_name(claims.discarded, claims.explanations, claims.times),
)
