"""K-medoids: clusters around members of the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, integer
from .._typing import FloatArray, IndexArray
from ..engine import pairwise
from ..exceptions import ConvergenceWarning
from ..measures import Measures
from . import _pam
from ._base import CentresMixin, MeasureClustering
from ._labels import number_by_size


@dataclass(eq=False, repr=False)
class KMedoids(CentresMixin, MeasureClustering):
    r"""Choose k measures, the medoids, such that the others are near to one of them.

    .. math:: \min_{|M| = k} \sum_i \min_{m \in M} d(\mu_i, \mu_m)

    Unlike k-means it needs no mean of measures, only distances, of any divergence.

    Parameters
    ----------
    divergence : Divergence, None or 'precomputed'
        The distance d. None: sliced Wasserstein. 'precomputed': X is a matrix of distances, (m, n) to predict.
    n_clusters : int
        The number k of medoids.
    init : 'build', 'random' or 'k-medoids++'
        How to start: with medoids each of which lowers the sum most ('build', without randomness), drawn uniformly, or
        drawn in proportion to the distance to those drawn before.
    max_iter : int
        Passes over all candidates; a warning says when they did not suffice.
    random_state : int, RandomState or None
        Seed of the start.
    engine : Engine, optional
        How distances are computed and remembered.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        The medoids in X, that of the largest cluster first.
    cluster_centers_ : Measures or None
        The medoids themselves; None if precomputed.
    labels_ : ndarray of shape (n,)
        Clusters, numbered by size: 0 is the largest. Medoids belong to themselves, so no cluster is empty, even if
        equal measures became medoids.
    inertia_ : float
        Sum of the distances to the nearest medoids.
    n_iter_ : int
        Passes made.
    divergence_ : Divergence or 'precomputed'
        The divergence in use.

    Notes
    -----
    Partitioning around medoids (PAM): no exchange of a medoid for another measure lowers the sum at the end. That is
    a local minimum; the best of several random starts may be lower. *Cost*: the distances, then :math:`O(n^2)` per
    pass, and :math:`O(k n^2)` for 'build'. New measures are compared with the medoids only.

    Examples
    --------
    >>> from kermes import Measures, clustering, divergences
    >>> X = Measures.from_samples([[0.0, 1.0], [9.0, 9.5], [0.5], [1.0, 2.0]])
    >>> model = clustering.KMedoids(divergences.Wasserstein(), n_clusters=2).fit(X)
    >>> model.labels_, model.medoid_indices_
    (array([0, 1, 0, 0]), array([0, 1]))
    >>> model.predict(Measures.from_samples([[7.0]]))
    array([1])
    """

    divergence: Any = None
    n_clusters: int = 8
    init: str = "build"
    max_iter: int = 300
    random_state: Any = None
    engine: Any = None

    def fit(self, X: Any, y: Any = None) -> KMedoids:
        """Find the medoids."""
        choice(self.init, "init", ["build", "random", "k-medoids++"])
        max_iter = integer(self.max_iter, "max_iter", low=1)
        samples, D = self._read_training(X)
        medoids, self.n_iter_, converged = _pam.swap(D, self._start(D), max_iter)
        found = _pam.partition(D, medoids)
        self.labels_, order = number_by_size(found.labels)
        self.medoid_indices_ = medoids[order]
        self.cluster_centers_ = samples[self.medoid_indices_] if isinstance(samples, Measures) else None
        self.inertia_ = found.loss
        if not converged:
            warnings.warn(
                f"KMedoids stopped after `max_iter` = {max_iter} passes; an exchange of medoids may still lower the "
                "sum of distances. Increase max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the distances to the medoids, (len(X), k)."""
        check_is_fitted(self)
        samples = self._read(X, reset=False)
        if not isinstance(samples, Measures):
            return samples[:, self.medoid_indices_]
        return np.asarray(pairwise(samples, self.cluster_centers_, divergence=self.divergence_, engine=self.engine))

    def _start(self, D: FloatArray) -> IndexArray:
        if self.init == "build":
            return _pam.build(D, self.n_clusters)
        rng = check_random_state(self.random_state)
        if self.init == "random":
            return np.asarray(rng.choice(len(D), self.n_clusters, replace=False))
        return _pam.plus_plus(D, self.n_clusters, rng)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)
