"""Numbering the atoms of several collections in one common finite set of points, and the costs between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..core.ragged import Rows
from ..exceptions import UnsuitableDataError
from ..ground import Cost, Ground
from ..measures import Measure, Measures, as_measures
from ._base import pooled_points, require_same_dim

#: Points of a common support up to which all its costs are tabulated (32 MB).
LARGEST_TABLE = 2048


class CommonSupport(NamedTuple):
    """Distinct points (m, d); ``given`` when they are the support that the collections came with."""

    points: FloatArray
    given: bool


def common_support(X: Measures, Y: Measures, ground: Ground | None = None) -> CommonSupport:
    """Return the shared support of both collections, or the union of their atoms if the ground knows them all."""
    if X.shares_support(Y):
        assert X.support is not None
        return CommonSupport(X.support.points, True)
    if ground is not None and ground.size is not None:
        raise UnsuitableDataError("`X` and `Y` must share the support of the cost matrix; theirs differ.")
    return CommonSupport(distinct(pooled_points(X, Y)), False)


def distinct(points: FloatArray) -> FloatArray:
    """Return the distinct points in lexicographic order.

    The points of clouds mostly differ in their first coordinate: numbers are sorted ten times as fast as rows.
    """
    candidates = points[np.argsort(points[:, 0])]
    return candidates if _increase(candidates) else np.asarray(np.unique(points, axis=0))


def _increase(points: FloatArray) -> bool:
    """Whether each first coordinate is above the one before."""
    return bool((np.diff(points[:, 0]) > 0).all())


def fewest_points(X: Measures, Y: Measures) -> int:
    """Return a number of points that X and Y have at least, by hashing them, which is far cheaper than sorting."""
    found = _n_hashes([X.points[: 4 * LARGEST_TABLE]])
    if found > LARGEST_TABLE:  # more than are ever tabulated: the others need not be looked at
        return found
    return _n_hashes([Z.points for Z in ((X,) if X is Y else (X, Y))])


def _n_hashes(parts: list[FloatArray]) -> int:
    """Return the number of distinct hashes of points."""
    dim = parts[0].shape[1]
    odd = np.random.default_rng(0).integers(0, 2**63, size=dim, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    # Equal points have equal hashes: sums of their bits times odd numbers, modulo 2**64; 0.0 makes one zero of two.
    hashes = [((points + 0.0).view(np.uint64) * odd).sum(axis=1) for points in parts]
    return len(np.unique(np.concatenate(hashes)))


def sparse_rows(X: Measures, points: FloatArray, given: bool) -> Rows:
    """Return the measures over a common support; repeated atoms are added up."""
    ids = atom_ids(X, points, given)
    m = len(points)
    flat, inverse = np.unique(ragged.owners(X.offsets) * m + ids, return_inverse=True)
    weights = np.bincount(inverse.ravel(), weights=X.probabilities).astype(np.float64)
    return Rows(flat % m, weights, ragged.offsets_of(np.bincount(flat // m, minlength=len(X))))


def atom_ids(X: Measures, points: FloatArray, given: bool) -> IndexArray:
    """Return the number of every atom of X in a common support."""
    if given:
        assert X.atoms is not None  # a given support comes with atom numbers
        return X.atoms
    if _increase(points):
        return np.searchsorted(points[:, 0], X.points[:, 0])
    # The points are sorted and distinct: each has its own number among them and those of X.
    _, inverse = np.unique(np.concatenate([points, X.points]), axis=0, return_inverse=True)
    return np.asarray(inverse.ravel()[len(points) :], dtype=np.int64)


def dense_rows(X: Measures, points: FloatArray, given: bool) -> FloatArray:
    """Return the measures over a common support as the rows of a matrix (n, m)."""
    rows = sparse_rows(X, points, given)
    dense = np.zeros((len(X), len(points)))
    dense[ragged.owners(rows.offsets), rows.ids] = rows.weights
    return dense


def require_finite_set(X: Measures) -> None:
    """Refuse clouds: measures on no common finite set of points have no entropy."""
    if X.support is None and not (X.points == np.floor(X.points)).all():
        raise UnsuitableDataError(
            "entropies of histograms need a shared support, and these measures have none. Make them with "
            "Measures.from_histograms or from_images; or compare the clouds smoothed, "
            "JensenShannon(smoothing=ground.Gaussian(sigma=...)) or -d jensen-shannon:sigma=..., with sigma a length "
            "in the units of the points."
        )


def couple(mu: Measure, nu: Measure, cost: Cost) -> tuple[Measures, Measures, CommonSupport]:
    """Return two measures that the cost can compare as collections of one, and the points they share."""
    X, Y = as_measures([mu], "mu"), as_measures([nu], "nu")
    require_same_dim(X, Y)
    cost.check(X)
    cost.check(Y)
    return X, Y, common_support(X, Y, cost)


def atom_costs(X: Measures, Y: Measures, common: CommonSupport, cost: Cost) -> FloatArray:
    """Return the costs between all atoms of X and Y."""
    return cost.pick(common.points, atom_ids(X, *common), atom_ids(Y, *common))


def cost_table(cost: Cost, common: CommonSupport, largest: int = LARGEST_TABLE) -> FloatArray | None:
    """Return all costs between the points of a common support, or None if there are too many."""
    return cost.table(common.points) if cost.size is not None or len(common.points) <= largest else None
