"""Learners, what they take, and the settings that are tried."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR

from .._checks import choice, guess
from .._scales import median_distance
from .._typing import AnyArray, FloatArray
from ..divergences import Divergence
from ..engine import pairwise
from ..estimators import LSSVMClassifier, LSSVMRegressor, MeasureGPRegressor
from ..exceptions import InvalidParameterError
from ..kernels import Exponential
from ..measures import Measures


class Learner(NamedTuple):
    """An estimator, what it takes ('kernel', 'distance' or 'measures'), and the values tried per parameter."""

    estimator: Any
    takes: str
    grid: dict[str, list[Any]]


def definite_power(divergence: Divergence, dim: int) -> float:
    """Return the power h of exp(-(d / l)^h / 2): the largest at most 2 for which it is proved definite, or else 2."""
    known = divergence.claims(dim).negative_type
    return min(known, 2.0) if known else 2.0


@dataclass(eq=False, repr=False)
class KernelGP(BaseEstimator):
    """A Gaussian process on measures; length scale, variance and noise by marginal likelihood.

    Parameters
    ----------
    source : Divergence or kernel on measures
        The search starts at the median distance of a divergence, or at the parameters of a kernel.
    task : 'classification' or 'regression'
    power : float, optional
        Of the kernel of a divergence; by default the one for which it is proved definite.
    random_state : int, optional
    engine : Engine, optional
    """

    source: Any = None
    task: str = "regression"
    power: float | None = None
    random_state: Any = None
    engine: Any = None

    def fit(self, X: Measures, y: Any) -> KernelGP:
        """Fit ``gp_``, a Gaussian process of scikit-learn or kermes."""
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * self._kernel(X)
        if self.task == "classification":
            self.gp_: Any = GaussianProcessClassifier(kernel, random_state=self.random_state)
        else:
            noisy = kernel + WhiteKernel(0.1, (1e-6, 10.0))
            self.gp_ = MeasureGPRegressor(noisy, normalize_y=True, random_state=self.random_state)
        with warnings.catch_warnings():
            # Hyperparameters at their bounds: data without noise, or a kernel that says nothing. The scores show which.
            warnings.filterwarnings("ignore", message="The optimal value found for dimension")
            self.gp_.fit(X, y)
        return self

    def predict(self, X: Measures) -> AnyArray:
        """Return the predictions of ``gp_``."""
        predicted: AnyArray = self.gp_.predict(X)
        return predicted

    def _kernel(self, X: Measures) -> Any:
        if not isinstance(self.source, Divergence):
            return self.source
        power = definite_power(self.source, X.dim) if self.power is None else self.power
        median = median_distance(pairwise(X, divergence=self.source, engine=self.engine))
        bounds = (0.01 * median, 100.0 * median)
        return Exponential(self.source, median, power, length_scale_bounds=bounds, engine=self.engine)


class DistanceGP(BaseEstimator):
    """The Gaussian process in model files of the first edition, which takes distances; it predicts only."""

    def predict(self, distances: FloatArray) -> FloatArray:
        """Return the means from distances (m, n) to the training samples."""
        K = self.variance_ * np.exp(-0.5 * (distances / self.length_scale_) ** 2)  # type: ignore[attr-defined]
        return np.asarray(self.mean_ + self.scale_ * (K @ self.alpha_))  # type: ignore[attr-defined]


_NEIGHBOURS = {"n_neighbors": [1, 3, 5, 9, 15]}
_ERRORS = {"C": [1.0, 10.0, 100.0]}
#: Large ones are for definite kernels: near minus an eigenvalue, 1 / gamma makes an indefinite system singular.
_GAMMAS = {"gamma": [0.3, 3.0, 30.0]}

#: Smooth settings come first: of equally good ones the first is taken.
_NAMED: dict[str, dict[str, Callable[[], Learner]]] = {
    "classification": {
        "svc": lambda: Learner(SVC(kernel="precomputed"), "kernel", dict(_ERRORS)),
        # One factorisation for all classes, and no worse than one machine per pair of classes on the digits.
        "lssvm": lambda: Learner(LSSVMClassifier("precomputed", multiclass="ovr"), "kernel", dict(_GAMMAS)),
        "gp": lambda: Learner(KernelGP(task="classification"), "measures", {}),
        "knn": lambda: Learner(KNeighborsClassifier(metric="precomputed"), "distance", dict(_NEIGHBOURS)),
        "dummy": lambda: Learner(DummyClassifier(), "measures", {}),
    },
    "regression": {
        "ridge": lambda: Learner(LSSVMRegressor("precomputed"), "kernel", {"gamma": [0.1, 1.0, 10.0, 100.0, 1e3, 1e4]}),
        "svr": lambda: Learner(SVR(kernel="precomputed"), "kernel", dict(_ERRORS)),
        "gp": lambda: Learner(KernelGP(), "measures", {}),
        "knn": lambda: Learner(KNeighborsRegressor(metric="precomputed"), "distance", dict(_NEIGHBOURS)),
        "dummy": lambda: Learner(DummyRegressor(), "measures", {}),
    },
}


def as_learner(learner: Any, grid: Mapping[str, Any], task: str, others: Mapping[str, Iterable[str]]) -> Learner:
    """Return a learner from its name or from a scikit-learn estimator, with ``grid`` in place of its own values.

    ``others`` holds, for an error to name, the parameters that a grid may have beside those of the learner, by owner.
    """
    if isinstance(learner, str):
        found = _NAMED[task][choice(learner, "learner", _NAMED[task])]()
    else:
        if isinstance(learner, type) or not all(hasattr(learner, name) for name in ("fit", "predict", "get_params")):
            raise InvalidParameterError(
                "`learner` must be the name of one, such as 'svc', or a scikit-learn estimator with fit and predict; "
                f"got {learner!r}."
            )
        found = Learner(clone(learner), _input_of(learner), {})
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
    """Whether a learner looks at no data."""
    return isinstance(learner, (DummyClassifier, DummyRegressor)) or (isinstance(learner, str) and learner == "dummy")


def _input_of(estimator: Any) -> str:
    """Return what an estimator of the user takes: the parameter that is 'precomputed' says which matrix."""
    params = estimator.get_params()
    given = {
        name.split("__")[-1] for name, value in params.items() if isinstance(value, str) and value == "precomputed"
    }
    return "kernel" if given & {"kernel", "affinity"} else "distance" if "metric" in given else "measures"
