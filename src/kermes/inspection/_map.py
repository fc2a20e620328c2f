"""The measures next to one, and the data set on a plane with how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

from .._checks import integer, positive
from .._estimator import default_divergence
from .._linalg import leading_eigh
from .._scales import median_distance, unit_of
from .._typing import FloatArray, IndexArray
from ..core.eigenvalues import rounding
from ..divergences import Divergence
from ..engine import Engine, pairwise
from ..exceptions import InvalidParameterError
from ..inference._study import distances_of
from ..measures import Measure, as_measures


class Neighbors(NamedTuple):
    """The nearest measures, nearest first: ``indices`` (k,) into the collection and ``distances`` (k,)."""

    indices: IndexArray
    distances: FloatArray


def nearest(
    X: Any, query: int | Measure, divergence: Divergence | None = None, k: int = 5, engine: Engine | None = None
) -> Neighbors:
    """Return the k measures of a collection that are nearest to one; those at one distance are in their order in X.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes
    query : int or Measure
        A row of X, or any measure, such as ``X_test[3]``. A member of X is not its own neighbour: of ``i`` the row i is
        left out, of ``X[i]`` every row of X that is this measure again (of a view that repeats rows, several). Other
        measures of equal content are neighbours.
    divergence : Divergence, optional
        Sliced Wasserstein by default.
    k : int
        How many; all others if there are fewer.
    engine : Engine, optional
        How distances are computed and remembered.

    Notes
    -----
    *Cost*: ``len(X)`` distances, those that the engine knows already for free.

    Examples
    --------
    >>> from kermes import Measures, divergences, inspection
    >>> X = Measures.from_samples([[0.0, 1.0], [5.0], [0.5], [0.0, 2.0]])
    >>> inspection.nearest(X, 0, divergences.Wasserstein(p=1), k=2)
    Neighbors(indices=array([2, 3]), distances=array([0.5, 0.5]))
    """
    measures = as_measures(X)
    wanted = integer(k, "k", low=1)
    others = np.arange(len(measures))
    if isinstance(query, Measure):
        others = others[measures.rows != query._row] if measures._root is query._root else others
        asked = as_measures([query], "query")
    elif not isinstance(query, (int, np.integer)) or isinstance(query, bool):
        raise InvalidParameterError(f"`query` must be a row of `X` or a measure, such as X[0]; got {query!r}.")
    elif not -len(measures) <= query < len(measures):
        raise InvalidParameterError(f"`query` must be a row of `X`, which has {len(measures)}; got {query}.")
    else:
        others, asked = np.delete(others, query), measures[[int(query)]]
    if not len(others):
        raise InvalidParameterError("`X` must hold a measure other than `query`; it holds none.")
    distances = pairwise(asked, measures[others], divergence=default_divergence(divergence), engine=engine)[0]
    order = np.argsort(distances, kind="stable")[:wanted]
    return Neighbors(others[order], distances[order])


#: The parameters by which scikit-learn's embeddings learn that they get distances.
SETTINGS = ("metric", "dissimilarity", "affinity")


@dataclass(frozen=True, eq=False, repr=False)
class DataMap:
    r"""Measures as points.

    Parameters
    ----------
    coordinates : ndarray of shape (n, n_components)
    stress : float
        :math:`\min_c \sqrt{\sum_{ij} (d_{ij} - c |y_i - y_j|)^2 / \sum_{ij} d_{ij}^2}`, in [0, 1]: the part of the
        distances that the map does not show. c makes it independent of the scale of the map.
    explained : float or None
        Sum of the kept eigenvalues over the sum of the sizes of all; None for embeddings without eigenvalues.
    method : str
        Where the coordinates come from.
    distances : ndarray of shape (n, n)
    """

    coordinates: FloatArray
    stress: float
    explained: float | None
    method: str
    distances: FloatArray

    def __repr__(self) -> str:
        share = "" if self.explained is None else f", {self.explained:.0%} explained"
        n, k = self.coordinates.shape
        return f"DataMap({self.method}: {n} measures in dimension {k}, stress {self.stress:.2f}{share})"


def data_map(
    X: Any,
    divergence: Divergence | str | None = None,
    method: Any = "mds",
    n_components: int = 2,
    length_scale: float | None = None,
    engine: Engine | None = None,
) -> DataMap:
    r"""Return coordinates of measures from their distances.

    Parameters
    ----------
    X : Measures, or anything ``as_measures`` takes; a matrix of distances if precomputed
    divergence : Divergence, None or 'precomputed'
        Sliced Wasserstein by default.
    method : 'mds', 'kernel_pca' or scikit-learn embedding
        'mds': classical scaling, the leading eigenvectors of :math:`-\frac12 J D^2 J` with J the centring matrix.
        'kernel_pca': the same of :math:`J K J` with :math:`K = \exp(-D^2 / 2 \ell^2)`, which shows near neighbours
        rather than large distances. Otherwise an embedding that takes distances and has ``fit_transform``, such as
        ``TSNE(metric="precomputed", init="random")`` or ``Isomap(metric="precomputed")``.
    n_components : int
        Dimension of the map; an embedding of scikit-learn has its own.
    length_scale : float, optional
        :math:`\ell` of 'kernel_pca'; the median of the positive distances by default.
    engine : Engine, optional
        How distances are computed and remembered.

    Notes
    -----
    Negative eigenvalues, which distances that are not Euclidean have, cannot be drawn: their sizes count as not
    explained. Coordinates along them are 0 if there are fewer positive ones than ``n_components``. *Cost*: the
    distances, then :math:`O(n^3)`.

    See Also
    --------
    kermes.plot.MapDisplay : the picture.

    Examples
    --------
    >>> from kermes import Measures, divergences, inspection
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0], [6.0, 7.0]])
    >>> inspection.data_map(X, divergences.Wasserstein())
    DataMap(mds: 3 measures in dimension 2, stress 0.00, 100% explained)
    """
    D = distances_of(X, divergence, engine)
    wanted = integer(n_components, "n_components", low=1)
    if length_scale is not None and method != "kernel_pca":
        raise InvalidParameterError("`length_scale` is for method='kernel_pca' only; leave it out.")
    explained = None
    if isinstance(method, str) and method == "mds":
        unit = unit_of(D)
        coordinates, explained = _principal(-0.5 * (D / unit) ** 2, wanted)
        coordinates *= unit
    elif isinstance(method, str) and method == "kernel_pca":
        scale = median_distance(D) if length_scale is None else positive(length_scale, "length_scale")
        coordinates, explained = _principal(np.exp(-0.5 * (D / scale) ** 2), wanted)
    elif not hasattr(method, "fit_transform"):
        raise InvalidParameterError(
            f"`method` must be 'mds', 'kernel_pca' or an embedding with fit_transform; got {method!r}."
        )
    else:
        parameters = method.get_params(deep=False)
        if not any(str(parameters.get(name, "")).startswith("precomputed") for name in SETTINGS):
            known = [name for name in SETTINGS if isinstance(parameters.get(name), str)] or ["metric"]
            raise InvalidParameterError(
                f"`method` gets a matrix of distances and must be set up for them: {type(method).__name__}"
                f"({known[0]}='precomputed'). Otherwise it would take the rows for coordinates."
            )
        coordinates = np.asarray(clone(method).fit_transform(D), dtype=np.float64)
    name = method if isinstance(method, str) else type(method).__name__
    return DataMap(coordinates, _stress(D, coordinates), explained, name, D)


def _principal(K: FloatArray, n_components: int) -> tuple[FloatArray, float]:
    """Return the leading coordinates sqrt(lambda) v of the centred matrix, and their share in the spectrum."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = leading_eigh((centred + centred.T) / 2.0)
    values = np.where(np.abs(values) > rounding(np.append(values, np.abs(K).max())), values, 0.0)
    kept = np.maximum(values[:n_components], 0.0)
    coordinates = np.zeros((len(K), n_components))
    coordinates[:, : len(kept)] = vectors[:, : len(kept)] * np.sqrt(kept)
    total = np.abs(values).sum()
    return coordinates, float(kept.sum() / total) if total > 0 else 1.0


def _stress(D: FloatArray, coordinates: FloatArray) -> float:
    """Return the stress at the best scale c: the sine of the angle between both vectors of distances."""
    if len(D) < 2:
        return 0.0
    wanted, shown = squareform(D, checks=False), pdist(coordinates / unit_of(coordinates))
    if not wanted.any():
        return 0.0
    wanted /= unit_of(wanted)
    c = float(wanted @ shown / max(float(shown @ shown), 1e-300))
    return float(np.linalg.norm(wanted - c * shown) / np.linalg.norm(wanted))
