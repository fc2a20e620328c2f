r"""Squared-exponential kernels of weight vectors and of Wasserstein distances: what turns one into the other.

The theorems of "Gaussian process regression over discrete probability measures" (`gpm`) as functions of two weight
vectors on one support of m points, a cost matrix C (already raised to the power 2) and a plan T:

====================================  ==========================================================
:func:`row_costs`                     :math:`S_i = \sum_j C_{ij} T_{ij}`, what leaves point i
:func:`row_factors`                   Theorem 1: :math:`\xi_i` with :math:`\sum_i \xi_i S_i = |a - b|^2`
:func:`modified_costs`                Theorem 1: the cost matrix :math:`\xi_i C_{ij}`
:func:`laplacian`                     Corollary 1.2: what remains for :math:`\rho_i^2 = \xi_i`
:func:`se_length_scales`              Theorem 2: :math:`\ell` of the SE kernel from :math:`\rho`
====================================  ==========================================================

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

__all__ = [
    "directional",
    "laplacian",
    "modified_costs",
    "optimal_plan",
    "row_costs",
    "row_factors",
    "se_length_scales",
    "squared_exponential",
]

#: How far sums of weights may be from 1, and marginals of a plan from the weights.
TOLERANCE = 1e-9


def optimal_plan(a: ArrayLike, b: ArrayLike, C: ArrayLike) -> FloatArray:
    """Return an optimal plan between two weight vectors.

    Parameters
    ----------
    a, b : array of shape (m,)
        Weights on one support; they add up to 1.
    C : array of shape (m, m)
        Costs, already raised to the power of the distance.

    Returns
    -------
    ndarray of shape (m, m)

    Notes
    -----
    In closed form for the uniform cost c (1 - I), by the network simplex otherwise. Plans need
    not be unique; for the uniform cost their row costs are.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import optimal_plan
    >>> optimal_plan([0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
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

    Parameters
    ----------
    C, plan : array of shape (m, m)

    Notes
    -----
    The sum of all is :math:`W_2^2` if the plan is optimal. For the uniform cost c (1 - I) every optimal plan has
    :math:`S_i = c (a_i - b_i)_+`; for other costs with several optimal plans S depends on the plan.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import row_costs
    >>> row_costs([[0, 4], [4, 0]], [[0.5, 0.25], [0.0, 0.25]])
    array([1., 0.])
    """
    moved = np.asarray(plan, dtype=np.float64)
    costs = _cost_matrix(C, len(moved) if moved.ndim == 2 else 0)
    moved = _transport_plan(moved, moved.sum(axis=1), moved.sum(axis=0))
    return np.asarray((costs * moved).sum(axis=1))


def row_factors(
    a: ArrayLike, b: ArrayLike, C: ArrayLike, plan: ArrayLike | None = None, free: float = 1.0
) -> FloatArray:
    r"""Theorem 1: return :math:`\xi \geq 0` with :math:`\sum_i \xi_i S_i = |a - b|^2`.

    .. math:: \xi_i = \frac{(a_i - b_i)^2 + q / (m - |I|)}{S_i} \quad (i \notin I), \qquad
              I = \{i : S_i = 0\}, \quad q = \sum_{i \in I} (a_i - b_i)^2

    Parameters
    ----------
    a, b : array of shape (m,)
        Weights on one support.
    C : array of shape (m, m)
        Costs, already raised to the power 2.
    plan : array of shape (m, m), optional
        An optimal plan for C; computed if left out.
    free : float
        The value where :math:`S_i = 0`, at least 0; the theorem leaves it open.

    Returns
    -------
    ndarray of shape (m,)

    Notes
    -----
    *Where it is an identity*: for this pair and this plan. The modified cost :math:`\xi_i C_{ij}` is a function of
    (a, b) and not symmetric: no ground metric. That the plan stays optimal for it, so that the right-hand side is the
    Wasserstein distance of the modified cost, holds for the uniform cost c (1 - I), where row i ships at least
    :math:`(a_i - b_i)_+` whatever the factors are; for other costs it fails.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import row_factors
    >>> row_factors([0.75, 0.25], [0.25, 0.75], [[0, 1], [1, 0]])
    array([1., 1.])
    """
    left, right = _weight_pair(a, b)
    costs = _cost_matrix(C, len(left))
    moved = optimal_plan(left, right, costs) if plan is None else _transport_plan(plan, left, right)
    return inverse_squared_rho(left, right, (costs * moved).sum(axis=1), 1.0, free)


def modified_costs(
    a: ArrayLike, b: ArrayLike, C: ArrayLike, plan: ArrayLike | None = None, free: float = 1.0
) -> FloatArray:
    r"""Theorem 1: return the cost matrix :math:`\xi_i C_{ij}` under which the plan costs :math:`|a - b|^2`.

    Parameters and Notes are those of :func:`row_factors`: an identity for the fixed plan. It is the Wasserstein
    distance of the modified cost for the uniform cost only.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import modified_costs
    >>> modified_costs([0.5, 0.5], [1.0, 0.0], [[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    return row_factors(a, b, C, plan, free)[:, None] * np.asarray(C, dtype=np.float64)


def laplacian(a: ArrayLike, b: ArrayLike, c: float = 1.0) -> float:
    r"""Corollary 1.2: return :math:`\exp(-c |a - b|_1 / 4)`.

    The value of the WSE kernel with the modified cost of Theorem 1 for the uniform cost c (1 - I), if
    :math:`\rho_i^2 = \xi_i`: the factors cancel and :math:`\exp(-W_2^2 / 2)` of the *unmodified* cost remains.

    Parameters
    ----------
    a, b : array of shape (m,)
        Weights on one support.
    c : float
        The uniform cost; 1 in the paper.

    Notes
    -----
    *Where it is an identity*: everywhere, for every plan, because :math:`S_i = c (a_i - b_i)_+` is the same for all
    optimal plans. But :math:`\rho = \sqrt{\xi}` depends on (a, b): no kernel switches from one form to the other.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import laplacian
    >>> round(laplacian([1.0, 0.0], [0.0, 1.0]), 6)
    0.606531
    """
    a, b = _weight_pair(a, b)
    return float(np.exp(-0.25 * c * np.abs(a - b).sum()))


def se_length_scales(a: ArrayLike, b: ArrayLike, squared_distance: float, rho: float, free: float = 1.0) -> FloatArray:
    r"""Theorem 2: return the SE length scales at which the SE kernel equals the isotropic WSE kernel.

    .. math:: \ell_i^2 = \frac{(a_i - b_i)^2}{W_2^2} \rho^2 |J| \quad (i \in J = \{i : a_i \neq b_i\})

    Parameters
    ----------
    a, b : array of shape (m,)
        Weights on one support.
    squared_distance : float
        :math:`W_2^2` of the pair.
    rho : float
        Length scale of the WSE kernel :math:`\exp(-W_2^2 / (2 \rho^2))`.
    free : float
        The length scale where :math:`a_i = b_i`, greater than 0; the theorem leaves it open.

    Returns
    -------
    ndarray of shape (m,)

    Notes
    -----
    *Where it is an identity*: for every ground cost and without any plan, but for this pair only. The length
    scales are functions of (a, b).

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import se_length_scales, squared_exponential
    >>> l = se_length_scales([0.5, 0.5], [0.75, 0.25], squared_distance=1.0, rho=2.0)
    >>> l.round(6), round(squared_exponential([0.5, 0.5], [0.75, 0.25], l), 6)  # exp(-1 / 8)
    (array([0.707107, 0.707107]), 0.882497)
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

    Parameters
    ----------
    S : array of shape (m,)
        Row costs of an optimal plan *from a to b*.
    inverse_squared_rho : array of shape (m,)
        :math:`1 / \rho_i^2`, at least 0.

    Notes
    -----
    From b to a the value is another one: this is no kernel. See :class:`kermes.kernels.AnisotropicWasserstein`.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import directional
    >>> round(directional([1.0, 0.0], [2.0, 5.0]), 6), round(directional([0.0, 1.0], [2.0, 5.0]), 6)
    (0.367879, 0.082085)
    """
    return float(np.exp(-0.5 * np.asarray(S, dtype=np.float64) @ np.asarray(inverse_squared_rho, dtype=np.float64)))


def squared_exponential(a: ArrayLike, b: ArrayLike, length_scales: ArrayLike) -> float:
    r"""Return the SE kernel of two weight vectors, :math:`\exp(-\frac12 \sum_i ((a_i - b_i) / \ell_i)^2)`.

    Examples
    --------
    >>> from kermes.papers.gpm.equivalence import squared_exponential
    >>> round(squared_exponential([1.0, 0.0], [0.0, 1.0], 1.0), 6)
    0.367879
    """
    a, b = _weight_pair(a, b)
    return float(np.exp(-0.5 * (((a - b) / np.asarray(length_scales)) ** 2).sum()))


def _weight_pair(a: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two points of one simplex."""
    left, right = _weights(a, "a"), _weights(b, "b")
    if len(left) != len(right):
        raise UnsuitableDataError(
            f"`a` has {len(left)} weights, `b` {len(right)}; both need one weight for each point of one support. "
            "Write 0 where a measure has no atom."
        )
    return left, right


def _cost_matrix(C: ArrayLike, m: int) -> FloatArray:
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


def _transport_plan(plan: ArrayLike, a: FloatArray, b: FloatArray) -> FloatArray:
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
