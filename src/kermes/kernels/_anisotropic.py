"""Anisotropic Wasserstein kernels: one length scale for each point of the support; Theorem 4 of `gpm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter

from .._checks import real
from .._typing import ArrayLike, FloatArray
from .._values import as_floats
from ..divergences import _plans
from ..divergences._base import filled
from ..divergences._support import common_support, dense_rows
from ..exceptions import InvalidParameterError, NumericalError, UnsuitableDataError
from ..ground import as_cost
from ..measures import Measures, as_measures
from ._base import MeasureKernel

#: Two values of an exponent that differ by more than this, relative to the larger, are two values.
SAME = 1e-9
#: Length scales whose squares, and one over these, are normal numbers.
SHORTEST = 1e-150


@dataclass(eq=False, repr=False)
class AnisotropicWasserstein(MeasureKernel):
    r"""Wasserstein squared-exponential kernel with a length scale for each point of the support, symmetrised.

    .. math:: k(\mu, \nu) = \exp\left(-\frac{c}{4} \sum_i \frac{|a_i - b_i|}{\rho_i^2}\right)

    for weights a, b on a shared support and the uniform ground cost :math:`C = c (1 - I)`. The one-sided value of `gpm`
    (equation 16) is

    .. math:: k(\mu \to \nu) = \exp\left(-\frac12 \sum_i \frac{S_i}{\rho_i^2}\right), \qquad
              S_i = \sum_j C_{ij} T_{ij}

    with the optimal plan T of :math:`W_2`; :meth:`directional` returns it. It depends on the direction, so it is not
    a kernel. This class averages the *exponents* of both directions.

    Parameters
    ----------
    rho : array of shape (m,)
        Length scales, one for each point of the shared support, in units of :math:`W_2`. For a single one use
        ``Exponential(Wasserstein(p=2, cost='binary'))``.
    cost : 'binary', ground cost, or array of shape (m, m)
        Ground *distance*, raised to the power 2: ``Binary(scale)`` has c = scale^2, see ``Binary.from_cost(c)``.
    rho_bounds : pair of float, array of shape (m, 2) or 'fixed'
        Where the marginal likelihood may look for the length scales; gradients are in log(rho).

    Notes
    -----
    *Positive definite* for the uniform cost: a product of Laplacian kernels, one for each weight. Calling the kernel
    with any other cost is refused, because there the average of the exponents too is indefinite in general.

    *Refused on purpose*: a symmetric matrix made of one triangle of the directional values. Which of the two values
    of a pair it holds depends on the order of the samples, and it is indefinite for most data. With m = 2,
    c = 4, :math:`\rho = (1, 0.1)` and the weights :math:`a_1 = 0.5, 0.6, 0.4` its eigenvalues are -0.06, 1 and 2.06. No
    small nugget repairs that: this, not an ill-conditioned kernel, is what makes likelihoods fail. The whole
    directional matrix is similar to the matrix of this kernel; it has positive eigenvalues, but is not a covariance.

    On m = 2 points the kernel depends on :math:`1/\rho_1^2 + 1/\rho_2^2` only: one length scale says as much.
    *Cost*: :math:`O(m)` per pair for every new rho; the gradient holds m numbers per pair.

    Examples
    --------
    >>> from kermes import Measures, kernels
    >>> X = Measures.from_histograms([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], support=[0.0, 1.0, 2.0])
    >>> k = kernels.AnisotropicWasserstein(rho=[1.0, 1.0, 0.5])
    >>> k(X).round(3)
    array([[1.   , 0.535],
           [0.535, 1.   ]])
    >>> k.directional(X).round(3)
    array([[1.   , 0.779],
           [0.368, 1.   ]])
    """

    rho: ArrayLike
    cost: Any = "binary"
    rho_bounds: ArrayLike | str = (1e-5, 1e5)

    @property
    def hyperparameter_rho(self) -> Hyperparameter:
        """The length scales, which a Gaussian process tunes."""
        return Hyperparameter("rho", "numeric", self.rho_bounds, np.size(self.rho))

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        from ..core import vectors

        cost = as_cost(self.cost)
        if cost.uniform is None:
            raise InvalidParameterError(
                f"`cost` must be uniform, such as 'binary' or ground.Binary(scale); got {cost!r}. Under other costs "
                "the anisotropic kernel is indefinite in general, also when the exponents of both directions are "
                "averaged; a triangle of the directional values, mirrored, is indefinite and depends on the order of "
                "the samples. Use Exponential(Wasserstein(p=2, cost=...)) with one length scale; directional(X, Y) "
                "gives the one-sided values."
            )
        rates = 0.25 * cost.uniform**2 / self._rho() ** 2
        A, B, _ = self._weights(X, Y)
        left = A * rates
        right = left if Y is None else B * rates
        K = np.exp(-filled(vectors.power_tile, left, np.arange(len(A)), right, np.arange(len(B)), False, 1.0))
        if not gradient:
            return K, None
        # d/d(log rho_i) exp(-r_i |a_i - b_i|) with r_i proportional to rho_i^-2
        return K, K[:, :, None] * (2.0 * np.abs(left[:, None] - left[None]))

    def directional(self, X: Any, Y: Any = None) -> FloatArray:
        r"""Return the one-sided values of equation 16, from each measure of X to each of Y.

        Parameters
        ----------
        X, Y : Measures on one shared support
            Y is X by default; the matrix is *not* symmetric, and must not be made so by copying a triangle.

        Returns
        -------
        ndarray of shape (len(X), len(Y))

        Notes
        -----
        In closed form for the uniform cost, :math:`S_i = c (a_i - b_i)_+`, and by the increasing plan on the line. For
        other costs three transport problems per pair also find whether all optimal plans give one value; if they do
        not, the value is not defined and the pair is refused.
        """
        left = as_measures(X, "X")
        right = None if Y is None else as_measures(Y, "Y")
        rates = 0.5 / self._rho() ** 2
        A, B, points = self._weights(left, right)
        cost = as_cost(self.cost)
        if cost.uniform is not None:
            rates = rates * cost.uniform**2
            return np.asarray(np.exp(np.stack([-np.maximum(a - B, 0.0) @ rates for a in A])))
        if cost.squared:
            raise InvalidParameterError("`cost` must be a distance, which is squared; use 'euclidean'.")
        C, line = cost.table(points) ** 2, points if cost.absolute and points.shape[1] == 1 else None
        values = [[_exponent(a, b, C, rates, line, (i, j)) for j, b in enumerate(B)] for i, a in enumerate(A)]
        return np.asarray(np.exp(-np.array(values)))

    def _weights(self, X: Measures, Y: Measures | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the weights of X and Y on their support, and its points."""
        m = np.size(self.rho)
        other = X if Y is None else Y
        if not X.shares_support(other):
            raise UnsuitableDataError(
                "one length scale per point needs measures on one shared support; make them with "
                "Measures.from_histograms or from_images, X and Y with the same support."
            )
        common = common_support(X, other)
        as_cost(self.cost).check(X)
        if len(common.points) != m:
            raise UnsuitableDataError(
                f"`rho` has {m} entries, but the measures share a support of {len(common.points)} points; give one "
                "length scale per point."
            )
        A = dense_rows(X, *common)
        return A, A if Y is None else dense_rows(Y, *common), common.points

    def _rho(self) -> FloatArray:
        rho = as_floats(self.rho, "rho")
        if rho.ndim != 1 or not len(rho) or not ((rho >= SHORTEST) & (rho <= 1 / SHORTEST)).all():
            raise InvalidParameterError(
                "`rho` must be a vector of finite numbers greater than 0 (1e-150 to 1e150), one for each point of the "
                f"support; got {self.rho!r}. For a single length scale use "
                "Exponential(Wasserstein(p=2, cost='binary'))."
            )
        return rho

    def is_positive_definite(self, dim: int) -> bool | None:
        """Return True for a uniform cost, the only one with which the kernel can be called."""
        return True if as_cost(self.cost).uniform is not None else None

    def __repr__(self) -> str:
        rho = ", ".join(f"{r:.3g}" for r in np.ravel(self.rho)[:6]) + (", ..." if np.size(self.rho) > 6 else "")
        return f"AnisotropicWasserstein(rho=[{rho}], cost={self.cost!r})"


def _exponent(
    a: FloatArray, b: FloatArray, C: FloatArray, rates: FloatArray, points: FloatArray | None, pair: tuple[int, int]
) -> float:
    """Return sum_i rates_i S_i; ``points`` are those of a support on the line, where the plan is known."""
    rows, cols = np.flatnonzero(a), np.flatnonzero(b)
    block = C[np.ix_(rows, cols)]
    if points is not None:
        plan = _plans.on_the_line(points[rows, 0], a[rows], points[cols, 0], b[cols])
        return float(rates[rows] @ (block * plan).sum(axis=1))
    low, high = _plans.weighted_cost_range(a[rows], b[cols], block, rates[rows])
    if high - low > SAME * max(high, 1.0):
        raise UnsuitableDataError(
            f"equation 16 has no single value for `X[{pair[0]}]` and `Y[{pair[1]}]`: their optimal plans give "
            f"exponents from {-high:.4g} to {-low:.4g}. Costs without ties have one plan."
        )
    return low


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
    left, right, costs = (_vector(values, name, m) for values, name in ((a, "a"), (b, "b"), (S, "S")))
    scales = _vector(length_scales, "length_scales", m, scales=True)
    targets = ((left - right) / scales) ** 2
    weights = np.full(m, real(free, "free", low=0.0))
    ships = costs > 0
    if not ships.any():
        if targets.any():
            raise UnsuitableDataError(
                "`a` and `b` differ, but moving one to the other costs nothing, whatever the factors. "
                "Give different points of the support a positive cost."
            )
        return weights
    with np.errstate(over="ignore"):
        weights[ships] = (targets[ships] + targets[~ships].sum() / np.count_nonzero(ships)) / costs[ships]
    if not np.isfinite(weights).all():
        raise NumericalError(
            f"a row cost of {costs[ships].min():.3g} is too small to divide by. Scale the costs, or round weights of "
            "that size to 0."
        )
    return weights


def _vector(values: ArrayLike, name: str, m: int, scales: bool = False) -> FloatArray:
    """Return m numbers of at least 0; of scales, greater than 0, one may stand for m equal ones."""
    array = as_floats(values, name)
    if scales and array.ndim == 0:
        array = np.full(m, float(array))
    if array.shape == (m,) and np.isfinite(array).all() and ((array > 0) if scales else (array >= 0)).all():
        return array
    wanted = f"hold {m} finite numbers of at least 0"
    if scales:
        wanted = f"be a finite number greater than 0, or {m} of them, one for each point of the support"
    raise InvalidParameterError(f"`{name}` must {wanted}; got {values!r}.")
