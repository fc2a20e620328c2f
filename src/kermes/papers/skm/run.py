"""Table 1 and Figures 2 to 7 of *Semigroup kernels on measures*, its running times, k-B with other parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ... import Engine, Measures, divergences, ground, inspection, kernels, plot
from ...measures import Measure
from .. import _digits
from .._paper import AnyArray, FloatArray, Numbers, PrintedTable, Result, Run, by_name
from .claims import READINGS, discarded, explanations
from .grams import all_grams, igv_and_rbf, polynomial

#: Numbers of points whose errors are printed of Figure 7, or the nearest measured ones; all are in the figure.
SHOWN = (10, 20, 35, 60, 100, 200)
#: Seconds below which times have no ratio.
SHORTEST = 0.5


def other_parameters(run: Run) -> Result:
    """Measure k-B over a few values of eta and sigma: the paper found those of k-IGV best."""
    sizes = _depends_on(run, "other_parameters")

    def compute() -> Numbers:
        drawn = _digits.sample(_digits.first_of_each(sizes["images"]), sizes["threshold"], sizes["points"], 0)
        found: Numbers = {}
        for sigma in sizes["sigmas"]:
            for eta in sizes["etas"]:
                K = np.asarray(kernels.Bhattacharyya(ground.Gaussian(sigma=sigma), eta)(drawn.measures))
                found.setdefault(f"{sigma:g}", {})[f"{eta:g}"] = _digits.errors(K, drawn.labels, sizes["splits"])
        run.say("other_parameters: done")
        return found

    return {"errors": run.keep("other_parameters", sizes, compute)}, None


#: The parts of the times: kernels on measures, which take long, and kernels on vectors.
TIMES = ("times", "times-vectors")


def times(run: Run) -> Result:
    """Time a Gram matrix of each kernel at each number of points of Table 1, in processor seconds, once compiled."""
    found: Numbers = {}
    for name in TIMES:
        found |= run.keep(name, _depends_on(run, name), partial(_times, run, name))
    return {"seconds": found}, None


def _times(run: Run, name: str) -> Numbers:
    """Time the kernels on measures, or those on vectors."""
    sizes, timed = run.sizes["table1"], _timed(run.settings)[name]
    images = _digits.first_of_each(sizes["images"])
    found: Numbers = {kernel: {} for kernel in timed}
    for points in sizes["points"]:
        sample = _digits.sample(images, run.settings["threshold"], [points], 0)
        few = _digits.Sample(sample.measures[:2], sample.pixels[:2], sample.labels[:2])
        for kernel, compute in timed.items():
            compute(sample if name == TIMES[1] else few)  # compiles
            started = time.process_time()
            compute(sample)
            found[kernel][str(points)] = float(f"{time.process_time() - started:.3g}")
    run.say(f"{name}: done")
    return found


def _depends_on(run: Run, name: str) -> Numbers:
    """Return the sizes of the parts that are one file, and of which a full run says how long they take."""
    if name == "other_parameters":
        return _digits.protocol(run, name)
    more = ("polynomial",) if name == "times-vectors" else ("eta", "sigma")
    return _digits.protocol(run, "table1", *more) | {"kernels": list(_timed(run.settings)[name])}


def _matrices_of_times(run: Run) -> list[tuple[Numbers, int, divergences.Divergence]]:
    """Return sizes, points and divergence of the matrices that take longest."""
    sizes, smoothing, eta = _depends_on(run, "times"), ground.Gaussian(sigma=run.settings["sigma"]), run.settings["eta"]
    longest = divergences.GeneralizedVariance(eta, smoothing), divergences.Bhattacharyya(smoothing, eta)
    return [(sizes, points, divergence) for points in sizes["points"] for divergence in longest]


def _matrices_of_other_parameters(run: Run) -> list[tuple[Numbers, int, divergences.Divergence]]:
    sizes = _depends_on(run, "other_parameters")
    divergence = divergences.Bhattacharyya(ground.Gaussian(sigma=run.settings["sigma"]), run.settings["eta"])
    return [(sizes, sizes["points"][0], divergence)] * (len(sizes["etas"]) * len(sizes["sigmas"]))


def _timed(settings: Numbers) -> dict[str, dict[str, Callable[[_digits.Sample], FloatArray]]]:
    """Return the kernels on measures and those on vectors by the names of their parts."""
    smoothing = ground.Gaussian(sigma=settings["sigma"])
    engine = Engine(memo=False)
    igv = kernels.IGV(settings["eta"], smoothing, normalized=False, engine=engine)
    bhattacharyya = kernels.Bhattacharyya(smoothing, settings["eta"], engine=engine)
    rbf = kernels.Exponential(divergences.Euclidean(), length_scale=0.1, engine=engine)
    return {
        "times": {"k-IGV": partial(_on_measures, igv), "k-B": partial(_on_measures, bhattacharyya)},
        "times-vectors": {
            "RBF, sigma 0.1": partial(_on_measures, rbf),
            "polynomial": partial(polynomial, settings["polynomial"]),
        },
    }


def _on_measures(kernel: Any, drawn: _digits.Sample) -> FloatArray:
    return np.asarray(kernel(drawn.measures))


def tables(summary: dict[str, Numbers], paper: Numbers, minutes: Numbers) -> list[PrintedTable]:
    """Return the tables of these pieces; a column of the paper's Table 1 stands below the readings."""
    made = []
    if "discarded" in summary:
        rows = [
            [name, _digits.mean_and_std(found["errors"]), f"{found['not converged']:.0f} %"]
            for name, found in summary["discarded"]["rows"].items()
        ]
        made.append(PrintedTable("Kernels that the paper left out", ["kernel", "error, %", "not converged"], rows))
    if "explanations" in summary:
        found, column = summary["explanations"]["rows"], summary["explanations"]["points"]
        header = list(next(iter(found.values())))
        rows = [[name, *(_digits.mean_and_std(errors[row]) for row in header)] for name, errors in found.items()]
        if paper:
            rows.append(
                ["paper", *(f"{paper[row][column]:.1f}" if column in paper.get(row, {}) else "" for row in header)]
            )
        made.append(PrintedTable(f"Table 1, {column} points, read otherwise: error, %", ["protocol", *header], rows))
    if "times" in summary:
        found = summary["times"]["seconds"]
        rows = []
        for name, values in found.items():
            rows.append([name, *(f"{seconds:.2g}" for seconds in values.values()), _growth(values)])
            if minutes:
                known = minutes[name]
                rows.append(["  paper, minutes", *(f"{known[points]:g}" for points in values), _growth(known)])
        columns = [f"{points} points" for points in next(iter(found.values()))]
        title = "A Gram matrix, processor seconds; the paper's minutes are those of a column of its Table 1"
        made.append(PrintedTable(title, ["kernel", *columns, "last / first"], rows))
    if "other_parameters" in summary:
        found = summary["other_parameters"]["errors"]
        rows = [[sigma, *map(_digits.mean_and_std, row.values())] for sigma, row in found.items()]
        header = ["sigma", *(f"eta {eta}" for eta in next(iter(found.values())))]
        made.append(PrintedTable("k-B with other parameters: error, %", header, rows))
    return made


def _growth(values: dict[str, float]) -> str:
    """Return the ratio of the last to the first value; none if the first is too small to be measured."""
    first, *_, last = values.values()
    return f"{last / first:.1f}" if first > SHORTEST else ""


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
    pairs = {f"{a} and {b}": np.isin(labels, (a, b)) for a in digits for b in digits if a < b}
    wrong = {name: _wrong_neighbours(K[np.ix_(kept, kept)], labels[kept]) for name, kept in pairs.items()}
    return {"mean": means, "wrong neighbours": wrong}, partial(_draw_gram, K, labels)


def _wrong_neighbours(K: FloatArray, labels: AnyArray) -> float:
    """Return the share of images, in percent, whose most similar other image is another digit."""
    others = K - 2.0 * np.eye(len(K))  # values are at most 1
    return 100.0 * float((labels[others.argmax(axis=1)] != labels).mean())


def figure6(run: Run) -> Result:
    """Measure k-IGV over the grid of eta and sigma."""
    found = _digits.surface(run, "figure6", _digits.protocol(run, "figure6", "etas", "sigmas"))
    return found, partial(_digits.draw_surface, found)


def figure7(run: Run) -> Result:
    """Measure k-IGV and an RBF kernel for many numbers of sampled points."""
    sizes = _digits.protocol(run, "figure7", "eta", "sigma")
    first, last, count = (sizes["points"][key] for key in ("first", "last", "count"))
    sizes |= {
        "points": np.linspace(first, last, count).round().astype(int).tolist(),
        "rbf_sigmas": run.settings["rbf_sigmas"]["figure7"],
    }
    found = _digits.against_points(run, "figure7", sizes, partial(igv_and_rbf, sizes))
    return found, partial(_digits.draw_curves, found, 17.5, "RBF in the paper at 200 points")


def _linear_gram(run: Run, measures: list[Measure]) -> FloatArray:
    X = Measures.from_samples([measure.points for measure in measures])
    return np.asarray(kernels.IGV(run.settings["linear_eta"], ground.Linear())(X))


def _shown(run: Run, digits: tuple[int, int]) -> dict[str, Measure]:
    return _digits.pair_and_mean(digits, run.published["figure2"]["variances"], run.settings["threshold"])


def _eigenfunctions(run: Run, digits: tuple[int, int]) -> Result:
    """Show the first eigenfunctions of two digits and their mean; return the eigenvalues."""
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
    files: ClassVar[Mapping[str, int]] = {"explanations": len(READINGS)}

    def ahead(self, run: Run, chosen: set[str]) -> list[str]:
        """Say it also of the two pieces that have many matrices in one file."""
        alone = {"times": _matrices_of_times, "other_parameters": _matrices_of_other_parameters}
        said = super().ahead(run, chosen - alone.keys())
        for name, matrices in alone.items():
            if name not in chosen:
                continue
            parts = TIMES if name == "times" else (name,)
            there = [run.has(part, _depends_on(run, part)) for part in parts]
            seconds = 0.0 if there[0] else sum(_digits.seconds_of_gram(*one) for one in matrices(run))
            said.append(
                f"{name}: {sum(there)} of {len(there)} parts are there; the others take about {seconds / 60:.1f} "
                "minutes on free cores."
            )
        return said

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
            wrong = {pair: f"{share:.1f}" for pair, share in summary["figure3"]["wrong neighbours"].items()}
            rows = [[pair, f"{value:.2f}", wrong.get(pair, "")] for pair, value in summary["figure3"]["mean"].items()]
            header = ["digits", "mean kernel value", "nearest neighbour is the other digit, %"]
            made.append(PrintedTable("Figure 3: normalised linear IGV kernel", header, rows))
        if "figure6" in summary:
            made += _digits.surface_tables("Figure 6", summary["figure6"])
        if "figure7" in summary:
            found = summary["figure7"]
            nearest = [min(_digits.columns(found), key=lambda column: abs(int(column) - wanted)) for wanted in SHOWN]
            title = "Figure 7: error by sampled points, %"
            made.append(_digits.error_table(title, found, paper["figure7"], list(dict.fromkeys(nearest))))
        full = size == "full"  # quick: fewer images
        return made + tables(summary, paper["table1"] if full else {}, paper["times"] if full else {})


PAPER = _SemigroupKernels(
    __package__,
    by_name(table1, figure2, figure3)
    | {name: partial(_eigenfunctions, digits=digits) for name, digits in (("figure4", (1, 0)), ("figure5", (2, 0)))}
    | by_name(figure6, figure7),
    by_name(discarded, explanations, times, other_parameters),
)
