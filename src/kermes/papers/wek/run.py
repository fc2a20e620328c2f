"""Table 1 and Figures 1 to 3 of *Wasserstein exponential kernels*."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ... import Engine, divergences
from ...divergences import Divergence
from .._paper import Drawing, FloatArray, Numbers, Paper, PrintedTable, Result, Run, flat, off
from . import figures
from .data import Split, draw
from .distances import Distances, LookUp, by_number, remove_distances
from .early import EarlySinkhorn
from .methods import Methods


class _ExponentialKernels(Paper):
    def tables(self, size: str, summary: dict[str, Numbers]) -> list[PrintedTable]:
        """Return Table 1; the paper's numbers stand beside ours where the protocol is the same."""
        full = size == "full"
        made = [figures.spectra_table(summary["spectra"])] if "spectra" in summary else []
        errors = {name: found for name, found in summary.items() if "mean" in found}
        if not errors:
            return made
        rows = {method: [method] for method in max((found["mean"] for found in errors.values()), key=len)}
        header = ["method"]
        for name, found in errors.items():
            beside = full and name in self.expected["paper"]
            printed = "paper" if name in COMPARABLE else "paper, other classes"
            header += [f"{name} ({_runs(found)})", "best"] + [printed, "paper's best"] * beside
            for method, cells in rows.items():
                cells += _cells(found, method)
                if beside:
                    cells += _cells(self.published(name), method)
        table = PrintedTable("Table 1: test error, %", header, list(rows.values()))
        return [table, *(_by_size(name, found) for name, found in errors.items() if "smaller" in found), *made]

    def ahead(self, run: Run, chosen: set[str]) -> list[str]:
        """Say which repetitions are there, and how long the distances of the others take, from the rate of a few."""
        return [_ahead(run, name) for name in (*self.pieces, *ON_REQUEST) if name in chosen]

    def published(self, name: str) -> dict[str, dict[str, float]]:
        """Return mean, standard deviation and least error of each method on a data set, as the paper prints them."""
        printed = self.expected["paper"][name]
        return {
            part: {method: numbers[i] for method, numbers in printed.items()}
            for i, part in enumerate(("mean", "std", "best"))
        }

    def deviations(self, size: str, summary: dict[str, Numbers]) -> list[str]:
        """Return the errors that differ from the recorded ones by more than the tolerance, in words.

        The full protocol is held against the paper, the quick one against what was measured when it was written.
        """
        reference = "paper" if size == "full" else "quick"
        found = flat({name: entry["mean"] for name, entry in summary.items() if "mean" in entry})
        known = (
            {name: self.published(name)["mean"] for name in COMPARABLE} if size == "full" else self.expected["quick"]
        )
        return off(found, flat(known), self.expected["tolerance"][reference])


def _by_size(name: str, found: Numbers) -> PrintedTable:
    """Return the mean errors of Figure 3: a column for each number of training images."""
    columns = {**found["smaller"], str(found["train"]): found["mean"]}
    rows = [[method, *(f"{means[method]:.2f}" for means in columns.values())] for method in found["mean"]]
    title = f"Figure 3, {name}: mean test error by training images, %, {_runs(found)}"
    return PrintedTable(title, ["method", *columns], rows)


def _runs(found: Numbers) -> str:
    return f"{found['repetitions']} run{'s' * (found['repetitions'] > 1)}"


def _cells(found: Numbers, method: str) -> list[str]:
    """Return mean with standard deviation, and the best, of a method; empty where it was not run."""
    if method not in found["mean"]:
        return ["", ""]
    mean, std, best = (found[part][method] for part in ("mean", "std", "best"))
    return [f"{mean:.2f}" + (f" ± {std:.2f}" if std is not None else ""), f"{best:.2f}"]


def errors_on(name: str, run: Run) -> Result:
    """Measure all methods on a data set, repetition by repetition; those on request are on MNIST."""
    entries = [
        entry
        for repetition in range(run.sizes[name]["repetitions"])
        for entry in _repetition(run, name, run.sizes[name], repetition)
    ]
    remove_distances(run.folder, name)
    return summarise(entries), _figures(run, entries) if name == "mnist" else None


def summarise(entries: list[Numbers]) -> Numbers:
    """Return mean, standard deviation (n - 1) and least error at the largest training size by method, in percent."""
    sizes = sorted({entry["size"] for entry in entries})
    percent = _percent(entries, sizes[-1])
    means = {
        str(size): {name: round(float(values.mean()), 2) for name, values in _percent(entries, size).items()}
        for size in sizes[:-1]
    }
    return {
        "train": sizes[-1],
        "repetitions": len(next(iter(percent.values()))),
        **({"smaller": means} if means else {}),
        "mean": {name: round(float(values.mean()), 2) for name, values in percent.items()},
        "std": {
            name: round(float(values.std(ddof=1)), 2) if len(values) > 1 else None for name, values in percent.items()
        },
        "best": {name: round(float(values.min()), 2) for name, values in percent.items()},
    }


def _percent(entries: list[Numbers], size: int) -> dict[str, FloatArray]:
    """Return the errors of the repetitions at a training size, by method."""
    errors = [entry["errors"] for entry in entries if entry["size"] == size]
    return {name: 100.0 * np.array([e[name] for e in errors]) for name in errors[0]}


def _repetition(run: Run, name: str, sizes: Numbers, repetition: int) -> list[Numbers]:
    """Return the errors of one repetition at every training size, from its file if it is finished."""

    def compute() -> list[Numbers]:
        split = _draw(name, sizes, repetition)
        divergence = _divergence(run, name)
        started = time.perf_counter()
        values = Distances(run.folder, name, divergence, split.pool_size, Engine(memo=False)).of(split)
        seconds = time.perf_counter() - started
        split = by_number(split)
        rows = Methods(run.settings, LookUp(values, divergence)).rows
        if name == "printed":  # no root of negative values: machines only
            rows = {method: row for method, row in rows.items() if "W" in method and "kNN" not in method}
        entries = []
        cores = {
            sizes["train"]: sizes["core"],
            **{int(train): core for train, core in sizes.get("smaller", {}).items()},
        }
        for train, core in sorted(cores.items(), reverse=True):
            part = Split(split.train[:train], split.validation, split.test, split.pool_size)
            found = {
                method: run.keep(
                    _row_name(name, repetition, train, method), depends_on, partial(_timed, row, part, core)
                )
                for method, row in sorted(rows.items(), key=lambda item: EFFORT[item[0]])
            }
            errors = {method: found[method]["error"] for method in rows}
            entry = {"size": train, "seed": repetition, "errors": errors, "seconds of distances": seconds}
            seconds_of = {method: round(found[method]["seconds"], 1) for method in rows}
            entries.append(entry | {"seconds": sum(seconds_of.values()), "seconds by method": seconds_of})
            shown = ", ".join(f"{method} {100 * error:.1f}" for method, error in errors.items())
            run.say(f"{name} {repetition + 1}/{sizes['repetitions']}, {train} images: {shown} %")
        return entries

    depends_on = _depends_on(run, sizes)
    kept: list[Numbers] = run.keep(f"{name}-{repetition}", depends_on, compute)
    for path in run.folder.glob(f"{_row_name(name, repetition)}-*.json"):
        path.unlink()
    return kept


def _row_name(name: str, repetition: int, *which: object) -> str:
    """Return the name of a row of an unfinished repetition."""
    return "-".join(str(part).replace(" ", "-") for part in (name, repetition, "row", *which))


def _timed(row: Callable[[Split, int], float], split: Split, core: int) -> dict[str, float]:
    started = time.perf_counter()
    return {"error": row(split, core), "seconds": time.perf_counter() - started}


def _depends_on(run: Run, sizes: Numbers) -> Numbers:
    grids = {key: value for key, value in run.settings.items() if not isinstance(value, dict)}
    return {**grids, **{key: value for key, value in sizes.items() if key != "repetitions"}}


def _draw(name: str, sizes: Numbers, repetition: int) -> Split:
    return draw("mnist" if name in ON_REQUEST else name, sizes, repetition)


def _divergence(run: Run, name: str) -> Divergence:
    """Return the distance of the code of the paper, converged or where it stops, or the one that the paper prints."""
    if name == "early":
        return EarlySinkhorn(run.settings["epsilon"])
    cost, value = ("sqeuclidean", "regularized") if name == "printed" else ("euclidean", "transport")
    return divergences.Sinkhorn(run.settings["epsilon"], cost=cost, value=value)


def _ahead(run: Run, name: str) -> str:
    sizes = run.sizes[name]
    there = [run.has(f"{name}-{i}", _depends_on(run, sizes)) for i in range(sizes["repetitions"])]
    said = f"{name}: {sum(there)} of {len(there)} repetitions are there"
    if all(there):
        return f"{said}."
    split, divergence, engine = _draw(name, sizes, there.index(False)), _divergence(run, name), Engine(memo=False)
    n, others = sizes["train"], sizes["validation"] + sizes["test"]
    wanted = n * (n - 1) // 2 + n * others
    known = Distances(run.folder, name, divergence, split.pool_size, engine).known(split)
    rate = engine.estimate(split.test.measures, split.train.measures, divergence=divergence)
    hours = ((len(there) - sum(there)) * wanted - known) * rate.seconds / rate.pairs / 3600
    return (
        f"{said}, and {known:,} of the {wanted:,} distances of the next one. The distances of all that are missing "
        f"take {hours:.1f} hours at most, at {1e6 * rate.seconds / rate.pairs:.0f} microseconds each on "
        f"{engine.n_threads} free cores; the machines come on top."
    )


def spectra(run: Run) -> Result:
    """Return the least eigenvalues of the matrices of Figures 1 and 2, and what Proposition 2.4 allows."""
    images, features = run.sizes["figure_images"], run.sizes["figure_features"]
    sizes = {"epsilon": run.settings["epsilon"], "images": images, "features": features}

    def compute() -> Numbers:
        methods, split = _of_figures(run)
        return figures.spectra(methods, split.train[:images], split.train[:features], split.test[:features])

    return run.keep("spectra", sizes, compute), None


def _of_figures(run: Run) -> tuple[Methods, Split]:
    """Return the kernel and the digits of Figures 1 and 2."""
    methods = Methods(run.settings, divergences.Sinkhorn(run.settings["epsilon"], cost="euclidean"))
    count = max(run.sizes["figure_images"], run.sizes["figure_features"])
    return methods, draw("mnist", {"train": count, "validation": 1, "test": count}, 0)


def _figures(run: Run, entries: list[Numbers]) -> Mapping[str, Drawing]:
    methods, split = _of_figures(run)
    images, features = run.sizes["figure_images"], run.sizes["figure_features"]
    return {
        "figure1": lambda: figures.matrices(figures.kernel_matrices(methods, split.train[:images])),
        "figure2": lambda: figures.matrices(
            figures.feature_matrices(methods, split.train[:features], split.test[:features])
        ),
        "figure3": partial(figures.error_curves, entries),
    }


#: The rows by the time they take, so that an interrupted repetition has the cheap ones.
EFFORT = {
    method: rank
    for rank, method in enumerate(
        ("l2 kNN", "W kNN", "RBF", "W indefinite", "RW indefinite", "W core+oos", "RW core+oos", "W core", "RW core")
    )
}
#: The data sets that are the paper's: six of its eight classes of drawings are other ones here.
COMPARABLE = ("mnist", "usps")
#: Fewer digits of MNIST, with the distance as the paper prints it, which takes many times as long, with the code's, and
#: with the code's where its iterations stop.
ON_REQUEST = ("printed", "as_in_code", "early")
PAPER = _ExponentialKernels(
    __package__,
    {name: partial(errors_on, name) for name in ("mnist", "quickdraw", "usps")},
    {name: partial(errors_on, name) for name in ON_REQUEST} | {"spectra": spectra},
)
