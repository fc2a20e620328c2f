"""Nearest neighbours of measures, with bounds that spare most transport problems."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, integer
from .._estimator import MeasureEstimator
from .._linalg import ONE_THREAD
from .._typing import FloatArray, IndexArray
from ..core.status import UNCONVERGED
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..engine._engine import as_engine
from ..engine._executors import run
from ..engine._job import Job
from ..engine._progress import Progress
from ..exceptions import ConvergenceWarning, InvalidParameterError
from ..measures import Measures
from ._bounds import TransportBounds, bounds_of

#: Distances of one query computed between two looks at the bounds.
BATCH = 8


@dataclass(frozen=True)
class Search:
    """What a search for neighbours took.

    Parameters
    ----------
    n_pairs : int
        Distances that brute force computes.
    n_evaluated : int
        Distances that were computed.
    """

    n_pairs: int
    n_evaluated: int


@dataclass(eq=False, repr=False)
class NearestMeasures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MeasureEstimator):
    r"""Nearest neighbours among measures: those of brute force, for fewer distances.

    Exact transport is expensive, lower bounds of it are cheap. Candidates are taken in the order of their bounds until
    the next bound exceeds the distance of the k-th neighbour found.

    Parameters
    ----------
    divergence : Divergence, optional
        Distance; sliced Wasserstein by default.
    n_neighbors : int
        Number of neighbours, where none is given.
    engine : Engine, optional
        How distances are computed. Queries go to its threads; distances found with bounds are not remembered.

    Attributes
    ----------
    divergence_ : Divergence
        The distance in use.
    X_fit_ : Measures
        The measures searched.

    Notes
    -----
    *Bounds* exist for ``Wasserstein(p)`` with Euclidean cost in two dimensions and beyond, and for
    ``Sinkhorn(value="transport")`` with Euclidean or squared Euclidean cost. They are distances of quantile functions
    of projections on several orthonormal frames, and for p >= 2 in three dimensions and beyond the distance of means
    and covariances (Gelbrich). For all other divergences every distance is computed.

    *Exactness*. For ``Wasserstein``: indices and distances are those of ``pairwise`` and a stable sort, so that of
    equally near measures the first ones win. If the queries are the measures searched themselves, distances that
    differ by rounding only may change places. For ``Sinkhorn``: a value that has converged, marginals off by at most
    ``tol``, is at least :math:`W^p - tol \cdot \max C`, and bounds are lowered by that much. A value depends on
    those computed with it by less than its own error; neighbours that differ by less may change places, and pairs
    that would not have converged may be passed over. A small ``tol`` prunes better; 1e-5 is nearly as good as 0.

    *Cost*: with MNIST, ten neighbours of 100 images among 1000 take 17 times fewer transport problems than brute
    force (``python -m benchmarks neighbors``). In high dimension bounds are weaker.

    scikit-learn's learners on neighbours take the graph of :meth:`transform`:
    ``make_pipeline(NearestMeasures(W, n_neighbors=10), KNeighborsClassifier(10, metric="precomputed"))``.

    Examples
    --------
    >>> from kermes import NearestMeasures, datasets, divergences
    >>> X = datasets.load_digits().measures()
    >>> search = NearestMeasures(divergences.Wasserstein(p=2), n_neighbors=3).fit(X[:200])
    >>> distances, indices, info = search.kneighbors(X[200:202], return_info=True)
    >>> indices
    array([[ 42,  11, 107],
           [162, 176, 135]])
    >>> info.n_pairs // info.n_evaluated
    17
    """

    #: Pairs whose bounds, or distances, are held at a time (16 MB).
    _block = 1 << 21

    divergence: Divergence | None = None
    n_neighbors: int = 5
    engine: Engine | None = None

    def fit(self, X: Any, y: Any = None) -> NearestMeasures:
        """Keep the measures to be searched, and prepare the bounds."""
        integer(self.n_neighbors, "n_neighbors", low=1)
        as_engine(self.engine)
        self.X_fit_ = self._read_measures(X, reset=True)
        self.divergence_ = self._resolve_divergence()
        self.divergence_.check(self.X_fit_)
        self._bounds = bounds_of(self.divergence_, self.X_fit_)
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True, return_info: bool = False
    ) -> Any:
        """Return the nearest neighbours of each measure of X.

        Parameters
        ----------
        X : Measures, optional
            Queries. By default the measures searched themselves, none of which is its own neighbour.
        n_neighbors : int, optional
        return_distance : bool
            Return the distances as well.
        return_info : bool
            Also return a :class:`Search`, last.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            From the nearest to the farthest.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows in the measures searched.
        """
        check_is_fitted(self)
        queries = self.X_fit_ if X is None else self._read_measures(X, reset=False)
        k = self._count(n_neighbors, X is None)
        distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        n_evaluated = 0
        rows_at_once = max(1, self._block // len(self.X_fit_))
        for start in range(0, len(queries), rows_at_once):
            block = np.arange(start, min(start + rows_at_once, len(queries)))
            own = block if X is None else None
            found = self._brute(queries[block], k, own) if self._bounds is None else self._prune(queries[block], k, own)
            distances[block], indices[block] = found[:2]
            n_evaluated += found[2]
        answer = (distances, indices) if return_distance else (indices,)
        if return_info:
            answer += (Search(len(queries) * (len(self.X_fit_) - (X is None)), n_evaluated),)  # type: ignore[assignment]
        return answer if len(answer) > 1 else answer[0]

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the neighbours of :meth:`kneighbors` as a sparse graph, (n_queries, n_measures).

        Its entries are ones (``mode='connectivity'``), or distances (``mode='distance'``).
        """
        choice(mode, "mode", ["connectivity", "distance"])
        distances, indices = self.kneighbors(X, n_neighbors)
        n, k = indices.shape
        data = distances.ravel() if mode == "distance" else np.ones(n * k)
        return sparse.csr_matrix((data, indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, len(self.X_fit_)))

    def transform(self, X: Any) -> Any:
        """Return the graph of distances to ``n_neighbors + 1`` neighbours: one more, since a measure may find itself.

        As scikit-learn's ``KNeighborsTransformer``; if fewer measures are searched, all are neighbours.
        """
        check_is_fitted(self)
        k = min(integer(self.n_neighbors, "n_neighbors", low=1) + 1, len(self.X_fit_))
        return self.kneighbors_graph(self._read_measures(X, reset=False), k, mode="distance")

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_)

    def _count(self, n_neighbors: int | None, own: bool) -> int:
        k = integer(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", low=1)
        available = len(self.X_fit_) - own
        if k > available:
            raise InvalidParameterError(
                f"`n_neighbors` must be at most {available}, the number of measures searched; got {k}."
            )
        return k

    def _brute(self, Y: Measures, k: int, own: IndexArray | None) -> tuple[FloatArray, IndexArray, int]:
        D, info = pairwise(Y, self.X_fit_, divergence=self.divergence_, engine=self.engine, return_info=True)
        if own is not None:
            D[np.arange(len(Y)), own] = np.inf
        order = np.argsort(D, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(D, order, axis=1), order, info.n_evaluated

    def _prune(self, Y: Measures, k: int, own: IndexArray | None) -> tuple[FloatArray, IndexArray, int]:
        """Search for each query in turn; the engine's threads take the queries."""
        assert isinstance(self._bounds, TransportBounds)
        bounds = self._bounds(Y)
        if own is not None:
            bounds[np.arange(len(Y)), own] = np.inf
        distances, indices = np.empty((len(Y), k)), np.empty((len(Y), k), dtype=np.int64)
        evaluated, engine, title = np.zeros(len(Y), dtype=np.int64), self.engine or Engine(), repr(self.divergence_)
        with ONE_THREAD, Progress(len(Y), engine.progress, title, "queries") as progress:
            distance_rows = _DistanceRows(self.divergence_, Y, self.X_fit_)

            def search(i: int) -> None:
                distances[i], indices[i], evaluated[i] = _nearest(partial(distance_rows, i), bounds[i], k)
                progress.advance(1)

            run(search, range(len(Y)), min(engine.n_threads, len(Y)))
        distance_rows.warn()
        return distances, indices, int(evaluated.sum())


class _DistanceRows:
    """Distances between the measures of Y and chosen ones of X, those of ``pairwise``; may be called from threads.

    Measures are prepared once; distances are not remembered.
    """

    def __init__(self, divergence: Divergence, Y: Measures, X: Measures) -> None:
        self._job = Job.between(divergence, Y, X)
        self._unconverged, self._lock = 0, threading.Lock()

    def __call__(self, row: int, cols: IndexArray) -> FloatArray:
        """Return the distances between Y[row] and X[cols]."""
        distances, status = self._job.distances(np.array([row]), cols)
        with self._lock:
            self._unconverged += int(np.count_nonzero(status == UNCONVERGED))
        return np.asarray(distances[0])

    def warn(self) -> None:
        """Warn of distances that did not reach their tolerance."""
        if self._unconverged:
            warnings.warn(
                f"{self._unconverged} distances of {self._job.divergence!r} did not reach their tolerance; they are "
                "estimates, and so are the neighbours chosen by them.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _nearest(
    distances_to: Callable[[IndexArray], FloatArray], bounds: FloatArray, k: int
) -> tuple[FloatArray, IndexArray, int]:
    """Return distances and rows of the k nearest measures, and how many distances that took.

    A measure whose bound equals the k-th distance is still looked at: it may be as near, and come first.
    """
    order = np.argsort(bounds, kind="stable")
    order = order[bounds[order] < np.inf]
    D, kth, done = np.full(len(bounds), np.inf), np.inf, 0
    while True:
        batch = order[done : done + (BATCH if done else k)]
        batch = batch[bounds[batch] <= kth]
        if not len(batch):
            break
        D[batch] = distances_to(batch)
        done += len(batch)
        kth = np.partition(D, k - 1)[k - 1]
    nearest = np.argsort(D, kind="stable")[:k]
    return D[nearest], nearest, done
