"""Weights on the simplex, costs of their size, plans with their marginals."""

from __future__ import annotations

import numpy as np

from .._typing import ArrayLike, FloatArray
from ..exceptions import InvalidMeasureError, InvalidParameterError, UnsuitableDataError

#: How far sums of weights may be from 1, and marginals of a plan from the weights.
TOLERANCE = 1e-9


def weight_pair(a: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two points of one simplex."""
    left, right = _weights(a, "a"), _weights(b, "b")
    if len(left) != len(right):
        raise UnsuitableDataError(
            f"`a` has {len(left)} weights, `b` {len(right)}; both need one weight for each point of one support. "
            "Write 0 where a measure has no atom."
        )
    return left, right


def cost_matrix(C: ArrayLike, m: int) -> FloatArray:
    """Return the costs between the m points of the support."""
    costs = _floats(C, "C")
    if costs.shape != (m, m):
        raise UnsuitableDataError(
            f"the cost matrix has shape {costs.shape}, but there are {m} weights; give one row and column per point "
            f"of the support, ({m}, {m})."
        )
    if not np.isfinite(costs).all() or (costs < 0).any() or np.diagonal(costs).any():
        raise InvalidParameterError(
            "`C` must hold finite costs of at least 0, and zeros on the diagonal. Is it a similarity?"
        )
    return costs


def transport_plan(plan: ArrayLike, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a plan from a to b."""
    moved = _floats(plan, "plan")
    if moved.shape != (len(a), len(b)):
        raise UnsuitableDataError(
            f"the plan has shape {moved.shape}, but there are {len(a)} weights; over the whole support it has shape "
            f"{(len(a), len(b))}."
        )
    if not (moved >= 0).all():
        raise InvalidParameterError("`plan` must hold masses of at least 0.")
    for axis, weights, name in ((1, a, "a"), (0, b, "b")):
        gap = float(np.abs(moved.sum(axis=axis) - weights).max())
        if gap > TOLERANCE:
            raise UnsuitableDataError(
                f"the plan does not have the marginal `{name}`, which it misses by {gap:.3g}. Pass "
                "optimal_plan(a, b, C), or leave it out."
            )
    return moved


def positive_vector(values: ArrayLike, name: str, m: int) -> FloatArray:
    """Return m positive numbers; one number stands for m equal ones."""
    array = _floats(values, name)
    if array.ndim == 0:
        array = np.full(m, float(array))
    if array.shape != (m,) or not np.isfinite(array).all() or not (array > 0).all():
        raise InvalidParameterError(
            f"`{name}` must be a finite number greater than 0, or {m} of them, one for each point of the support; "
            f"got {values!r}."
        )
    return array


def row_vector(values: ArrayLike, name: str, m: int) -> FloatArray:
    """Return m numbers of at least 0."""
    array = _floats(values, name)
    if array.shape != (m,) or not np.isfinite(array).all() or not (array >= 0).all():
        raise InvalidParameterError(f"`{name}` must hold {m} finite numbers of at least 0; got {values!r}.")
    return array


def _weights(weights: ArrayLike, name: str) -> FloatArray:
    array = _floats(weights, name)
    if array.ndim != 1 or not len(array):
        raise InvalidMeasureError(f"`{name}` must be a vector of weights, (m,); got shape {array.shape}.")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InvalidMeasureError(f"`{name}` must hold finite weights of at least 0; got {array.min():.3g} among them.")
    if abs(array.sum() - 1.0) > TOLERANCE:
        raise InvalidMeasureError(
            f"`{name}` must lie on the simplex; its weights add up to {array.sum():.6g}, not 1. Divide by the sum."
        )
    return array


def _floats(values: ArrayLike, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(f"`{name}` must be an array of numbers; got {values!r}.") from None
