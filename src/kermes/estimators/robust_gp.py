"""scikit-learn's Gaussian process regression, with a fit that always ends in a model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor

from .._typing import FloatArray
from ..exceptions import DegenerateDataWarning, IllConditionedWarning

__all__ = ["MeasureGPRegressor"]

#: First jitter, as a fraction of the mean of the diagonal; every failure multiplies it by ten.
FIRST = 1e-10
#: A correlation of two inputs from here on leaves no room for two values.
EQUAL = 1.0 - 1e-12
#: Targets that differ by less than this fraction of the largest are constant.
CONSTANT = 8 * float(np.finfo(np.float64).eps)


class MeasureGPRegressor(GaussianProcessRegressor):
    r"""Gaussian process regression that escalates a jitter instead of giving up.

    scikit-learn's ``GaussianProcessRegressor`` (all its parameters, and their meaning) raises an error when the kernel
    matrix at the best hyperparameters is not positive definite to working precision. Here the fit is repeated
    with :math:`10^{-10}, 10^{-9}, \ldots` times the mean of the diagonal added to it, until it succeeds; a warning says
    how much was needed. Within the search, hyperparameters without a Cholesky factor are rejected steps, not errors.

    Parameters
    ----------
    kernel, alpha, optimizer, n_restarts_optimizer, normalize_y, copy_X_train, n_targets, random_state
        Those of ``GaussianProcessRegressor``. The kernel is one on measures, such as
        ``ConstantKernel() * kernels.Exponential(divergence) + WhiteKernel()``.

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
    mean there is the average of both. A jitter above 1e-3 of the diagonal means that the kernel is not positive
    definite rather than badly conditioned; ``definiteness.spectrum`` tells.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import MeasureGPRegressor, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    >>> model = MeasureGPRegressor(kernels.Exponential(divergences.Wasserstein(), 1.0, length_scale_bounds="fixed"))
    >>> model.fit(X, [0.0, 1.0, 4.0]).predict(X).round(6)
    array([0., 1., 4.])
    >>> model.jitter_
    0.0
    """

    jitter_: float

    def fit(self, X: Any, y: Any) -> MeasureGPRegressor:
        """Fit by marginal likelihood.

        Parameters
        ----------
        X : Measures, or whatever the kernel takes
        y : array of shape (n,) or (n, n_targets)
        """
        alpha, optimizer = self.alpha, self.optimizer
        if _constant(y):
            warnings.warn(
                "all targets are equal; they do not determine hyperparameters, which stay as they were passed. The "
                "standard deviations of predictions are those of that prior.",
                DegenerateDataWarning,
                stacklevel=2,
            )
            self.optimizer = None
        try:
            self._escalate(X, y, alpha)
        finally:  # parameters stay what the user set
            self.alpha, self.optimizer = alpha, optimizer
        if self.jitter_:
            warnings.warn(self._jitter_message(), IllConditionedWarning, stacklevel=2)
        self._tell_equal_inputs()
        return self

    def _escalate(self, X: Any, y: Any, alpha: Any) -> None:
        self.jitter_ = 0.0
        unit = 0.0
        while True:
            try:
                super().fit(X, y)
                return
            except np.linalg.LinAlgError:
                # The least eigenvalue is above -n times the largest entry: some jitter up to there is enough.
                unit = unit or float(np.mean(self.kernel_.diag(self.X_train_)))
                if not 0.0 < unit < np.inf or self.jitter_ > 10.0 * len(self.X_train_) * unit:
                    raise
                self.jitter_ = 10.0 * self.jitter_ or FIRST * unit
                self.alpha = np.asarray(alpha) + self.jitter_ if np.ndim(alpha) else alpha + self.jitter_

    def _jitter_message(self) -> str:
        share = self.jitter_ / float(np.mean(self.kernel_.diag(self.X_train_)))
        reason = (
            "the kernel is not positive definite on these data; see definiteness.spectrum"
            if share > 1e-3
            else "inputs are too much alike for the kernel; a WhiteKernel or a greater alpha is the usual remedy"
        )
        return (
            f"the kernel matrix of {len(self.X_train_)} samples is not positive definite to working precision: a jitter "
            f"of {self.jitter_:.1e} was added to its diagonal, {share:.1e} of its mean ({reason})."
        )

    def _tell_equal_inputs(self) -> None:
        """Warn if two inputs that the kernel takes for one have different targets, and no noise explains it."""
        K = np.array(self.kernel_(self.X_train_))
        noise = self.alpha if np.ndim(self.alpha) == 0 else np.min(self.alpha)
        root = np.sqrt(np.diagonal(K))
        alike = np.triu(K >= EQUAL * np.outer(root, root), 1) & (noise < 1e-6 * np.outer(root, root))
        targets = self.y_train_.reshape(len(K), -1)
        spread = 1e-8 * max(float(np.abs(targets).max()), 1e-300)
        pairs = [(i, j) for i, j in np.argwhere(alike) if np.abs(targets[i] - targets[j]).max() > spread]
        if pairs:
            i, j = pairs[0]
            warnings.warn(
                f"samples {i} and {j} are the same for the kernel, but their targets differ ({len(pairs)} such pairs), and "
                "the model has no noise: there the mean is the average. Add a WhiteKernel, raise alpha, or merge them.",
                DegenerateDataWarning,
                stacklevel=3,
            )


def _constant(y: Any) -> bool:
    """Whether all targets of each output are equal; what is not an array of numbers is left to scikit-learn."""
    try:
        values: FloatArray = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    if not values.size or not np.isfinite(values).all():
        return False
    return bool((np.ptp(values, axis=0) <= CONSTANT * np.abs(values).max()).all())
