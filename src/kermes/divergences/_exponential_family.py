"""The Laplace kernel: entropies of the densities of an exponential family that fit measures best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .._checks import choice, positive
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measures
from ._base import Claims, Tile, filled
from ._cores import core
from ._family import Family, OnGrid
from ._features import Coordinates, centred_features, moments
from ._histograms import Dirichlet, histogram_route
from ._jensen import Jensen, JensenRoute
from ._support import common_support, require_finite_set

Marginals: TypeAlias = "core.moments.Marginals"
Moments: TypeAlias = "core.moments.Moments"
GAUSSIANS = ("gaussian", "gaussian-diagonal")
FAMILIES = (*GAUSSIANS, "multinomial", "multinomial-exact")
#: Smallest eigenvalue of a correlation matrix that is not taken for rounding; log-determinants then keep 6 digits.
SINGULAR = 1e-10
#: A standard deviation below this part of the coordinates themselves is taken for rounding.
NO_SPREAD = 1e-13
#: ln(2 pi e): twice the entropy of a standard normal variable.
UNIT = float(np.log(2.0 * np.pi)) + 1.0


@dataclass(frozen=True)
class ExponentialFamily(Jensen):
    r"""Jensen difference of the entropy of the most likely density of an exponential family.

    .. math:: d(\mu, \nu)^2 = 2 \beta \left(H\left(p_{(\mu + \nu)/2}\right)
              - \tfrac12 \left(H(p_\mu) + H(p_\nu)\right)\right)

    where :math:`p_\mu` is the maximum-likelihood density of the family for the measure :math:`\mu` and H the entropy in
    nats. ``kernels.Semigroup(ExponentialFamily(family, beta))`` is the Laplace kernel, equation (2) of "Semigroup
    kernels on finite sets" and (6) of "Semigroup kernels on measures", for measures of mass beta each.

    Parameters
    ----------
    family : str or Family
        ``'gaussian'``: normal densities with any covariance. ``'gaussian-diagonal'``: independent coordinates.
        ``'multinomial'``: any probabilities on the finite set of all atoms. ``'multinomial-exact'``: the same, without
        Laplace's approximation, on the support of ``Measures.from_histograms`` or ``from_images``.
        A :class:`Family`: given by its sufficient statistics.
    beta : float
        The mass that every measure is given. It only multiplies :math:`d^2`, but for the exact form; to tune
        it, keep it and tune ``t`` of ``kernels.Semigroup``, so that each pair is computed once.
    prior : float, optional
        Only for ``'multinomial-exact'``: every concentration of the Dirichlet prior; 1/2 (Jeffreys) by default.

    Notes
    -----
    *Gaussian*: :math:`H = \frac12 \ln((2 \pi e)^d |S|)` makes the kernel :math:`(\sqrt{|S| |S'|} / |S''|)^\beta` with
    the covariance :math:`S'' = (S + S')/2 + (m - m')(m - m')^\top / 4` of the mean measure. The exponent follows from
    the equation above; the formula printed after equation (2) of "Semigroup kernels on finite sets" has
    :math:`2 \beta` instead, so use twice the beta of that formula. Measures with a singular covariance are refused.
    *Multinomial*: :math:`2 \beta` times the Jensen-Shannon divergence. *Multinomial, exact*:
    :math:`h(\mu) = -\ln \varphi(2 \beta \mu)` with the integral over the Dirichlet prior

    .. math:: \varphi(\mu) = \int \prod_z \theta_z^{\mu_z} \, d\mathrm{Dir}(\theta) =
              \frac{\Gamma(m \alpha)}{\Gamma(|\mu| + m \alpha)} \prod_z \frac{\Gamma(\mu_z + \alpha)}{\Gamma(\alpha)}

    on m points. With Jeffreys' prior it tends to the Laplace form as beta grows, between measures with mass on every
    point.

    *Returned*: d. *Metric*: for the multinomials; for the Gaussians zero between measures of equal moments. *Negative
    type*: :math:`d^2` is conditionally negative definite for the multinomials, for the diagonal Gaussians and for
    Gaussians on the line. With full covariances in d dimensions exp(-t d^2) is positive definite if
    :math:`2 \beta t` is an integer (proof of proposition 3 of "Semigroup kernels on measures") or :math:`\beta t > (d -
    1)/2` (Gindikin); otherwise, and for a :class:`Family`, it is not known to be.
    *Cost*: :math:`O(d^3)` per pair (diagonal: :math:`O(d)`), the atoms of one measure for the multinomials, a convex
    optimisation over a grid for a :class:`Family`. *Accuracy*: one axis, or independent ones: 1e-12 of :math:`d^2`,
    wherever the points are. Full covariances: :math:`d^2` to 2e-14 beta, to 4e-16 beta times the sum of the absolute
    logarithms of the variances of either measure (6e-13 in the plane at 1e150), and to 1e-15 beta over the determinant
    of its correlations; correlations with an eigenvalue below 1e-10 are refused. Multinomial: as
    ``JensenShannon``; exact: 4e-15 for some points and 1e-15 beta ln beta, the rounding of logarithms of Gamma.

    Examples
    --------
    >>> from kermes import Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 2.0], [2.0, 4.0]])  # variances 1 and 1, of the mean measure 2
    >>> kernels.Semigroup(divergences.ExponentialFamily("gaussian", beta=1.0))(X)
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> H = Measures.from_histograms([[1, 3], [3, 1]], support=[0.0, 1.0])
    >>> kernels.Semigroup(divergences.ExponentialFamily("multinomial"))(H).round(3)
    array([[1.  , 0.77],
           [0.77, 1.  ]])
    >>> family = divergences.Family(2, low=-8.0, high=12.0)  # the statistics x and x^2
    >>> kernels.Semigroup(divergences.ExponentialFamily(family))(X).round(6)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    family: str | Family = "gaussian"
    beta: float = 1.0
    prior: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.family, Family):
            if not isinstance(self.family, str):
                raise InvalidParameterError(
                    f"`family` must be a name such as 'gaussian' or a divergences.Family; got {self.family!r}."
                )
            choice(self.family, "family", FAMILIES)
        positive(self.beta, "beta")
        if self.prior is not None:
            positive(self.prior, "prior")
            if self.family != "multinomial-exact":
                raise InvalidParameterError(
                    f"`prior` must be None unless family='multinomial-exact'; got {self.prior!r} with {self.family!r}."
                )

    @property
    def biased(self) -> bool:
        """Whether tiles may give equal measures a value other than 0: not that of Jensen and Shannon, beyond 1e-15."""
        return self.family != "multinomial"

    def claims(self, dim: int) -> Claims:
        if isinstance(self.family, Family):
            return Claims(None, None, "not known for freely chosen statistics")
        if self.family == "multinomial":
            reason = "the Jensen-Shannon divergence is a squared Hilbert metric (Fuglede and Topsoe 2004)"
            return Claims(True, 2.0, reason)
        if self.family == "multinomial-exact":
            reason = "-ln Gamma(x + y + c) is negative definite, c > 0: ln Gamma is a mixture of exponentials plus a "
            return Claims(True, 2.0, reason + "line (Malmsten's integral)")
        if self.family == "gaussian-diagonal" or dim == 1:
            reason = "variances of means are negative definite, and so are their logarithms (Gamma integral of v^-p, "
            return Claims(False, 2.0, reason + "p > 0); zero between measures of equal means and variances")
        reason = "a metric of means and covariances (the S-divergence of augmented second moments, Sra 2016); zero "
        return Claims(False, None, reason + "between measures that share both", 2.0)

    def semigroup_definite(self, t: float, dim: int) -> bool | None:
        """Return whether the Laplace kernel to the power t is proved positive definite."""
        power = float(self.beta) * t
        # Of Gaussians |S|^(-beta t) is a Gaussian or Wishart integral of positive definite kernels.
        if self.family in GAUSSIANS and ((2.0 * power).is_integer() or power > (dim - 1) / 2.0):
            return True
        return super().semigroup_definite(t, dim)

    def check(self, X: Measures) -> None:
        """Refuse measures outside the family's domain."""
        if isinstance(self.family, Family):
            self.family.check(X)
        elif self.family == "multinomial":
            require_finite_set(X)
        elif self.family == "multinomial-exact" and X.support is None:
            raise UnsuitableDataError(
                "family='multinomial-exact' needs measures on a shared finite support, since its number of points "
                "enters the prior; make them with Measures.from_histograms or from_images."
            )

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        beta = float(self.beta)
        if isinstance(self.family, Family):
            return OnGrid(self.family, beta, self.family.basis(X.dim))
        if self.family == "multinomial":
            return histogram_route(X, Y, scale=2.0 * beta)
        if self.family != "multinomial-exact":
            return _ByAxis(beta) if self.family == "gaussian-diagonal" or X.dim == 1 else _Full(beta)
        if not X.shares_support(Y):
            raise UnsuitableDataError(
                "`X` and `Y` must share one finite support for family='multinomial-exact'; theirs differ. Make both "
                "with the same `support` of Measures.from_histograms."
            )
        return Dirichlet(beta, 0.5 if self.prior is None else float(self.prior), common_support(X, Y))


@dataclass(frozen=True)
class _ByAxis(JensenRoute):
    """h = beta ln((2 pi e)^d prod_k S_kk): J is a sum over axes, without a difference of logarithms."""

    beta: float

    def prepare(self, X: Measures) -> Marginals:
        means, tails, variances = (np.empty((len(X), X.dim)) for _ in range(3))
        with np.errstate(over="ignore", under="ignore"):  # checked next
            for rows, part in centred_features(X, Coordinates(X.dim)):
                means[rows], tails[rows] = part.means, part.tails
                variances[rows] = np.add.reduceat(part.packed**2, part.offsets[:-1], axis=0)
        _check_spread(X, variances)
        values = self.beta * (UNIT * X.dim + np.log(variances).sum(axis=1))
        return core.moments.Marginals(means, tails, np.sqrt(variances), values)

    def tile(self, A: Marginals, B: Marginals, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(self.beta * filled(core.moments.log_variance_gaps, A, rows, B, cols, triangle))

    def work(self, X: Measures, Y: Measures) -> float:
        """A logarithm per axis."""
        return 20.0 * X.dim


@dataclass(frozen=True)
class _Full(JensenRoute):
    """h = beta ln((2 pi e)^d |S|), 2 beta times the entropy: log-determinants of covariances."""

    beta: float

    def prepare(self, X: Measures) -> Moments:
        means, tails, covariances = moments(centred_features(X, Coordinates(X.dim)), len(X), X.dim)
        variances = np.einsum("ijj->ij", covariances)
        _check_spread(X, variances)
        spreads = np.sqrt(variances)
        singular = np.linalg.eigvalsh(covariances / (spreads[:, :, None] * spreads[:, None]))[:, 0] <= SINGULAR
        if singular.any():
            i = int(np.argmax(singular))
            raise _degenerate(X, i, f"its {X.sizes[i]} atoms span less than all {X.dim} dimensions, but for rounding")
        values = np.empty(len(X))
        core.moments.half_log_dets(covariances, 0.0, values)
        return core.moments.Moments(means, tails, covariances, self._entropies(values, X.dim), scale=1.0, ridge=0.0)

    def mean_values(self, A: Moments, B: Moments, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        halves = filled(core.moments.half_log_det_far_means, A, rows, B, cols, triangle)
        return self._entropies(halves, A.means.shape[1])

    def rounding(self, A: Moments, B: Moments, rows: IndexArray, cols: IndexArray) -> float:
        """1e-15 over the determinant of the correlations, at least SINGULAR."""
        return 1e-15 / SINGULAR * self.beta

    def _entropies(self, half_log_dets: FloatArray, dim: int) -> FloatArray:
        return self.beta * (UNIT * dim + 2.0 * half_log_dets)

    def work(self, X: Measures, Y: Measures) -> float:
        """A Cholesky factorisation."""
        d = float(X.dim)
        return d**3 / 3.0 + 3.0 * d**2 + 20.0 * d


def _check_spread(X: Measures, variances: FloatArray) -> None:
    """Refuse measures that do not vary along an axis."""
    if not np.isfinite(variances).all():
        raise UnsuitableDataError("the second moments of the points overflow; divide the coordinates by a common unit.")
    largest = np.maximum.reduceat(np.abs(X.points), X.offsets[:-1], axis=0)
    flat = variances <= (NO_SPREAD * largest) ** 2
    if flat.any():
        i, axis = np.argwhere(flat)[0]
        raise _degenerate(X, int(i), f"its coordinate {axis} does not vary beyond rounding")


def _degenerate(X: Measures, i: int, reason: str) -> UnsuitableDataError:
    return UnsuitableDataError(
        f"measure {X.rows[i]} has a singular covariance ({reason}), so that its Gaussian density has no entropy. Leave "
        "such measures out, give them more atoms, or use divergences.GeneralizedVariance, which regularises."
    )
