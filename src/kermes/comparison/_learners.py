"""Learners on a matrix of distances or kernel values, with the settings that are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, guess
from .._scales import median_distance
from .._typing import FloatArray
from ..divergences import Precomputed
from ..engine import Engine
from ..estimators import LSSVMClassifier, LSSVMRegressor, MeasureGPRegressor
from ..exceptions import InvalidParameterError
from ..kernels import Exponential

__all__ = ["DistanceGP", "Learner", "as_learner", "is_dummy"]


class Learner(NamedTuple):
    """An estimator, what its matrix holds ('kernel', 'distance' or 'nothing'), and the values tried per parameter."""

    estimator: Any
    matrix: str
    grid: dict[str, list[Any]]


class DistanceGP(RegressorMixin, BaseEstimator):
    """Gaussian process regression from a matrix of distances; length scale, variance and noise by likelihood.

    Parameters
    ----------
    n_restarts : int
        Searches from random hyperparameters, beside the one from the median distance.
    random_state : int
    """

    def __init__(self, n_restarts: int = 0, random_state: Any = 0) -> None:
        self.n_restarts = n_restarts
        self.random_state = random_state

    def fit(self, X: FloatArray, y: Any) -> DistanceGP:
        """Fit to distances (n, n) and targets (n,)."""
        y = np.asarray(y, dtype=np.float64)
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        median = median_distance(X)
        # The table lives as long as the fit: an engine of its own, so that nobody else remembers it.
        radial = Exponential(
            Precomputed(X), median, length_scale_bounds=(0.01 * median, 100.0 * median), engine=Engine(progress=False)
        )
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * radial + WhiteKernel(0.1, (1e-6, 10.0))
        rows = np.arange(len(X), dtype=np.float64)[:, np.newaxis]
        gp = MeasureGPRegressor(kernel, n_restarts_optimizer=self.n_restarts, random_state=self.random_state)
        gp.fit(rows, (y - self.mean_) / self.scale_)
        self.alpha_ = np.array(gp.alpha_)
        self.variance_ = float(gp.kernel_.k1.k1.constant_value)
        self.length_scale_ = float(gp.kernel_.k1.k2.length_scale)
        self.noise_ = float(gp.kernel_.k2.noise_level)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the means at new samples, from their distances (m, n) to the training samples."""
        check_is_fitted(self)
        K = self.variance_ * np.exp(-0.5 * (np.asarray(X) / self.length_scale_) ** 2)
        return np.asarray(self.mean_ + self.scale_ * (K @ self.alpha_))


_NEIGHBOURS = {"n_neighbors": [1, 3, 5, 9, 15]}
#: Large ones are for definite kernels: near minus an eigenvalue, 1 / gamma makes an indefinite system singular.
_GAMMAS = {"gamma": [0.3, 3.0, 30.0]}

#: Smooth settings come first: of equally good ones the first is taken.
_NAMED: dict[str, dict[str, Callable[[], Learner]]] = {
    "classification": {
        "svc": lambda: Learner(SVC(kernel="precomputed"), "kernel", {"C": [1.0, 10.0, 100.0]}),
        # One factorisation for all classes, and no worse than one machine per pair of classes on the digits.
        "lssvm": lambda: Learner(LSSVMClassifier("precomputed", multiclass="ovr"), "kernel", dict(_GAMMAS)),
        "knn": lambda: Learner(KNeighborsClassifier(metric="precomputed"), "distance", dict(_NEIGHBOURS)),
        "dummy": lambda: Learner(DummyClassifier(), "nothing", {}),
    },
    "regression": {
        "ridge": lambda: Learner(LSSVMRegressor("precomputed"), "kernel", {"gamma": [0.1, 1.0, 10.0, 100.0, 1e3, 1e4]}),
        "gp": lambda: Learner(DistanceGP(), "distance", {}),
        "knn": lambda: Learner(KNeighborsRegressor(metric="precomputed"), "distance", dict(_NEIGHBOURS)),
        "dummy": lambda: Learner(DummyRegressor(), "nothing", {}),
    },
}


def as_learner(learner: Any, grid: Mapping[str, Any], task: str, others: Mapping[str, Iterable[str]]) -> Learner:
    """Return a learner from its name or from a scikit-learn estimator, with ``grid`` in place of its own values.

    ``others`` holds, for an error to tell, the parameters that a grid may have beside those of the learner, by owner.
    """
    if isinstance(learner, str):
        found = _NAMED[task][choice(learner, "learner", _NAMED[task])]()
    else:
        found = Learner(clone(_as_estimator(learner)), _matrix_of(learner), {})
    unknown = [name for name in grid if name not in found.estimator.get_params()]
    if unknown:
        owners = {**others, type(found.estimator).__name__: found.estimator.get_params()}
        has = "; ".join(f"{owner} has {', '.join(sorted(names))}" for owner, names in owners.items())
        every = [name for names in owners.values() for name in names]
        raise InvalidParameterError(
            f"`grid` has the parameter {unknown[0]!r}, which {' and '.join(owners)} "
            f"{'lacks' if len(owners) == 1 else 'lack'}.{guess(unknown[0], every)} {has}."
        )
    return found._replace(grid={**found.grid, **{name: list(values) for name, values in grid.items()}})


def is_dummy(learner: Any) -> bool:
    """Tell whether a learner looks at no data."""
    return isinstance(learner, (DummyClassifier, DummyRegressor)) or (isinstance(learner, str) and learner == "dummy")


def _as_estimator(learner: Any) -> Any:
    if isinstance(learner, type) or not all(hasattr(learner, name) for name in ("fit", "predict", "get_params")):
        raise InvalidParameterError(
            f"`learner` must be the name of one, such as 'svc', or a scikit-learn estimator with fit and predict; got "
            f"{learner!r}."
        )
    return learner


def _matrix_of(learner: Any) -> str:
    """Return what an estimator of the user reads: the parameter that is 'precomputed' tells."""
    if is_dummy(learner):
        return "nothing"
    if isinstance(learner, DistanceGP):
        return "distance"
    given = {name.split("__")[-1] for name, value in learner.get_params().items() if _is_precomputed(value)}
    if given & {"kernel", "affinity"}:
        return "kernel"
    if "metric" in given:
        return "distance"
    raise InvalidParameterError(
        f"`learner` must take a matrix: give {type(learner).__name__} the parameter kernel='precomputed' or "
        "metric='precomputed'."
    )


def _is_precomputed(value: Any) -> bool:
    return isinstance(value, str) and value == "precomputed"
