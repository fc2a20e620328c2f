"""What turns the squared-exponential kernel of weights into a Wasserstein one: Theorem 4 of `gpm`."""

from __future__ import annotations

import numpy as np

from .._checks import real
from .._typing import ArrayLike, FloatArray
from ..exceptions import InvalidParameterError, NumericalError, UnsuitableDataError


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
        Row costs of an optimal plan T from a to b: :math:`S_i = \sum_j C_{ij} T_{ij}`, what leaves point i.
    length_scales : float or array of shape (m,)
        Length scales of the SE kernel.
    free : float
        The value where :math:`S_i = 0`, at least 0; the theorem leaves it open.

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
    >>> import numpy as np
    >>> from kermes import kernels
    >>> a, b, l = np.array([0.7, 0.3, 0.0]), np.array([0.2, 0.3, 0.5]), np.array([0.5, 1.0, 2.0])
    >>> S = 4.0 * np.maximum(a - b, 0.0)  # the cost 4 of every move
    >>> w = kernels.inverse_squared_rho(a, b, S, l)
    >>> bool(np.isclose(S @ w, np.sum(((a - b) / l) ** 2)))
    True
    """
    m = np.size(a)
    left, right, costs = (_row_vector(values, name, m) for values, name in ((a, "a"), (b, "b"), (S, "S")))
    scales = _positive_vector(length_scales, "length_scales", m)
    return _spread(((left - right) / scales) ** 2, costs, real(free, "free", low=0.0))


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


def _positive_vector(values: ArrayLike, name: str, m: int) -> FloatArray:
    """Return m positive numbers; one number stands for m equal ones."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(m, float(array))
    if array.shape != (m,) or not np.isfinite(array).all() or not (array > 0).all():
        raise InvalidParameterError(
            f"`{name}` must be a finite number greater than 0, or {m} of them, one for each point of the support; "
            f"got {values!r}."
        )
    return array


def _row_vector(values: ArrayLike, name: str, m: int) -> FloatArray:
    """Return m numbers of at least 0."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (m,) or not np.isfinite(array).all() or not (array >= 0).all():
        raise InvalidParameterError(f"`{name}` must hold {m} finite numbers of at least 0; got {values!r}.")
    return array
