"""Symmetrised Kullback-Leibler divergence of Gaussians, in the space of the points or in feature space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import Claims, Divergence, check_ground, empty_tile
from ._features import moments
from ._gaussians import Atoms, Explicit, explicit_route, prepare_atoms

__all__ = ["GaussianKL"]

#: Largest relative error of H on the explicit route.
FEATURE_ERROR = 1e-11


class _Packed(NamedTuple):
    """Means (n, r), and H = Sigma + reg I and its inverse: lower triangles, off the diagonal times sqrt 2."""

    means: FloatArray
    matrices: FloatArray
    inverses: FloatArray


class _Dual(NamedTuple):
    """Atoms, and per measure F'm, trace F (reg I + F'F)^-1 F', and L^-1 of reg I + F'F = L L'."""

    atoms: Atoms
    own: FloatArray
    ranks: FloatArray
    inverses: FloatArray
    places: IndexArray


@dataclass(frozen=True)
class GaussianKL(Divergence):
    r"""Symmetrised Kullback-Leibler divergence of the Gaussians with the means and covariances of two measures.

    .. math:: d(\mu, \nu)^2 = \tfrac12 \left(\mathrm{KL}(N \| N') + \mathrm{KL}(N' \| N)\right)
              = \tfrac14 \left(\mathrm{tr}\, (H - H')(H'^{-1} - H^{-1}) + (m - m')^T (H^{-1} + H'^{-1}) (m - m')\right)

    with :math:`H = \Sigma + \rho I`: covariances of the points (linear ground) or of their images in the feature space
    of a point kernel (the kernel KL divergence of Oh et al., 2019; equation 27, whose two log-determinants cancel in
    the symmetrised value). Both grounds are regularised alike.

    Parameters
    ----------
    ground : PointKernel
        ``ground.Linear()`` compares means and covariances; ``ground.Gaussian(gamma=...)`` whole shapes.
    reg : float
        The regularisation :math:`\rho`, greater than 0, in units of a variance. Distances grow without bound as it
        shrinks if a covariance is singular, and never shrink.

    Notes
    -----
    *Returned*: d, the square root of the symmetrised divergence. *Metric*: no, the triangle inequality fails.
    *Negative type*: unknown. *Cost*: :math:`O(r^2)` per pair for r features (the coordinates, or an explicit map of the
    point kernel with an error below 1e-11 of reg); :math:`O(n^3)` with n atoms where the rank of the kernel is higher.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[-1.0, 1.0], [2.0, 4.0]])
    >>> pairwise(X, divergence=divergences.GaussianKL(reg=0.5), squared=True).round(6)
    array([[0., 3.],
           [3., 0.]])
    """

    ground: PointKernel = field(default_factory=Linear)
    reg: float = 0.1

    def __post_init__(self) -> None:
        check_ground(self.ground)
        positive(self.reg, "reg", remedy="Singular covariances have no Kullback-Leibler divergence without it.")

    def claims(self, dim: int) -> Claims:
        """Not a metric."""
        # For the linear ground a counterexample for one `reg` is one for all: scale the points.
        fails_at = 1.0 if isinstance(self.ground, Linear) else None
        return Claims(False, None, "the root of a symmetrised KL divergence fails the triangle inequality", fails_at)

    def context(self, X: Measures, Y: Measures) -> Explicit | FloatArray:
        """Return explicit features, or the centre of the points if there would be too many."""
        scale = max(float(self.ground.diagonal(X.points).max()), float(self.ground.diagonal(Y.points).max()))
        n = len(X) if X is Y else len(X) + len(Y)
        m = float(np.sqrt(X.sizes.mean() * Y.sizes.mean()))
        largest = np.sqrt(2.0 * m**3 + 20.0 * m**2)  # r^2 operations against 2 m^3, and m^2 kernel values

        def entries(rank: int) -> float:
            return float(n) * rank * (rank + 1)

        error = FEATURE_ERROR * self.reg * min(1.0, self.reg / scale) if scale > 0 else FEATURE_ERROR * self.reg
        found = explicit_route(self.ground, X, Y, error, max(largest, 16.0), entries)
        return X.expectation(X.points).mean(axis=0) if found is None else found

    def prepare(self, X: Measures, context: Explicit | FloatArray) -> _Packed | _Dual:
        """Invert each covariance once."""
        return self._packed(X, context) if isinstance(context, Explicit) else self._dual(X, context)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> tuple[FloatArray, None]:
        """Return the symmetrised divergence."""
        from ..core import gaussians

        out = empty_tile(rows, cols)
        if isinstance(A, _Packed):
            gaussians.kl_moments_tile(
                A.means, A.matrices, A.inverses, rows, B.means, B.matrices, B.inverses, cols, triangle, out
            )
            return out, None
        x, y = A.atoms, B.atoms
        gaussians.kl_tile(
            self.ground.code, self.ground.params, self.reg,
            x.coordinates, x.weights, x.offsets, x.norms, x.traces, A.ranks, A.own, A.inverses, A.places, rows,
            y.coordinates, y.weights, y.offsets, y.norms, y.traces, B.ranks, B.own, B.inverses, B.places, cols,
            triangle, out,
        )  # fmt: skip
        return out, None

    def work(self, X: Measures, Y: Measures, context: Explicit | FloatArray) -> float:
        """Two products of the packed matrices, or two triangular ones of the atoms."""
        if isinstance(context, Explicit):
            return float(context.rank**2)
        m = float(np.sqrt(X.sizes.mean() * Y.sizes.mean()))
        return m**3 + 4.0 * m**2

    def _packed(self, X: Measures, features: Explicit) -> _Packed:
        means, matrices = moments(X, features, features.rank)
        matrices += self.reg * np.eye(features.rank)
        lower = np.tril_indices(features.rank)
        scale = np.where(lower[0] == lower[1], 1.0, np.sqrt(2.0))
        packed = np.empty((len(X), len(scale)))
        for i, matrix in enumerate(matrices):
            packed[i] = scale * np.linalg.inv(matrix)[lower]
        return _Packed(means, scale * matrices[:, *lower], packed)

    def _dual(self, X: Measures, centre: FloatArray) -> _Dual:
        atoms = prepare_atoms(self.ground, X, centre if isinstance(self.ground, Linear) else None)
        sizes = X.sizes
        places = np.cumsum(sizes**2) - sizes**2
        inverses, own, ranks = np.zeros((sizes**2).sum()), np.empty(len(X.points)), np.empty(len(X))
        for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
            w = atoms.weights[start:stop]
            root = np.sqrt(w)
            K = self.ground(atoms.coordinates[:, start:stop].T)
            mean = K @ w
            own[start:stop] = root * (mean - w @ mean)
            inner = root[:, None] * (K - mean[:, None] - mean[None] + w @ mean) * root
            L = np.linalg.cholesky(inner + self.reg * np.eye(len(w)))
            inverse = solve_triangular(L, np.eye(len(w)), lower=True, check_finite=False)
            inverses[places[i] : places[i] + len(w) ** 2] = inverse.ravel()
            ranks[i] = len(w) - self.reg * float((inverse**2).sum())
        return _Dual(atoms, own, ranks, inverses, places)
