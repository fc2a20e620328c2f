"""What the cores of this package take besides ``points.CoreGround`` and ``points.Atoms``: structs, defined once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import AnyArray, FloatArray, IndexArray, StatusArray

TRANSPORT, REGULARIZED = 0, 1  # which value of a plan is wanted


class Options(NamedTuple):
    """Parameters of the iteration; ``value`` is TRANSPORT or REGULARIZED."""

    epsilon: float
    tol: float
    max_iter: int
    value: int


class Images(NamedTuple):
    """Measures on a pixel grid: weights (n, h, w), zeros allowed, and the boxes (n, 4) around their supports."""

    weights: FloatArray
    boxes: IndexArray


class Gibbs(NamedTuple):
    """K = exp(-C / eps) and the elementwise product K C."""

    kernel: AnyArray
    weighted: AnyArray


class Trees(NamedTuple):
    """For each measure the shortest tree that spans its atoms.

    ``order`` and ``parent`` (N,), numbered within the measure: atoms from the root on, and what each is linked to.
    ``links`` (n, 2): the longest link and the sum of all, costs or roots of squared ones.
    """

    order: IndexArray
    parent: IndexArray
    links: FloatArray


def no_trees(n: int, atoms: int) -> Trees:
    """Return room for the trees of n measures."""
    return Trees(np.zeros(atoms, dtype=np.int64), np.zeros(atoms, dtype=np.int64), np.zeros((n, 2)))


class Bounds(NamedTuple):
    """What is left of the values of the pairs of a tile, (optimum - dual value) / eps.

    ``gaps``: a bound for the pairs ``apart``, inf where none is proved; ``missed``: by the errors of columns alone,
    about. ``trees``: of the measures of both sides. ``most``: the largest cost over eps.
    """

    gaps: FloatArray
    missed: FloatArray
    apart: AnyArray
    trees: tuple[Trees, Trees]
    most: float


class Answers(NamedTuple):
    """Values and status of the pairs of a tile; those with status RETRY are still to be computed."""

    values: FloatArray
    status: StatusArray
    bounds: Bounds | None = None
