"""Which learner ``kermes fit`` takes for a task, and what it searches."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from .._scales import median_distance
from ..exceptions import UnsuitableDataError

#: Length scales tried, as multiples of the median distance.
FRACTIONS = (0.25, 0.5, 1.0, 2.0)
#: Weights of errors tried (C of support vector machines, gamma of least squares), and rates of semigroup kernels.
ERRORS = (1.0, 10.0, 100.0, 1000.0)
RATES = (0.3, 1.0, 3.0, 10.0)
#: Whole numbers with at most so many values are classes.
MOST_CLASSES = 20


class Fitted(NamedTuple):
    """A model fitted to all data, its cross-validated scores, and what was tried."""

    model: Any
    score_name: str
    scores: Any
    settings: int


def task_of(labels: Any) -> str:
    """Return 'regression' for numbers with fractions or many values, 'classification' otherwise."""
    if labels.dtype.kind not in "iuf":
        return "classification"
    whole = labels.dtype.kind != "f" or bool((labels == np.round(labels)).all())
    return "classification" if whole and len(np.unique(labels)) <= MOST_CLASSES else "regression"


def with_length_scale(name: str, X: Any) -> Any:
    """Return the kernel; at the median distance if its name says no length scale."""
    from .. import kernels, pairwise
    from . import _naming as naming

    kernel = naming.kernel(name)
    if not isinstance(kernel, kernels.Exponential) or "length_scale" in naming.parse(name).options:
        return kernel
    return kernel.set_params(length_scale=median_distance(pairwise(X, divergence=kernel.divergence)))


def fit(X: Any, y: Any, task: str, learner: str, name: str, seed: int) -> Fitted:
    """Fit a model; its parameters by cross-validation, those of a Gaussian process by marginal likelihood."""
    kernel = with_length_scale(name, X)
    if learner == "auto":
        learner = _automatic(task, kernel, X.dim)
    folds = _folds(y, task, seed)
    if learner == "gp":
        return _marginal_likelihood(X, y, task, kernel, folds, seed)
    return _search(X, y, task, learner, kernel, _tuned(kernel, name), folds)


def _automatic(task: str, kernel: Any, dim: int) -> str:
    """Return a support vector machine if the kernel is proved definite, least squares if not; a process for numbers."""
    if task == "regression":
        return "gp"
    return "svm" if kernel.is_positive_definite(dim) else "lssvm"


def _folds(y: Any, task: str, seed: int) -> Any:
    """Return five folds, or fewer where a class has fewer members."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "regression":
        if np.ptp(y) == 0:
            raise UnsuitableDataError(f"all labels are equal, {y[0]:g}: there is nothing to learn.")
        if len(y) < 4:
            raise UnsuitableDataError(f"cross-validation needs four measures at least; got {len(y)}.")
        return KFold(min(5, len(y) // 2), shuffle=True, random_state=seed)
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise UnsuitableDataError(f"all measures have the label {classes[0]!s}; classification needs two classes.")
    if counts.min() < 2:
        rare = classes[counts.argmin()]
        raise UnsuitableDataError(
            f"class {rare!s} has one measure only; cross-validation needs two of each. Add more, leave it out, or use "
            "--task regression if the labels are numbers."
        )
    return StratifiedKFold(int(min(5, counts.min())), shuffle=True, random_state=seed)


def _tuned(kernel: Any, name: str) -> dict[str, list[float]]:
    """Return the parameter of the kernel to search, unless its name gives it."""
    from .. import kernels
    from . import _naming as naming

    given = naming.parse(name).options
    if isinstance(kernel, kernels.Exponential) and "length_scale" not in given:
        return {"kernel__length_scale": [fraction * kernel.length_scale for fraction in FRACTIONS]}
    if isinstance(kernel, (kernels.Semigroup, kernels.Entropy)) and "t" not in given:
        return {"kernel__t": list(RATES)}
    return {}


def _search(X: Any, y: Any, task: str, learner: str, kernel: Any, tuned: dict[str, Any], folds: Any) -> Fitted:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC, SVR

    from .. import LSSVMClassifier, LSSVMRegressor

    if learner == "svm":
        model, weight = (SVC(kernel=kernel), "C") if task == "classification" else (SVR(kernel=kernel), "C")
    else:
        model = LSSVMClassifier(kernel) if task == "classification" else LSSVMRegressor(kernel)
        weight = "gamma"
    search = GridSearchCV(model, {**tuned, weight: list(ERRORS)}, cv=folds).fit(X, y)
    best = search.best_index_
    scores = np.array([search.cv_results_[f"split{k}_test_score"][best] for k in range(folds.get_n_splits())])
    return Fitted(search.best_estimator_, _score_name(task), scores, len(search.cv_results_["params"]))


def _marginal_likelihood(X: Any, y: Any, task: str, kernel: Any, folds: Any, seed: int) -> Fitted:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
    from sklearn.model_selection import cross_val_score

    from .. import MeasureGPRegressor

    scaled = ConstantKernel(1.0) * kernel
    if task == "classification":
        model = GaussianProcessClassifier(scaled, random_state=seed)
    else:
        model = MeasureGPRegressor(scaled + WhiteKernel(0.1), normalize_y=True, random_state=seed)
    with warnings.catch_warnings():
        # Hyperparameters at their bounds: data without noise, or a kernel that tells nothing. The scores show which.
        warnings.filterwarnings("ignore", message="The optimal value found for dimension")
        scores = cross_val_score(model, X, y, cv=folds)
        return Fitted(model.fit(X, y), _score_name(task), scores, 1)


def _score_name(task: str) -> str:
    return "accuracy" if task == "classification" else "R²"
