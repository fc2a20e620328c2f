"""K-medoids: clusters around members of the data, by partitioning around medoids.

The loss of medoids M is the sum over all o of d1(o), the distance to the nearest medoid; d2(o) is the distance to the
second. Replacing medoid i by c changes the loss by

    sum_o min(D[c, o] - d1(o), 0)  +  sum_{o of i} max(min(D[c, o], d2(o)) - d1(o), 0):

all may come nearer, and those of i must go to c or to their second medoid at the worst. The first sum does not depend
on i, so the changes of all pairs (c, i) cost O(n) per candidate c (the idea of FastPAM).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, integer
from .._typing import FloatArray, IndexArray
from ..engine._pairwise import true_distances
from ..exceptions import ConvergenceWarning
from ..measures import Measures
from ._base import CentresMixin, MeasureClustering, number_by_size

#: Entries of a block of candidates. Larger blocks make fewer exchanges per pass, smaller ones more calls of NumPy.
BLOCK = 1 << 17
#: A smaller relative change of the loss is rounding.
ROUNDING = 1e-12


class Partition(NamedTuple):
    """The nearest medoid of each measure, and the distances to the nearest and the second."""

    labels: IndexArray
    first: FloatArray
    second: FloatArray

    @property
    def loss(self) -> float:
        """Sum of the distances to the nearest medoids."""
        return float(self.first.sum())


def partition(D: FloatArray, medoids: IndexArray) -> Partition:
    """Assign all measures; a medoid belongs to itself, so that no cluster is empty if two medoids coincide."""
    near = D[medoids]
    columns = np.arange(len(D))
    labels = near.argmin(axis=0)
    labels[medoids] = np.arange(len(medoids))
    first = near[labels, columns]
    near[labels, columns] = np.inf
    return Partition(labels, first, near.min(axis=0))


def swap(D: FloatArray, medoids: IndexArray, max_iter: int, block: int = BLOCK) -> tuple[IndexArray, int, bool]:
    """Exchange medoids until no exchange lowers the loss; return them, the passes, and whether that was reached.

    A pass looks at all candidates in blocks and makes the best exchange of each block at once, if it has any, rather
    than the best of all: as good a minimum in fewer passes (as in FasterPAM). One block is PAM itself.
    """
    medoids = medoids.copy()
    current = partition(D, medoids)
    for done in range(1, max_iter + 1):
        swapped = False
        for rows in _blocks(len(D), block):
            changes = _changes(D[rows], current)
            c, i = np.unravel_index(changes.argmin(), changes.shape)
            if changes[c, i] < -ROUNDING * current.loss:
                medoids[i] = rows.start + c
                current = partition(D, medoids)
                swapped = True
        if not swapped:
            return medoids, done, True
    return medoids, max_iter, False


def start(D: FloatArray, k: int, init: str, random_state: Any) -> IndexArray:
    """Return the first medoids: all drawn at once ('random'), or one by one.

    Each lowers the loss most (the start of PAM, 'build'), or is drawn with probabilities in proportion to the distance
    to the nearest so far.
    """
    if init == "random":
        return np.asarray(check_random_state(random_state).choice(len(D), k, replace=False))
    rng = None if init == "build" else check_random_state(random_state)
    medoids = [int(D.sum(axis=1).argmin() if rng is None else rng.randint(len(D)))]
    first = D[medoids[0]].copy()
    while len(medoids) < k:
        if rng is None:
            gains = np.concatenate([np.maximum(first - D[rows], 0.0).sum(axis=1) for rows in _blocks(len(D), BLOCK)])
            gains[medoids] = -1.0  # never twice
            medoids.append(int(gains.argmax()))
        else:
            weights = first.copy() if first.any() else np.ones(len(D))  # all others coincide with medoids: any will do
            weights[medoids] = 0.0
            medoids.append(int(rng.choice(len(D), p=weights / weights.sum())))
        np.minimum(first, D[medoids[-1]], out=first)
    return np.array(medoids)


def _changes(rows: FloatArray, current: Partition) -> FloatArray:
    """Return the change of the loss for each candidate and each medoid it may replace."""
    order = np.argsort(current.labels, kind="stable")
    starts = np.flatnonzero(np.diff(current.labels[order], prepend=-1))
    first, second = current.first[order], current.second[order]
    moved = np.minimum(rows[:, order], second) - first
    gained = np.minimum(moved, 0.0).sum(axis=1)
    return np.asarray(gained[:, np.newaxis] + np.add.reduceat(np.maximum(moved, 0.0), starts, axis=1))


def _blocks(n: int, entries: int) -> Iterator[slice]:
    step = max(1, entries // n)
    return (slice(start, start + step) for start in range(0, n, step))


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
        medoids, self.n_iter_, converged = swap(D, start(D, self.n_clusters, self.init, self.random_state), max_iter)
        found = partition(D, medoids)
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
        return true_distances(samples, self.cluster_centers_, divergence=self.divergence_, engine=self.engine)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)
