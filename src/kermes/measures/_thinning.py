"""Fewer atoms: of each measure drawn at random, or one from each of many cells of equal mass; some of all measures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ._packed import Packed


def thinned(merged: Packed, rows: IndexArray, n: int, seed: int, spread: bool = False) -> Packed:
    """Keep at most ``n`` atoms of each measure, drawn uniformly without replacement, with their weights.

    With ``spread`` each measure is cut into ``n`` cells of about equal mass, of which an atom is kept with the mass of
    its cell. It is drawn in proportion to its weight, so that integrals keep their expectation and lose the variance
    between cells: stratified sampling.
    """
    keep, weights = np.ones(len(merged.weights), dtype=bool), merged.weights.copy()
    for i, row in enumerate(rows):
        atoms = slice(merged.offsets[i], merged.offsets[i + 1])
        if atoms.stop - atoms.start > n:
            random = np.random.default_rng((seed, int(row)))
            keep[atoms] = False
            if spread:
                drawn, masses = _one_of_each_cell(merged.points[atoms], merged.weights[atoms], n, random)
                weights[atoms.start + drawn] = masses
            else:
                drawn = random.choice(atoms.stop - atoms.start, n, replace=False)
            keep[atoms.start + drawn] = True
    return replace(merged.part(keep, ragged.compress(keep, merged.offsets)), weights=weights[keep])


def draw_points(X: Any, n: int, random: np.random.Generator) -> FloatArray:
    """Return points of measures that are drawn uniformly, by their weights."""
    measures = random.integers(len(X), size=n)
    # Inversion: measure i owns the stretch [i, i + 1) of the cumulated probabilities.
    atoms = np.searchsorted(np.cumsum(X.probabilities), measures + random.random(n), side="right")
    atoms = np.clip(atoms, X.offsets[measures], X.offsets[measures + 1] - 1)  # rounding
    return np.asarray(X.points[atoms])


def _one_of_each_cell(
    points: FloatArray, weights: FloatArray, n: int, random: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """Return an atom of each of n cells, and the masses of the cells."""
    drawn, masses = np.empty(n, dtype=np.int64), np.empty(n)
    waiting: list[tuple[AnyArray, int]] = [(np.arange(len(points)), n)]
    found = 0
    while waiting:
        cell, count = waiting.pop()
        if count > 1:
            waiting += _halves(cell, count, points, weights)
            continue
        reached = weights[cell].cumsum()
        drawn[found] = cell[min(np.searchsorted(reached, random.random() * reached[-1], "right"), len(cell) - 1)]
        masses[found] = reached[-1]
        found += 1
    return drawn, masses


def _halves(cell: AnyArray, count: int, points: FloatArray, weights: FloatArray) -> list[tuple[Any, int]]:
    """Cut a cell of ``count`` atoms to draw across its widest side, in proportion to what each half will give."""
    inside = points[cell]
    _, exponent = np.frexp(np.ptp(inside / 2, axis=0).max())  # squares neither overflow nor vanish
    side = int(np.ldexp(inside / 2, -exponent).var(axis=0).argmax()) if inside.shape[1] > 1 else 0
    cell = cell[inside[:, side].argsort(kind="stable")]
    reached, left = weights[cell].cumsum(), count // 2
    cut = int(np.searchsorted(reached, reached[-1] * (left / count), "right"))
    cut = min(max(cut, left), len(cell) - (count - left))  # a heavy atom leaves enough atoms to the other half
    return [(cell[:cut], left), (cell[cut:], count - left)]
