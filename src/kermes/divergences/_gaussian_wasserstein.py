"""Wasserstein distance of Gaussians, in the space of the points or in the feature space of a point kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..core import ragged
from ..ground import Gaussian, Linear, PointKernel, as_point_kernel
from ..measures import Measures
from ._base import Claims, Divergence, Route, Tile, batches, empty_tile, for_each, pair_sums, underflow_of_squares
from ._cores import core
from ._features import (
    POOL,
    Coordinates,
    Features,
    KernelSource,
    centred_atoms,
    centred_part,
    explicit_features,
)

Factors: TypeAlias = "core.gaussian_wasserstein.CovarianceFactors"
#: Largest error of a kernel value in explicit features, relative to the largest k(x, x) of every measure. What the
#: features leave out adds at most the W_2^2 of two measures of that size to d^2: four times as much.
FEATURE_ERROR = 2e-14
#: Features up to which they are worth it even if measures have fewer atoms.
FEW_FEATURES = 64
#: Singular values below this fraction of the largest are rounding.
NEGLIGIBLE = 1e-15
#: Matrices of at least this side are left to LAPACK: one-sided Jacobi takes longer.
LAPACK_SIDE = 64


class _FactorsRoute(Route, ABC):
    """What the routes share: small matrices go to the compiled core, large ones to BLAS and LAPACK, pair by pair."""

    lapack_side: int

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        out = empty_tile(rows, cols)
        if min(np.diff(A.offsets)[rows].max(), np.diff(B.offsets)[cols].max()) < self.lapack_side:
            status = np.zeros(out.shape, dtype=np.uint8)
            sizes = np.diff(B.offsets)[cols]
            self.core_tile(A, rows, B, cols, sizes, np.argsort(sizes, kind="stable"), triangle, out, status)
            return Tile(out, status)
        for i, row in enumerate(rows):
            for j in range(i + 1 if triangle else 0, len(cols)):
                M, gap = self.products(A, B, row, cols[j])
                norm = np.linalg.svd(M, compute_uv=False).sum()
                out[i, j] = gap + A.traces[row] + B.traces[cols[j]] - 2.0 * norm
        return Tile(out)

    def rounding(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """A part of the traces, and of k(x, x) where values depend on it."""
        left, right = (Z.traces + (Z.norms if hasattr(Z, "norms") else 0.0) for Z in (A, B))
        return 1e-10 * pair_sums(left, right, rows, cols) + 1e-9

    @abstractmethod
    def core_tile(self, *pairs: Any) -> None:
        """Call the compiled core for A, rows, B, cols, the sizes of the columns, their order, triangle, out, status."""

    @abstractmethod
    def products(self, A: Any, B: Any, row: int, col: int) -> tuple[FloatArray, float]:
        """Return the inner products of two factors, and the squared distance of the means."""


@dataclass(frozen=True, eq=False)
class FeaturesRoute(_FactorsRoute):
    """By factors of the covariances of explicit features."""

    features: Features
    lapack_side: int = LAPACK_SIDE

    def prepare(self, X: Measures) -> Factors:
        """Factorise by the singular values of the centred features, never of their squares."""
        shape = len(X), self.features.rank
        means, tails, traces, factors = np.empty(shape), np.empty(shape), np.empty(len(X)), [np.empty(0)] * len(X)
        weights = X.probabilities

        def fill(rows: IndexArray) -> None:
            centred = centred_part(X, weights, rows, self.features)
            means[rows], tails[rows] = centred.means, centred.tails
            finite = np.logical_and.reduceat(np.isfinite(centred.packed).all(axis=1), centred.offsets[:-1])
            if not finite.all():  # the features overflow: no pair with such a measure has a value
                means[rows[~finite]] = np.nan
                centred.packed[np.repeat(~finite, np.diff(centred.offsets))] = 0.0
            own, n_atoms = centred.factors, np.diff(centred.offsets)
            for n in np.unique(n_atoms):  # one call for all of a size: between many short ones threads would wait
                same = np.flatnonzero(n_atoms == n)
                _, sizes, axes = np.linalg.svd(np.stack([own[i] for i in same]), full_matrices=False)
                kept = sizes > NEGLIGIBLE * sizes[:, :1]
                with np.errstate(over="ignore"):  # the engine refuses what is not finite
                    traces[rows[same]] = (sizes**2).sum(axis=1)
                products = sizes[:, :, None] * axes
                for i, product, keep in zip(rows[same], products, kept, strict=True):
                    factors[i] = product[keep]

        for_each(fill, batches(X.sizes.astype(np.float64), POOL))
        offsets = ragged.offsets_of(np.array([len(F) for F in factors]))
        return core.gaussian_wasserstein.CovarianceFactors(means, tails, traces, np.concatenate(factors), offsets)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return W_2^2; it fails where coordinates are so small that their squares vanish."""
        found = super().tile(A, B, rows, cols, triangle)
        if not isinstance(self.features, Coordinates):
            return found
        lost = underflow_of_squares(found.values, triangle, lambda i, j: _differ(A, rows[i], B, cols[j]))
        if lost is not None and found.status is not None:
            lost = np.maximum(lost, found.status)
        return found if lost is None else Tile(found.values, lost)

    def core_tile(self, *pairs: Any) -> None:
        core.gaussian_wasserstein.features_tile(*pairs)

    def products(self, A: Factors, B: Factors, row: int, col: int) -> tuple[FloatArray, float]:
        F, G = A.factors[A.offsets[row] : A.offsets[row + 1]], B.factors[B.offsets[col] : B.offsets[col + 1]]
        gap = (A.means[row] - B.means[col]) + (A.tails[row] - B.tails[col])
        return F @ G.T, float((gap**2).sum())

    def work(self, X: Measures, Y: Measures) -> float:
        """Some sweeps of rotations over the smaller factor."""
        return _sweeps(np.minimum(X.sizes, self.features.rank).mean(), np.minimum(Y.sizes, self.features.rank).mean())


@dataclass(frozen=True, eq=False)
class AtomsRoute(_FactorsRoute):
    """By centred kernel values between all atoms: the dual form."""

    source: KernelSource
    lapack_side: int = LAPACK_SIDE

    def prepare(self, X: Measures) -> core.centred_atoms.CentredAtoms:
        return centred_atoms(self.source, X)

    def core_tile(self, *pairs: Any) -> None:
        core.gaussian_wasserstein.atoms_tile(self.source.core, *pairs)

    def products(self, A: Any, B: Any, row: int, col: int) -> tuple[FloatArray, float]:
        p, q = A.offsets[row + 1] - A.offsets[row], B.offsets[col + 1] - B.offsets[col]
        M = np.empty((p, q))
        inner = core.centred_atoms.centred_block(self.source.core, A, row, B, col, M, np.empty(p), np.empty(q))
        return M, float(A.norms[row] + B.norms[col] - 2.0 * inner)

    def work(self, X: Measures, Y: Measures) -> float:
        """Some sweeps of rotations over the smaller measure."""
        return _sweeps(X.sizes.mean(), Y.sizes.mean())


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
    deviation), and d^2 is conditionally negative definite. *Accuracy*: rounding changes d^2 by less than 1e-13 of the
    traces and of :math:`|m - m'|^2` of the pair itself, for a point kernel of the largest k(x, x) of its two measures,
    whatever other measures there are.

    *Cost*: with r features and p <= min(atoms, r), :math:`O(p^2 r)` per pair. Features are the coordinates, or an
    explicit map of the point kernel: monomials of a polynomial one, exact, or a map whose error is below 2e-14 of
    k(x, x); if its rank is too high, the singular values of an
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
        object.__setattr__(self, "ground", as_point_kernel(self.ground))

    def claims(self, dim: int) -> Claims:
        """A metric on Gaussians; a Hilbert space distance on the line."""
        if isinstance(self.ground, Linear) and dim == 1:
            return Claims(False, 2.0, "the distance of (mean, standard deviation); zero if both are equal")
        # A counterexample for one length of the ground is one for all: scale the points.
        fails_at = 2.0 if isinstance(self.ground, (Linear, Gaussian)) else None
        if self.ground.characteristic:
            return Claims(True, None, "W_2 of Gaussians, and means in feature space tell all measures apart", fails_at)
        return Claims(False, None, "W_2 of Gaussians; zero if means and covariances agree", fails_at)

    def route(self, X: Measures, Y: Measures) -> Route:
        """Take explicit features, or the atoms if these are fewer."""
        # The largest k(x, x) of the measure for which it is smallest: errors must be small for each measure.
        scale = min(np.maximum.reduceat(self.ground.diagonal(Z.points), Z.offsets[:-1]).min() for Z in (X, Y))
        largest = np.inf if isinstance(self.ground, Linear) else max(FEW_FEATURES, 2 * X.sizes.mean())
        sizes = np.concatenate([X.sizes, Y.sizes])

        def entries(rank: int) -> float:
            return float(np.minimum(sizes, rank).sum()) * rank

        features = explicit_features(self.ground, X, Y, float(FEATURE_ERROR * scale), largest, entries)
        return AtomsRoute(KernelSource.of(self.ground, X, Y)) if features is None else FeaturesRoute(features)


def _differ(A: Factors, rows: IndexArray, B: Factors, cols: IndexArray) -> AnyArray:
    """Return whether means or covariances differ by more than rounding, in units in which squares are numbers."""
    gaps = np.abs((A.means[rows] - B.means[cols]) + (A.tails[rows] - B.tails[cols])).max(axis=1)
    small = A.traces[rows] + B.traces[cols] < 1e-280  # larger traces have lost nothing but rounding
    found = small & (gaps > 0.0)
    left, right = (_largest_entries(Z) for Z in (A, B))
    for k in np.flatnonzero(small & ((left[rows] > 0.0) | (right[cols] > 0.0))):
        i, j = rows[k], cols[k]
        F, G = A.factors[A.offsets[i] : A.offsets[i + 1]], B.factors[B.offsets[j] : B.offsets[j + 1]]
        unit = max(gaps[k], left[i], right[j])
        F, G = F / unit, G / unit
        found[k] = max(gaps[k] / unit, np.abs(F.T @ F - G.T @ G).max()) > 1e-12
    return np.asarray(found)


def _largest_entries(A: Factors) -> FloatArray:
    """Return the largest entry of each factor; 0 for Dirac masses."""
    found = np.zeros(len(A.means))
    np.maximum.at(found, ragged.owners(A.offsets), np.abs(A.factors).max(axis=1))
    return found


def _sweeps(p: float, q: float) -> float:
    """Return the operations of one-sided Jacobi on a matrix (p, q), several matrices at a time."""
    side = float(min(p, q))
    return 4.0 * side**3 + 15.0 * side**2
