"""Maximum mean discrepancy: the distance between mean embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import FloatArray, IndexArray
from ..ground import Linear, PointKernel, as_point_kernel
from ..measures import Measures
from ._atoms import KernelSource
from ._base import Claims, Divergence, Route, Tile, batches, empty_tile, pair_sums
from ._features import Features, exact_features
from ._support import dense_rows

if TYPE_CHECKING:
    from ..core.mmd import Embedded

__all__ = ["MMD"]

#: Points of a shared support up to which its kernel matrix is factorised (0.3 s for 1000).
LARGEST_SUPPORT = 1024
#: Exact features up to which they are taken for their accuracy, however few the atoms are.
FEW_FEATURES = 64
#: Ratio of the largest and the smallest k(x, x) from which a common factor of the kernel matrix is not accurate enough.
UNEVEN = 100.0


class _Embeddings(Route):
    """What the routes have in common: the cost of a pair."""

    def work(self, X: Measures, Y: Measures) -> float:
        """About four operations, and an exponential, for each pair of points."""
        return 4.0 * _point_pairs(X, Y)


class _Vectors(_Embeddings):
    """Finite-dimensional embeddings, (n, r), whose distances are Euclidean."""

    def tile(self, A: FloatArray, B: FloatArray, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        from ..core import vectors

        return Tile(vectors.squared_tile(A, rows, B, cols, triangle))


@dataclass(frozen=True, eq=False)
class _Means(_Vectors):
    """The means of exact features: of the coordinates, or of monomials."""

    features: Features

    def prepare(self, X: Measures) -> FloatArray:
        return X.expectation(self.features(X.points))


@dataclass(frozen=True, eq=False)
class _OnSupport(_Vectors):
    """Embeddings by a factor F of the kernel matrix K = F F' of a shared support."""

    factor: FloatArray

    @classmethod
    def of(cls, ground: PointKernel, points: FloatArray) -> _OnSupport:
        values, vectors = np.linalg.eigh(ground.table(points))
        kept = values > values[-1] * np.finfo(float).eps
        return cls(vectors[:, kept] * np.sqrt(values[kept]))

    def prepare(self, X: Measures) -> FloatArray:
        assert X.support is not None
        return dense_rows(X, X.support.points, True) @ self.factor


@dataclass(frozen=True, eq=False)
class _OnAtoms(_Embeddings):
    """Kernel values between all atoms; the squared norms of the embeddings are prepared."""

    source: KernelSource

    def prepare(self, X: Measures) -> Embedded:
        from ..core import mmd

        atoms, norms = self.source.atoms(X), np.empty(len(X))
        for rows in batches(4.0 * X.sizes.astype(np.float64) ** 2):
            mmd.norms(self.source.core, atoms, rows, norms)
        return mmd.Embedded(atoms, norms)

    def tile(self, A: Embedded, B: Embedded, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        from ..core import mmd

        out = empty_tile(rows, cols)
        mmd.tile(self.source.core, A, rows, B, cols, triangle, out)
        return Tile(out)

    def rounding(self, A: Embedded, B: Embedded, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """A part of the norms, whose differences values are."""
        return 1e-12 * pair_sums(A.norms, B.norms, rows, cols)


def _even(ground: PointKernel, points: FloatArray) -> bool:
    """Return whether no point has so large a k(x, x) that rounding of its values would swamp those of others."""
    diagonal = ground.diagonal(points)
    return bool(diagonal.max() <= UNEVEN * diagonal.min())


def _point_pairs(X: Measures, Y: Measures) -> float:
    return float(X.sizes.mean() * Y.sizes.mean())


@dataclass(frozen=True)
class MMD(Divergence):
    r"""Maximum mean discrepancy.

    .. math:: d(\mu, \nu)^2 = \sum_{ij} a_i a_j k(x_i, x_j) + \sum_{ij} b_i b_j k(y_i, y_j)
              - 2 \sum_{ij} a_i b_j k(x_i, y_j)

    the distance of the mean embeddings in the feature space of a point kernel k.

    Parameters
    ----------
    ground : PointKernel
        ``ground.Gaussian(sigma=...)``: clouds are compared after smoothing at the length sigma.
        ``ground.Linear()``: the distance of the means.

    Notes
    -----
    *Returned*: d. *Metric*: for a characteristic kernel (Gaussian, Laplacian); otherwise a
    pseudometric. *Negative type*: d^2 is conditionally negative definite (a Hilbert space norm).
    *Cost*: :math:`O(n_i n_j)` per pair; :math:`O(r)` for the linear kernel and for a polynomial one of r monomials,
    whose values are exact up to 1e-15 of the embedding norm; and :math:`O(m)` on a shared support of m points, where
    the kernel matrix is factorised once. *Accuracy*: elsewhere :math:`d^2` to 1e-14 of the squared norms of the
    embeddings, so that distances below 1e-7 of them are rounding.

    Examples
    --------
    >>> from kermes import Measures, divergences, ground, pairwise
    >>> X = Measures.from_samples([[0.0], [1.0]])
    >>> pairwise(X, divergence=divergences.MMD(ground.Gaussian(sigma=1.0)), squared=True).round(4)
    array([[0.    , 0.7869],
           [0.7869, 0.    ]])
    """

    ground: PointKernel

    def __post_init__(self) -> None:
        object.__setattr__(self, "ground", as_point_kernel(self.ground))

    def claims(self, dim: int) -> Claims:
        """A Hilbert norm; a metric when the kernel is characteristic."""
        return Claims(self.ground.characteristic, 2.0, "a Hilbert space norm (Schoenberg)")

    def route(self, X: Measures, Y: Measures) -> Route:
        """Return embeddings of finite dimension where they are cheaper than kernel values between atoms."""
        linear = isinstance(self.ground, Linear)
        most = np.inf if linear else min(LARGEST_SUPPORT, max(FEW_FEATURES, _point_pairs(X, Y)))
        features = exact_features(self.ground, X.dim, most)
        if features is not None:
            return _Means(features)
        if X.shares_support(Y):
            assert X.support is not None
            m = len(X.support.points)
            # m differences against n_i n_j kernel values per pair; the factorisation costs about m^3.
            if m <= min(LARGEST_SUPPORT, _point_pairs(X, Y)) and _even(self.ground, X.support.points):
                return _OnSupport.of(self.ground, X.support.points)
        return _OnAtoms(KernelSource.of(self.ground, X, Y))
