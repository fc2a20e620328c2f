"""The pieces of many runs: which runs they have, what computes them, and how long those that are missing take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from joblib import Parallel, delayed

from .._paper import Numbers, Run
from . import authors
from .corrected import scores_of_run, theorem4_gap
from .data import LINE, NAMES


class Series(NamedTuple):
    """Runs 1 to ``last`` of a function with the same ``arguments``, in files of this ``name``."""

    name: str
    function: Callable[..., Any]
    last: int
    arguments: Numbers


def on_bird(run: Run) -> list[Series]:
    """Return failures on the triangle."""
    return [Series("bird", authors.bird_with_costs, run.sizes["bird"], {"samples": run.settings["samples"]})]


def of_errors(run: Run) -> list[Series]:
    """Return the errors of the authors' procedure on each problem of the line."""
    sizes = run.sizes["rmse"]
    return [
        Series(f"rmse-{name}", authors.rmse_of_run, sizes["runs"], {"problem": name, "sizes": sizes["samples"]})
        for name in LINE
    ]


def of_variants(run: Run) -> list[Series]:
    """Return the failures of two problems for each way to fill the matrix."""
    return [
        Series(
            f"ablation-{problem}-{variant.replace(', ', '-')}", authors.failures_of_variant, run.sizes["ablation"],
            {"problem": problem, "variant": variant, "samples": run.settings["ablation"]},
        )
        for problem in ("problem02", "xiong")
        for variant in authors.VARIANTS
    ]  # fmt: skip


def of_corrected(run: Run) -> list[Series]:
    """Return the scores of each problem, and how far Theorem 4 is from SE there."""
    sizes, others = run.sizes["corrected"], run.sizes["theorem4"]
    both = [
        (
            Series(f"corrected-{name}", scores_of_run, sizes["runs"], {"problem": name, "sizes": sizes["samples"]}),
            Series(f"theorem4-{name}", theorem4_gap, others, {"problem": name, "n": sizes["samples"][-1]}),
        )
        for name in NAMES
    ]
    return [series for pair in both for series in pair]


def of_failures(run: Run, centred: bool = False) -> list[Series]:
    """Return the first failures on each problem of the line."""
    what, last = ("centred", run.settings["centred"][-1]) if centred else ("failures", run.settings["samples"][-1])
    return [
        Series(
            f"{what}-{name}", authors.first_failure, run.sizes[what],
            {"problem": name, "last": last, "centred": centred},
        )
        for name in LINE
    ]  # fmt: skip


def many(run: Run, series: Series) -> list[Any]:
    """Return ``function(run=..., **arguments)`` of all runs; each block of them is a file.

    The settings have the number of ``workers`` and the runs in a ``block``.
    """
    name, function, last, arguments = series
    found: list[Any] = []
    with Parallel(n_jobs=run.settings["workers"]) as workers:
        for part, runs in _blocks(run, series):

            def compute(runs: range = runs) -> list[Any]:
                started = time.perf_counter()
                results = list(workers(delayed(function)(run=number, **arguments) for number in runs))
                run.say(f"{name}: runs {runs[0]} to {runs[-1]} of {last}, {time.perf_counter() - started:.0f} s")
                return results

            found += run.keep(part, _depends_on(series, runs), compute)
    return found


def _blocks(run: Run, series: Series) -> Iterator[tuple[str, range]]:
    """Yield the blocks of runs, each with the name of its file."""
    for first in range(1, series.last + 1, run.settings["block"]):
        yield f"{series.name}-{first}", range(first, min(first + run.settings["block"], series.last + 1))


def _depends_on(series: Series, runs: range) -> Numbers:
    return {"runs": [*runs], **series.arguments}


def ahead(run: Run, name: str, of_piece: list[Series]) -> str:
    """Say how many runs of a piece are there, and how long the others take, by two runs of each series that lacks some.

    A run that fails early takes a fraction of the time of others, so that this is rough.
    """
    missing = [
        sum(len(runs) for part, runs in _blocks(run, series) if not run.has(part, _depends_on(series, runs)))
        for series in of_piece
    ]
    total, workers = sum(series.last for series in of_piece), run.settings["workers"]
    said = f"{name}: {total - sum(missing)} of {total} runs are there"
    if not any(missing):
        return f"{said}."
    seconds = sum(count * _seconds_of_a_run(series) for count, series in zip(missing, of_piece, strict=True) if count)
    return f"{said}. The others take about {seconds / workers / 60:.0f} minutes on {workers} free cores."


def _seconds_of_a_run(series: Series) -> float:
    series.function(run=1, **series.arguments)  # compiles
    started = time.perf_counter()
    for number in (1, 2):
        series.function(run=number, **series.arguments)
    return (time.perf_counter() - started) / 2


#: The pieces that take long, and their runs.
RUNS: dict[str, Callable[[Run], list[Series]]] = {
    "figure9": of_failures,
    "figure10": lambda run: of_failures(run) + of_failures(run, centred=True),
    "figure11": on_bird,
    "figure12": of_errors,
    "ablation": of_variants,
    "corrected": of_corrected,
}
