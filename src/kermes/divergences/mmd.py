"""Maximum mean discrepancy: the distance between mean embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import Claims, Divergence, batches, check_ground, empty_tile
from ._support import dense_rows

__all__ = ["MMD"]

#: Points of a shared support up to which its kernel matrix is factorised (0.3 s for 1000).
LARGEST_SUPPORT = 1024


class _Embedded(NamedTuple):
    """Atoms coordinate by coordinate, their probabilities, and the squared norm of each embedding."""

    coordinates: FloatArray
    weights: FloatArray
    offsets: IndexArray
    norms: FloatArray


class _Features(NamedTuple):
    """Finite-dimensional embeddings, (n, r): distances are Euclidean."""

    values: FloatArray


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
    *Cost*: :math:`O(n_i n_j)` per pair; :math:`O(dim)` for the linear kernel, and :math:`O(m)` on a shared
    support of m points, where the kernel matrix is factorised once. Elsewhere values below 1e-8 of the
    embedding norm are rounding.

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
        check_ground(self.ground)

    def claims(self, dim: int) -> Claims:
        """A Hilbert norm; a metric when the kernel is characteristic."""
        return Claims(self.ground.characteristic, 2.0, "a Hilbert space norm (Schoenberg)")

    def context(self, X: Measures, Y: Measures) -> FloatArray | None:
        """Return a factor F of the kernel matrix K = F F' of a small shared support, or None."""
        if isinstance(self.ground, Linear) or not X.shares_support(Y):
            return None
        assert X.support is not None
        m = len(X.support.points)
        # m differences against n_i n_j kernel values per pair; the factorisation costs about m^3.
        if m > LARGEST_SUPPORT or m > self._point_pairs(X, Y):
            return None
        values, vectors = np.linalg.eigh(self.ground(X.support.points))
        kept = values > values[-1] * np.finfo(float).eps
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))

    def prepare(self, X: Measures, context: FloatArray | None) -> _Embedded | _Features:
        """Compute each embedding, or its squared norm, once."""
        from ..core import mmd

        if isinstance(self.ground, Linear):
            return _Features(X.expectation(X.points))
        if context is not None:
            assert X.support is not None
            return _Features(dense_rows(X, X.support.points, True) @ context)
        # A fresh copy: cores are compiled for writable arrays only.
        coordinates = np.array(X.points.T, order="C")
        weights = X.probabilities
        offsets = np.array(X.offsets)
        norms = np.empty(len(X))
        for rows in batches(4.0 * X.sizes.astype(np.float64) ** 2):
            mmd.self_products(self.ground.code, self.ground.params, coordinates, weights, offsets, rows, norms)
        return _Embedded(coordinates, weights, offsets, norms)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> tuple[FloatArray, None]:
        """Return MMD^2."""
        from ..core import mmd, vectors

        if isinstance(A, _Features):
            return vectors.squared_tile(A.values, rows, B.values, cols, triangle), None
        out = empty_tile(rows, cols)
        mmd.tile(
            self.ground.code, self.ground.params,
            A.coordinates, A.weights, A.offsets, A.norms, rows,
            B.coordinates, B.weights, B.offsets, B.norms, cols,
            triangle, out,
        )  # fmt: skip
        return out, None

    def work(self, X: Measures, Y: Measures, context: Any) -> float:
        """About four operations, and an exponential, for each pair of points."""
        return 4.0 * self._point_pairs(X, Y)

    @staticmethod
    def _point_pairs(X: Measures, Y: Measures) -> float:
        return float(X.sizes.mean() * Y.sizes.mean())
