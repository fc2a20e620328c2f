"""``kermes diagnose``: what the data are, and what a kernel makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from .._quantities import counted
from .._scales import median_distance
from ._candidates import with_length_scale
from ._hints import STANDARDIZE, unequal
from ._options import Name, as_json, command, plans, reads, seed_option
from ._output import number, print_facts, print_json, print_table, show
from ._reading import Reading


@command(
    "kermes diagnose cells.csv --by patient --columns cd4,cd8 --label sick",
    "kermes diagnose digits.npz --kernel sinkhorn:epsilon=0.5",
)
@plans
@reads()
@click.option("-k", "--kernel", type=Name("kernel"), default="sliced", show_default=True, help="The kernel to judge.")
@click.option("--most", type=click.IntRange(2), default=1000, show_default=True, help="Measures compared at most.")
@seed_option
@as_json
def diagnose(data: Path, reading: Reading, kernel: str, most: int, seed: int, as_json: bool) -> None:
    """Look at the data: sizes, masses, duplicates, spectrum.

    Also the length scale to start with, and the error of the nearest neighbour if there are labels.
    """
    found = reading.scaled(data)
    X, labels = found.measures, found.labels
    facts = _facts(X) | {"labels": _labels(labels)}
    drawn = np.arange(len(X))
    if len(X) > most:
        drawn = np.sort(np.random.default_rng(seed).choice(len(X), most, replace=False))
    judged = _judge(X[drawn], None if labels is None else labels[drawn], kernel)
    coordinates = _coordinates(found)
    advice = _advice(facts, judged, coordinates)
    if as_json:
        print_json({"data": facts, "coordinates": coordinates, "kernel": judged, "advice": advice})
        return
    print_facts(str(X), facts)
    header = ("coordinate", "least", "mean", "largest", "std")
    print_table("", header, [(c["name"], c["least"], c["mean"], c["largest"], c["std"]) for c in coordinates])
    title = f"Kernel on {len(drawn)} measures" if len(drawn) < len(X) else "Kernel"
    print_facts(title, judged)
    for line in advice:
        show(f"- {line}")


def _facts(X: Any) -> dict[str, Any]:
    """Return what is known without any pair."""
    first, _ = X.twins(X)
    return {
        "measures": len(X),
        "dimension": X.dim,
        "atoms": _range(X.sizes),
        "mass": _range(X.masses),
        "equal measures": len(X) - len(np.unique(first)),
        "common support": None if X.support is None else len(X.support.points),
    }


def _coordinates(data: Any) -> list[dict[str, Any]]:
    """Return range, mean and standard deviation of each coordinate over all atoms."""
    points = data.measures.points
    names = data.columns or [f"x{i}" for i in range(points.shape[1])]
    return [
        {"name": name, "least": x.min(), "mean": x.mean(), "largest": x.max(), "std": x.std()}
        for name, x in zip(names, points.T, strict=True)
    ]


def _labels(labels: Any) -> str | None:
    if labels is None:
        return None
    from ..comparison._folds import task_of

    if task_of(labels) == "regression":
        return f"numbers, {_range(labels)}"
    classes, counts = np.unique(labels, return_counts=True)
    shown = ", ".join(f"{name!s} {count}" for name, count in list(zip(classes, counts, strict=True))[:10])
    return f"{counted(len(classes), 'class')}: {shown}{' ...' if len(classes) > 10 else ''}"


def _judge(X: Any, labels: Any, name: str) -> dict[str, Any]:
    """Return the spectrum of the Gram matrix, length scales, and the error of nearest neighbours."""
    from .. import definiteness, kernels, pairwise
    from ..comparison._folds import task_of

    kernel = with_length_scale(name, X)
    K = kernel(X)
    spectrum = definiteness.spectrum(K)
    found = {
        "kernel": repr(kernel),
        "proved definite": {True: "yes", False: "no", None: "unknown"}[kernel.is_positive_definite(X.dim)],
        "spectrum": spectrum.verdict,
        "negative mass": f"{spectrum.negative_mass:.2%}",
        "effective dimension": float(spectrum.eigenvalues.sum() ** 2 / (spectrum.eigenvalues**2).sum()),
    }
    diagonal = np.diagonal(K)
    gaps = diagonal[:, None] + diagonal[None] - 2 * K  # squared distances in feature space
    if isinstance(kernel, kernels.Exponential):
        gaps = pairwise(X, divergence=kernel.divergence)
        found["median distance"] = median_distance(gaps) if gaps.any() else 0.0
        found["largest definite length scale"] = definiteness.psd_length_scale(gaps)
    if labels is not None and len(X) > 1 and task_of(labels) == "classification":
        nearest = (gaps + np.diag(np.full(len(X), np.inf))).argmin(axis=1)
        found["error of the nearest neighbour"] = float(np.mean(labels[nearest] != labels))
    return found


def _advice(facts: dict[str, Any], judged: dict[str, Any], coordinates: list[dict[str, Any]]) -> list[str]:
    """Return what to do about what was found."""
    lines = []
    if unequal([c["std"] for c in coordinates]):
        lines.append(STANDARDIZE)
    if facts["equal measures"]:
        repeated = counted(facts["equal measures"], "measure repeats another", "measures repeat others")
        lines.append(f"{repeated}; cross-validation on such is too optimistic.")
    if judged["spectrum"] == "indefinite":
        lines.append("The Gram matrix is indefinite: --learner lssvm takes it; gram --repair clip mends it.")
    if judged.get("median distance") == 0:
        lines.append(
            "All distances are 0: this kernel does not tell the measures apart. Try another, or other columns."
        )
    elif "median distance" in judged:
        lines.append(f"Length scales around {judged['median distance']:.3g} are a fair start.")
    return lines


def _range(values: Any) -> str:
    low, high = number(values.min()), number(values.max())
    return low if low == high else f"{low} to {high}"
