"""What is compared: a distance or a kernel with a learner, or an estimator on measures; and what to try."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
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
from ..kernels._base import takes_measures
from ..measures import Measures

#: Learners of candidates that name none.
DEFAULT = {"classification": "svc", "regression": "ridge"}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A row of a comparison: how two measures are compared and what learns from it, or an estimator on measures.

    Parameters
    ----------
    name : str
        What the leaderboard calls it.
    divergence : Divergence or sequence of them, optional
        The distance d. Learners of kernels see exp(-(d / l)^h / 2), with the largest power h up to 2 for which that is
        proved positive definite, and with h = 2 if it is proved for none. Of several divergences, the search chooses
        one: the same distance with other parameters, such as ``MMD`` with several sigmas.
    kernel : kernel on measures, optional
        In place of a divergence, for learners of kernels: ``kernels.IGV(...)``, sums and products.
    learner : str or scikit-learn estimator, optional
        For classification 'svc' (the default), 'lssvm' (one class against the rest), 'gp', 'knn' or 'dummy'; for
        regression 'ridge' (kernel ridge with an intercept, the default), 'svr', 'gp', 'knn' or 'dummy'. Or an estimator
        with ``kernel='precomputed'`` or ``metric='precomputed'``, also inside a pipeline. Or, without divergence and
        kernel, any estimator that takes measures, such as a pipeline of a feature map and a linear model.
    grid : dict, optional
        Values to try: of parameters of the learner, of parameters of the kernel, or of 'length_scale' and 'power', the
        l and h above. By default l is looked for at quantiles of the distances between training measures.
    preprocessing : transformer, optional
        From measures to measures, such as ``MapPoints(StandardScaler())``; fitted to every training set anew.

    Examples
    --------
    >>> from kermes import divergences
    >>> from kermes.comparison import Candidate
    >>> Candidate("W1, 3 neighbours", divergences.Wasserstein(p=1), learner="knn", grid={"n_neighbors": [3]}).name
    'W1, 3 neighbours'
    """

    name: str
    divergence: Divergence | Sequence[Divergence] | None = None
    kernel: Any = None
    learner: Any = None
    grid: Mapping[str, Sequence[Any]] | None = None
    preprocessing: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidParameterError(f"`name` must be a string that is not empty; got {self.name!r}.")
        if self.divergence is not None and self.kernel is not None:
            raise InvalidParameterError(f"candidate {self.name!r} must have a divergence or a kernel, not both.")
        if isinstance(self.divergence, Sequence):
            object.__setattr__(self, "divergence", tuple(self.divergence))
        wrong = [d for d in self.divergences if not isinstance(d, Divergence)]
        if wrong or (self.divergence is not None and not self.divergences):
            raise InvalidParameterError(
                f"`divergence` of candidate {self.name!r} must be a divergence such as divergences.Wasserstein(), or "
                f"several of them; got {(wrong or [self.divergence])[0]!r}."
            )
        if self.kernel is not None and not takes_measures(self.kernel):
            raise InvalidParameterError(
                f"`kernel` of candidate {self.name!r} must be a kernel on measures such as kernels.IGV(eta=0.1); got "
                f"{self.kernel!r}."
            )
        bare = self.divergence is None and self.kernel is None
        if is_dummy(self.learner) != bare and (is_dummy(self.learner) or isinstance(self.learner, str | None)):
            raise InvalidParameterError(
                f"candidate {self.name!r} must have a divergence or a kernel, unless its learner takes measures, as "
                "'dummy' and estimators on measures do: those have none."
            )
        step = self.preprocessing
        if step is not None and (isinstance(step, type) or not hasattr(step, "transform")):
            raise InvalidParameterError(
                f"`preprocessing` of candidate {self.name!r} must be a transformer of measures such as "
                f"MapPoints(StandardScaler()); got {self.preprocessing!r}."
            )
        if not isinstance(self.grid, Mapping | None):
            raise InvalidParameterError(
                f"`grid` of candidate {self.name!r} must map names of parameters to lists of values; got {self.grid!r}."
            )
        for key, values in (self.grid or {}).items():
            if isinstance(values, str) or not isinstance(key, str) or not (hasattr(values, "__len__") and len(values)):
                raise InvalidParameterError(
                    f"`grid` of candidate {self.name!r} must map names of parameters to lists of values; got "
                    f"{key!r}: {values!r}."
                )

    @property
    def divergences(self) -> tuple[Any, ...]:
        """The divergences to choose from."""
        if self.divergence is None:
            return ()
        return self.divergence if isinstance(self.divergence, tuple) else (self.divergence,)

    def __sklearn_clone__(self) -> Candidate:
        return self


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

    The search starts at the median distance if the ``source`` is a divergence, or at the parameters of a kernel. The
    ``power`` of the kernel of a divergence is by default the one for which it is proved definite.
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
        return np.asarray(self.gp_.predict(X))

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
_NAMED: dict[str, dict[str, tuple[Any, dict[str, list[Any]]]]] = {
    "classification": {
        "svc": (SVC(kernel="precomputed"), _ERRORS),
        # One factorisation for all classes, and no worse than one machine per pair of classes on the digits.
        "lssvm": (LSSVMClassifier("precomputed", multiclass="ovr"), _GAMMAS),
        "gp": (KernelGP(task="classification"), {}),
        "knn": (KNeighborsClassifier(metric="precomputed"), _NEIGHBOURS),
        "dummy": (DummyClassifier(), {}),
    },
    "regression": {
        "ridge": (LSSVMRegressor("precomputed"), {"gamma": [0.1, 1.0, 10.0, 100.0, 1e3, 1e4]}),
        "svr": (SVR(kernel="precomputed"), _ERRORS),
        "gp": (KernelGP(), {}),
        "knn": (KNeighborsRegressor(metric="precomputed"), _NEIGHBOURS),
        "dummy": (DummyRegressor(), {}),
    },
}


def as_learner(learner: Any, grid: Mapping[str, Any], task: str, others: Mapping[str, Iterable[str]]) -> Learner:
    """Return a learner from its name or from a scikit-learn estimator, with ``grid`` in place of its own values.

    ``others`` holds, for an error to name, the parameters that a grid may have beside those of the learner, by owner.
    """
    own: dict[str, list[Any]] = {}
    if isinstance(learner, str):
        learner, own = _NAMED[task][choice(learner, "learner", _NAMED[task])]
    elif isinstance(learner, type) or not all(hasattr(learner, name) for name in ("fit", "predict", "get_params")):
        raise InvalidParameterError(
            "`learner` must be the name of one, such as 'svc', or a scikit-learn estimator with fit and predict; "
            f"got {learner!r}."
        )
    params = learner.get_params()
    unknown = [name for name in grid if name not in params]
    if unknown:
        owners = {**others, type(learner).__name__: params}
        has = "; ".join(f"{owner} has {', '.join(sorted(names))}" for owner, names in owners.items())
        every = [name for names in owners.values() for name in names]
        raise InvalidParameterError(
            f"`grid` has the parameter {unknown[0]!r}, which {' and '.join(owners)} "
            f"{'lacks' if len(owners) == 1 else 'lack'}.{guess(unknown[0], every)} {has}."
        )
    # The parameter that is 'precomputed' says which matrix an estimator takes.
    given = {
        name.split("__")[-1] for name, value in params.items() if isinstance(value, str) and value == "precomputed"
    }
    takes = "kernel" if given & {"kernel", "affinity"} else "distance" if "metric" in given else "measures"
    return Learner(clone(learner), takes, {**own, **{name: list(values) for name, values in grid.items()}})


def is_dummy(learner: Any) -> bool:
    """Whether a learner looks at no data."""
    return isinstance(learner, (DummyClassifier, DummyRegressor)) or (isinstance(learner, str) and learner == "dummy")
