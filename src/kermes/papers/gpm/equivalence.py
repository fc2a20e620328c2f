r"""Squared-exponential kernels of weight vectors and of Wasserstein distances: what turns one into the other.

The theorems of "Gaussian process regression over discrete probability measures" (`gpm`) as functions of two weight
vectors a and b (m,) that add up to 1, on one support of m points, a cost matrix C (m, m), already raised to the power
2, and an optimal plan T (m, m). ``free`` is the value where a theorem leaves it open.

Theorem 4 is :func:`kermes.kernels.inverse_squared_rho`. Each is an identity between two numbers *for one pair (a, b)
and its plan*. The parameters found depend on the pair, so that none of them makes one Wasserstein distance, or one
stationary kernel, out of the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ... import Measures, divergences, ground
from ...exceptions import InvalidMeasureError, InvalidParameterError, UnsuitableDataError
from ...kernels import inverse_squared_rho
from .._paper import FloatArray

#: How far sums of weights may be from 1, and marginals of a plan from the weights.
TOLERANCE = 1e-9


def optimal_plan(a: ArrayLike, b: ArrayLike, C: ArrayLike) -> FloatArray:
    """Return an optimal plan; plans need not be unique, but for the uniform cost c (1 - I) their row costs are.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import optimal_plan
    >>> optimal_plan([0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]).round(6)
    array([[0.2, 0. , 0.5],
           [0. , 0.3, 0. ],
           [0. , 0. , 0. ]])
    """
    a, b = _weight_pair(a, b)
    costs = _cost_matrix(C, len(a))
    mu, nu = Measures.from_histograms([a, b], np.arange(float(len(a))))
    plan = np.zeros_like(costs)
    block = divergences.Wasserstein(p=2, cost=ground.Matrix.from_costs(costs, 2)).plan(mu, nu)
    plan[np.ix_(np.flatnonzero(a), np.flatnonzero(b))] = block
    return plan


def row_costs(C: ArrayLike, plan: ArrayLike) -> FloatArray:
    r"""Return :math:`S_i = \sum_j C_{ij} T_{ij}`, the cost of what leaves each point.

    The sum of all is :math:`W_2^2` if the plan is optimal. For the uniform cost c (1 - I) every optimal plan has
    :math:`S_i = c (a_i - b_i)_+`; for other costs with several optimal plans S depends on the plan.
    """
    moved = np.asarray(plan, dtype=np.float64)
    return np.asarray((_cost_matrix(C, len(moved)) * moved).sum(axis=1))


def row_factors(
    a: ArrayLike, b: ArrayLike, C: ArrayLike, plan: ArrayLike | None = None, free: float = 1.0
) -> FloatArray:
    r"""Theorem 1: return :math:`\xi \geq 0` with :math:`\sum_i \xi_i S_i = |a - b|^2`.

    .. math:: \xi_i = \frac{(a_i - b_i)^2 + q / (m - |I|)}{S_i} \quad (i \notin I), \qquad
              I = \{i : S_i = 0\}, \quad q = \sum_{i \in I} (a_i - b_i)^2

    The modified cost :math:`\xi_i C_{ij}` is a function of (a, b) and not symmetric: no ground metric. That the plan
    stays optimal for it, so that the right-hand side is the Wasserstein distance of the modified cost, holds for the
    uniform cost c (1 - I), where row i ships at least :math:`(a_i - b_i)_+` whatever the factors are; for other costs
    it fails. Without ``plan`` an optimal one is computed.
    """
    a, b = _weight_pair(a, b)
    moved = optimal_plan(a, b, C) if plan is None else _transport_plan(plan, a, b)
    return inverse_squared_rho(a, b, row_costs(C, moved), 1.0, free)


def modified_costs(
    a: ArrayLike, b: ArrayLike, C: ArrayLike, plan: ArrayLike | None = None, free: float = 1.0
) -> FloatArray:
    r"""Theorem 1: return the cost matrix :math:`\xi_i C_{ij}` under which the plan costs :math:`|a - b|^2`."""
    return row_factors(a, b, C, plan, free)[:, None] * np.asarray(C, dtype=np.float64)


def laplacian(a: ArrayLike, b: ArrayLike, c: float = 1.0) -> float:
    r"""Corollary 1.2: return :math:`\exp(-c |a - b|_1 / 4)`.

    The value of the WSE kernel with the modified cost of Theorem 1 for the uniform cost c (1 - I), if
    :math:`\rho_i^2 = \xi_i`: the factors cancel and :math:`\exp(-W_2^2 / 2)` of the *unmodified* cost remains, for
    every pair and plan. But :math:`\rho = \sqrt{\xi}` depends on (a, b): no kernel switches from one form to the other.
    """
    a, b = _weight_pair(a, b)
    return float(np.exp(-0.25 * c * np.abs(a - b).sum()))


def se_length_scales(a: ArrayLike, b: ArrayLike, squared_distance: float, rho: float, free: float = 1.0) -> FloatArray:
    r"""Theorem 2: return the SE length scales at which the SE kernel equals :math:`\exp(-W_2^2 / (2 \rho^2))`.

    .. math:: \ell_i^2 = \frac{(a_i - b_i)^2}{W_2^2} \rho^2 |J| \quad (i \in J = \{i : a_i \neq b_i\})

    For every ground cost and without any plan, but for this pair, whose :math:`W_2^2` is ``squared_distance``.
    """
    a, b = _weight_pair(a, b)
    scales = np.full(len(a), free)
    differ = a != b
    if not differ.any():
        return scales
    if not squared_distance > 0:
        raise InvalidParameterError("different weights at distance 0 have no finite length scale.")
    scales[differ] = np.abs(a - b)[differ] * (rho * np.sqrt(np.count_nonzero(differ) / squared_distance))
    return scales


def directional(S: ArrayLike, inverse_squared_rho: ArrayLike) -> float:
    r"""Return the anisotropic WSE value of equation 16, :math:`\exp(-\frac12 \sum_i S_i / \rho_i^2)`.

    From b to a the value is another one: this is not a kernel. See :class:`kermes.kernels.AnisotropicWasserstein`.
    """
    return float(np.exp(-0.5 * np.asarray(S, dtype=np.float64) @ np.asarray(inverse_squared_rho, dtype=np.float64)))


def squared_exponential(a: ArrayLike, b: ArrayLike, length_scales: ArrayLike) -> float:
    r"""Return the SE kernel of two weight vectors, :math:`\exp(-\frac12 \sum_i ((a_i - b_i) / \ell_i)^2)`."""
    a, b = _weight_pair(a, b)
    return float(np.exp(-0.5 * (((a - b) / np.asarray(length_scales)) ** 2).sum()))


def _weight_pair(a: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two points of one simplex."""
    left, right = (np.asarray(weights, dtype=np.float64) for weights in (a, b))
    for weights, name in ((left, "a"), (right, "b")):
        if weights.ndim != 1 or not (weights >= 0).all() or not abs(weights.sum() - 1.0) <= TOLERANCE:
            raise InvalidMeasureError(
                f"`{name}` must be a vector of weights of at least 0 that add up to 1; got {weights!r}."
            )
    if len(left) != len(right):
        raise UnsuitableDataError(
            f"`a` has {len(left)} weights, `b` {len(right)}; both need one weight for each point of one support. "
            "Write 0 where a measure has no atom."
        )
    return left, right


def _cost_matrix(C: ArrayLike, m: int) -> FloatArray:
    """Return the costs between the m points of the support."""
    costs = np.asarray(C, dtype=np.float64)
    if costs.shape != (m, m):
        raise UnsuitableDataError(f"the cost matrix has shape {costs.shape}; for {m} weights it must be ({m}, {m}).")
    if not np.isfinite(costs).all() or (costs < 0).any() or np.diagonal(costs).any():
        raise InvalidParameterError(
            "`C` must hold finite costs of at least 0, and zeros on the diagonal. Is it a similarity?"
        )
    return costs


def _transport_plan(plan: ArrayLike, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a plan from a to b."""
    moved = np.asarray(plan, dtype=np.float64)
    if moved.shape != (len(a), len(b)) or not (moved >= 0).all():
        raise InvalidParameterError(f"`plan` must hold masses of at least 0, ({len(a)}, {len(b)}); got {moved!r}.")
    for axis, weights, name in ((1, a, "a"), (0, b, "b")):
        gap = float(np.abs(moved.sum(axis=axis) - weights).max())
        if gap > TOLERANCE:
            raise UnsuitableDataError(
                f"the plan does not have the marginal `{name}`, which it misses by {gap:.3g}. Pass "
                "optimal_plan(a, b, C), or leave it out."
            )
    return moved
