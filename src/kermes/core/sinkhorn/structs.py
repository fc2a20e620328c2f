"""What the cores of this package take besides ``points.CoreGround`` and ``points.Atoms``: structs, defined once."""

from __future__ import annotations

from typing import NamedTuple

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


class Answers(NamedTuple):
    """Values and status of the pairs of a tile; those with status RETRY are still to be computed."""

    values: FloatArray
    status: StatusArray
