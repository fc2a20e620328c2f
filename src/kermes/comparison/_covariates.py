"""Measures beside covariates in a comparison: the same linear model of either, and of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .._checks import needed, row_number
from .._typing import AnyArray
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..features import KernelFeatures
from ..measures import Measures
from ._candidate import Candidate

#: What the column of measures is called, beside the covariates.
MEASURES = "measures"
#: Regularisations that are tried: features of measures have variance 1 in all, covariates each.
_LEARNERS: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "classification": (LogisticRegression(max_iter=10_000), {"logisticregression__C": [1.0, 10.0, 100.0]}),
    "regression": (Ridge(), {"ridge__alpha": [1.0, 0.1, 0.01]}),
}


@dataclass(eq=False, repr=False)
class WithCovariates(BaseEstimator):
    """An estimator on a table; of measures that are compared, the covariates are looked up by their rows.

    Parameters
    ----------
    estimator : estimator
        On a data frame with the column 'measures' and those of the covariates.
    covariates : dict of array
        Of each row of the collection that is compared.
    fingerprint : str
        Of that collection.
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
            return X
        if X.fingerprint != self.fingerprint:
            raise UnsuitableDataError(
                f"this model takes covariates too: pass a data frame with the column {MEASURES!r} (X.to_series()) and "
                f"the columns {', '.join(map(repr, self.covariates))}."
            )
        known = {name: values[X.rows] for name, values in self.covariates.items()}
        return frame_of({MEASURES: X.to_series(index=range(len(X))), **known})


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
    """Return the columns of a table by name: numbers as float64, everything else as strings."""
    if not hasattr(covariates, "columns"):
        raise InvalidParameterError(
            f"`covariates` must be a data frame with a row for each measure; got {type(covariates).__name__}."
        )
    table = {str(name): np.asarray(covariates[name]) for name in covariates.columns}
    if not table or MEASURES in table or any(len(values) != n for values in table.values()):
        raise InvalidParameterError(
            f"`covariates` must have one column or more, none of them called {MEASURES!r}, and a row for each of the "
            f"{n} measures; it has the shape {covariates.shape}."
        )
    return {name: _column(values, name) for name, values in table.items()}


def _column(values: AnyArray, name: str) -> AnyArray:
    if values.dtype.kind in "iuf":
        values = values.astype(np.float64)
    gaps = np.flatnonzero(~np.isfinite(values) if values.dtype.kind == "f" else [v is None or v != v for v in values])
    if len(gaps):
        raise InvalidParameterError(
            f"`covariates` has no value in {row_number(gaps[0])} of {name!r}; drop or impute it."
        )
    return values if values.dtype.kind == "f" else values.astype(str)


def frame_of(columns: dict[str, Any]) -> Any:
    """Return columns as a data frame."""
    return needed("pandas", "frames", "A comparison with covariates").DataFrame(columns)
