"""How time and memory grow with the number of measures and of points: ``python -m benchmarks.growth [--quick]``.

Every point runs in a process of its own, so that its peak of memory is its own. Exponents are slopes of straight
lines through the logarithms of the three largest sizes. ``--save FOLDER`` writes growth.json and growth.svg there.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kermes import Engine, Measures, divergences, ground, pairwise

from .harness import timed

FRESH = Engine(memo=False, progress=False)


def line(n: int, m: int) -> Measures:
    """Return n weighted measures of m points on the line."""
    rng = np.random.default_rng(0)
    return Measures.from_samples(rng.normal(size=(n, m)), rng.random((n, m)))


def plane(n: int, m: int) -> Measures:
    """Return n clouds of m points in the plane."""
    return Measures.from_samples(np.random.default_rng(0).normal(size=(n, m, 2)))


def matrix(divergence: Any) -> Callable[[Measures], Any]:
    """Return the work of one matrix of distances in memory."""
    return lambda X: pairwise(X, divergence=divergence, engine=FRESH)


def stored(X: Measures) -> Any:
    """Write the distances on the line to a store."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(memo=False, progress=False, store=f"{folder}/d.zarr")
        return pairwise(X, divergence=divergences.Wasserstein(p=2), engine=engine)


def sliced_features(X: Measures) -> Any:
    """Compute the features of all measures, chunk by chunk, and forget them."""
    from kermes.features import SlicedFeatures

    features = SlicedFeatures(n_slices=20, n_quantiles=20).fit(X[:100])
    return [features.transform(X[i : i + 1000]).sum() for i in range(0, len(X), 1000)]


class Curve(NamedTuple):
    """Sizes (n, m) to measure, of which one varies, and the work."""

    title: str
    data: Callable[[int, int], Measures]
    work: Callable[[Measures], Any]
    sizes: list[tuple[int, int]]


def against_n(title: str, data: Any, work: Any, ns: list[int], m: int) -> Curve:
    return Curve(title, data, work, [(n, m) for n in ns])


def against_m(title: str, data: Any, work: Any, n: int, ms: list[int]) -> Curve:
    return Curve(title, data, work, [(n, m) for m in ms])


W2 = matrix(divergences.Wasserstein(p=2))
SLICED = matrix(divergences.SlicedWasserstein(n_slices=50))
MMD = matrix(divergences.MMD(ground.Gaussian(sigma=1.0)))
SINKHORN = matrix(divergences.Sinkhorn(epsilon=0.5))
IGV = matrix(divergences.GeneralizedVariance(0.1, ground.Gaussian(sigma=1.0)))
SUPPORT = [25, 50, 100, 200, 400]
CURVES = {
    "measures": [
        against_n("W_2 on the line, in memory", line, W2, [1000, 2000, 4000, 8000], 100),
        against_n("W_2 on the line, to a store", line, stored, [2500, 5000, 10000, 20000], 100),
        against_n("sliced W_2, plane", plane, SLICED, [500, 1000, 2000, 4000], 50),
        against_n("MMD, plane", plane, MMD, [250, 500, 1000, 2000], 50),
        against_n("Sinkhorn, plane", plane, SINKHORN, [100, 200, 400, 800], 50),
        against_n("sliced features, plane", plane, sliced_features, [25000, 50000, 100000, 200000], 50),
    ],
    "points": [
        against_m("W_2 on the line", line, W2, 400, SUPPORT),
        against_m("sliced W_2, plane", plane, SLICED, 200, SUPPORT),
        against_m("MMD, plane", plane, MMD, 100, SUPPORT),
        against_m("Sinkhorn, plane", plane, SINKHORN, 50, SUPPORT),
        against_m("k-IGV, plane", plane, IGV, 50, SUPPORT),
    ],
}


def measure(axis: str, curve: int, point: int) -> dict[str, float]:
    """Return the seconds and the peak of memory of one point; to be called in a fresh process."""
    _, data, work, sizes = CURVES[axis][curve]
    n, m = sizes[point]
    work(data(4, m))  # compiles or loads the compiled code
    X = data(n, m)
    seconds, _ = timed(lambda: work(X))
    return {"seconds": seconds, "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def exponent(sizes: list[float], values: list[float]) -> float:
    """Return the slope of log value against log size over the last three sizes."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(values[-3:]), 1)[0])


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure every curve, each point in a process of its own."""
    rows = []
    for axis, curves in CURVES.items():
        for number, curve in enumerate(curves):
            points = range(len(curve.sizes) - 1 if quick else len(curve.sizes))
            found = [
                json.loads(
                    subprocess.run(
                        [sys.executable, "-m", "benchmarks.growth", "--point", axis, str(number), str(point)],
                        capture_output=True, text=True, check=True,
                    ).stdout
                )
                for point in points
            ]  # fmt: skip
            sizes = [float(curve.sizes[p][0 if axis == "measures" else 1]) for p in points]
            seconds = [f["seconds"] for f in found]
            rows.append(
                {
                    "axis": axis,
                    "title": curve.title,
                    "fixed": curve.sizes[0][1 if axis == "measures" else 0],
                    "sizes": sizes,
                    "seconds": seconds,
                    "gib": [f["gib"] for f in found],
                    "exponent": exponent(sizes, seconds),
                }
            )
            print(markdown(rows[-1]), flush=True)
    return rows


def markdown(row: dict[str, Any]) -> str:
    """Return a line of the table: the largest size, its time and memory, and the exponent."""
    return (
        f"| {row['title']} | {row['axis']} | {row['sizes'][0]:,.0f} to {row['sizes'][-1]:,.0f} | "
        f"{row['seconds'][-1]:.3g} s | {row['gib'][-1]:.2f} GiB | {row['exponent']:.2f} |"
    )


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw time and memory against both sizes."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    for row in rows:
        column = list(CURVES).index(row["axis"])
        for panel, values in zip(panels[:, column], (row["seconds"], row["gib"]), strict=True):
            panel.loglog(row["sizes"], values, marker="o", ms=3, label=f"{row['title']} ({row['exponent']:.1f})")
    for column, name in enumerate(("number of measures", "points of a measure")):
        panels[0, column].set_title(f"time against the {name}")
        panels[0, column].legend(fontsize=7, title="exponent of time in brackets", title_fontsize=7)
        for panel, label in zip(panels[:, column], ("seconds", "peak memory, GiB"), strict=True):
            panel.set(xlabel=name, ylabel=label)
            panel.grid(alpha=0.3)
    for panel in panels[:, 1]:
        panel.set_xticks(SUPPORT, [str(m) for m in SUPPORT])
        panel.minorticks_off()
    for panel in panels[1]:
        panel.set_yscale("linear")
        panel.set_ylim(bottom=0)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the largest size of every curve")
    parser.add_argument("--save", type=Path, help="folder for growth.json and growth.svg")
    parser.add_argument("--point", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(options.point[0], int(options.point[1]), int(options.point[2]))))
        return
    print("| work | against the number of | sizes | time, largest | memory, largest | exponent |")
    print("|---|---|---|---|---|---|")
    rows = run(options.quick)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        (options.save / "growth.json").write_text(json.dumps(rows, indent=1))
        draw(rows, options.save / "growth.svg")


if __name__ == "__main__":
    main()
