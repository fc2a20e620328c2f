"""The candidates for the data at hand, and those beside covariates: the same linear model of either, and of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .._checks import choice, needed, row_number
from .._scales import median_distance
from .._typing import AnyArray
from .._values import holds_numbers, refuse_scale, refuse_times_of_two_meanings
from ..divergences import (
    MMD,
    Divergence,
    Euclidean,
    GaussianWasserstein,
    GeneralizedVariance,
    JensenShannon,
    Sinkhorn,
    SlicedWasserstein,
    Wasserstein,
)
from ..engine._job import pair_work
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..features import ClusterShares, Codebook, KernelFeatures, MomentFeatures
from ..ground import Gaussian, Linear
from ..measures import Measures, as_measures
from ..measures._thinning import draw_points
from ._candidate import Candidate

#: Pairs of points whose distances give the scale of the data.
SAMPLE = 4096
#: Blur of entropic transport as a fraction of the median squared distance between points. On MNIST 0.02 is no better,
#: and takes four times as long.
EPSILON = 0.05
#: Lengths at which point kernels look, as fractions of the median distance between points.
SIGMAS = (0.1, 0.25)
#: Regularisation of k-IGV; its point kernel has variance 1 at most.
ETA = 0.01
#: Directions of sliced transport.
SLICES = 50
#: Mean number of atoms above which distances are those of measures on a codebook, and its atoms: on simulated cytometry
#: more of them change no score by more than the folds do.
LARGE, CODEBOOK = 2000, 128
#: What sees all points of any cloud.
GAUSSIAN = GaussianWasserstein()
#: Clusters of points whose shares are a baseline.
CLUSTERS = 20

#: Learners beside the first one, which every distance gets.
_FIRST = {"classification": ("svc", "SVC"), "regression": ("ridge", "ridge")}
_NEIGHBOURS = ("knn", "neighbours")
_INDEFINITE = {"classification": ("lssvm", "LS-SVM"), "regression": _NEIGHBOURS}
_DEFINITE = {"classification": _NEIGHBOURS, "regression": ("gp", "GP")}
#: What the column of measures is called, beside the covariates.
MEASURES = "measures"
#: Regularisations that are tried: features of measures have variance 1 in all, covariates each.
_LEARNERS: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "classification": (LogisticRegression(max_iter=10_000), {"logisticregression__C": [1.0, 10.0, 100.0]}),
    "regression": (Ridge(), {"ridge__alpha": [1.0, 0.1, 0.01]}),
}


def auto_candidates(
    X: Any, task: str = "classification", random_state: int = 0, most_work: float = 5e12
) -> list[Candidate]:
    """Return the candidates that ``compare`` takes if none are given, to look at, shorten or extend.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    task : 'classification' or 'regression'
    random_state : int
        Seed of the pairs of points that give the scale, and of the slices.
    most_work : float
        Elementary operations of all pairs above which a distance is left out; the default is about half an hour on
        two cores.

    Returns
    -------
    list of Candidate
        Baselines (no data; linear models of the means of the points and of the shares of clusters, for clouds; weights
        bin by bin on a shared support), then transport (exact on the line; sliced and entropic beyond), MMD at two
        lengths, Gaussians, k-IGV, and Jensen-Shannon on a shared support. Lengths are fractions of the median distance
        between points of different measures. Clouds of more than 2000 points on average are compared on a
        :class:`~kermes.features.Codebook` of 128 atoms, which the names say; means and Gaussians see all points.

    Examples
    --------
    >>> from kermes import Measures
    >>> from kermes.comparison import auto_candidates
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0, 5.0], [4.0]])
    >>> [candidate.name for candidate in auto_candidates(X)][:3]
    ['most frequent class', 'means, logistic', 'cluster shares, logistic']
    """
    choice(task, "task", _FIRST)
    measures = as_measures(X)
    constant = "most frequent class" if task == "classification" else "mean of y"
    found = [Candidate(constant, learner="dummy")]
    if int(measures.sizes.max()) == 1:  # vectors: every distance is a function of that of the means
        return [*found, *(_of("means", MMD(Linear()), learner[task]) for learner in (_FIRST, _DEFINITE))]
    if measures.support is not None:
        bins = {"means": MMD(Linear()), "weights": Euclidean(), "Jensen-Shannon": JensenShannon()}
        found += [_of(name, divergence, _FIRST[task]) for name, divergence in bins.items()]
        return [*found, *_distances(measures, task, random_state, most_work)]
    learner: Any = RidgeCV(np.logspace(-3, 3, 13))  # linear models of what is computed without comparing measures
    kind, grid = "linear", None
    if task == "classification":
        learner, kind, grid = LogisticRegression(max_iter=1000), "logistic", {"logisticregression__C": [0.1, 1.0, 10.0]}
    for name, features in {"means": MomentFeatures(), "cluster shares": ClusterShares(CLUSTERS, random_state)}.items():
        pipeline = make_pipeline(features, StandardScaler(), learner)
        found.append(Candidate(f"{name}, {kind}", learner=pipeline, grid=grid))
    if measures.sizes.mean() <= LARGE:
        return [*found, *_distances(measures, task, random_state, most_work)]
    step = Codebook(CODEBOOK, random_state)  # one for all, so that they share its result
    quantised = _distances(step.fit_transform(measures), task, random_state, most_work)
    for item in quantised:
        on_codebook = replace(item, name=f"{item.name}, codebook", preprocessing=step)
        found.append(item if item.divergence == GAUSSIAN else on_codebook)
    return found


def _distances(X: Measures, task: str, seed: int, most_work: float) -> list[Candidate]:
    """Return transport, MMD and k-IGV at the scale of the data."""
    length, found = _typical_distance(X, seed), []
    if X.dim == 1:
        found += [_of("W2", Wasserstein(p=2), learner) for learner in (_FIRST[task], _DEFINITE[task])]
    else:
        sliced = SlicedWasserstein(p=2, n_slices=SLICES, seed=seed)
        entropic = Sinkhorn(_short(EPSILON * length**2), value="debiased")
        for name, divergence, other in (("sliced W2", sliced, _DEFINITE), ("Sinkhorn W2", entropic, _INDEFINITE)):
            if all_work(divergence, X) <= most_work:
                found += [_of(name, divergence, learner) for learner in (_FIRST[task], other[task])]
    found.append(_of("Gaussian W2", GAUSSIAN, _FIRST[task]))
    discrepancies = [MMD(Gaussian(sigma=_short(share * length))) for share in SIGMAS]
    variance = GeneralizedVariance(ETA, Gaussian(sigma=_short(SIGMAS[0] * length)))
    for name, sources in (("MMD", discrepancies), ("k-IGV", [variance])):
        if sum(all_work(divergence, X) for divergence in sources) <= most_work:
            found.append(_of(name, sources, _FIRST[task]))
    return found


def _of(name: str, divergence: Divergence | list[Any], learner: tuple[str, str]) -> Candidate:
    return Candidate(f"{name}, {learner[1]}", divergence, learner=learner[0])


def _short(value: float) -> float:
    """Return three digits of a number: enough for a scale, and short where it is printed."""
    return float(f"{value:.3g}")


def all_work(divergence: Divergence, X: Measures) -> float:
    """Return the elementary operations of all pairs."""
    part = X[: min(len(X), 64)]
    return pair_work(divergence, part, part) * len(X) * (len(X) - 1) / 2


def _typical_distance(X: Measures, seed: int) -> float:
    """Return the median distance of points of two measures, both drawn by weight; 1 if all points are equal."""
    rng = np.random.default_rng(seed)
    gaps = draw_points(X, SAMPLE, rng) - draw_points(X, SAMPLE, rng)
    return median_distance(np.sqrt((gaps**2).sum(axis=1)))


@dataclass(eq=False, repr=False)
class WithCovariates(BaseEstimator):
    """An estimator on a data frame with the column 'measures' and those of the covariates.

    Of measures that are compared, whose ``fingerprint`` it knows, ``covariates`` are looked up by their rows.
    """

    estimator: Any
    covariates: dict[str, AnyArray]
    fingerprint: str

    def fit(self, X: Measures, y: Any) -> WithCovariates:
        """Fit ``estimator_`` to the measures and the covariates of their rows."""
        self.estimator_ = clone(self.estimator).fit(self._table(X), y)
        return self

    def predict(self, X: Any) -> AnyArray:
        """Predict for a table, or for measures of the collection that was compared."""
        return np.asarray(self.estimator_.predict(self._table(X)))

    def predict_proba(self, X: Any) -> AnyArray:
        """Return the probabilities of the classes, likewise."""
        return np.asarray(self.estimator_.predict_proba(self._table(X)))

    def _table(self, X: Any) -> Any:
        if not isinstance(X, Measures):
            return self._with_names(X)
        if X.fingerprint != self.fingerprint:
            raise UnsuitableDataError(
                f"this model takes covariates too: pass a data frame with the column {MEASURES!r} (X.to_series()) and "
                f"the columns {', '.join(map(repr, self.covariates))}."
            )
        known = {name: values[X.rows] for name, values in self.covariates.items()}
        return frame_of({MEASURES: X.to_series(index=range(len(X))), **known})

    def _with_names(self, X: Any) -> Any:
        """Return a frame whose labels are strings, as those that were learned from: categories, True and False."""
        names = [name for name, values in self.covariates.items() if values.dtype.kind != "f"]
        given = {name: _array(X[name]).astype(str) for name in names if name in getattr(X, "columns", ())}
        return X.assign(**given) if given and hasattr(X, "assign") else X


def with_covariates(covariates: Any, X: Measures, task: str, preprocessing: Any) -> list[Candidate]:
    """Return three candidates: covariates alone, features of the measures alone, and both."""
    table = read_covariates(covariates, len(X))
    learner, grid = _LEARNERS[task]
    features = KernelFeatures() if preprocessing is None else make_pipeline(preprocessing, KernelFeatures())
    seen = (MEASURES, features, [MEASURES])
    numbers = [name for name, values in table.items() if values.dtype.kind == "f"]
    names = [name for name in table if name not in numbers]
    known = [("numbers", StandardScaler(), numbers)] if numbers else []
    known += [("names", OneHotEncoder(handle_unknown="ignore"), names)] if names else []
    rows = {"covariates alone": known, "measures alone, linear": [seen], "measures and covariates": [seen, *known]}
    return [
        Candidate(
            name,
            learner=WithCovariates(make_pipeline(ColumnTransformer(steps), clone(learner)), table, X.fingerprint),
            grid={f"estimator__{key}": values for key, values in grid.items()},
        )
        for name, steps in rows.items()
    ]


def read_covariates(covariates: Any, n: int) -> dict[str, AnyArray]:
    """Return the columns of a table by name: numbers as float64, everything else, such as categories, as strings."""
    if not hasattr(covariates, "columns"):
        raise InvalidParameterError(
            f"`covariates` must be a data frame with a row for each measure; got {type(covariates).__name__}."
        )
    names = [str(name) for name in covariates.columns]
    if not names or MEASURES in names or len(set(names)) < len(names) or len(covariates) != n:
        raise InvalidParameterError(
            f"`covariates` must have one column or more, of different names, none of them {MEASURES!r}, and a row for "
            f"each of the {n} measures; it has the shape {covariates.shape}."
        )
    table: dict[str, AnyArray] = {}
    for name, native in zip(names, covariates.columns, strict=True):
        column = covariates[native]
        values, numbers = _array(column), holds_numbers(column)
        gaps = np.flatnonzero(nw.from_native(column, series_only=True).is_null().to_numpy())
        if numbers and not len(gaps):
            values = values.astype(np.float64)
            gaps = np.flatnonzero(~np.isfinite(values))
        if len(gaps):
            found = "an infinite number" if numbers and values[gaps[0]] in (np.inf, -np.inf) else "no value"
            raise InvalidParameterError(
                f"`covariates` has {found} in {row_number(gaps[0])} of {name!r}; drop or impute it."
            )
        if numbers:
            refuse_scale(values, name)
        refuse_times_of_two_meanings(values, name)
        table[name] = values if numbers else values.astype(str)
    return table


def _array(column: Any) -> AnyArray:
    return np.asarray(nw.from_native(column, series_only=True).to_numpy())


def frame_of(columns: dict[str, Any]) -> Any:
    """Return columns as a data frame."""
    return needed("pandas", "frames", "A comparison with covariates").DataFrame(columns)
