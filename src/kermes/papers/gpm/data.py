"""Inputs of the experiments, as the authors draw them and as they should be drawn; their published results."""

from __future__ import annotations

import csv

import numpy as np

from ... import datasets
from .._paper import FloatArray
from .problems import simplex_problem
from .r_random import RRandom

#: The four problems on the segment.
LINE = ("problem02", "problem13", "problem15", "xiong")
#: Names of all problems, and in the published table.
NAMES = {
    "problem02": "test problem 02",
    "problem13": "test problem 13",
    "problem15": "test problem 15",
    "xiong": "modified Xiong",
    "bird": "Bird",
}
#: Samples of a run, and numbers drawn for them: rounded to two digits some of them are equal.
SAMPLES, DRAWN = 20, 40
#: Values of a_1 on which predictions are tested, and of each weight on the triangle.
GRID = 50
#: Weights 0 and 1 are moved to these.
INNER = (0.01, 0.99)


def authors_inputs(run: int) -> tuple[FloatArray, RRandom]:
    """Return the twenty weight vectors of a run (1 to 500) on the segment, and the generator behind them.

    Rounded to two digits, each value once, the ends moved inwards. Since they are moved last, 0 and 0.01 (1 and 0.99)
    become equal inputs where both were drawn.
    """
    random = RRandom(run)
    values = random.uniform(DRAWN).round(2)
    first = np.sort(np.unique(values, return_index=True)[1])
    return _segment(values[first][:SAMPLES]), random


def seven_points() -> FloatArray:
    """Return the seven weight vectors of Figures 6 to 8: drawn from seventy, seed 1."""
    random = RRandom(1)
    values = random.uniform(70)
    a = values[random.sample(70, 7)]
    return np.column_stack([a, 1 - a])


def bird_inputs(run: int) -> FloatArray:
    """Return twenty weight vectors drawn uniformly from the triangle, which the authors meant to do."""
    return np.random.default_rng(run).dirichlet(np.ones(3), SAMPLES)


def test_inputs(problem: str) -> FloatArray:
    """Return the regular grid on which the authors test: 50 points of the segment, 1275 of the triangle."""
    values = np.linspace(0, 1, GRID).round(2)
    if simplex_problem(problem).n_weights == 2:
        return _segment(values)
    pairs = np.array([(x, y) for x in values for y in values if x + y <= 1.0 + 1e-9])
    return np.column_stack([pairs, np.maximum(1.0 - pairs.sum(axis=1), 0.0)])


def read_reference() -> dict[str, dict[str, list[float]]]:
    """Return the published results by problem: failed percent and mean RMSE of both methods, for 3 to 20 samples.

    Empty without the file ``gp_on_measures/reference.csv`` in the data folder.
    """
    folder = datasets.find_folder("gp_on_measures", "reference.csv")
    found: dict[str, dict[str, list[float]]] = {}
    if folder is None:
        return found
    with (folder / "reference.csv").open() as file:
        for row in csv.DictReader(file):
            lists = found.setdefault(row["problem"], {})
            for column in ("failed_percent", "rmse_mean", "rmse_sd"):
                lists.setdefault(f"{row['method']} {column}", []).append(float(row[column] or "nan"))
    return {name: found[title] for name, title in NAMES.items() if title in found}


def _segment(a: FloatArray) -> FloatArray:
    a = np.where(a == 0.0, INNER[0], np.where(a == 1.0, INNER[1], a))
    return np.column_stack([a, 1 - a])
