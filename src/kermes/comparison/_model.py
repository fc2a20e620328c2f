"""A candidate as an estimator on measures: it searches its settings when it is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, integer
from .._estimator import MeasureEstimator
from .._typing import AnyArray
from ..divergences import Divergence
from ..engine import DEFAULT
from ..exceptions import InvalidParameterError
from ..kernels import Exponential
from ..measures import Measures, as_measures
from ._candidate import Candidate, plan
from ._folds import as_score, inner_folds, read_groups, read_target
from ._search import Fitted, predict, tune
from ._views import evaluate

__all__ = ["CandidateModel"]


class CandidateModel(MeasureEstimator):
    """An estimator made of a candidate: distances, a search over length scales and parameters, a learner.

    Parameters
    ----------
    candidate : Candidate
    task : 'classification' or 'regression'
    scoring : str, optional
        What the search maximises; see :func:`~kermes.compare`.
    cv : int
        Folds of the search.
    random_state : int
        Seed of the folds and of learners that draw.
    engine : Engine, optional
        How distances are computed and remembered.

    Attributes
    ----------
    source_ : Divergence or kernel
        The one that was chosen.
    kernel_ : kernel on measures or None
        The kernel in use, with its length scale; None for learners of distances.
    params_ : dict
        The chosen parameters of the learner.
    learner_ : estimator
        The fitted learner; it takes matrices.
    search_score_ : float or None
        Mean score of the choice on the folds of the search (an optimistic one; for R^2, minus the root mean squared
        error); None if there was nothing to choose.
    classes_ : ndarray
        The labels (classification).
    n_features_in_ : int
        Dimension of the points.

    Examples
    --------
    >>> from kermes import Measures, divergences
    >>> from kermes.comparison import Candidate, CandidateModel
    >>> X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [0.2, 0.9], [4.0, 5.0], [5.0], [4.5, 4.6]])
    >>> model = CandidateModel(Candidate("W2", divergences.Wasserstein(), learner="knn"), cv=2)
    >>> model.fit(X, ["low", "low", "low", "high", "high", "high"]).predict(X[[0, 5]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        candidate: Candidate,
        task: str = "classification",
        scoring: str | None = None,
        cv: int = 3,
        random_state: int = 0,
        engine: Any = None,
    ) -> None:
        self.candidate = candidate
        self.task = task
        self.scoring = scoring
        self.cv = cv
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any, groups: Any = None) -> CandidateModel:
        """Search on folds of X, then fit the best setting to all of X.

        Parameters
        ----------
        X : Measures, or anything ``as_measures`` takes
        y : array of shape (n,)
        groups : array of shape (n,), optional
            Samples of one group are never on both sides of a split.
        """
        if not isinstance(self.candidate, Candidate):
            raise InvalidParameterError(f"`candidate` must be a Candidate; got {self.candidate!r}.")
        measures = self._remember_dim(as_measures(X), reset=True)
        y = read_target(y, len(measures), choice(self.task, "task", ["classification", "regression"]))
        seed = integer(self.random_state, "random_state", low=0)
        self._plan = plan(self.candidate, self.task)
        engine = DEFAULT if self.engine is None else self.engine
        views = [evaluate(source, measures, None, engine) for source in self._plan.sources] or [np.zeros((len(y), 1))]
        inner = inner_folds(y, self.task, self.cv, read_groups(groups, len(y)), seed)
        self._keep(measures, y, tune(self._plan, views, y, inner, as_score(self.scoring, self.task), seed))
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the label or value predicted for each measure."""
        check_is_fitted(self, "learner_")
        measures = self._remember_dim(as_measures(X), reset=False)
        if self.source_ is None:
            return predict(self._plan, self._fitted, np.zeros((len(measures), 1)))
        engine = DEFAULT if self.engine is None else self.engine
        return predict(self._plan, self._fitted, evaluate(self.source_, measures, self.X_fit_, engine))

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the predictions for X: accuracy or R^2, or what ``scoring`` names."""
        predicted = self.predict(X)
        return as_score(self.scoring, self.task).function(read_target(y, len(predicted), self.task), predicted)

    def _keep(self, measures: Measures, y: AnyArray, fitted: Fitted) -> None:
        setting = fitted.setting
        self._fitted = fitted
        self.X_fit_ = measures
        self.source_ = self._plan.sources[setting.source] if self._plan.sources else None
        self.kernel_ = self.source_ if self._plan.learner.matrix == "kernel" else None
        if isinstance(self.kernel_, Divergence):
            assert setting.length_scale is not None
            self.kernel_ = Exponential(self.kernel_, setting.length_scale, engine=self.engine)
        self.params_, self.learner_, self.search_score_ = dict(setting.params), fitted.learner, fitted.score
        if self.task == "classification":
            self.classes_ = np.unique(y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags
