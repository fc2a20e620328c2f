"""Bhattacharyya distance of the Gaussians with the moments of two measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError
from ..ground import Linear, PointKernel, Polynomial
from ..measures import Measures
from ._base import Claims, Divergence, empty_tile, portions

__all__ = ["Bhattacharyya"]

#: Operations of one elimination step that the cores do in the time of one elementary operation of the engine.
FUSED = 8.0


class _Atoms(NamedTuple):
    """Atoms coordinate by coordinate, roots of their probabilities, and log det(I + S / eta) of each measure."""

    coordinates: FloatArray
    roots: FloatArray
    offsets: IndexArray
    log_dets: FloatArray


class _Moments(NamedTuple):
    """Means / sqrt(eta), covariances S / eta, and log det(I + S / eta), of each measure."""

    means: FloatArray
    covariances: FloatArray
    log_dets: FloatArray


@dataclass(frozen=True)
class Bhattacharyya(Divergence):
    r"""Root of the Bhattacharyya distance of the Gaussians that have the moments of the measures.

    .. math:: d(\mu, \nu)^2 = -\ln \int \sqrt{p \, q} = \tfrac12 \ln |H| - \tfrac14 \ln |S_\mu| |S_\nu|
              + \tfrac18 (m_\mu - m_\nu)' H^{-1} (m_\mu - m_\nu), \qquad H = \tfrac12 (S_\mu + S_\nu)

    for :math:`p = N(m_\mu, S_\mu)`, where m is the mean and :math:`S = \Sigma + \eta I` the regularised covariance of a
    measure in the feature space of the ground kernel. The powers of :math:`\eta` in the determinants cancel, so that
    the value is the same in the span of the atoms and in all of the feature space.

    Parameters
    ----------
    eta : float
        Regularisation, in units of a variance: directions with less variance than eta hardly count.
    ground : PointKernel
        ``ground.Linear()``: Gaussians fitted to the points. ``ground.Gaussian(sigma=...)``: Gaussians fitted to the
        functions :math:`k(x, \cdot)`, so that shapes count.

    Notes
    -----
    *Returned*: d; ``exp(-d**2)`` is the affinity :math:`\int \sqrt{pq}`, in (0, 1]. *Metric*: no, for no ground and no
    eta. Let x and y be two points, :math:`\delta = |\phi(x) - \phi(y)|^2` and :math:`s = \delta / 8\eta`; then the mean
    :math:`(\delta_x + \delta_y)/2` lies at :math:`d^2 = \frac{s}{4(1 + s)} + \frac12 \ln(1 + s) - \frac14 \ln(1 + 2s)`
    from both, less than a quarter of the s between them. *Negative type*: hence not 2; ``exp(-d**2)`` is positive
    definite nevertheless (see ``kernels.Bhattacharyya``). *Cost*: :math:`O(dim^3)` per pair for the linear ground.
    Otherwise :math:`O(n_i^2 n_j + n_i n_j^2 + n_j^3)`: a triangular solve, an update and a Cholesky factor. Relative
    errors of d^2 grow as the largest kernel value over eta.

    References
    ----------
    R. Kondor and T. Jebara, "A kernel between sets of vectors", ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[-1.0, 1.0], [3.0, 5.0]])  # variances 1, means 0 and 4
    >>> pairwise(X, divergence=divergences.Bhattacharyya(eta=1.0), squared=True)  # 4^2 / (8 (1 + 1))
    array([[0., 1.],
           [1., 0.]])
    """

    eta: float
    ground: PointKernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        positive(self.eta, "eta")
        if not isinstance(self.ground, PointKernel):
            raise InvalidParameterError(
                f"`ground` must be a point kernel such as ground.Gaussian(sigma=1.0); got {self.ground!r}."
            )

    def claims(self, dim: int) -> Claims:
        """Not a metric; for unbounded kernels no power of d is negative definite either."""
        # Points far apart in feature space: between them d grows like a length, to their mean like a root of its log.
        unbounded = isinstance(self.ground, (Linear, Polynomial))
        return Claims(
            False, 0.0 if unbounded else None, "two points and their mean violate the triangle inequality (see Notes)"
        )

    def prepare(self, X: Measures, context: None) -> _Atoms | _Moments:
        """Compute the determinant of each measure, and its moments if the ground is linear."""
        from ..core import bhattacharyya as core

        if isinstance(self.ground, Linear):
            return self._moments(X)
        # Fresh copies: cores are compiled for writable arrays only.
        coordinates, offsets = np.array(X.points.T, order="C"), np.array(X.offsets)
        roots = np.sqrt(X.probabilities)
        log_dets = np.empty(len(X))
        for rows in portions(X.sizes.astype(np.float64) ** 3 / FUSED):
            core.single(
                self.ground.code, self.ground.params, coordinates, roots, offsets, rows, float(self.eta), log_dets
            )
        return _Atoms(coordinates, roots, offsets, log_dets)

    def _moments(self, X: Measures) -> _Moments:
        from ..core import bhattacharyya as core

        means = X.expectation(X.points)
        centred = X.points - np.repeat(means, X.sizes, axis=0)
        weighted = centred * (X.probabilities / self.eta)[:, None]
        covariances = np.empty((len(X), X.dim, X.dim))
        for i, (start, stop) in enumerate(zip(X.offsets[:-1], X.offsets[1:], strict=True)):
            covariances[i] = weighted[start:stop].T @ centred[start:stop]
        log_dets = np.empty(len(X))
        core.gaussian_single(covariances, log_dets)
        return _Moments(means / np.sqrt(self.eta), covariances, log_dets)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> tuple[FloatArray, None]:
        """Return d^2."""
        from ..core import bhattacharyya as core

        out = empty_tile(rows, cols)
        if isinstance(A, _Moments):
            core.gaussian_tile(*A, rows, *B, cols, triangle, out)
        else:
            core.kernel_tile(self.ground.code, self.ground.params, *A, rows, *B, cols, float(self.eta), triangle, out)
        return out, None

    def work(self, X: Measures, Y: Measures, context: Any) -> float:
        """Operations of the elimination, and one kernel value for each pair of atoms."""
        if isinstance(self.ground, Linear):
            return 20.0 + X.dim**2 + X.dim**3 / 3 / FUSED
        n, m = float(X.sizes.mean()), float(Y.sizes.mean())
        return 20.0 + 4.0 * m * (n + m / 2) + (n * n * m + n * m * m + m**3 / 3) / FUSED
