"""What clusterings share: reading measures or distances, and the distance in use."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from .._checks import as_distances
from .._estimator import MeasureEstimator, Samples
from .._typing import FloatArray, IndexArray
from ..engine import pairwise
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._labels import number_of_clusters


class CentresMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Clusters around centres: what is nearest to one belongs to it. ``transform`` returns the distances to all."""

    def predict(self, X: Any) -> IndexArray:
        """Return the cluster of the nearest centre."""
        return np.asarray(self.transform(X).argmin(axis=1))


class MeasureClustering(ClusterMixin, MeasureEstimator):
    """Base of the clusterings with a ``divergence`` parameter: a divergence, None or 'precomputed'."""

    divergence: Any
    n_clusters: int
    engine: Any
    divergence_: Any
    labels_: IndexArray

    def _read(self, X: Any, *, reset: bool) -> Samples:
        """Return checked measures, or distances if precomputed; with ``reset`` they are training samples."""
        divergence = self._resolve_divergence("None or 'precomputed'")
        self.divergence_ = divergence if reset else self.divergence_
        if not self._precomputed:
            return self._read_measures(X, reset=reset)
        if isinstance(X, Measures):
            raise InvalidParameterError("`X` must be distances if `divergence` is 'precomputed'; got Measures.")
        distances = validate_data(self, X, reset=reset, dtype=np.float64)
        return as_distances(distances, "X") if reset else distances

    def _read_training(self, X: Any) -> tuple[Samples, FloatArray]:
        """Return training samples and the matrix of their distances; clusters are counted before these are paid for."""
        samples = self._read(X, reset=True)
        number_of_clusters(self.n_clusters, len(samples))
        if not isinstance(samples, Measures):
            return samples, samples
        return samples, np.asarray(pairwise(samples, divergence=self.divergence_, engine=self.engine))
