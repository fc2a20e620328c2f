"""What all feature maps share: reading measures, fitting in batches, mapping in batches."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import choice
from .._estimator import MeasureEstimator
from .._typing import AnyArray, FloatArray
from ..divergences._base import batches
from ..exceptions import NumericalError
from ..measures import Measures


class MeasureFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MeasureEstimator):
    """Base of the feature maps: a subclass learns from measures and maps them, a batch at a time."""

    dtype: str
    #: Numbers that a batch of the measures may take while it is mapped (32 MB).
    _batch = 4e6

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn what the map needs."""
        return self._fit(X, y, first=True)

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Learn from one more batch of a stream."""
        return self._fit(X, y, first=not hasattr(self, "n_features_in_"))

    def transform(self, X: Any) -> AnyArray:
        """Return the features of X, (len(X), n_features_out); besides them memory does not grow with len(X)."""
        check_is_fitted(self)
        measures = self._read_measures(X, reset=False)
        features = np.empty((len(measures), self._n_features_out), dtype=self.dtype)
        for rows in batches(self._numbers(measures), self._batch):
            with np.errstate(over="ignore", invalid="ignore"):
                features[rows] = self._map(measures[rows])
            bad = np.flatnonzero(~np.isfinite(features[rows]).all(axis=1))
            if len(bad):
                raise NumericalError(
                    f"the features of measure {rows[bad[0]]} are not finite; its points are too large. Scale all "
                    "points down."
                )
        return features

    def _fit(self, X: Any, y: Any, first: bool) -> Any:
        choice(self.dtype, "dtype", ["float64", "float32"])
        self._learn(self._read_measures(X, reset=first, y=y), first)
        return self

    @property
    @abstractmethod
    def _n_features_out(self) -> int:
        """Number of features."""

    @abstractmethod
    def _learn(self, X: Measures, first: bool) -> None:
        """Learn from checked measures; ``first`` forgets what was learned before."""

    @abstractmethod
    def _map(self, X: Measures) -> FloatArray:
        """Return the features of a batch."""

    @abstractmethod
    def _numbers(self, X: Measures) -> FloatArray:
        """Return how many numbers are needed to map each measure."""
