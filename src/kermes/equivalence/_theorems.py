"""The formulas of `gpm`, sections 3 and 4, for one pair of weight vectors."""

from __future__ import annotations

import numpy as np

from .._checks import positive, real
from .._typing import ArrayLike, FloatArray
from ..divergences import _plans
from ..exceptions import NumericalError, UnsuitableDataError
from . import _arguments

__all__ = [
    "directional",
    "inverse_squared_rho",
    "laplacian",
    "modified_costs",
    "optimal_plan",
    "row_costs",
    "row_factors",
    "se_length_scales",
    "squared_exponential",
]


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
    In closed form for the uniform cost c (1 - I), by the network simplex otherwise (the extra ``exact``). Plans need
    not be unique; for the uniform cost their row costs are.

    Examples
    --------
    >>> from kermes.equivalence import optimal_plan
    >>> optimal_plan([0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    array([[0.2, 0. , 0.5],
           [0. , 0.3, 0. ],
           [0. , 0. , 0. ]])
    """
    a, b = _arguments.weight_pair(a, b)
    costs = _arguments.cost_matrix(C, len(a))
    rows, cols = np.flatnonzero(a), np.flatnonzero(b)
    apart = costs[~np.eye(len(a), dtype=bool)]
    if (apart == apart[:1]).all():
        block = _plans.in_place(rows, a[rows], cols, b[cols])
    else:
        block = _plans.by_simplex(a[rows], b[cols], costs[np.ix_(rows, cols)])
    plan = np.zeros_like(costs)
    plan[np.ix_(rows, cols)] = block
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
    >>> from kermes.equivalence import row_costs
    >>> row_costs([[0, 4], [4, 0]], [[0.5, 0.25], [0.0, 0.25]])
    array([1., 0.])
    """
    moved = np.asarray(plan, dtype=np.float64)
    costs = _arguments.cost_matrix(C, len(moved) if moved.ndim == 2 else 0)
    moved = _arguments.transport_plan(moved, moved.sum(axis=1), moved.sum(axis=0))
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
    >>> from kermes.equivalence import row_factors
    >>> row_factors([0.75, 0.25], [0.25, 0.75], [[0, 1], [1, 0]])
    array([1., 1.])
    """
    gaps, costs = _pair(a, b, C, plan)
    return _spread(gaps**2, costs, real(free, "free", low=0.0))


def modified_costs(
    a: ArrayLike, b: ArrayLike, C: ArrayLike, plan: ArrayLike | None = None, free: float = 1.0
) -> FloatArray:
    r"""Theorem 1: return the cost matrix :math:`\xi_i C_{ij}` under which the plan costs :math:`|a - b|^2`.

    Parameters and Notes are those of :func:`row_factors`: an identity for the fixed plan. It is the Wasserstein
    distance of the modified cost for the uniform cost only.

    Examples
    --------
    >>> from kermes.equivalence import modified_costs
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
    >>> from kermes.equivalence import laplacian
    >>> round(laplacian([1.0, 0.0], [0.0, 1.0]), 6)
    0.606531
    """
    a, b = _arguments.weight_pair(a, b)
    return float(np.exp(-0.25 * positive(c, "c") * np.abs(a - b).sum()))


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
    >>> from kermes.equivalence import se_length_scales, squared_exponential
    >>> l = se_length_scales([0.5, 0.5], [0.75, 0.25], squared_distance=1.0, rho=2.0)
    >>> l.round(6), round(squared_exponential([0.5, 0.5], [0.75, 0.25], l), 6)  # exp(-1 / 8)
    (array([0.707107, 0.707107]), 0.882497)
    """
    a, b = _arguments.weight_pair(a, b)
    rho = positive(rho, "rho")
    scales = np.full(len(a), positive(free, "free"))
    differ = a != b
    if not differ.any():
        return scales
    distance = np.sqrt(
        positive(squared_distance, "squared_distance", "Different weights at distance 0 have no finite length scale.")
    )
    scales[differ] = np.abs(a - b)[differ] * (rho * np.sqrt(np.count_nonzero(differ)) / distance)
    return scales


def inverse_squared_rho(
    a: ArrayLike, b: ArrayLike, S: ArrayLike, length_scales: ArrayLike, free: float = 1.0
) -> FloatArray:
    r"""Theorem 4: return :math:`w_i = 1 / \rho_i^2` at which the anisotropic WSE kernel equals the SE kernel.

    .. math:: w_i = \frac{g_i + Q / |I|}{S_i} \quad (i \in I), \qquad g_i = \left(\frac{a_i - b_i}{\ell_i}\right)^2,
              \quad Q = \sum_{i \notin I} g_i, \quad I = \{i : S_i > 0\}

    Parameters
    ----------
    a, b : array of shape (m,)
        Weights on one support.
    S : array of shape (m,)
        Row costs of an optimal plan from a to b, see :func:`row_costs`.
    length_scales : float or array of shape (m,)
        Length scales of the SE kernel.
    free : float
        The value where :math:`S_i = 0`, greater than 0; the theorem leaves it open.

    Returns
    -------
    ndarray of shape (m,)
        :math:`1 / \rho_i^2`, not :math:`\rho_i`: it is 0, and :math:`\rho_i` infinite, where a point ships mass without
        any change of weights to account for. For a = b there is nothing to ship, and all are ``free``.

    Notes
    -----
    I is the complement of the set printed in the paper: read literally, equation 18 divides by 0 in every row.

    *Where it is an identity*: for this pair and this plan. The WSE kernel with these :math:`\rho` *is* the SE kernel,
    value for value: a Gaussian process with it has the mean and the variance of the SE process. :math:`\rho` is a
    function of (a, b), and for costs other than the uniform one :math:`C_{ij} / \rho_i^2` has other optimal plans.

    Examples
    --------
    >>> from kermes.equivalence import directional, inverse_squared_rho, optimal_plan, row_costs, squared_exponential
    >>> a, b, C = [0.7, 0.3, 0.0], [0.2, 0.3, 0.5], [[0, 4, 4], [4, 0, 4], [4, 4, 0]]
    >>> S = row_costs(C, optimal_plan(a, b, C))
    >>> w = inverse_squared_rho(a, b, S, length_scales=[0.5, 1.0, 2.0])
    >>> round(directional(S, w), 9) == round(squared_exponential(a, b, [0.5, 1.0, 2.0]), 9)
    True
    """
    a, b = _arguments.weight_pair(a, b)
    scales = _arguments.positive_vector(length_scales, "length_scales", len(a))
    costs = _arguments.row_vector(S, "S", len(a))
    return _spread(((a - b) / scales) ** 2, costs, positive(free, "free"))


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
    >>> from kermes.equivalence import directional
    >>> round(directional([1.0, 0.0], [2.0, 5.0]), 6), round(directional([0.0, 1.0], [2.0, 5.0]), 6)
    (0.367879, 0.082085)
    """
    costs = _arguments.row_vector(S, "S", np.size(S))
    return float(np.exp(-0.5 * costs @ _arguments.row_vector(inverse_squared_rho, "inverse_squared_rho", len(costs))))


def squared_exponential(a: ArrayLike, b: ArrayLike, length_scales: ArrayLike) -> float:
    r"""Return the SE kernel of two weight vectors, :math:`\exp(-\frac12 \sum_i ((a_i - b_i) / \ell_i)^2)`.

    Examples
    --------
    >>> from kermes.equivalence import squared_exponential
    >>> round(squared_exponential([1.0, 0.0], [0.0, 1.0], 1.0), 6)
    0.367879
    """
    a, b = _arguments.weight_pair(a, b)
    scales = _arguments.positive_vector(length_scales, "length_scales", len(a))
    return float(np.exp(-0.5 * (((a - b) / scales) ** 2).sum()))


def _pair(a: ArrayLike, b: ArrayLike, C: ArrayLike, plan: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return a - b and the row costs of the plan."""
    left, right = _arguments.weight_pair(a, b)
    costs = _arguments.cost_matrix(C, len(left))
    moved = optimal_plan(left, right, costs) if plan is None else _arguments.transport_plan(plan, left, right)
    return left - right, (costs * moved).sum(axis=1)


def _spread(targets: FloatArray, costs: FloatArray, free: float) -> FloatArray:
    """Return x with sum_i x_i costs_i = sum_i targets_i; rows of cost 0 are ``free``, others share their targets."""
    factors = np.full(len(costs), free)
    ships = costs > 0
    if not ships.any():
        if targets.any():
            raise UnsuitableDataError(
                "`a` and `b` differ, but moving one to the other costs nothing, whatever the factors. "
                "Give different points of the support a positive cost."
            )
        return factors
    with np.errstate(over="ignore"):
        factors[ships] = (targets[ships] + targets[~ships].sum() / np.count_nonzero(ships)) / costs[ships]
    if not np.isfinite(factors).all():
        raise NumericalError(
            f"a row cost of {costs[ships].min():.3g} is too small to divide by. Scale the costs, or round weights of "
            "that size to 0."
        )
    return factors
