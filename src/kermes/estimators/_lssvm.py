"""Least-squares support vector machines, for definite and indefinite kernels on measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, positive
from .._estimator import KernelEstimator, KernelSamples, OrderedScore, require_order_of
from .._typing import AnyArray, FloatArray, IndexArray
from .._values import as_floats
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..features import KernelFeatures
from . import _solve
from ._multiclass import CodedClassifier, fit_sigmoids, probabilities


@dataclass(eq=False, repr=False)
class _LSSVM(KernelEstimator):
    """One machine per column of targets, dual or primal."""

    kernel: Any = None
    gamma: float = 1.0
    solver: str = "dual"
    n_core: int | None = None
    tol: float = 1e-6
    random_state: Any = None

    def _read_weighted(
        self, X: Any, y: Any, sample_weight: Any, **options: Any
    ) -> tuple[KernelSamples, AnyArray, FloatArray]:
        """Return checked training samples, targets and weights."""
        samples, y = self._read_labelled(X, y, **options)
        require_order_of(X, samples, sample_weight=sample_weight)
        return samples, y, _read_weights(sample_weight, len(y))

    def _fit_machines(self, samples: KernelSamples, targets: FloatArray, weights: FloatArray, shared: bool) -> None:
        """Fit all columns of ``targets``; unless ``shared``, a sample with target 0 takes no part in that column.

        Samples of weight 0 are left out.
        """
        gamma = positive(self.gamma, "gamma")
        check_solver(self.solver, self.n_core)
        kept = np.flatnonzero(weights > 0)
        self._bind(samples, kept)
        self._targets, self._ridge, self._shared = targets[kept], 1.0 / (gamma * weights[kept]), shared
        if self.solver == "dual":
            self.dual_coef_, self.intercept_ = self._solve(_solve.dual, self._gram_fit())
            return
        self.features_ = KernelFeatures(self.kernel_, None, self.tol, self.n_core, self.random_state)
        F = self.features_.set_output(transform="default").fit_transform(self.X_fit_)
        self.coef_, self.intercept_ = self._solve(_solve.primal, F)

    def _solve(self, method: _solve.Solver, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve all columns at once if they share their samples, one after the other if not."""
        if self._shared:
            return method(matrix, self._targets, self._ridge)
        machines = [_solve.binary(method, matrix, target, self._ridge) for target in self._targets.T]
        return np.column_stack([coef for coef, _ in machines]), np.array([intercept for _, intercept in machines])

    def terms(self, X: Any) -> tuple[FloatArray, IndexArray]:
        r"""Return the terms of the outputs: with the intercept they add up to them.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes

        Returns
        -------
        terms : ndarray of shape (len(X), n_terms, n_machines)
            :math:`\alpha_i k(x, x_i)`; a primal machine is such a sum over its core samples.
        rows : ndarray of shape (n_terms,)
            The row of each :math:`x_i` in the training set.
        """
        check_is_fitted(self)
        samples = self._read(X, reset=False)
        if self.solver == "dual":
            return self._gram(samples)[:, :, np.newaxis] * self.dual_coef_, self.support_
        core = self.features_.support_
        rows = self.support_[core]
        K = np.asarray(samples)[:, rows] if self._precomputed else self.kernel_(samples, self.X_fit_[core])
        return K[:, :, np.newaxis] * (self.features_.components_.T @ self.coef_), rows

    def _outputs(self, X: Any) -> FloatArray:
        """Return the output of each machine at each sample, (len(X), n_machines)."""
        check_is_fitted(self)
        samples = self._read(X, reset=False)
        if self.solver == "dual":
            return self._gram(samples) @ self.dual_coef_ + self.intercept_
        if self._precomputed:
            samples = np.asarray(samples)[:, self.support_]
        return np.asarray(self.features_.transform(samples) @ self.coef_ + self.intercept_)

    def _leave_one_out(self) -> FloatArray:
        """Return the outputs at the training samples of the machines trained without them."""
        check_is_fitted(self)
        if self.solver != "dual":
            raise InvalidParameterError(
                "leave-one-out in closed form needs solver='dual'; use cross_val_score instead."
            )
        if len(self.support_) < 2:
            raise UnsuitableDataError("leave-one-out needs at least two training samples; got one.")
        return self._left_out()

    def _left_out(self) -> FloatArray:
        """Return these outputs for both solvers; primal machines keep the map to features of all samples.

        Machines that a sample takes no part in give it their output.
        """
        dual = self.solver == "dual"
        method = _solve.dual_leave_one_out if dual else _solve.primal_leave_one_out
        matrix = self._gram_fit() if dual else self.features_.transform(self.X_fit_)
        if self._shared:
            return method(matrix, self._targets, self._ridge)
        outputs: FloatArray = matrix @ (self.dual_coef_ if dual else self.coef_) + self.intercept_
        for p, target in enumerate(self._targets.T):
            rows = np.flatnonzero(target)
            own = matrix[np.ix_(rows, rows)] if dual else matrix[rows]
            outputs[rows, p] = method(own, target[rows, np.newaxis], self._ridge[rows])[:, 0]
        return outputs


def _has_probabilities(machine: Any) -> bool:
    """Whether there is ``predict_proba``; the error says what to do, as that of scikit-learn's SVC does."""
    if not machine.probability:
        raise AttributeError("predict_proba is available with probability=True, set before fit.")
    return True


class LSSVMClassifier(CodedClassifier, _LSSVM):
    r"""Least-squares support vector classifier.

    Each binary machine :math:`f(x) = \sum_i \alpha_i k(x, x_i) + b` solves

    .. math:: \begin{pmatrix} K + I / \gamma & 1 \\ 1' & 0 \end{pmatrix}
              \begin{pmatrix} \alpha \\ b \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix},
              \qquad y_i \in \{-1, 1\}

    which has a solution for an indefinite kernel too ("Wasserstein exponential kernels", equation 4, with the paper's
    :math:`N / \gamma` written :math:`1 / \gamma`).

    Parameters
    ----------
    kernel : kernel on measures, None or 'precomputed'
        None: a squared-exponential kernel of the sliced Wasserstein distance, with the median of the distinct positive
        distances as length scale. 'precomputed': X is a Gram matrix.
    gamma : float
        Weight of the squared errors; large values interpolate.
    solver : 'dual' or 'primal'
        'dual' solves the system above. 'primal' solves for weights on :class:`KernelFeatures`, the positive part of
        the spectrum; with ``n_core`` it never needs the full Gram matrix.
    n_core : int, optional
        Core samples of the features (primal); all by default.
    multiclass : 'ovo' or 'ovr'
        One machine for each pair of classes, decoded by Hamming distance; or one for each class against the rest, where
        the largest output wins.
    tol : float
        Smallest eigenvalue of the features (primal).
    random_state : int, RandomState or None
        Seed of the draw of the core samples.
    class_weight : dict, 'balanced' or None
        Multiplies the weights of the samples of each class; 'balanced' gives all classes the same weight in all.
    probability : bool
        Whether ``fit`` prepares ``predict_proba``, at about the cost of a second fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    codes_ : ndarray of shape (n_classes, n_problems)
        Target of each class in each binary problem: -1, 1, or 0 if it takes no part.
    kernel_ : kernel
        The kernel in use.
    dual_coef_ : ndarray of shape (n_samples, n_problems)
        The :math:`\alpha` of each problem, 0 for samples of other classes (dual).
    coef_ : ndarray of shape (n_features, n_problems)
        Weights of the features (primal); ``features_`` computes them.
    intercept_ : ndarray of shape (n_problems,)
    support_ : ndarray
        Rows of the training set in use: those of positive weight.

    Notes
    -----
    *One-versus-one*: the predicted class is the one whose code word has the smallest Hamming distance to the signs of
    the outputs; ties go to the larger sum of margins, then to the first class. *Cost*: :math:`O(n_p^3)` per binary
    problem of :math:`n_p` samples (dual), :math:`O(n_p l^2)` for l features (primal). A Cholesky factorisation where
    the system is positive definite, :math:`L D L'` otherwise.

    *Probabilities*: a sigmoid for each binary machine (Platt, 2000), fitted to its leave-one-out outputs, which are
    exact and in closed form, so that no sample is judged by a machine that saw it (primal: with the feature map of all
    samples). Several classes are coupled by the second method of Wu, Lin and Weng (2004), one-versus-rest sigmoids are
    divided by their sum. The most probable class may differ from ``predict`` where classes are close. A sigmoid does
    not fall: where leave-one-out outputs are no higher for a class than for the others, it is a constant. Samples
    count in it, and in Platt's targets, by the weights of samples and classes, scaled to a mean of 1 in each problem.

    Examples
    --------
    >>> from kermes import LSSVMClassifier, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [4.0, 5.0], [5.0]])
    >>> model = LSSVMClassifier(kernels.Exponential(divergences.Wasserstein()), gamma=10.0)
    >>> model.fit(X, ["low", "low", "high", "high"]).predict(X)
    array(['low', 'low', 'high', 'high'], dtype='<U4')
    >>> model.loo_score()
    1.0
    """

    def __init__(
        self,
        kernel: Any = None,
        gamma: float = 1.0,
        solver: str = "dual",
        n_core: int | None = None,
        multiclass: str = "ovo",
        tol: float = 1e-6,
        random_state: Any = None,
        class_weight: Any = None,
        probability: bool = False,
    ) -> None:
        super().__init__(kernel, gamma, solver, n_core, tol, random_state)
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.probability = probability

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVMClassifier:
        r"""Fit all binary machines.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        y : array of shape (n,)
            Labels, of at least two classes.
        sample_weight : array of shape (n,), optional
            Multiplies gamma for each sample: :math:`1 / (\gamma s_i)` on the diagonal. 0 leaves a sample out.
        """
        samples, y, weights = self._read_weighted(X, y, sample_weight, numeric=False)
        balanced = isinstance(self.class_weight, str) and self.class_weight == "balanced"
        if self.class_weight is not None and not balanced:
            weights = weights * self._class_weights(y)
        labels = self._encode(y, weights > 0)
        if balanced:  # samples count by their weights, so that 0 leaves one out
            totals = np.bincount(labels, weights, minlength=len(self.classes_))
            weights = weights * (totals.sum() / (len(totals) * totals))[labels]
        self._fit_machines(samples, self.codes_[labels], weights, shared=bool(self.codes_.all()))
        self._labels = labels[self.support_]
        if self.probability:
            if np.bincount(self._labels, minlength=len(self.classes_)).min() < 2:
                raise UnsuitableDataError(
                    "probability=True needs at least two samples of each class: sigmoids are fitted to samples left "
                    "out."
                )
            self.sigmoids_ = fit_sigmoids(self._left_out(), self._targets, 1.0 / self._ridge)
        return self

    def _class_weights(self, y: AnyArray) -> FloatArray:
        """Return the given weight of the class of each sample."""
        weights = np.asarray(compute_sample_weight(self.class_weight, y))
        if not np.all((weights >= 0.0) & np.isfinite(weights)):
            raise InvalidParameterError(
                f"`class_weight` must have finite numbers of at least 0; got {self.class_weight!r}."
            )
        return weights

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of ``classes_``, (len(X), n_classes); with ``probability=True`` only."""
        return probabilities(self.binary_decisions(X), self.sigmoids_, self.codes_)

    def loo_decision_function(self) -> FloatArray:
        """Return ``decision_function`` at each sample in use (``support_``) of the machines trained without it (dual).

        Exact and in closed form, at about the cost of a second fit. The kernel stays as it is.
        """
        return self.combine(self._leave_one_out())

    def loo_predict(self) -> AnyArray:
        """Return the label of each sample in use (``support_``) by the machines trained without it (dual)."""
        return self._label(self.loo_decision_function())

    def loo_score(self) -> float:
        """Return the leave-one-out accuracy (dual)."""
        return float(np.mean(self.loo_predict() == self.classes_[self._labels]))


class LSSVMRegressor(OrderedScore, RegressorMixin, _LSSVM):
    r"""Least-squares support vector regression: kernel ridge regression with an unpenalised intercept.

    Solves the system of :class:`LSSVMClassifier` with the values y as targets; the kernel may be indefinite.

    Parameters
    ----------
    kernel, gamma, solver, n_core, tol, random_state
        Those of :class:`LSSVMClassifier`.

    Attributes
    ----------
    kernel_, dual_coef_, coef_, features_, intercept_, support_
        Those of :class:`LSSVMClassifier`, with a machine for each output.

    Notes
    -----
    Targets of shape (n, p) are p outputs: one factorisation for all of them. *Cost*: :math:`O(n^3)` (dual),
    :math:`O(n l^2)` for l features (primal).

    Examples
    --------
    >>> from kermes import LSSVMRegressor, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 2.0], [4.0, 5.0], [5.0]])
    >>> model = LSSVMRegressor(kernels.Exponential(divergences.Wasserstein()), gamma=1e6)
    >>> model.fit(X, [0.5, 1.5, 4.5, 5.0]).predict(X).round(3)
    array([0.5, 1.5, 4.5, 5. ])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVMRegressor:
        """Fit the machine to values y, (n,) or (n, p); ``sample_weight`` as in :meth:`LSSVMClassifier.fit`."""
        samples, y, weights = self._read_weighted(X, y, sample_weight, numeric=True, several=True)
        self._one = y.ndim == 1
        targets: FloatArray = np.asarray(y, dtype=np.float64)
        self._fit_machines(samples, targets.reshape(len(y), -1), weights, shared=True)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted value of each sample, or values (len(X), p) for several outputs."""
        return self._values(self._outputs(X))

    def loo_predict(self) -> FloatArray:
        """Return the value predicted for each sample in use (``support_``) by the machine trained without it (dual)."""
        return self._values(self._leave_one_out())

    def loo_score(self) -> float:
        """Return the coefficient of determination of the leave-one-out predictions (dual), the mean of all outputs."""
        return float(r2_score(self._targets, self._leave_one_out()))

    def _values(self, outputs: FloatArray) -> FloatArray:
        return outputs[:, 0] if getattr(self, "_one", True) else outputs  # files of the first edition do not say

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def check_solver(solver: str, n_core: int | None) -> None:
    """Refuse unknown solvers, and core samples that the dual solver would ignore."""
    if choice(solver, "solver", ["dual", "primal"]) == "dual" and n_core is not None:
        raise InvalidParameterError(
            f"`n_core` must be None with solver='dual', which uses all samples; got {n_core!r}. Use solver='primal'."
        )


def _read_weights(sample_weight: Any, n: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n)
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (n,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidParameterError(
            f"`sample_weight` must hold one finite number of at least 0 for each of the {n} samples; got shape "
            f"{weights.shape} with minimum {weights.min(initial=np.inf):g}."
        )
    if not weights.any():
        raise InvalidParameterError("`sample_weight` must have a positive entry; every weight is zero.")
    return weights
