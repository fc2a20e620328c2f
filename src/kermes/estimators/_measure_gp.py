"""scikit-learn's Gaussian process regression, with a fit that always ends in a model, and in half the time."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, optimize
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Product, Sum, WhiteKernel

from .._estimator import OrderedScore, default_kernel, require_order_of
from .._linalg import few_threads
from .._typing import FloatArray
from .._values import as_targets, refuse_masked
from ..exceptions import DegenerateDataWarning, IllConditionedWarning
from ..kernels import Exponential
from ..kernels._columns import columns_of
from ..measures import Measures, as_measures
from ..measures._convert import holds_measures

#: Jitters against bad conditioning, as fractions of the mean of the diagonal: tried for every hyperparameter.
RUNGS = (1e-10, 1e-8, 1e-6)
#: First jitter against an indefinite kernel; every failure multiplies it by ten.
INDEFINITE = 1e-5
#: A correlation of two inputs from here on leaves no room for two values.
EQUAL = 1.0 - 1e-12
#: Targets that differ by less than this fraction of the largest are constant.
CONSTANT = 8 * float(np.finfo(np.float64).eps)
#: Derivatives of a kernel matrix in one hyperparameter: a symmetric matrix, or this number times the identity.
Derivative: TypeAlias = FloatArray | float


class MeasureGPRegressor(OrderedScore, GaussianProcessRegressor):
    r"""Gaussian process regression that escalates a jitter instead of giving up.

    scikit-learn's ``GaussianProcessRegressor`` (all its parameters, and their meaning) raises an error when the kernel
    matrix at the best hyperparameters is not positive definite to working precision, and passes over all smooth models
    on its way. Here the diagonal grows by :math:`10^{-10}`, :math:`10^{-8}` or :math:`10^{-6}` of its mean where a
    matrix needs it, in the search and at its end; a warning says how much the result has. Hyperparameters that need
    more are rejected steps. If no others are left the kernel is indefinite, and the search is repeated with
    :math:`10^{-5}, 10^{-4}, \ldots`.

    Parameters
    ----------
    kernel, alpha, optimizer, n_restarts_optimizer, normalize_y, copy_X_train, n_targets, random_state
        Those of ``GaussianProcessRegressor``. The kernel is one on measures, such as
        ``ConstantKernel() * kernels.Exponential(divergence) + WhiteKernel()``. None: this one, for measures with the
        sliced Wasserstein distance at its median; for 2-D arrays scikit-learn's.

    Attributes
    ----------
    jitter_ : float
        What was added to the diagonal beyond ``alpha``, for the fitted hyperparameters; 0 if nothing was needed.
    kernel_, L_, alpha_, X_train_, y_train_, log_marginal_likelihood_value_
        Those of ``GaussianProcessRegressor``, for the matrix with the jitter.

    Notes
    -----
    *Constant targets* say nothing about the hyperparameters: the likelihood grows without end as the variance goes
    to 0. They keep their first values, with a warning; the mean is right, the standard deviations are
    those of the prior that was passed.
    *Two targets for one input* (equal measures, no ``WhiteKernel``, a small ``alpha``): a warning names the pair; the
    mean there is the average of both.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import MeasureGPRegressor, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    >>> model = MeasureGPRegressor(kernels.Exponential(divergences.Wasserstein(), 1.0, length_scale_bounds="fixed"))
    >>> model.fit(X, [1.0, 2.0, 5.0]).predict(X).round(6)
    array([1., 2., 5.])
    >>> model.jitter_
    0.0
    """

    kernel: Any
    alpha: Any
    optimizer: Any
    jitter_: float
    #: The likelihood in use, during a fit.
    _held: list[Likelihood] | None = None

    def fit(self, X: Any, y: Any) -> MeasureGPRegressor:
        """Fit by marginal likelihood.

        Parameters
        ----------
        X : Measures, or whatever the kernel takes
        y : array of shape (n,) or (n, n_targets)
        """
        samples = self._read(X)
        require_order_of(X, samples, y=y, alpha=self.alpha)
        X, y = samples, as_targets(y, numeric=True)
        kernel, alpha, optimizer = self.kernel, self.alpha, self.optimizer
        if kernel is None and isinstance(X, Measures):
            self.kernel = ConstantKernel() * default_kernel(X) + WhiteKernel()
        alpha = np.asarray(alpha) if np.ndim(alpha) else alpha
        if _constant(y):
            warnings.warn(
                "all targets are equal; they do not determine hyperparameters, which stay as they were passed. The "
                "standard deviations of predictions are those of that prior.",
                DegenerateDataWarning,
                stacklevel=2,
            )
            self.optimizer = None
        self._held = []
        try:
            with few_threads(len(X) if hasattr(X, "__len__") else 0):
                self._escalate(X, y, alpha)
        finally:  # parameters stay what the user set
            self.kernel, self.alpha, self.optimizer = kernel, alpha, optimizer
            self._held = None
        if self.jitter_:
            warnings.warn(self._jitter_message(), IllConditionedWarning, stacklevel=2)
        self._tell_equal_inputs()
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return what scikit-learn's method does, for whatever the kernel takes."""
        process = self
        if self.kernel is None and hasattr(self, "kernel_"):
            process = copy(self)
            process.kernel = self.kernel_  # by which scikit-learn sees that samples are no vectors
        read = self._read(X)
        return GaussianProcessRegressor.predict(process, read, return_std=return_std, return_cov=return_cov)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> FloatArray:
        """Return what scikit-learn's method does, for whatever the kernel takes."""
        return np.asarray(super().sample_y(self._read(X), n_samples, random_state))

    def _read(self, X: Any) -> Any:
        """Return what has names or a form that scikit-learn would not keep as samples that it passes on."""
        columns = columns_of(self.kernel)
        if columns is not None:
            return columns.read(X)
        refuse_masked(X, "X")
        return as_measures(X) if holds_measures(X) else X

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """Return what scikit-learn's method does, with the least jitter that the matrix at ``theta`` needs."""
        if theta is None:
            return super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)
        K, derivatives = self._likelihood().matrix(np.asarray(theta, dtype=np.float64), eval_gradient)
        unit = float(np.mean(np.diag(K)))
        K.flat[:: len(K) + 1] += self.alpha
        L, _ = _cholesky(K, unit, (0.0, *RUNGS))
        if L is None:
            return (-np.inf, np.zeros_like(theta)) if eval_gradient else -np.inf
        y = self.y_train_.reshape(len(K), -1)
        solved = linalg.cho_solve((L, True), y, check_finite=False)
        value = Likelihood.value(L, y, solved)
        return (value, Likelihood.gradient(L, solved, derivatives)) if eval_gradient else value

    def _likelihood(self) -> Likelihood:
        """Return the likelihood of this kernel on these inputs; during a fit it is kept, with its distances."""
        held = self._held
        if held and held[-1].kernel is self.kernel_ and held[-1].X is self.X_train_:
            return held[-1]
        likelihood = Likelihood(self.kernel_, self.X_train_)
        if held is not None:
            held[:] = [likelihood]
        return likelihood

    def _escalate(self, X: Any, y: Any, alpha: Any) -> None:
        extra = self.jitter_ = 0.0
        while True:
            try:
                super().fit(X, y)
            except np.linalg.LinAlgError:
                rung = self._factorise()
                if rung is None:
                    # The least eigenvalue is above -n times the largest entry: some jitter up to there is enough.
                    unit = self._mean_diagonal()
                    if not 0.0 < unit < np.inf or extra > 10.0 * len(self.X_train_) * unit:
                        raise
                    extra = 10.0 * extra or INDEFINITE * unit
                    self.alpha = alpha + extra
                    continue
                extra += rung
            self.jitter_ = extra
            return

    def _factorise(self) -> float | None:
        """Do what the end of scikit-learn's fit could not, with the least jitter; return it, or None."""
        K = self.kernel_(self.X_train_)
        K[np.diag_indices_from(K)] += self.alpha
        L, jitter = _cholesky(K, self._mean_diagonal(), RUNGS)
        if L is None:
            return None
        self.L_ = L
        self.alpha_ = linalg.cho_solve((L, True), self.y_train_, check_finite=False)
        return jitter

    def _mean_diagonal(self) -> float:
        return float(np.mean(self.kernel_.diag(self.X_train_)))

    def _jitter_message(self) -> str:
        share = self.jitter_ / self._mean_diagonal()
        reason = (
            "the kernel is not positive definite on these data; see definiteness.spectrum"
            if share > 0.9 * INDEFINITE
            else "inputs are too much alike for the kernel; a WhiteKernel or a greater alpha is the usual remedy"
        )
        return (
            f"the kernel matrix of {len(self.X_train_)} samples is not positive definite to working precision: a "
            f"jitter of {self.jitter_:.1e} was added to its diagonal, {share:.1e} of its mean ({reason})."
        )

    def _tell_equal_inputs(self) -> None:
        """Warn if two inputs that the kernel takes for one have different targets, and no noise explains it."""
        K = np.array(self.kernel_(self.X_train_))
        noise = float(np.min(self.alpha)) + self.jitter_
        scale = np.sqrt(np.outer(np.diagonal(K), np.diagonal(K)))
        alike = np.triu((EQUAL * scale <= K) & (scale * 1e-6 > noise), 1)
        targets = self.y_train_.reshape(len(K), -1)
        spread = 1e-8 * max(float(np.abs(targets).max()), 1e-300)
        pairs = [(i, j) for i, j in np.argwhere(alike) if np.abs(targets[i] - targets[j]).max() > spread]
        if pairs:
            i, j = pairs[0]
            warnings.warn(
                f"samples {i} and {j} are the same for the kernel, but their targets differ (pairs like that: "
                f"{len(pairs)}), and the model has no noise: there the mean is the average. Add a WhiteKernel, raise "
                "alpha, or merge them.",
                DegenerateDataWarning,
                stacklevel=3,
            )


def careful_l_bfgs(objective: Any, theta: FloatArray, bounds: FloatArray) -> tuple[FloatArray, float]:
    """Minimise within bounds, by L-BFGS-B with a first step of at most one unit of log(hyperparameter).

    With all variables bounded its first step goes to the minimum of a parabola of curvature 1, that is to the bounds
    if the gradient is large, where likelihoods are flat. Dividing by the gradient's length prevents that.
    """
    length = max(float(np.linalg.norm(objective(theta)[1])), 1.0)

    def scaled(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(x)
        return value / length, gradient / length

    options = {"ftol": 1e-9 / length, "gtol": 1e-5 / length}
    found = optimize.minimize(scaled, theta, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
    return np.asarray(found.x), float(found.fun * length)


def target_units(gp: Any) -> tuple[float, float]:
    """Return the mean and the standard deviation by which a fitted process of one output standardised its targets.

    Its predictions are ``mean + std * k(x, X_train_) @ alpha_``: two vectors in the place of ``alpha_`` say both.
    """
    probe, first, large = copy(gp), gp.X_train_[:1], 1e100
    probe.alpha_ = np.zeros_like(gp.alpha_)
    mean = float(np.ravel(probe.predict(first))[0])
    probe.alpha_[0] = large / probe.kernel_(first, gp.X_train_)[0, 0]
    return mean, float(np.ravel(probe.predict(first))[0] - mean) / large


def _cholesky(K: FloatArray, unit: float, rungs: tuple[float, ...]) -> tuple[FloatArray | None, float]:
    """Return the lower factor with the least jitter, of rungs in units, that allows one, and the jitter; or None."""
    diagonal = np.array(np.diag(K))
    for rung in rungs:
        K.flat[:: len(K) + 1] = diagonal + rung * unit
        try:
            return linalg.cholesky(K, lower=True, check_finite=False), rung * unit
        except np.linalg.LinAlgError:
            continue
    return None, 0.0


def _constant(y: Any) -> bool:
    """Whether all targets of each output are equal; what is not an array of numbers is left to scikit-learn."""
    try:
        values = np.asarray(y)
    except (TypeError, ValueError):
        return False
    if not values.size or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        return False
    values = values.astype(np.float64)
    return bool((np.ptp(values, axis=0) <= CONSTANT * np.abs(values).max()).all())


class Likelihood:
    """The log marginal likelihood of hyperparameters on fixed inputs, and its gradient.

    The same numbers as scikit-learn's, in half the time: distances are looked up once and not at every step, gradients
    stay matrices instead of being stacked, hyperparameters are handed down without a walk over all parameters of all
    kernels, and the inverse comes from the Cholesky factor (LAPACK's potri).
    """

    def __init__(self, kernel: Any, X: Any) -> None:
        self.kernel, self.X = kernel, X
        self._parts = clone(kernel)
        self._distances: FloatArray | None = None

    def matrix(self, theta: FloatArray, gradient: bool, kernel: Any = None) -> tuple[FloatArray, list[Derivative]]:
        """Return the kernel matrix at theta (logarithms, in scikit-learn's order), a fresh array, and its derivatives.

        A multiple of a kernel, or one with noise, is evaluated by its parts, an exponential kernel with its distances
        in hand, others as scikit-learn does. Derivatives are there if asked for: not every kernel has them.
        """
        kernel = self._parts if kernel is None else kernel
        if isinstance(kernel, Sum) and isinstance(kernel.k2, WhiteKernel):
            free = int(not kernel.k2.hyperparameter_noise_level.fixed)
            level = float(np.exp(theta[-1])) if free else float(kernel.k2.noise_level)
            K, derivatives = self.matrix(theta[: len(theta) - free], gradient, kernel.k1)
            K.flat[:: len(K) + 1] += level
            return K, [*derivatives, level] if free and gradient else derivatives
        if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
            free = int(not kernel.k1.hyperparameter_constant_value.fixed)
            c = float(np.exp(theta[0])) if free else float(kernel.k1.constant_value)
            K, derivatives = self.matrix(theta[free:], gradient, kernel.k2)
            K *= c
            first: list[Derivative] = [K.copy()] if free and gradient else []
            return K, first + [c * S for S in derivatives]
        if type(kernel) is Exponential:
            if self._distances is None:
                self._distances = kernel.distances(as_measures(self.X, "X"), None)
            if len(theta):
                kernel.length_scale = float(np.exp(theta[0]))
            K, own = kernel.profile(self._distances, gradient and len(theta) > 0)
            return K, list(own)
        if len(theta):
            kernel.theta = theta
        if not gradient:
            return kernel(self.X), []
        K, stack = kernel(self.X, eval_gradient=True)
        return K, [np.ascontiguousarray(stack[:, :, i]) for i in range(stack.shape[2])]

    @staticmethod
    def value(L: FloatArray, y: FloatArray, solved: FloatArray) -> float:
        """Return -y' K^-1 y / 2 - log|K| / 2 - n log(2 pi) / 2 for y (n, k), added over k, from K = L L' and K^-1 y."""
        n, k = y.shape
        return float(-0.5 * np.vdot(y, solved) - k * (np.log(np.diag(L)).sum() + 0.5 * n * np.log(2 * np.pi)))

    @staticmethod
    def gradient(L: FloatArray, solved: FloatArray, derivatives: list[Derivative]) -> FloatArray:
        """Return tr((a a' - K^-1) S) / 2 for each derivative S of K, with a = K^-1 y (n, k), added over k."""
        inverse, _ = linalg.lapack.dpotri(L, lower=1)  # its lower triangle; above it the zeros of L
        diagonal, rows = np.diag(inverse), inverse.T  # in memory order

        def trace(S: Derivative) -> float:
            if isinstance(S, float):
                return S * float(np.vdot(solved, solved) - solved.shape[1] * diagonal.sum())
            twice = 2.0 * np.vdot(rows, S) - diagonal @ np.diag(S)
            return float(np.vdot(solved, S @ solved) - solved.shape[1] * twice)

        return 0.5 * np.array([trace(S) for S in derivatives])
