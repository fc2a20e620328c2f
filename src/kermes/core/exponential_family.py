"""Maximum likelihood in an exponential family on a grid, for many moment vectors at once.

psi(theta) = ln sum_g w_g exp(<theta, f(x_g)>). For moments eta the minimum of psi(theta) - <theta, eta> is the entropy
of the density exp(<theta, f> - psi(theta)) of these moments, the most likely one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from .status import OK, UNCONVERGED

#: Stop when Newton's model promises to lower the entropy by less than half of this.
DECREMENT = 1e-13
#: Evaluations of psi per moment vector; moments well inside take 5 to 10.
EVALUATIONS = 100
#: Grid values held at once (4 MB).
BATCH = 1 << 19


class Grid(NamedTuple):
    """Statistics on the grid (G, s), the products of any two (G, s (s + 1) / 2), weights of both rules (G, 2)."""

    statistics: FloatArray
    products: FloatArray
    weights: FloatArray


class Fit(NamedTuple):
    """Parameters (B, s), entropies (B,), how far the two rules are apart in psi (B,), and a status (B,)."""

    theta: FloatArray
    entropy: FloatArray
    error: FloatArray
    status: np.ndarray


class _At(NamedTuple):
    """Objective, gradient, Hessian and quadrature error at some parameters."""

    value: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    error: FloatArray


def grid(statistics: FloatArray, weights: FloatArray) -> Grid:
    """Return a grid with the products that Hessians are sums of."""
    i, j = np.triu_indices(statistics.shape[1])
    return Grid(statistics, statistics[:, i] * statistics[:, j], weights)


def fit(g: Grid, moments: FloatArray, start: FloatArray, batch: int = BATCH) -> Fit:
    """Minimise psi(theta) - <theta, eta> for each row eta of ``moments``, ``batch`` grid values at once."""
    size = max(1, batch // len(g.statistics))
    parts = [_warm(g, moments[k : k + size], start[k : k + size].copy()) for k in range(0, len(moments), size)]
    return Fit(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _warm(g: Grid, moments: FloatArray, theta: FloatArray) -> Fit:
    """Start from theta where it is better than 0, the uniform density; where that fails, start from 0.

    From a density that is narrower than the answer, Newton steps are long and wrong.
    """
    if not theta.any():
        return _newton(g, moments, theta)
    theta[_objective(g, moments, theta) > np.log(g.weights[:, 0].sum())] = 0.0
    result = _newton(g, moments, theta)
    again = np.flatnonzero((result.status != OK) & theta.any(axis=1))
    if len(again):
        for column, cold in zip(result, _newton(g, moments[again], np.zeros_like(theta[again])), strict=True):
            column[again] = cold
    return result


def _objective(g: Grid, moments: FloatArray, theta: FloatArray) -> FloatArray:
    exponent = theta @ g.statistics.T
    top = exponent.max(axis=1)
    psi = top + np.log(np.exp(exponent - top[:, None]) @ g.weights[:, 0])
    return np.asarray(psi - np.einsum("bs,bs->b", theta, moments))


def _newton(g: Grid, moments: FloatArray, start: FloatArray) -> Fit:
    """Newton steps, halved until the objective falls as the gradient says; rows that are done leave the batch."""
    theta = start.copy()
    direction, derivative = np.zeros_like(theta), np.zeros(len(theta))
    step, value, error = np.ones(len(theta)), np.full(len(theta), np.inf), np.full(len(theta), np.inf)
    status = np.full(len(theta), UNCONVERGED)
    # No density on the grid has less entropy: moments that fall below are those of none.
    lowest = np.log(g.weights[:, 0].min())
    active = np.arange(len(theta))
    for _ in range(EVALUATIONS):
        trial = theta[active] + step[active, None] * direction[active]
        at = _evaluate(g, moments[active], trial)
        slack = 1e-14 * (1.0 + np.abs(at.value))  # what rounding may add to the objective
        falls = at.value <= value[active] + 1e-4 * step[active] * derivative[active] + slack
        step[active[~falls]] *= 0.5
        moved = active[falls]
        theta[moved], value[moved], error[moved] = trial[falls], at.value[falls], at.error[falls]
        direction[moved], derivative[moved] = _direction(at.gradient[falls], at.hessian[falls])
        step[moved] = 1.0
        status[moved[(np.abs(derivative[moved]) <= DECREMENT) & (value[moved] >= lowest)]] = OK
        # A Hessian that rounding made indefinite belongs to a density on very few nodes.
        lost = (value[active] < lowest) | (derivative[active] > 0.0)
        active = active[(status[active] != OK) & ~lost]
        if not len(active):
            break
    return Fit(theta, value, error, status)


def _direction(gradient: FloatArray, hessian: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Newton's direction and the derivative of the objective along it."""
    s = gradient.shape[1]
    # A density on one node has the Hessian 0; the ridge changes no digit that counts elsewhere.
    ridge = 1e-14 * np.trace(hessian, axis1=1, axis2=2) + 1e-200
    direction = -np.linalg.solve(hessian + ridge[:, None, None] * np.eye(s), gradient[:, :, None])[:, :, 0]
    return direction, np.einsum("bs,bs->b", gradient, direction)


def _evaluate(g: Grid, moments: FloatArray, theta: FloatArray) -> _At:
    s = theta.shape[1]
    exponent = theta @ g.statistics.T
    top = exponent.max(axis=1)
    density = np.exp(exponent - top[:, None])
    sums = density @ g.weights
    density *= g.weights[:, 0] / sums[:, :1]
    mean = density @ g.statistics
    i, j = np.triu_indices(s)
    hessian = np.empty((len(theta), s, s))
    hessian[:, i, j] = hessian[:, j, i] = density @ g.products - mean[:, i] * mean[:, j]
    with np.errstate(divide="ignore"):  # the coarse rule may miss a narrow peak altogether
        error = np.abs(np.log(sums[:, 0]) - np.log(sums[:, 1]))
    value = top + np.log(sums[:, 0]) - np.einsum("bs,bs->b", theta, moments)
    return _At(value, mean - moments, hessian, error)


# -- Clenshaw-Curtis quadrature on boxes -----------------------------------------------------------


def clenshaw_curtis(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the n + 1 points cos(k pi / n) of [-1, 1] and their quadrature weights; n is even."""
    k = np.arange(n + 1)
    j = np.arange(1, n // 2 + 1)
    factor = np.where(j == n // 2, 1.0, 2.0) / (4.0 * j**2 - 1.0)
    # The integral of the interpolating cosine series; the first and last point count half.
    weights = (2.0 - 2.0 * np.cos(2.0 * np.pi * np.outer(k, j) / n) @ factor) / n
    weights[[0, -1]] /= 2.0
    return np.cos(np.pi * k / n), weights


def box(low: FloatArray, high: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the tensor grid of (n + 1)^d points of a box (G, d) and two columns of weights (G, 2).

    The second column is the rule of n / 2 intervals per axis, 0 on the points that it leaves out; n is divisible by 4.
    """
    nodes, fine = clenshaw_curtis(n)
    coarse = np.zeros(n + 1)
    coarse[::2] = clenshaw_curtis(n // 2)[1]
    d = len(low)
    half = (high - low) / 2.0
    points = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d) * half + (low + high) / 2.0
    weights = [_product(column, d) * np.prod(half) for column in (fine, coarse)]
    return points, np.stack(weights, axis=1)


def _product(weights: FloatArray, d: int) -> FloatArray:
    out = np.ones(1)
    for _ in range(d):
        out = np.outer(out, weights).ravel()
    return out
