"""Wasserstein distance of Gaussians, in the space of the points or in the feature space of a point kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray, StatusArray
from ..core import ragged
from ..ground import Gaussian, Linear, PointKernel
from ..measures import Measures
from ._base import Claims, Divergence, check_ground, empty_tile
from ._features import centred_features
from ._gaussians import Atoms, Explicit, explicit_route, prepare_atoms

__all__ = ["GaussianWasserstein"]

#: Largest error of a kernel value on the explicit route, relative to the largest k(x, x).
FEATURE_ERROR = 1e-13
#: Features up to which the explicit route is worth it even if measures have fewer atoms.
FEW_FEATURES = 64
#: Singular values below this fraction of the largest are rounding.
NEGLIGIBLE = 1e-15
#: Matrices of at least this side are left to LAPACK: one-sided Jacobi takes longer.
LAPACK_SIDE = 64


class _Factors(NamedTuple):
    """Means (n, r), traces, and the factors of the covariances, S = F'F: rows places[i] to places[i + 1] of F."""

    means: FloatArray
    traces: FloatArray
    factors: FloatArray
    places: IndexArray


@dataclass(frozen=True)
class GaussianWasserstein(Divergence):
    r"""Wasserstein distance W_2 of the Gaussians that have the means and covariances of two measures.

    .. math:: d(\mu, \nu)^2 = |m - m'|^2 + \mathrm{tr}\, \Sigma + \mathrm{tr}\, \Sigma'
              - 2\, \mathrm{tr} \left(\Sigma^{1/2} \Sigma' \Sigma^{1/2}\right)^{1/2}

    of the points themselves (linear ground), or of their images in the feature space of a point kernel: the kernel
    Wasserstein distance of Oh et al. (2019).

    Parameters
    ----------
    ground : PointKernel
        ``ground.Linear()`` compares means and covariances; ``ground.Gaussian(gamma=...)`` whole shapes.

    Notes
    -----
    The last term is the nuclear norm of the matrix of inner products of two covariance factors: symmetric, real and
    defined for singular covariances, which are the normal case. *Returned*: d. *Metric*: on Gaussians; between
    measures with a characteristic ground, since means in feature space tell all measures apart; otherwise a
    pseudometric. *Negative type*: unknown; for the linear ground on the line d is the distance of (mean, standard
    deviation), and d^2 is conditionally negative definite. d^2 below 1e-14 of the traces is rounding.

    *Cost*: with r features and p <= min(atoms, r), :math:`O(p^2 r)` per pair. Features are the coordinates, or an
    explicit map of the point kernel whose error is below 1e-13; if its rank is too high, the singular values of an
    :math:`n_i \times n_j` matrix of centred kernel values.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[-1.0, 1.0], [1.0, 5.0]])  # means 0 and 3, standard deviations 1 and 2
    >>> pairwise(X, divergence=divergences.GaussianWasserstein(), squared=True).round(6)
    array([[ 0., 10.],
           [10.,  0.]])
    """

    ground: PointKernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        check_ground(self.ground)

    def claims(self, dim: int) -> Claims:
        """A metric on Gaussians; a Hilbert space distance on the line."""
        if isinstance(self.ground, Linear) and dim == 1:
            return Claims(False, 2.0, "the distance of (mean, standard deviation); zero if both are equal")
        # A counterexample for one length of the ground is one for all: scale the points.
        fails_at = 2.0 if isinstance(self.ground, (Linear, Gaussian)) else None
        if self.ground.characteristic:
            return Claims(True, None, "W_2 of Gaussians, and means in feature space tell all measures apart", fails_at)
        return Claims(False, None, "W_2 of Gaussians; zero if means and covariances agree", fails_at)

    def context(self, X: Measures, Y: Measures) -> Explicit | None:
        """Return explicit features, or None if the atoms themselves are fewer."""
        scale = max(float(self.ground.diagonal(X.points).max()), float(self.ground.diagonal(Y.points).max()))
        largest = np.inf if isinstance(self.ground, Linear) else max(FEW_FEATURES, 2 * X.sizes.mean())
        sizes = np.concatenate([X.sizes, Y.sizes])

        def entries(rank: int) -> float:
            return float(np.minimum(sizes, rank).sum()) * rank

        return explicit_route(self.ground, X, Y, FEATURE_ERROR * scale, largest, entries)

    def prepare(self, X: Measures, context: Explicit | None) -> _Factors | Atoms:
        """Factorise each covariance once."""
        return prepare_atoms(self.ground, X, None) if context is None else _factors(X, context)

    def tile(
        self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, StatusArray | None]:
        """Return W_2^2."""
        from ..core import bures, gaussians

        if min(_largest(A, rows), _largest(B, cols)) >= LAPACK_SIDE:
            return self._lapack_tile(A, B, rows, cols, triangle), None
        out, status = empty_tile(rows, cols), np.zeros((len(rows), len(cols)), dtype=np.uint8)
        if isinstance(A, _Factors):
            bures.factors_tile(
                A.means, A.traces, A.factors, A.places, rows, B.means, B.traces, B.factors, B.places, cols,
                triangle, out, status,
            )  # fmt: skip
        else:
            gaussians.wasserstein_tile(
                self.ground.code, self.ground.params,
                A.coordinates, A.weights, A.offsets, A.norms, A.traces, rows,
                B.coordinates, B.weights, B.offsets, B.norms, B.traces, cols,
                triangle, out, status,
            )  # fmt: skip
        return out, status

    def work(self, X: Measures, Y: Measures, context: Explicit | None) -> float:
        """Some sweeps of rotations over the smaller factor."""
        rank = np.inf if context is None else context.rank
        p = float(min(np.minimum(X.sizes, rank).mean(), np.minimum(Y.sizes, rank).mean()))
        return 10.0 * p**3 + 50.0 * p**2

    def _lapack_tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        """Large matrices: products and singular values by BLAS and LAPACK, pair by pair."""
        out = empty_tile(rows, cols)
        for i, row in enumerate(rows):
            for j in range(i + 1 if triangle else 0, len(cols)):
                M, gap = self._coupling(A, B, row, cols[j])
                norm = np.linalg.svd(M, compute_uv=False).sum()
                out[i, j] = gap + A.traces[row] + B.traces[cols[j]] - 2.0 * norm
        return out

    def _coupling(self, A: Any, B: Any, row: int, col: int) -> tuple[FloatArray, float]:
        """Return the inner products of two factors, and the squared distance of the means."""
        if isinstance(A, _Factors):
            F = A.factors[A.places[row] : A.places[row + 1]]
            return F @ B.factors[B.places[col] : B.places[col + 1]].T, float(((A.means[row] - B.means[col]) ** 2).sum())
        from ..core import gaussians

        start, stop, first, last = A.offsets[row], A.offsets[row + 1], B.offsets[col], B.offsets[col + 1]
        M, u, v = np.empty((stop - start, last - first)), np.empty(stop - start), np.empty(last - first)
        inner = gaussians.centred_block(
            self.ground.code, self.ground.params, A.coordinates, A.weights, start, stop,
            B.coordinates, B.weights, first, last, M, u, v,
        )  # fmt: skip
        return M, float(A.norms[row] + B.norms[col] - 2.0 * inner)


def _factors(X: Measures, features: Explicit) -> _Factors:
    """Return means and covariance factors, by the singular values of the centred features (never of their squares)."""
    means, traces, factors = np.empty((len(X), features.rank)), np.empty(len(X)), []
    for i, (mean, factor) in enumerate(centred_features(X, features)):
        _, sizes, axes = np.linalg.svd(factor, full_matrices=False)
        kept = sizes > NEGLIGIBLE * sizes[0]
        means[i], traces[i] = mean, (sizes**2).sum()
        factors.append(sizes[kept, None] * axes[kept])
    return _Factors(means, traces, np.concatenate(factors), ragged.offsets_of(np.array([len(F) for F in factors])))


def _largest(A: _Factors | Atoms, rows: IndexArray) -> int:
    """Return the side of the largest factor among ``rows``."""
    offsets = A.places if isinstance(A, _Factors) else A.offsets
    return int((offsets[rows + 1] - offsets[rows]).max())
