"""Symmetrised Kullback-Leibler divergence of Gaussians, in the space of the points or in feature space."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._checks import positive
from .._typing import FloatArray, IndexArray
from ..exceptions import NumericalError
from ..ground import Linear, PointKernel, as_point_kernel
from ..measures import Measure, Measures, as_measures
from ._base import Claims, Divergence, Route, Tile, batches, filled, n_prepared, pair_sums, require_same_dim
from ._cores import core
from ._features import DETERMINED, Features, KernelSource, centred_atoms, explicit_features, undetermined
from ._thin import (
    Prepared,
    ScaledMoments,
    Thin,
    ThinRoute,
    directed_kl_row,
    features_of_axes,
    kl_row,
    thin_moments,
    thin_tile,
)

Dual: TypeAlias = "core.gaussian_kl.Dual"
#: Largest relative error of H in explicit features.
FEATURE_ERROR = 1e-11
#: Traces of covariances in units of the ridge up to which their inverses give d^2 to 1e-9.
STEEP = 1e4


class FeaturesRoute(ScaledMoments):
    """By regularised covariances of explicit features and their inverses; by their axes if they dwarf the ridge."""

    steep = STEEP

    def prepare(self, X: Measures) -> Prepared:
        """Invert each covariance once."""
        rank = self.features.rank
        thin, _, means, tails, matrices = thin_moments(X, self.features, self.ridge, STEEP)
        matrices += self.ridge * np.eye(rank)
        lower = np.tril_indices(rank)
        scale = np.where(lower[0] == lower[1], 1.0, np.sqrt(2.0))
        inverses = np.empty((len(X), len(scale)))
        for rows in batches(np.full(len(X), rank**3)):
            inverses[rows] = scale * np.linalg.inv(matrices[rows])[:, *lower]
        return Prepared(core.gaussian_kl.Packed(means, tails, scale * matrices[:, *lower], inverses), thin)

    def tile(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(self.pairs(core.gaussian_kl.features_tile, kl_row, A, B, rows, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """Two products of the packed matrices."""
        return float(self.features.rank**2)


class AxesRoute(ThinRoute):
    """By the axes of the covariances."""

    def tile(self, A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(thin_tile(kl_row, A, B, rows, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """Three products of the axes."""
        return 100.0 + self.features.rank * float(X.sizes.mean() * Y.sizes.mean())


@dataclass(frozen=True, eq=False)
class AtomsRoute(Route):
    """By kernel values between all atoms: the dual form."""

    source: KernelSource
    ridge: float

    def prepare(self, X: Measures) -> Dual:
        """Factorise the centred kernel matrix of each measure once."""
        atoms = centred_atoms(self.source, X)
        areas = np.diff(atoms.offsets) ** 2
        places = np.cumsum(areas) - areas
        inverses, own = np.zeros(areas.sum()), np.zeros(len(atoms.weights))
        ranks = np.where(undetermined(self.source, atoms, self.ridge), np.nan, 0.0)  # the engine refuses nan
        for i, (start, stop) in enumerate(zip(atoms.offsets[:-1], atoms.offsets[1:], strict=True)):
            if np.isnan(ranks[i]):
                continue
            w = atoms.weights[start:stop]
            gram = _regularised(self.source.within(atoms, start, stop), w, self.ridge)
            own[start:stop] = gram.roots * (gram.values - gram.norm)
            inverses[places[i] : places[i] + len(w) ** 2], ranks[i] = gram.inverse.ravel(), gram.rank
        return core.gaussian_kl.Dual(self.ridge, atoms, own, ranks, inverses, places)

    def tile(self, A: Dual, B: Dual, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(filled(partial(core.gaussian_kl.atoms_tile, self.source.core), A, rows, B, cols, triangle))

    def rounding(self, A: Dual, B: Dual, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """A part of the kernel values in units of the ridge."""
        left, right = (Z.atoms.norms + Z.atoms.traces for Z in (A, B))
        return 1e-12 / self.ridge * pair_sums(left, right, rows, cols) + 1e-8

    def work(self, X: Measures, Y: Measures) -> float:
        """Two products of triangular matrices with the centred kernel values."""
        m = float(np.sqrt(X.sizes.mean() * Y.sizes.mean()))
        return m**3 + 4.0 * m**2


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
    Covariances of more than 1e4 reg are never formed: their factors keep reg exactly on the null space, at
    :math:`O(p^2 r)` per pair for p <= r axes.

    *Accuracy*: that of a pair depends on its two measures only. Below 1e4 reg rounding changes d^2 by less than 1e-9,
    nearly equal measures included. Above, for the linear and polynomial grounds rounding acts on
    the standard deviations of the features, by about 1e-15 of the largest one and of the distance of the means (of the
    largest feature for a polynomial, here also below 1e4 reg). For other grounds, and for polynomials of so many
    monomials that those of all atoms do not fit half a gigabyte, the error of d^2 is below 2e-16 k(x, x) / reg. A
    ``NumericalError`` refuses measures for which that could change d^2 by more than about 1e-3 of itself.

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
        object.__setattr__(self, "ground", as_point_kernel(self.ground))
        positive(self.reg, "reg", remedy="Singular covariances have no Kullback-Leibler divergence without it.")

    def directed(self, X: Any, Y: Any = None) -> FloatArray:
        r"""Return the Kullback-Leibler divergences :math:`\mathrm{KL}(N_i \| N'_j)` before they are symmetrised.

        .. math:: \mathrm{KL}(N \| N') = \tfrac12 \left(\mathrm{tr}\, H'^{-1} H - l + \log\frac{|H'|}{|H|}
                  + (m - m')^T H'^{-1} (m - m')\right)

        in l dimensions (equation 27 of Oh et al., 2019): what is lost where the second Gaussian stands in for the
        first. The mean of the matrix and its transpose is ``pairwise(X, divergence=self, squared=True)``.

        Parameters
        ----------
        X, Y : Measures, or anything ``as_measures`` takes
            Y is X by default.

        Returns
        -------
        ndarray of shape (len(X), len(Y))
            Row i is the first argument. Not symmetric.

        Notes
        -----
        *Cost*: for the linear ground and polynomials of r monomials :math:`O(p^2 r)` per pair, with p <= r axes; for
        others a product of triangular and kernel matrices, :math:`O(n^3)` for n atoms. All in this thread; nothing is
        remembered. *Accuracy*: for the linear ground and polynomials that of the symmetrised values above 1e4 reg, at
        any scale, and 1e-14 for each axis and of the logarithms of the variances in units of reg; for others 1e-15
        k(x, x) / reg. A ``NumericalError`` refuses measures whose values rounding would decide.

        Examples
        --------
        >>> from kermes import Measures, divergences
        >>> X = Measures.from_samples([[-1.0, 1.0], [-3.0, 3.0]])  # variances 1 and 9, and reg
        >>> divergences.GaussianKL(reg=1.0).directed(X).round(3)
        array([[0.   , 0.405],
               [1.195, 0.   ]])
        """
        left = as_measures(X, "X")
        right = left if Y is None else as_measures(Y, "Y")
        require_same_dim(left, right)
        for side in (left, right):
            self.check(side)
        features = features_of_axes(self.ground, left, right)
        if features is None:
            found = _by_kernel_values(self.ground, float(self.reg), left, right)
        else:
            found = _by_axes(features, float(self.reg), left, right)
        if not np.isfinite(found).all():
            i, j = np.argwhere(~np.isfinite(found))[0]
            raise NumericalError(
                f"the divergence of measure {left.rows[i]} from measure {right.rows[j]} is no finite number: their "
                f"variances dwarf reg={self.reg:g}, so that rounding decides. Give a greater reg, or other units."
            )
        return found

    def claims(self, dim: int) -> Claims:
        # For the linear ground a counterexample for one `reg` is one for all: scale the points.
        fails_at = 1.0 if isinstance(self.ground, Linear) else None
        return Claims(False, None, "the root of a symmetrised KL divergence fails the triangle inequality", fails_at)

    def route(self, X: Measures, Y: Measures) -> Route:
        """Take explicit features; if these are too many, the axes of exact ones, or the atoms."""
        scale = max(float(self.ground.diagonal(X.points).max()), float(self.ground.diagonal(Y.points).max()))
        n = n_prepared(X, Y)
        m = float(np.sqrt(X.sizes.mean() * Y.sizes.mean()))
        largest = np.sqrt(2.0 * m**3 + 20.0 * m**2)  # r^2 operations against 2 m^3, and m^2 kernel values

        def entries(rank: int) -> float:
            return float(n) * rank * (rank + 1)

        error = FEATURE_ERROR * self.reg * min(1.0, self.reg / scale) if scale > 0 else FEATURE_ERROR * self.reg
        features = explicit_features(self.ground, X, Y, error, max(largest, 16.0), entries)
        if features is not None:
            return FeaturesRoute(features, self.reg)
        # Kernel values of polynomials round away what points near each other, far from the origin, differ by.
        exact = features_of_axes(self.ground, X, Y)
        return AtomsRoute(KernelSource.of(self.ground, X, Y), self.reg) if exact is None else AxesRoute(exact, self.reg)


class _Gram(NamedTuple):
    """A measure of probabilities w, roots of w, Kw, w'Kw; L of G + rho I = L L', its inverse, and of the centred G
    tr G, log |G / rho + I| and tr (G + rho I)^-1 G.
    """

    weights: FloatArray
    roots: FloatArray
    values: FloatArray
    norm: float
    factor: FloatArray
    inverse: FloatArray
    trace: float
    log_det: float
    rank: float


def _regularised(K: FloatArray, w: FloatArray, ridge: float) -> _Gram:
    """Factorise the kernel matrix K of a measure, centred and regularised."""
    from scipy.linalg import solve_triangular

    roots, mean = np.sqrt(w), K @ w
    norm = float(w @ mean)
    G = roots[:, None] * (K - mean[:, None] - mean[None] + norm) * roots
    L: FloatArray = np.asarray(np.linalg.cholesky(G + ridge * np.eye(len(w))), dtype=np.float64)
    inverse = solve_triangular(L, np.eye(len(w)), lower=True, check_finite=False)
    log_det = 2.0 * float(np.log(np.diagonal(L)).sum()) - len(w) * np.log(ridge)
    rank = len(w) - ridge * float((inverse**2).sum())
    return _Gram(w, roots, mean, norm, L, inverse, float(np.trace(G)), log_det, rank)


def _by_axes(features: Features, ridge: float, X: Measures, Y: Measures) -> FloatArray:
    """Return KL(N_i || N'_j) for all pairs in exact features; nan where rounding leaves a Gaussian undetermined."""
    A = Thin.of(X, features, ridge)
    B = A if Y is X else Thin.of(Y, features, ridge)
    return thin_tile(directed_kl_row, A, B, np.arange(len(X)), np.arange(len(Y)), False)


def _by_kernel_values(ground: PointKernel, ridge: float, X: Measures, Y: Measures) -> FloatArray:
    """Return KL(N_i || N'_j) for all pairs, equation 27 of `kwd`; nan where k(x, x) dwarfs the ridge.

    With features c_k of the atoms, less their mean m and times the roots of their weights, as the columns of C:
    H = C C' + rho I, and with G = C'C = L L' - rho I

        rho H^-1 = I - C (G + rho I)^-1 C',   |H| = rho^l |G / rho + I|,

    so that only inner products C'C, C'D, C'(m - n) and |m - n|^2 are needed: kernel values.
    """
    from scipy.linalg import solve_triangular

    def side(mu: Measure) -> tuple[FloatArray, _Gram] | None:
        if not ground.diagonal(mu.points).max() <= DETERMINED * ridge:
            return None
        return mu.points, _regularised(ground(mu.points), mu.weights / mu.mass, ridge)

    def pair(x: FloatArray, mu: _Gram, y: FloatArray, nu: _Gram) -> float:
        K = ground(y, x)
        onto, back = K @ mu.weights, nu.weights @ K
        cross = float(nu.weights @ onto)
        gap = max(mu.norm + nu.norm - 2.0 * cross, 0.0)  # |m - n|^2
        shift = nu.roots * ((onto - cross) - (nu.values - nu.norm))  # D'(m - n)
        product = nu.roots[:, None] * (K - onto[:, None] - back[None] + cross) * mu.roots  # D'C
        solved = solve_triangular(nu.factor, np.column_stack([product, shift]), lower=True)
        explained = (solved**2).sum(axis=0)
        traces = (mu.trace - explained[:-1].sum()) / ridge - nu.rank
        return max(0.5 * float(traces + nu.log_det - mu.log_det + (gap - explained[-1]) / ridge), 0.0)

    left, right = ([side(mu) for mu in Z] for Z in (X, Y))
    return np.array([[np.nan if mu is None or nu is None else pair(*mu, *nu) for nu in right] for mu in left])
