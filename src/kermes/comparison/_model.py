"""A candidate as an estimator on measures: it searches its settings when it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._checks import integer, require_order
from .._estimator import MeasureEstimator
from .._typing import FloatArray
from ..engine import DEFAULT, pairwise
from ..exceptions import InvalidParameterError
from ..measures import Measures, as_measures
from ._auto import WithCovariates
from ._candidate import Candidate, KernelGP
from ._folds import as_score, inner_folds, read_column, read_groups, read_target
from ._search import Trial, as_trial, predictions, preprocess, roots


@dataclass(eq=False, repr=False)
class CandidateModel(MeasureEstimator):
    """An estimator made of a candidate: preprocessing, distances, a search over parameters, a learner.

    Parameters
    ----------
    candidate : Candidate
    task, scoring, random_state, engine
        As in :func:`~kermes.compare`; the search maximises ``scoring``.
    cv : int
        Folds of the search.

    Attributes
    ----------
    task_ : 'classification' or 'regression'
    preprocessing_ : transformer or None
        The fitted first step.
    source_ : Divergence, kernel or None
        The one that was chosen.
    kernel_ : kernel on measures or None
        The kernel in use, with its length scale; None for learners of distances and estimators on measures.
    params_ : dict
        The chosen parameters of the learner.
    learner_ : estimator
        The fitted learner, and in ``takes_`` what it takes: a 'kernel' or 'distance' matrix, or 'measures'.
    search_score_ : float or None
        Mean score of the choice on the folds of the search (an optimistic one; for R^2, minus the root mean squared
        error); None if there was nothing to choose.
    classes_ : ndarray
        The labels (classification).

    Examples
    --------
    >>> from kermes import Measures, divergences
    >>> from kermes.comparison import Candidate, CandidateModel
    >>> X = Measures.from_samples([[0.0, 1.0], [0.5, 1.0], [0.2, 0.9], [4.0, 5.0], [5.0], [4.5, 4.6]])
    >>> model = CandidateModel(Candidate("W2", divergences.Wasserstein(), learner="knn"), cv=2)
    >>> model.fit(X, ["low", "low", "low", "high", "high", "high"]).predict(X[[0, 5]])
    array(['low', 'high'], dtype='<U4')
    """

    candidate: Candidate
    task: str = "classification"
    scoring: str | None = None
    cv: int = 3
    random_state: int = 0
    engine: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> CandidateModel:
        """Search on folds of X, none of which parts samples of one of the ``groups`` (n,); then fit to all of X."""
        self._fit(X, y, groups)
        return self

    def _fit(self, X: Any, y: Any, groups: Any, known: tuple[Trial, list[Any]] | None = None) -> Any:
        """Fit, with the trial and the matrices of its sources if they are known; return that of the chosen one."""
        if not isinstance(self.candidate, Candidate):
            raise InvalidParameterError(f"`candidate` must be a Candidate; got {self.candidate!r}.")
        measures = self._remember_dim(as_measures(X), reset=True)
        require_order(X, y=y, groups=groups)
        y, self.task_ = read_target(y, len(measures), self.task)
        seed = integer(self.random_state, "random_state", low=0)
        engine, step = DEFAULT if self.engine is None else self.engine, self.candidate.preprocessing
        trial = as_trial(self.candidate, self.task_, engine)
        splits = inner_folds(y, self.task_, self.cv, read_groups(groups, len(y)), seed)
        self.preprocessing_, self.X_fit_ = preprocess(step, measures, y)
        if known is None:
            matrices = trial.matrices(self.X_fit_, engine)
            known = trial.with_memory(self.X_fit_, engine, matrices), matrices
        trial, matrices = known
        views = trial.views(self.X_fit_, matrices)
        rows = trial.training(step, views, measures, y, splits, engine, self.X_fit_.dim)
        fitted = trial.tune(rows, as_score(self.scoring, self.task_), seed)
        self.takes_, self.learner_, self.search_score_ = trial.learner.takes, fitted.learner, fitted.score
        self.params_ = {name: value for name, value in fitted.setting.params.items() if name != "source"}
        self.kernel_, number = trial.kernel(fitted, self.engine), trial.source_number(fitted)
        self.source_: Any = None if number is None else trial.sources[number]
        if self.task_ == "classification":
            self.classes_ = np.unique(y)
        if isinstance(fitted.learner, KernelGP):
            self.learner_ = fitted.learner.gp_
            if fitted.learner.engine not in (self.engine, DEFAULT):
                fitted.learner.engine.forget()  # the distances between training measures are no longer needed
        return None if number is None else matrices[number]

    def predict(self, X: Any, **options: Any) -> Any:
        """Return the label or value predicted for each measure; a Gaussian process takes ``return_std=True``."""
        samples = self._seen(X)
        return self.learner_.predict(samples, **options) if options else predictions(self.learner_, samples)

    @available_if(lambda model: hasattr(model.learner_, "decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the learner, for classifiers that have them."""
        return np.asarray(self.learner_.decision_function(self._seen(X)))

    @available_if(lambda model: hasattr(model.learner_, "predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of ``classes_``, for learners that know them."""
        return np.asarray(self.learner_.predict_proba(self._seen(X)))

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the predictions for X: accuracy or R^2, or what ``scoring`` names."""
        require_order(X, y=y)
        predicted = self.predict(X)
        return as_score(self.scoring, self.task_).function(read_column(y, len(predicted)), predicted)

    def _seen(self, X: Any) -> Any:
        """Return what the learner takes of new measures; tables with covariates as they are."""
        check_is_fitted(self, "learner_")
        if isinstance(self.learner_, WithCovariates) and not isinstance(X, Measures):
            return X
        measures = self._remember_dim(as_measures(X), reset=False)
        if self.preprocessing_ is not None:
            measures = self.preprocessing_.transform(measures)
        if self.takes_ == "measures":
            return measures
        if self.takes_ == "kernel":
            return np.asarray(self.kernel_(measures, self.X_fit_))
        engine = DEFAULT if self.engine is None else self.engine
        return roots(pairwise(measures, self.X_fit_, divergence=self.source_, engine=engine, squared=True))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore; in files of the first edition what the learner takes is in the third part of a plan."""
        super().__setstate__(state)
        if "_plan" in self.__dict__:
            takes = self.__dict__.pop("_plan")[2].takes
            self.takes_ = "measures" if takes == "nothing" else takes
            self.task_, self.preprocessing_ = self.task, None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        task = getattr(self, "task_", self.task)
        if task == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif task == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags
