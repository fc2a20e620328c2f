"""Intervals and sets of stated coverage for any learner, from the models of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._checks import integer, real, require_order
from .._estimator import OrderedScore
from .._typing import AnyArray, FloatArray
from .._values import as_targets
from ..exceptions import UnsuitableDataError
from ._multiclass import code_words, fit_sigmoids, probabilities


@dataclass(eq=False, repr=False)
class _Conformal(MetaEstimatorMixin, BaseEstimator):
    """An estimator fitted to all samples, and to all but those of each fold."""

    estimator: Any
    cv: int = 5
    random_state: int | None = 0

    def _fit_folds(
        self, X: Any, y: AnyArray, splitter: Any, most: int, what: str, outputs: Callable[[Any, Any], FloatArray]
    ) -> FloatArray:
        """Fit all models, with ``most`` folds at most; return what the model that did not see a sample says of it."""
        check_consistent_length(X, y)
        n_folds = min(integer(self.cv, "cv", low=2), most)
        if n_folds < 2:
            raise UnsuitableDataError(f"cross-validation needs at least two samples{what}; got {most} sample.")
        (X,) = indexable(X)
        self.estimator_ = clone(self.estimator).fit(X, y)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        self.folds_, self.fold_ = [], np.empty(len(y), dtype=np.int64)
        found: dict[int, FloatArray] = {}
        folds = splitter(n_folds, shuffle=True, random_state=self.random_state)
        for number, (train, test) in enumerate(folds.split(np.zeros(len(y)), y)):
            model = clone(self.estimator).fit(_safe_indexing(X, train), y[train])
            self.folds_.append(model)
            self.fold_[test] = number
            found.update(zip(test.tolist(), outputs(model, _safe_indexing(X, test)), strict=True))
        return np.stack([found[i] for i in range(len(y))])

    def predict(self, X: Any) -> AnyArray:
        """Return the predictions of the estimator fitted to all samples."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))


class ConformalRegressor(OrderedScore, RegressorMixin, _Conformal):
    r"""Regression with intervals: CV+, the cross-validation form of the jackknife+.

    With :math:`\hat\mu_{-k(i)}` fitted without the fold of sample i and :math:`R_i = |y_i - \hat\mu_{-k(i)}(x_i)|`, the
    interval of coverage :math:`1 - \alpha` at x reaches from the :math:`\lfloor \alpha (n + 1) \rfloor`-th smallest of
    :math:`\hat\mu_{-k(i)}(x) - R_i` to the :math:`\lceil (1 - \alpha) (n + 1) \rceil`-th smallest of
    :math:`\hat\mu_{-k(i)}(x) + R_i`.

    Parameters
    ----------
    estimator : regressor
        Any, on whatever it takes: measures, a data frame, an array.
    cv : int
        Number of shuffled folds; fewer if there are fewer samples.
    random_state : int, optional
        Seed of the folds.

    Attributes
    ----------
    estimator_ : regressor
        Fitted to all samples; ``predict`` is its own.
    folds_ : list of regressors
        Each fitted without one fold.
    residuals_ : ndarray of shape (n,)
        The :math:`R_i`.

    Notes
    -----
    *Coverage*: for exchangeable samples and any estimator, whatever the distribution, a new value lies in its interval
    with probability of at least :math:`1 - 2 \alpha - \sqrt{2 / n}` (Barber, Candes, Ramdas and Tibshirani, "Predictive
    inference with the jackknife+", 2021, Theorem 4), and in practice close to :math:`1 - \alpha`. It holds on average
    over all samples, not for each kind of them. Samples of one donor are not exchangeable: aggregate them first.
    *Cost*: one fit more than folds; models of folds are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import LSSVMRegressor, Measures
    >>> from kermes.estimators import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> shifts = rng.normal(size=80)
    >>> X = Measures.from_samples([rng.normal(s, 0.5, size=20) for s in shifts])
    >>> model = ConformalRegressor(LSSVMRegressor(gamma=10.0)).fit(X[:60], shifts[:60])
    >>> low, high = model.predict_interval(X[60:], coverage=0.9).T
    >>> bool(np.mean((low <= shifts[60:]) & (shifts[60:] <= high)) >= 0.8)
    True
    """

    def fit(self, X: Any, y: Any) -> ConformalRegressor:
        """Fit the estimator to all samples and to all but each fold."""
        require_order(X, y=y)
        y = np.asarray(column_or_1d(as_targets(y, numeric=True), warn=True), dtype=np.float64)
        self.residuals_ = np.abs(y - self._fit_folds(X, y, KFold, len(y), "", _predictions))
        return self

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Return the lower and upper end of the interval of each sample, (len(X), 2).

        Ends are infinite where there are too few samples for the coverage: n + 1 < 1 / (1 - coverage).
        """
        check_is_fitted(self)
        alpha = 1.0 - real(coverage, "coverage", low=0.0, high=1.0, open_low=True)
        centres = np.stack([_predictions(model, X) for model in self.folds_], axis=1)[:, self.fold_]
        n = len(self.residuals_)
        low, high = _rank(alpha * (n + 1), np.floor), _rank((1.0 - alpha) * (n + 1), np.ceil)
        below, above = np.sort(centres - self.residuals_, axis=1), np.sort(centres + self.residuals_, axis=1)
        lower = below[:, low - 1] if low >= 1 else np.full(len(below), -np.inf)
        upper = above[:, high - 1] if high <= n else np.full(len(above), np.inf)
        return np.column_stack([lower, upper])


class ConformalClassifier(OrderedScore, ClassifierMixin, _Conformal):
    r"""Classification with sets of labels of stated coverage, and calibrated probabilities, by cross-validation.

    The score of a label is minus its margin: the largest decision value of another class less its own. A label is in
    the set of coverage :math:`1 - \alpha` at x if its score, by the model without the fold of sample i, exceeds that of
    the true label of sample i for fewer than :math:`(1 - \alpha) (n + 1)` of the n samples.

    Parameters
    ----------
    estimator : classifier
        Any with ``decision_function`` or ``predict_proba``, on whatever it takes.
    cv, random_state
        As in :class:`ConformalRegressor`; folds are stratified by class, and fewer if a class has fewer samples.

    Attributes
    ----------
    classes_ : ndarray
    estimator_, folds_
        As in :class:`ConformalRegressor`.
    scores_ : ndarray of shape (n,)
        Of the true labels.
    sigmoids_ : ndarray
        Slope and intercept for each class against the rest (one for two classes).

    Notes
    -----
    *Coverage* of sets: at least :math:`1 - 2 \alpha - \sqrt{2 / n}` for exchangeable samples and any classifier (CV+ of
    Romano, Sesia and Candes, "Classification with valid and adaptive coverage", 2020), and in practice close to
    :math:`1 - \alpha`. A set may be empty, or hold all labels. *Probabilities* are sigmoids (Platt, 2000) of the
    decision values of samples left out, applied to the estimator fitted to all samples, and divided by their sum.
    *Cost*: one fit more than folds; models of folds are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import LSSVMClassifier, Measures
    >>> from kermes.estimators import ConformalClassifier
    >>> rng = np.random.default_rng(0)
    >>> wide = np.repeat([1, 3], 30)
    >>> X = Measures.from_samples([rng.normal(0, s, size=20) for s in wide])
    >>> model = ConformalClassifier(LSSVMClassifier()).fit(X, wide)
    >>> model.predict_set(X[[0, 59]], coverage=0.9)
    array([[ True, False],
           [False,  True]])
    """

    def fit(self, X: Any, y: Any) -> ConformalClassifier:
        """Fit the estimator to all samples and to all but each fold."""
        require_order(X, y=y)
        y = np.asarray(column_or_1d(as_targets(y, numeric=False), warn=True))
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        fewest = int(np.bincount(labels).min())
        values = self._fit_folds(X, y, StratifiedKFold, fewest, " of each class", _decisions)
        self.scores_ = _scores(values)[np.arange(len(y)), labels]
        codes = code_words(len(self.classes_), "ovr")
        outputs = values[:, 1:] if len(codes) == 2 else values
        self.sigmoids_ = fit_sigmoids(outputs, codes[labels], np.ones(len(y)))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return calibrated probabilities of ``classes_``, (len(X), n_classes)."""
        check_is_fitted(self)
        values, codes = _decisions(self.estimator_, X), code_words(len(self.classes_), "ovr")
        return probabilities(values[:, 1:] if len(codes) == 2 else values, self.sigmoids_, codes)

    def predict_set(self, X: Any, coverage: float = 0.9) -> AnyArray:
        """Return which of ``classes_`` the set of each sample holds, booleans (len(X), n_classes)."""
        check_is_fitted(self)
        share = real(coverage, "coverage", low=0.0, high=1.0, open_low=True)
        rank = _rank(share * (len(self.scores_) + 1), np.ceil)
        exceeded: Any = 0
        for number, model in enumerate(self.folds_):
            known = np.sort(self.scores_[self.fold_ == number])
            exceeded = exceeded + np.searchsorted(known, _scores(_decisions(model, X)), side="left")
        return np.asarray(exceeded < rank)


def _predictions(model: Any, X: Any) -> FloatArray:
    return np.asarray(model.predict(X), dtype=np.float64)


def _decisions(model: Any, X: Any) -> FloatArray:
    """Return a decision value for each class, (len(X), n_classes): logarithms of probabilities if there is no other."""
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=np.float64)
        return np.column_stack([-values, values]) if values.ndim == 1 else values
    if not hasattr(model, "predict_proba"):
        raise UnsuitableDataError(
            f"{type(model).__name__} has neither decision_function nor predict_proba; take a classifier with one."
        )
    return np.asarray(np.log(np.maximum(model.predict_proba(X), 1e-300)))


def _scores(values: FloatArray) -> FloatArray:
    """Return for each class the largest value of another one less its own."""
    others = np.stack([np.delete(values, k, axis=1).max(axis=1) for k in range(values.shape[1])], axis=1)
    return np.asarray(others - values)


def _rank(value: float, rounding: Callable[[float], Any]) -> int:
    """Round a rank up or down; one that is whole but for rounding of the coverage stays as it is."""
    return round(value) if abs(value - round(value)) < 1e-9 else int(rounding(value))
