"""K-means: clusters around barycentres."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._checks import integer, real
from .._estimator import MeasureEstimator
from .._typing import FloatArray, IndexArray
from ..divergences import SlicedWasserstein, Wasserstein
from ..engine._pairwise import true_distances
from ..exceptions import ConvergenceWarning, DegenerateDataWarning, UnsuitableDataError
from ..inference import barycenter
from ..inference._barycenter import objective_power
from ..measures import Measures
from ._base import CentresMixin, number_by_size, number_of_clusters


class _Clusters(NamedTuple):
    """Centres, the cluster of each measure, the sum of powers of distances, iterations, and whether they sufficed."""

    centers: Measures
    labels: IndexArray
    inertia: float
    n_iter: int
    converged: bool


@dataclass(eq=False, repr=False)
class KMeans(CentresMixin, ClusterMixin, MeasureEstimator):
    r"""Partition measures into k clusters around their barycentres.

    .. math:: \min_{\nu_1, \dots, \nu_k} \sum_i \min_j d(\mu_i, \nu_j)^q

    with q = 2, but for the order p of ``Wasserstein(p)`` and ``SlicedWasserstein(p)`` on the line, and q = 1 for
    ``Sinkhorn`` with another cost than the squared Euclidean one, whose distance is the value itself. The centres are
    measures that need not be members: mean images, mean distributions. :class:`KMedoids` chooses members instead, for
    any divergence.

    Parameters
    ----------
    divergence : Divergence or None
        The distance d, one that :func:`kermes.inference.barycenter` takes. None: sliced Wasserstein.
    n_clusters : int
        The number k of clusters.
    random_state : int, RandomState or None
        Seed of the starts.
    n_init : int
        Starts; the result of the lowest sum is kept.
    max_iter : int
        Updates of all centres for each start; a warning says when they did not suffice.
    tol : float
        Stop when the sum falls by at most this part of itself, or no measure changes its cluster.
    n_atoms : int or None
        Atoms of centres whose atoms move (``SlicedWasserstein``, and ``Wasserstein`` in dimension 2 and more); see
        :func:`kermes.inference.barycenter`.
    engine : Engine, optional
        How distances are computed and remembered.

    Attributes
    ----------
    cluster_centers_ : Measures
        The k barycentres, that of the largest cluster first.
    labels_ : ndarray of shape (n,)
        Clusters, numbered by size: 0 is the largest.
    inertia_ : float
        Sum of the q-th powers of the distances to the nearest centres.
    n_iter_ : int
        Updates made from the best start.
    divergence_ : Divergence
        The divergence in use.

    Notes
    -----
    Lloyd's iteration from a start by k-means++ [1]_: members drawn with probabilities in proportion to
    :math:`d^q` to those drawn before, the best of :math:`2 + \lfloor \ln k \rfloor` draws each time. A cluster that
    loses all members takes the measure that is farthest from its centre. The end is a local minimum; with entropic
    barycentres that are not debiased, and where atoms start anew, an update may raise the sum: the lowest one is
    kept. If fewer than k measures differ, some clusters stay empty, with a warning. *Cost*: n k distances and k
    barycentres of all measures together for each update.

    References
    ----------
    .. [1] Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.

    Examples
    --------
    >>> from kermes import Measures, clustering, divergences
    >>> X = Measures.from_samples([[0.0, 1.0], [9.0, 9.5], [0.5], [1.0, 2.0]])
    >>> model = clustering.KMeans(divergences.Wasserstein(), n_clusters=2, random_state=0).fit(X)
    >>> model.labels_
    array([0, 1, 0, 0])
    >>> model.cluster_centers_[0].points.ravel().round(3)
    array([0.5  , 1.167])
    >>> model.predict(Measures.from_samples([[7.0]]))
    array([1])
    """

    divergence: Any = None
    n_clusters: int = 8
    random_state: Any = None
    n_init: int = 1
    max_iter: int = 100
    tol: float = 1e-6
    n_atoms: int | None = None
    engine: Any = None

    def fit(self, X: Any, y: Any = None) -> KMeans:
        """Find the clusters."""
        n_init, max_iter = integer(self.n_init, "n_init", low=1), integer(self.max_iter, "max_iter", low=1)
        real(self.tol, "tol", low=0.0)
        self.divergence_ = self._resolve_divergence()
        measures = self._read_measures(X, reset=True)
        number_of_clusters(self.n_clusters, len(measures))
        rng = check_random_state(self.random_state)
        best = min((self._run(measures, rng, max_iter) for _ in range(n_init)), key=lambda run: run.inertia)
        self.labels_, order = number_by_size(best.labels)
        empty = np.setdiff1d(np.arange(self.n_clusters), order)
        self.cluster_centers_ = best.centers[np.concatenate([order, empty])]
        self.inertia_, self.n_iter_ = best.inertia, best.n_iter
        if len(empty):
            warnings.warn(
                f"{len(empty)} of {self.n_clusters} clusters are empty: fewer measures than that differ. Ask for fewer "
                "clusters.",
                DegenerateDataWarning,
                stacklevel=2,
            )
        if not best.converged:
            warnings.warn(
                f"KMeans stopped after `max_iter` = {max_iter} updates; measures still changed their clusters. "
                "Increase max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the distances to the centres, (len(X), k)."""
        check_is_fitted(self)
        return self._distances(self._read_measures(X, reset=False), self.cluster_centers_)

    def _run(self, X: Measures, rng: Any, max_iter: int) -> _Clusters:
        """Iterate from one start; return the clusters of the lowest sum."""
        power = objective_power(self.divergence_, X.dim)
        centers, started = X[self._start(X, rng, power)], False
        best = None
        for done in range(max_iter + 1):
            costs = self._costs(X, centers, power)
            labels = costs.argmin(axis=1)
            inertia = float(costs[np.arange(len(X)), labels].sum())
            same = best is not None and np.array_equal(labels, best.labels)
            little = best is not None and best.inertia - inertia <= self.tol * best.inertia
            if best is None or inertia < best.inertia:
                best = _Clusters(centers, labels, inertia, done, False)
            if same or (little and started):
                return best._replace(converged=True, n_iter=done)
            if done < max_iter:
                centers = self._update(X, _filled(labels, costs), centers, started, rng)
                started = True
        assert best is not None
        return best._replace(n_iter=max_iter)

    def _update(self, X: Measures, labels: IndexArray, centers: Measures, started: bool, rng: Any) -> Measures:
        """Return the barycentre of every cluster, the old centre of an empty one."""
        moving = X.dim > 1 and isinstance(self.divergence_, (SlicedWasserstein, Wasserstein))
        new = []
        for j in range(len(centers)):
            members = np.flatnonzero(labels == j)
            options: dict[str, Any] = {}
            if moving:  # goes on from where the last one ended
                options = {"init": centers[[j]]} if started else {"n_atoms": self.n_atoms, "random_state": rng}
            elif X.dim == 1 and isinstance(self.divergence_, (SlicedWasserstein, Wasserstein)):
                options = {"n_atoms": self.n_atoms}
            found = barycenter(X[members], divergence=self.divergence_, **options) if len(members) else centers[[j]]
            new.append(found)
        return Measures.concatenate(new)

    def _start(self, X: Measures, rng: Any, power: float) -> IndexArray:
        """Draw members by greedy k-means++."""
        trials = 2 + int(math.log(self.n_clusters))
        chosen = [int(rng.randint(len(X)))]
        nearest = self._costs(X, X[chosen], power)[:, 0]
        while len(chosen) < self.n_clusters:
            total = nearest.sum()
            if total > 0:
                drawn = np.unique(rng.choice(len(X), trials, p=nearest / total))
            else:  # all others equal one that was drawn
                free = np.setdiff1d(np.arange(len(X)), chosen)
                drawn = rng.choice(free, 1)
            costs = np.minimum(nearest[:, None], self._costs(X, X[drawn], power))
            winner = int(costs.sum(axis=0).argmin())
            chosen.append(int(drawn[winner]))
            nearest = costs[:, winner]
        return np.array(chosen)

    def _costs(self, X: Measures, centers: Measures, power: float) -> FloatArray:
        """Return powers of the distances, which are added up; refuse those that are no numbers."""
        D = self._distances(X, centers)
        with np.errstate(over="ignore", under="ignore"):
            costs = D**power
            total = costs.sum()
        if not np.isfinite(total) or ((costs == 0) & (D > 0)).any():
            raise UnsuitableDataError(
                f"the distances of measures to centres, up to {D.max():.3g}, have powers that are too large or too "
                "small for a number; divide the points by a common unit."
            )
        return np.asarray(costs)

    def _distances(self, X: Measures, centers: Measures) -> FloatArray:
        return true_distances(X, centers, divergence=self.divergence_, engine=self.engine)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


def _filled(labels: IndexArray, costs: FloatArray) -> IndexArray:
    """Return labels in which empty clusters have the measures that are farthest from their centres, if any is."""
    labels = labels.copy()
    far = costs[np.arange(len(labels)), labels]
    for j in np.setdiff1d(np.arange(costs.shape[1]), labels):
        movable = (np.bincount(labels, minlength=costs.shape[1])[labels] > 1) & (far > 0)
        if movable.any():
            i = int(np.where(movable, far, -1.0).argmax())
            labels[i], far[i] = j, 0.0
    return labels
