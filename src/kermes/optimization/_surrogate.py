"""Surrogates: Gaussian processes over the simplex, fitted to evaluations, and their posterior with its gradient.

Behind them are squared distances between weight vectors on one support. ``squares(A, B)`` are those of the rows of A
(n, m) and B (k, m), an array (n, k); ``squares.with_gradients(A, B)`` are they and their gradients in the rows of A,
(n, k, m). Transport costs are convex in the weights, with kinks; there a gradient is one of their subgradients.
Gradients are defined up to a constant, since weights add up to 1.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning as SearchWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Sum, WhiteKernel

from .._checks import integer
from .._scales import median_distance
from .._typing import FloatArray
from ..divergences import Wasserstein
from ..divergences._plans import transport
from ..engine import Engine, pairwise
from ..estimators import MeasureGPRegressor, careful_l_bfgs
from ..exceptions import DegenerateDataWarning, IllConditionedWarning, InvalidParameterError
from ..ground import Matrix, as_cost
from ..kernels import Exponential
from ..measures import Measures


class Squares(ABC):
    """Base of the squared distances."""

    @abstractmethod
    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return the squared distances (n, k)."""

    @abstractmethod
    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return them and their gradients in the rows of A, (n, k, m)."""


@dataclass(frozen=True)
class EuclideanSquares(Squares):
    """``sum_i scale_i (a_i - b_i)^2``."""

    scale: FloatArray

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        root = np.sqrt(self.scale)
        return np.asarray(cdist(A * root, B * root, "sqeuclidean"))

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient is ``2 scale (a - b)``."""
        return self(A, B), 2.0 * self.scale * (A[:, None] - B[None])


@dataclass(frozen=True)
class UniformSquares(Squares):
    """W_2^2 under the cost matrix c (1 - I): ``c/2 sum_i |a_i - b_i|``."""

    c: float

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return np.asarray(0.5 * self.c * cdist(A, B, "cityblock"))

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient is ``c/2 sign(a - b)``, 0 where the weights are equal."""
        return self(A, B), 0.5 * self.c * np.sign(A[:, None] - B[None])


@dataclass(frozen=True)
class LineSquares(Squares):
    """W_2^2 on points z of the line."""

    z: FloatArray

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return _transport(Wasserstein(p=2), A, B, self.z)

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The gradient is that of the integral of (Q_a - Q_b)^2 over (0, 1), through the cumulative weights.

        Q_a is z_i between the cumulative weights F_{i-1} and F_i of a, so that F_i moves the integral by
        (z_i - q)^2 - (z_{i+1} - q)^2, with q = Q_b(F_i); a weight moves all cumulative ones from its own on.
        """
        order = np.argsort(self.z)
        z = self.z[order]
        F = np.cumsum(A[:, order], axis=1)[:, :-1]
        G = np.cumsum(B[:, order], axis=1)[:, :-1]
        out = np.zeros((len(A), len(B), len(z)))
        for j, levels in enumerate(G):
            q = z[np.searchsorted(levels, F)]
            moved = (z[:-1] - q) ** 2 - (z[1:] - q) ** 2
            out[:, j, order[:-1]] = np.cumsum(moved[:, ::-1], axis=1)[:, ::-1]
        return self(A, B), out


@dataclass(frozen=True)
class MatrixSquares(Squares):
    """W_2^2 under any table C of squared ground distances, by the network simplex."""

    C: FloatArray

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return _transport(Wasserstein(p=2, cost=Matrix.from_costs(self.C, 2)), A, B, np.arange(float(len(self.C))))

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both from one linear program for each pair.

        The value is the maximum of u a + v b over u_i + v_j <= C_ij: a maximiser u is a subgradient. The solver leaves
        u open where a has no mass; u_i = min_j C_ij - v_j over the atoms of b is feasible everywhere and no less.
        """
        values, gradients = np.empty((len(A), len(B))), np.empty((len(A), len(B), len(self.C)))
        atoms = [(b[b > 0], np.ascontiguousarray(self.C[:, b > 0])) for b in B]
        for i, a in enumerate(A):
            rows = np.flatnonzero(a)
            for j, (b, costs) in enumerate(atoms):
                v = transport(a[rows], b, costs[rows]).v
                gradients[i, j] = (costs - v).min(axis=1)
                values[i, j] = gradients[i, j] @ a + v @ b
        return np.maximum(values, 0.0), gradients


def transport_squares(cost: Any, points: FloatArray | None, m: int) -> Squares:
    """Return W_2^2 between weights on m points under a ground distance, in closed form where there is one."""
    cost = as_cost(cost)
    if cost.size not in (None, m):
        raise InvalidParameterError(
            f"`cost` must be a table of {m} x {m} distances, one row for each weight; got {(cost.size, cost.size)}."
        )
    if cost.uniform is not None:
        return UniformSquares(cost.uniform**2)
    if points is None and cost.size is None:
        raise InvalidParameterError(
            f"`cost` {cost!r} needs to know where the points are; pass them as `support`, not their number."
        )
    support = np.empty((m, 0)) if points is None else points  # a matrix needs no points
    if cost.absolute and support.shape[1] == 1:
        return LineSquares(support[:, 0])
    Wasserstein(p=2, cost=cost)  # refuses costs that are not distances
    return MatrixSquares(cost.table(support) ** 2)


def _transport(divergence: Wasserstein, A: FloatArray, B: FloatArray, support: FloatArray) -> FloatArray:
    """Return W_2^2 without a memo: batches of candidates are small, and met once."""
    X, Y = (Measures.from_histograms(weights, support) for weights in (A, B))
    return pairwise(X, Y, divergence=divergence, engine=Engine("serial", memo=False, progress=False), squared=True)


#: Where length scales are looked for, in units of the median distance of the evaluations.
LENGTHS = (1e-2, 1e2)
#: Where the variances of the process and of the noise are looked for, in units of the variance of the values.
VARIANCES, NOISE = (1e-3, 1e3), (1e-8, 10.0)
#: The least variance of a posterior, as a share of the prior's: rounding makes it 0 or less at evaluations.
LEAST = 1e-14
#: The least unit of values; differences far below it count as none.
LEAST_UNIT = 1e-100


class Prediction(NamedTuple):
    """Mean and standard deviation (n,) of the function, without noise, and their gradients (n, m)."""

    mean: FloatArray
    std: FloatArray
    mean_gradient: FloatArray
    std_gradient: FloatArray


@dataclass(frozen=True)
class Posterior:
    """A Gaussian process after the evaluations, with the kernel ``variance * exp(-squares / 2)``.

    Parameters
    ----------
    evaluated : ndarray of shape (k, m)
        Weights of the evaluations.
    squares : Squares
        Squared distances in units of the squared length scale.
    model : GaussianProcessRegressor
        The fitted regression, of standardised values.
    variance : float
        Of the process, in standardised units.
    unit : float
        Of the values that the regression was fitted to.
    """

    evaluated: FloatArray
    squares: Squares
    model: Any
    variance: float
    unit: float = 1.0

    @classmethod
    def of_weights(cls, evaluated: FloatArray, model: Any) -> Posterior:
        """Return the posterior of a regression with a squared-exponential kernel of the weights themselves.

        Parameters
        ----------
        evaluated : ndarray of shape (k, m)
            Weights that the regression was fitted to.
        model : GaussianProcessRegressor
            Its kernel is ``ConstantKernel * RBF``, with one length scale or m of them, or that plus a ``WhiteKernel``.
        """
        variance, length = _fitted(model.kernel_)
        scale = np.broadcast_to(1.0 / np.asarray(length) ** 2, evaluated.shape[1:])
        return cls(evaluated, EuclideanSquares(scale), model, variance)

    def predict(self, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the standard deviation of the function at weights A (n, m)."""
        return self._moments(self.squares(A, self.evaluated))[:2]

    def predict_with_gradients(self, A: FloatArray) -> Prediction:
        r"""Return mean, standard deviation and their gradients.

        With :math:`k_j(a) = s\, e^{-d_j^2(a)/2}` and the matrix K of the evaluations, noise included,

        .. math:: \mu = k^T K^{-1} y, \quad \sigma^2 = s - k^T K^{-1} k, \quad
                  \nabla k_j = -\tfrac12 k_j \nabla d_j^2, \quad
                  \nabla \mu = \sum_j (K^{-1} y)_j \nabla k_j, \quad
                  \nabla \sigma = -\sigma^{-1} \sum_j (K^{-1} k)_j \nabla k_j
        """
        squares, gradients = self.squares.with_gradients(A, self.evaluated)
        mean, std, k, solved = self._moments(squares)
        by_mean = -0.5 * self._scale * k * self.model.alpha_
        by_std = 0.5 * self._scale**2 * k * solved / std[:, None]
        return Prediction(mean, std, *(np.einsum("nk,nkm->nm", w, gradients) for w in (by_mean, by_std)))

    @property
    def best(self) -> float:
        """The least mean at an evaluated point."""
        return float(self.predict(self.evaluated)[0].min())

    @property
    def _scale(self) -> float:
        return float(self.model._y_train_std) * self.unit

    def _moments(self, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return mean, standard deviation, the covariances k with the evaluations, and K^-1 k."""
        k = np.asarray(self.variance * np.exp(-0.5 * squares))
        solved = linalg.cho_solve((self.model.L_, True), k.T, check_finite=False).T
        variance = np.maximum(self.variance - np.einsum("nk,nk->n", k, solved), LEAST * self.variance)
        mean = k @ self.model.alpha_ * self._scale + float(self.model._y_train_mean) * self.unit
        return mean, np.sqrt(variance) * self._scale, k, solved


class Surrogate(ABC):
    """Base of the surrogates: frozen parameters, and :meth:`fit`.

    They keep quiet about values that are all equal (the standard deviation then says where nothing is known) and about
    matrices that need a jitter, as those of evaluations close to each other do; ``posterior.model.jitter_`` has it.
    """

    n_restarts: int

    def fit(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Fit hyperparameters to evaluations by marginal likelihood.

        Parameters
        ----------
        A : ndarray of shape (k, m)
            Weights.
        y : ndarray of shape (k,)
            Values.
        points : ndarray of shape (m, d), optional
            The support of the weights, if it is known.
        noise : bool
            Learn the variance of a noise in the values.
        seed : int
            Of the restarts.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            warnings.simplefilter("ignore", IllConditionedWarning)
            warnings.simplefilter("ignore", SearchWarning)
            unit = _unit(y)
            return replace(self.regress(A, y / unit, points, noise, seed), unit=unit)

    @abstractmethod
    def regress(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Fit to values of size 1: what a surrogate of one's own defines. The parameters are those of :meth:`fit`."""

    def check(self, points: FloatArray | None, m: int) -> None:
        """Refuse a support that the surrogate cannot work with."""
        return  # weights alone need none


@dataclass(frozen=True)
class WassersteinSurrogate(Surrogate):
    r"""Gaussian process with the Wasserstein squared-exponential kernel :math:`s \exp(-W_2^2 / (2 \ell^2))`.

    Parameters
    ----------
    cost : 'binary', 'euclidean', ground cost, or array of shape (m, m)
        Ground *distance* between the points of the support, raised to the power 2.
    n_restarts : int
        Searches for hyperparameters from random ones, beside the one from the median distance.

    Notes
    -----
    Positive definite for a uniform cost (where the kernel is the Laplacian one of the weights, and samples are rough)
    and for points on the line; under other costs a jitter makes the matrix so if it must. *Cost* of a prediction:
    closed form for a uniform cost, sorted merges on the line, elsewhere a linear program for each candidate and
    evaluation.
    """

    cost: Any = "binary"
    n_restarts: int = 1

    def check(self, points: FloatArray | None, m: int) -> None:
        """Refuse a cost that does not fit the support."""
        transport_squares(self.cost, points, m)

    def regress(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Start from the median distance."""
        squares = transport_squares(self.cost, points, A.shape[1])
        median = median_distance(np.sqrt(squares(A, A)))
        bounds = (LENGTHS[0] * median, LENGTHS[1] * median)
        shape = Exponential(Wasserstein(p=2, cost=self.cost), median, length_scale_bounds=bounds)
        support = np.arange(float(A.shape[1])) if points is None else points
        model = _regression(shape, noise, self.n_restarts, seed).fit(Measures.from_histograms(A, support), y)
        variance, length = _fitted(model.kernel_)
        return Posterior(A, _Scaled(squares, 1.0 / length**2), model, variance)


@dataclass(frozen=True)
class EuclideanSurrogate(Surrogate):
    r"""Gaussian process with the squared-exponential kernel of the weights, :math:`s \exp(-\|a - b\|^2 / (2 \ell^2))`.

    scikit-learn's ``RBF`` on the vectors: it does not know that they are measures.

    Parameters
    ----------
    n_restarts : int
        Searches for hyperparameters from random ones, beside the one from the median distance.
    """

    n_restarts: int = 1

    def regress(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Start from the median distance."""
        median = median_distance(np.sqrt(EuclideanSquares(np.ones(A.shape[1]))(A, A)))
        shape = RBF(median, (LENGTHS[0] * median, LENGTHS[1] * median))
        model = _regression(shape, noise, self.n_restarts, seed).fit(A, y)
        return Posterior.of_weights(A, model)


@dataclass(frozen=True)
class _Scaled(Squares):
    """Squared distances in another unit."""

    squares: Squares
    factor: float

    def __call__(self, A: FloatArray, B: FloatArray) -> FloatArray:
        return self.factor * self.squares(A, B)

    def with_gradients(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        values, gradients = self.squares.with_gradients(A, B)
        return self.factor * values, self.factor * gradients


def _unit(y: FloatArray) -> float:
    """Return the power of 2 near the spread of the values, or near their size if they are equal.

    The regression squares values, and takes spreads below 1e-15 for none. Dividing by a power of 2 rounds nothing.
    """
    spread = float(y.max() / 2 - y.min() / 2) or float(np.abs(y).max())
    return float(2.0 ** np.frexp(max(spread, LEAST_UNIT))[1]) if spread else 1.0


def _regression(shape: Any, noise: bool, n_restarts: int, seed: int) -> MeasureGPRegressor:
    kernel = ConstantKernel(1.0, VARIANCES) * shape
    return MeasureGPRegressor(
        kernel + WhiteKernel(1e-2, NOISE) if noise else kernel,
        optimizer=careful_l_bfgs,
        n_restarts_optimizer=integer(n_restarts, "n_restarts", low=0),
        normalize_y=True,
        random_state=seed,
    )


def _fitted(kernel: Any) -> tuple[float, Any]:
    """Return the variance and the length scale of a fitted kernel."""
    process = kernel.k1 if isinstance(kernel, Sum) else kernel
    return float(process.k1.constant_value), process.k2.length_scale
