"""What the semigroup papers share: digits as sets of pixels, told apart by hard-margin machines, and figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from .. import Engine, Measures, datasets, divergences, ground, inspection, kernels
from ..measures import Measure, mean_measure
from ._paper import AnyArray, FloatArray, Numbers, Paper, PrintedTable, Run, above, flat, off, panels

#: A hard margin, for Gram matrices whose mean diagonal is 1: in the cells tried, C = 1e10 and tol = 1e-10 gave the same
#: errors. The exception is the unnormalised kernel with eta = 0.001 and sigma <= 0.2: its diagonal spreads over 10 to
#: 16 powers of ten, too much for double precision, and its errors of 35 to 90 % depend on C.
MACHINE = {"C": 1e8, "tol": 1e-7}
FOLDS = 3
#: Images of each digit among which the drawn ones are chosen.
AMONG = 100
#: The three forms of k-IGV that the tables report: the name of the row, and the parameters of the kernel.
IGV_FORMS: dict[str, dict[str, Any]] = {
    "k-IGV": {"normalized": False, "power": 1.0},
    "k-IGV normalised": {"normalized": True, "power": 1.0},
    "k-IGV normalised, root": {"normalized": True, "power": 0.5},
}


@dataclass(frozen=True)
class Sample:
    """Some black pixels of each image: as measures on [0, 1]^2, as 0/1 vectors, and the labels of the images."""

    measures: Measures
    pixels: FloatArray
    labels: AnyArray


def first_of_each(count: int, split: str = "train") -> datasets.Images:
    """Return the first ``count`` images of each digit of the MNIST training or test set, in their order there."""
    images = datasets.load_mnist(split=split)
    rows = [np.flatnonzero(images.target == digit)[:count] for digit in np.unique(images.target)]
    return images[np.sort(np.concatenate(rows))]


def sample(images: datasets.Images, threshold: float, points: Sequence[int], seed: int | Sequence[int]) -> Sample:
    """Draw distinct pixels brighter than ``threshold`` from each image, all where it has fewer.

    ``points`` is the range of their number, which is drawn uniformly for each image.
    """
    rng = np.random.default_rng(seed)
    black = (images.images > threshold).reshape(len(images), -1)
    counts = rng.integers(points[0], points[-1], size=(len(images), 1), endpoint=True)
    order = np.where(black, rng.random(black.shape), 1.0).argsort(axis=1).argsort(axis=1)
    drawn = black & (order < counts)
    measures = Measures.from_images(drawn.reshape(images.images.shape), spacing="unit")
    return Sample(measures, drawn.astype(np.float64), images.target)


def igv_grams(X: Measures, eta: float, sigma: float) -> dict[str, FloatArray]:
    """Return the Gram matrices of all forms of k-IGV; each determinant is computed once."""
    engine, point_kernel = Engine(), ground.Gaussian(sigma=sigma)
    forms = IGV_FORMS.items()
    return {name: np.asarray(kernels.IGV(eta, point_kernel, engine=engine, **form)(X)) for name, form in forms}


def one_against_rest(K: FloatArray, labels: AnyArray, rows: FloatArray, machine: Numbers) -> AnyArray:
    """Return the classes that machines fitted on K predict for other rows of the Gram matrix."""
    machines = OneVsRestClassifier(SVC(kernel="precomputed", **machine)).fit(K, labels)
    return np.asarray(machines.predict(rows))


def errors(
    K: FloatArray,
    labels: AnyArray,
    splits: int,
    machine: Numbers = MACHINE,
    swapped: bool = False,
    predict: Callable[..., AnyArray] = one_against_rest,
) -> list[float]:
    """Return the cross-validated error in percent for each of ``splits`` divisions into balanced folds.

    One machine per digit against the rest; the class is the one of the highest score. Unnormalised kernels have
    values far below the tolerance of the solver (1e-14 is common): K is divided by its mean diagonal, which changes
    nothing in a hard-margin machine but the unit of its multipliers. ``swapped``: one fold trains and two test.
    ``predict`` gets the training matrix, its labels, the test rows and the parameters of the ``machine``.
    """
    scaled = K / np.diagonal(K).mean()
    found = []
    for split in range(splits):
        wrong: list[bool] = []
        for parts in StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(labels, labels):
            train, test = parts[::-1] if swapped else parts
            K, rows = scaled[np.ix_(train, train)], scaled[np.ix_(test, train)]
            wrong += (predict(K, labels[train], rows, machine) != labels[test]).tolist()
        found.append(100.0 * sum(wrong) / len(wrong))
    return found


def protocol(run: Run, piece: str, *common: str) -> Numbers:
    """Return the sizes of an experiment, with what they leave to the settings of the paper."""
    return {**{key: run.settings[key] for key in ("threshold", *common)}, "machine": MACHINE, **run.sizes[piece]}


def against_points(
    run: Run, name: str, sizes: Numbers, grams: Callable[[Sample], dict[str, FloatArray]]
) -> dict[str, Any]:
    """Return mean and standard deviation (n - 1) of the error of several kernels, for each number of sampled points.

    ``sizes`` holds ``images`` of each digit, ``threshold``, numbers of ``points``, ``samplings`` for each number,
    ``splits`` for each sampling; and the parameters of the kernels, so that results kept with others are not taken.
    ``grams`` are the Gram matrices of a sample, by the names of the kernels.
    """
    images = first_of_each(sizes["images"])
    found: dict[str, Any] = {"mean": {}, "std": {}}

    def compute(points: int, sampling: int) -> dict[str, Any]:
        started = time.perf_counter()
        drawn = sample(images, sizes["threshold"], [points], (points, sampling))
        found = {row: errors(K, drawn.labels, sizes["splits"]) for row, K in grams(drawn).items()}
        shown = ", ".join(f"{row} {np.mean(values):.1f}" for row, values in found.items())
        seconds = time.perf_counter() - started
        run.say(f"{name}, {points} points, sampling {sampling + 1}/{sizes['samplings']}, {seconds:.0f} s: {shown} %")
        return found

    depends_on = {key: value for key, value in sizes.items() if key not in ("points", "samplings")}
    for points in sizes["points"]:
        runs = [
            run.keep(f"{name}-{points}-{sampling}", depends_on, partial(compute, points, sampling))
            for sampling in range(sizes["samplings"])
        ]
        for row in runs[0]:
            values = [value for errors_of_run in runs for value in errors_of_run[row]]
            for key, summarise in (("mean", _mean), ("std", _deviation)):
                found[key].setdefault(row, {})[str(points)] = summarise(values)
    return found


def _mean(values: Any) -> float:
    return round(float(np.mean(values)), 2)


def _deviation(values: Any) -> float | None:
    """Return the standard deviation (n - 1); one value has none."""
    return round(float(np.std(values, ddof=1)), 2) if len(values) > 1 else None


def surface(run: Run, name: str, sizes: Numbers) -> dict[str, Any]:
    """Return the error of each form of k-IGV over the grid of eta (rows) and sigma (columns), mean and deviation.

    ``sizes`` holds the number of ``images`` of each digit, ``threshold``, the range of ``points`` of an image,
    ``splits``, ``etas`` and ``sigmas``. All cells share one sample and one set of folds.
    """
    drawn = sample(first_of_each(sizes["images"]), sizes["threshold"], sizes["points"], 0)
    splits = sizes["splits"]

    def column(sigma: float) -> dict[str, list[list[float]]]:
        started = time.perf_counter()
        cells = [
            {row: errors(K, drawn.labels, splits) for row, K in igv_grams(drawn.measures, eta, sigma).items()}
            for eta in sizes["etas"]
        ]
        found = {row: [cell[row] for cell in cells] for row in cells[0]}
        shown = ", ".join(f"{row} {np.mean(values, axis=1).min():.1f}" for row, values in found.items())
        run.say(f"{name}, sigma {sigma:g}, {time.perf_counter() - started:.0f} s: lowest {shown} %")
        return found

    depends_on = {key: value for key, value in sizes.items() if key != "sigmas"}
    columns = [run.keep(f"{name}-{sigma:g}", depends_on, partial(column, sigma)) for sigma in sizes["sigmas"]]
    found: dict[str, Any] = {"etas": sizes["etas"], "sigmas": sizes["sigmas"], "mean": {}, "std": {}, "best": {}}
    for row in columns[0]:
        values = np.array([part[row] for part in columns])  # sigma, eta, split
        for key, summarise in (("mean", _mean), ("std", _deviation)):
            found[key][row] = [[summarise(cell) for cell in cells] for cells in values.transpose(1, 0, 2)]
        cells = found["mean"][row]
        i, j = np.unravel_index(np.argmin(cells), np.shape(cells))
        found["best"][row] = {"error": cells[i][j], "eta": sizes["etas"][i], "sigma": sizes["sigmas"][j]}
    return found


class DigitsPaper(Paper):
    """A paper whose numbers are errors on digits."""

    #: Files of the pieces whose number of files their sizes do not tell.
    files: ClassVar[Mapping[str, int]] = {}

    def ahead(self, run: Run, chosen: set[str]) -> list[str]:
        """Say what is there, and how long the determinants of the rest take, from the rate of a few."""
        return [
            _ahead(run, name, {**run.settings, **sizes}, self.files.get(name, 1))
            for name, sizes in run.sizes.items()
            if name in chosen and "splits" in sizes
        ]

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return in words the errors that differ from the recorded ones by more than the tolerance.

        The full protocol is held against the paper, and the normalised kernel, which the paper does not have, against
        the errors it must not exceed; the quick one against what was measured when it was written.
        """
        nested: Numbers = {}  # means for each number of points, the lowest of a surface
        for piece, numbers in summary.items():
            if "best" in numbers:
                nested[piece] = {kernel: best["error"] for kernel, best in numbers["best"].items()}
            elif "std" in numbers:
                nested[piece] = numbers["mean"]
        found, tolerance = flat(nested), self.expected["tolerance"]
        if size == "quick":
            return off(found, flat(self.expected["quick"]), tolerance["quick"])
        published = off(found, flat(self.expected["paper"]), tolerance["paper"])
        return published + above(found, flat(self.expected["limit"]))


def _ahead(run: Run, name: str, sizes: Numbers, files: int) -> str:
    """Describe a piece; its parts are samplings, columns of a surface, or ``files``."""
    points = sizes["points"]
    if "samplings" in sizes:
        parts, grams = (points["count"] if isinstance(points, dict) else len(points)) * sizes["samplings"], 1
        middle = (points["first"] + points["last"]) // 2 if isinstance(points, dict) else points[len(points) // 2]
    else:
        surface = name.startswith("figure")
        parts, grams, middle = (
            (len(sizes["sigmas"]), len(sizes["etas"]), points[0]) if surface else (files, 1, points[0])
        )
    there = len(list(run.folder.glob(f"{name}-*.json"))) + (run.folder / f"{name}.json").exists()
    seconds = seconds_of_gram(sizes, middle, divergences.GeneralizedVariance(0.01, ground.Gaussian(sigma=0.1)))
    minutes = max(parts - there, 0) * grams * seconds / 60
    return (
        f"{name}: {min(there, parts)} of {parts} parts are there; the determinants of k-IGV of the others take about "
        f"{minutes:.1f} minutes on free cores, other kernels and the machines come on top."
    )


def seconds_of_gram(sizes: Numbers, points: int, divergence: divergences.Divergence) -> float:
    """Return about how long the Gram matrix of a sample takes on free cores, from the rate of a few pairs."""
    drawn = sample(first_of_each(sizes["images"]), sizes["threshold"], [points], 0)
    return Engine(memo=False).estimate(drawn.measures, divergence=divergence).seconds


def error_table(title: str, found: dict[str, Any], paper: dict[str, Any], columns: Sequence[str]) -> PrintedTable:
    """Return errors with standard deviations, a row for each kernel, and the paper's below where it has them."""
    rows = []
    for name, mean in found["mean"].items():
        std = found["std"][name]
        rows.append([name, *(_with_deviation(mean[column], std[column]) for column in columns)])
        if name in paper:
            known = paper[name]
            rows.append(["  paper", *(f"{known[column]:.1f}" if column in known else "" for column in columns)])
    return PrintedTable(title, ["kernel", *columns], rows)


def _with_deviation(mean: float, std: float | None) -> str:
    return f"{mean:.1f}" + ("" if std is None else f" ± {std:.1f}")


def columns(found: dict[str, Any]) -> list[str]:
    """Return the numbers of sampled points of :func:`against_points`."""
    return list(next(iter(found["mean"].values())))


def surface_tables(title: str, found: dict[str, Any]) -> list[PrintedTable]:
    """Return the lowest error over the grid for each kernel, the cells that both papers name, and the deviations."""
    best = [
        [name, f"{best['error']:.1f}", f"{best['eta']:g}", f"{best['sigma']:g}"] for name, best in found["best"].items()
    ]
    best.append(["paper", "19.5", "0.008 to 0.02", "0.12"])
    etas, sigmas = found["etas"], found["sigmas"]
    named = [(eta, VALLEY[1]) for eta in VALLEY[0] if eta in etas and VALLEY[1] in sigmas]
    cells, spread = [], []
    for name, mean in found["mean"].items():
        std = found["std"][name]
        places = [(etas.index(eta), sigmas.index(sigma)) for eta, sigma in named] + [(len(etas) - 1, len(sigmas) - 1)]
        cells.append([name, *(_with_deviation(mean[i][j], std[i][j]) for i, j in places)])
        spread.append([name, *_greatest_deviations(np.array(mean), np.array(std, dtype=np.float64))])
    header = [f"eta {eta:g}, sigma {sigma:g}" for eta, sigma in named]
    return [
        PrintedTable(f"{title}: lowest error over the grid", ["kernel", "error, %", "eta", "sigma"], best),
        PrintedTable(
            f"{title}: cells that the papers name, error, %",
            ["kernel", *header, f"corner (eta {etas[-1]:g}, sigma {sigmas[-1]:g})"],
            [*cells, ["paper", *(["19.5"] * len(named)), "32.5"]],
        ),
        PrintedTable(
            f"{title}: standard deviation (n - 1) over divisions, at most",
            ["kernel", "where the error is below 22 %", "everywhere"],
            [*spread, ["paper", "1", "2.3"]],
        ),
    ]


#: The cells with the lowest errors in both papers: values of eta, and sigma.
VALLEY = (0.008, 0.01, 0.015, 0.02), 0.12


def _greatest_deviations(mean: FloatArray, std: FloatArray) -> list[str]:
    """Return the greatest standard deviation where errors are below 22 %, and everywhere, with its error."""
    shown = []
    for cells in (mean < 22.0, mean < np.inf):
        among = np.where(cells & ~np.isnan(std), std, -1.0)
        i, j = np.unravel_index(np.argmax(among), among.shape)
        shown.append("" if among[i, j] < 0 else f"{std[i, j]:.2f}, of {mean[i, j]:.1f} %")
    return shown


def of_digits(digit: int, count: int, threshold: float) -> Measures:
    """Return the black pixels, all of them, of the first images of a digit, on [0, 1]^2."""
    images = first_of_each(count)
    return images[images.target == digit].measures(threshold=threshold, binary=True, spacing="unit")


def pair_and_mean(digits: tuple[int, int], variances: dict[str, list[float]], threshold: float) -> dict[str, Measure]:
    """Return an image of each digit and the mean of both, by name.

    The papers do not say which images they show. Where they print the two principal variances of a digit, the image
    with the closest ones (largest ratio) of the first hundred is taken; otherwise the first image.
    """
    first, second = (_closest(of_digits(digit, AMONG, threshold), variances.get(str(digit))) for digit in digits)
    return {str(digits[0]): first, str(digits[1]): second, "mean": mean_measure(first, second)}


def mean_and_std(errors: list[float]) -> str:
    """Return the errors of several splits as a cell of a table."""
    return f"{np.mean(errors):.1f} ± {np.std(errors, ddof=1):.1f}" if len(errors) > 1 else f"{errors[0]:.1f}"


def titles(shown: dict[str, Measure]) -> list[str]:
    """Return titles of the panels of a pair and its mean."""
    return ["their mean" if name == "mean" else f"digit {name}" for name in shown]


def _closest(X: Measures, wanted: list[float] | None) -> Measure:
    if wanted is None:
        return X[0]
    ratios = [np.log(inspection.weighted_pca(measure).variances / np.array(wanted)) for measure in X]
    return X[int(np.argmin(np.abs(ratios).max(axis=1)))]


#: Errors above this multiple of the lowest one share the darkest colour, so that the valley keeps its shades.
CLIP = 2.5


def draw_surface(found: dict[str, Any]) -> Any:
    """Draw the error over eta (rows) and sigma (columns), a panel for each kernel; the lowest cell is framed."""
    from matplotlib.patches import Rectangle

    names = list(found["mean"])
    cells = np.array([found["mean"][name] for name in names])
    low = cells.min()
    high = min(cells.max(), CLIP * low)
    figure, axes = panels(1, len(names), (4.4 * len(names) + 1.0, 5.4), sharey=True)
    for axis, name, values in zip(axes[0], names, cells, strict=True):
        image = axis.imshow(values, cmap="cividis_r", vmin=low, vmax=high, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if value > 0.5 * (low + high) else "black"
            axis.text(column, row, f"{value:.1f}", ha="center", va="center", size=7, color=colour)
        row, column = np.unravel_index(np.argmin(values), values.shape)
        axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="tab:red", linewidth=2.0))
        axis.set(title=name, xlabel=r"width $\sigma$ of the point kernel")
        axis.set_xticks(range(len(found["sigmas"])), [f"{sigma:g}" for sigma in found["sigmas"]])
        axis.set_yticks(range(len(found["etas"])), [f"{eta:g}" for eta in found["etas"]])
    axes[0, 0].set_ylabel(r"regularisation $\eta$")
    extend = "max" if high < cells.max() else "neither"
    figure.colorbar(image, ax=axes, label="test error, %", shrink=0.9, extend=extend)
    return figure


def draw_curves(found: dict[str, Any], marked: float | None = None, label: str = "") -> Any:
    """Draw errors against the number of sampled points, with standard deviations; ``marked`` is a level to mark."""
    from matplotlib.ticker import MaxNLocator

    figure, ((axis,),) = panels(1, 1, (7.2, 4.4))
    for (name, errors), line in zip(found["mean"].items(), ("-", "--", "-.", ":"), strict=False):
        points = np.array([int(count) for count in errors])
        means = np.array(list(errors.values()))
        stds = np.array(list(found["std"][name].values()), dtype=np.float64)
        (drawn,) = axis.plot(points, means, line, label=name)
        axis.fill_between(points, means - stds, means + stds, color=drawn.get_color(), alpha=0.15, lw=0)
    if marked is not None:
        axis.axhline(marked, color="0.4", lw=0.8)
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axis.annotate(label, (1.0, marked), xytext=(-6, -8), ha="right", va="top", color="0.4", **place)
    axis.set(xlabel="sampled points per image", ylabel="test error, %", ylim=(0, None))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return figure
