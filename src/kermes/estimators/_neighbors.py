"""Nearest neighbours of measures, with lower bounds of transport distances that spare most transport problems."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._checks import choice, integer
from .._estimator import MeasureEstimator
from .._linalg import ONE_THREAD
from .._typing import FloatArray, IndexArray
from ..core.status import UNCONVERGED
from ..divergences import Divergence, GaussianWasserstein, Sinkhorn, Wasserstein
from ..divergences._base import batches, filled
from ..divergences._quantiles import even_levels, quantile_means
from ..engine import Engine, pairwise
from ..engine._engine import as_engine
from ..engine._executors import run
from ..engine._job import Job
from ..engine._progress import Progress
from ..exceptions import ConvergenceWarning, InvalidParameterError, NumericalError
from ..ground import Euclidean, SqEuclidean
from ..measures import Measures
from ._matrices import ToTrainingSamples

#: Distances of one query computed between two looks at the bounds.
LOOK = 8
#: Directions in all frames, and cells of the quantile functions: 4 kB per measure up to dimension 16. On MNIST, for ten
#: neighbours among 1000, 16 x 32 leave 49 images to be compared; 2 x 32 leave 227, 8 x 32 leave 52, 32 x 64 leave 47.
#: Of 600 clouds in dimension 5, for p = 1, one frame leaves 286, three 271, eight 260.
DIRECTIONS, CELLS = 16, 32
#: Rounding allowed for, relative to a bound and to the largest coordinate.
ROUNDING, COORDINATE_ROUNDING = 1e-9, 1e-12
#: Numbers held while a batch of the measures is prepared.
BATCH = 4e6
QUIET = Engine(memo=False, progress=False)


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
class NearestMeasures(ToTrainingSamples, MeasureEstimator):
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
        self.X_fit_ = self._read_measures(X, reset=True, y=y)
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
        k = integer(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", low=1)
        available = len(self.X_fit_) - (X is None)
        if k > available:
            raise InvalidParameterError(
                f"`n_neighbors` must be at most {available}, the number of measures searched; got {k}."
            )
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
            answer += (Search(len(queries) * available, n_evaluated),)  # type: ignore[assignment]
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
        evaluated, unconverged = np.zeros((2, len(Y)), dtype=np.int64)
        engine, title = self.engine or Engine(), repr(self.divergence_)
        with ONE_THREAD, Progress(len(Y), engine.progress, title, "queries") as progress:
            job = Job.between(self.divergence_, Y, self.X_fit_)  # measures are prepared once, distances not remembered

            def search(i: int) -> None:
                def distances_to(cols: IndexArray) -> FloatArray:
                    found, status = job.distances(np.array([i]), cols)
                    unconverged[i] += np.count_nonzero(status == UNCONVERGED)
                    return np.asarray(found[0])

                distances[i], indices[i], evaluated[i] = _nearest(distances_to, bounds[i], k)
                progress.advance(1)

            run(search, range(len(Y)), min(engine.n_threads, len(Y)))
        if unconverged.any():
            warnings.warn(
                f"{unconverged.sum()} distances of {self.divergence_!r} did not reach their tolerance; they are "
                "estimates, and so are the neighbours chosen by them.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return distances, indices, int(evaluated.sum())


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
        batch = order[done : done + (LOOK if done else k)]
        batch = batch[bounds[batch] <= kth]
        if not len(batch):
            break
        D[batch] = distances_to(batch)
        done += len(batch)
        kth = np.partition(D, k - 1)[k - 1]
    nearest = np.argsort(D, kind="stable")[:k]
    return D[nearest], nearest, done


class Rule(NamedTuple):
    """How a divergence d relates to W_p: ``d**power >= W_p**power - slack * (largest cost)``."""

    order: float
    power: float
    slack: float


def bounds_of(divergence: Divergence, X: Measures) -> TransportBounds | None:
    """Return lower bounds of distances to X, or None if there are none that save work.

    *Sinkhorn*. With P the plan found, a coupling of a and b', its transport value is <P, C> + <g, b - b'>, where g is
    the potential and |b - b'|_1 <= tol. Transport from a to b' costs at least W(a, b) - <psi, b - b'> with psi the
    exact potential, by duality. Both potentials range within the largest cost, and b - b' sums to 0, so that
    the value is at least W(a, b) - tol max(C). Single precision is worth 1e-5 more.
    """
    if isinstance(divergence, Wasserstein) and isinstance(divergence.cost, Euclidean) and X.dim > 1:
        return TransportBounds(Rule(divergence.p, divergence.p, 0.0), X)
    costs = (Euclidean, SqEuclidean)
    if isinstance(divergence, Sinkhorn) and divergence.value == "transport" and isinstance(divergence.cost, costs):
        return TransportBounds(Rule(divergence.power, divergence.power, divergence.tol + 1e-5), X)
    return None


class TransportBounds:
    r"""Lower bounds of distances to the measures X.

    For the directions :math:`\theta_1, \ldots, \theta_d` of an orthonormal frame and p <= 2,

    .. math:: W_p(\mu, \nu)^p \ge d^{p/2 - 1} \sum_l W_p(\mu_{\theta_l}, \nu_{\theta_l})^p, \qquad
              W_p(\mu, \nu) \ge W_p(\mu_{\theta_l}, \nu_{\theta_l})

    since projections do not increase distances and :math:`|x|^p \ge d^{p/2-1} \sum_l |\theta_l' x|^p`; for p > 2,
    :math:`W_p \ge W_2`. Quantile functions are replaced by their means over cells, which makes distances in
    :math:`L^p` smaller (Jensen). For p = 2 each frame contains the distance of the means.
    """

    def __init__(self, rule: Rule, X: Measures) -> None:
        self._rule = rule
        self._p = min(rule.order, 2.0)
        self._frames = _frames(X.dim, max(1, DIRECTIONS // X.dim))
        self._X = X
        self._features = self._embed(X)

    def __call__(self, Y: Measures) -> FloatArray:
        """Return a lower bound of the distance between each measure of Y and each of X."""
        features = self._embed(Y)
        bound = np.zeros((len(Y), self._features.shape[2]))
        for mine, theirs in zip(features, self._features, strict=True):
            powers = [self._on_line(a, b) for a, b in zip(mine, theirs, strict=True)]
            np.maximum(bound, len(powers) ** (self._p / 2 - 1) * np.sum(powers, axis=0), out=bound)
            if self._p < 2:
                np.maximum(bound, np.max(powers, axis=0), out=bound)
        return self._safe(np.maximum(bound ** (1 / self._p), self._gelbrich(Y)), Y)

    def _gelbrich(self, Y: Measures) -> FloatArray | float:
        """Return the distance of means and covariances, a bound of W_2 (Gelbrich, 1990), where it is worth it.

        In the plane frames are better for every pair seen; of 600 clouds in dimension 10 they leave 300, both 248.
        """
        if self._rule.order < 2 or Y.dim < 3:
            return 0.0
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that overflow are an error, not a warning
                squared = pairwise(Y, self._X, divergence=GaussianWasserstein(), engine=QUIET, squared=True)
        except NumericalError:  # squares of tiny or huge coordinates: the other bounds have none
            return 0.0
        return np.sqrt(np.maximum(squared - COORDINATE_ROUNDING * self._reach(Y) ** 2, 0.0))

    def _embed(self, X: Measures) -> FloatArray:
        """Return mean quantiles, (frames, directions of each, n, cells)."""
        directions = np.concatenate(self._frames)
        pieces = [
            quantile_means(X[rows], directions, even_levels(CELLS))[0]
            for rows in batches(len(directions) * (X.sizes + CELLS).astype(np.float64), BATCH)
        ]
        means = np.ascontiguousarray(np.concatenate(pieces).transpose(1, 0, 2))
        return means.reshape(len(self._frames), -1, len(X), CELLS)

    def _on_line(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return W_p^p between step functions: features are sqrt(1 / CELLS) times their values."""
        from ..core import vectors

        powers = filled(vectors.power_tile, a, np.arange(len(a)), b, np.arange(len(b)), False, float(self._p))
        return np.asarray(powers * CELLS ** (self._p / 2 - 1))

    def _safe(self, bound: FloatArray, Y: Measures) -> FloatArray:
        """Subtract what rounding, and the tolerance of an entropic solver, may amount to."""
        bound = bound * (1 - ROUNDING) - COORDINATE_ROUNDING * self._reach(Y)
        if self._rule.slack:
            low = np.minimum(self._X.points.min(axis=0), Y.points.min(axis=0))
            high = np.maximum(self._X.points.max(axis=0), Y.points.max(axis=0))
            farthest, power = np.linalg.norm(high - low), self._rule.power
            bound = np.maximum(bound, 0.0) ** power - self._rule.slack * farthest**power
            bound = np.maximum(bound, 0.0) ** (1 / power)
        return np.where(np.isfinite(bound), bound, 0.0)  # overflow is for the distance itself to report

    def _reach(self, Y: Measures) -> float:
        """Return the largest coordinate, to which rounding is relative."""
        return float(max(np.abs(self._X.points).max(), np.abs(Y.points).max()))


def _frames(dim: int, n: int) -> list[FloatArray]:
    """Return orthonormal frames, as rows: turned evenly in the plane, at random beyond (the axes first)."""
    if dim == 1:
        return [np.ones((1, 1))]
    if dim == 2:
        turns = np.arange(n) * np.pi / (2 * n)
        return [np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) for t in turns]
    rng = np.random.default_rng(0)
    return [np.eye(dim), *(np.linalg.qr(rng.normal(size=(dim, dim)))[0] for _ in range(n - 1))]
