"""The probability simplex: projection onto it, and ascent on it from many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._checks import as_numbers, choice
from .._typing import FloatArray
from ..exceptions import InvalidParameterError

#: A sum of weights may differ from 1 by this much.
SUM = 1e-9
#: First step of a search, its growth after a success, and its cut after a failure.
FIRST, GROW, CUT = 0.5, 1.5, 0.4
#: Mirror steps multiply weights and never leave a face; starts are moved inside by this much.
INSIDE = 1e-3

#: Rows of weights (n, m) to their scores (n,) and the gradients of those (n, m).
Score = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def check_weights(weights: Any, m: int) -> FloatArray:
    """Return one probability vector of m entries, or refuse it."""
    try:
        a = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        a = np.empty(0)
    if a.shape != (m,) or not np.isfinite(a).all() or (a < 0).any() or abs(a.sum() - 1.0) > SUM:
        raise InvalidParameterError(
            f"`weights` must be {m} finite non-negative numbers that add up to 1; got {weights!r}. "
            "optimization.project moves any vector to the nearest such one."
        )
    return a


def project(V: Any) -> FloatArray:
    r"""Return the nearest probability vectors, in the Euclidean distance.

    .. math:: P(v) = \arg\min_{a \ge 0,\ \sum_i a_i = 1} \|a - v\|^2 = (v - \tau)_+

    Parameters
    ----------
    V : array of shape (m,) or (n, m)
        Vectors, as rows.

    Returns
    -------
    ndarray of the same shape

    Notes
    -----
    Exact. With the entries sorted, :math:`v_{(1)} \ge v_{(2)} \ge \dots`, k is the last place where
    :math:`v_{(k)}` is above :math:`(\sum_{i \le k} v_{(i)} - 1) / k`, and that is :math:`\tau`. *Cost*:
    :math:`O(m \log m)` per row.

    Examples
    --------
    >>> from kermes import optimization
    >>> optimization.project([0.7, 0.6, -1.0])
    array([0.55, 0.45, 0.  ])
    """
    v = as_numbers(V, "V")
    if v.ndim not in (1, 2) or not v.shape[-1] or not np.isfinite(v).all():
        raise InvalidParameterError(f"`V` must be a vector or rows of finite numbers; got an array of {v.shape}.")
    # Adding a constant to all entries changes nothing; the greatest at 0 keeps the digits of tau.
    v = v - v.max(axis=-1, keepdims=True)
    falling = -np.sort(-v, axis=-1)
    taus = (np.cumsum(falling, axis=-1) - 1.0) / np.arange(1, v.shape[-1] + 1)
    last = (falling > taus).sum(axis=-1, keepdims=True) - 1
    return np.asarray(np.maximum(v - np.take_along_axis(taus, last, axis=-1), 0.0))


def ascend(score: Score, starts: FloatArray, n_steps: int, method: str = "mirror") -> tuple[FloatArray, FloatArray]:
    r"""Climb from all starts at once; return where it ended (n, m), and the scores there (n,).

    With the gradient g, centred and scaled to a largest entry of 1, and a step t for each start:

    - 'mirror': :math:`a_i e^{t g_i}`, scaled to add up to 1 (exponentiated gradient). Weights of 0 stay so.
    - 'projected': :math:`P(a + t g)` with the Euclidean projection. It reaches the faces.

    A step that does not raise the score is taken back and the next one is shorter, so no score ever falls, also where
    the gradient is that of one side of a kink.
    """
    move = _MOVES[choice(method, "method", _MOVES)]
    A = starts if method == "projected" else (1.0 - INSIDE) * starts + INSIDE / starts.shape[1]
    best, gradients = score(A)
    steps = np.full((len(A), 1), FIRST)
    for _ in range(n_steps):
        trial = move(A, steps * _direction(gradients))
        values, there = score(trial)
        better = values > best
        best = np.where(better, values, best)
        A, gradients = (np.where(better[:, None], new, old) for new, old in ((trial, A), (there, gradients)))
        steps *= np.where(better[:, None], GROW, CUT)
    return A, best


def _direction(gradients: FloatArray) -> FloatArray:
    """Return gradients without their part across the simplex, scaled."""
    centred = gradients - gradients.mean(axis=1, keepdims=True)
    size = np.abs(centred).max(axis=1, keepdims=True)
    return np.asarray(centred / np.where(size > 0, size, 1.0))


def _mirror(A: FloatArray, moves: FloatArray) -> FloatArray:
    # Steps grow without end along a constant gradient; 50 is beyond what weights can show.
    B = A * np.exp(np.clip(moves - moves.max(axis=1, keepdims=True), -50.0, 0.0))
    return np.asarray(B / B.sum(axis=1, keepdims=True))


def _projected(A: FloatArray, moves: FloatArray) -> FloatArray:
    return project(A + moves)


_MOVES = {"mirror": _mirror, "projected": _projected}
