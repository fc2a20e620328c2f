"""The Laplace kernel: entropies of the densities of an exponential family that fit measures best."""

from __future__ import annotations

from dataclasses import dataclass

from .._checks import choice, positive
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._base import Claims
from ._family import Family, NumericalFamily
from ._gaussian_family import GaussianFamily
from ._jensen import Jensen, JensenRoute
from ._multinomial_family import DirichletMultinomialFamily, MultinomialFamily

FAMILIES = ("gaussian", "gaussian-diagonal", "multinomial", "multinomial-exact")


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
    wherever the points are. Full covariances: :math:`d^2` to 2e-13 beta, and to 1e-15 beta over the determinant of the
    correlations of either measure; correlations with an eigenvalue below 1e-10 are refused. Multinomial: as
    ``JensenShannon``; exact: 4e-15 for some points, the rounding of logarithms of Gamma.

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
    def _form(self) -> Jensen:
        """The Jensen difference of the family at hand, which makes the routes."""
        beta = float(self.beta)
        if isinstance(self.family, Family):
            return NumericalFamily(self.family, beta)
        if self.family == "multinomial":
            return MultinomialFamily(beta)
        if self.family == "multinomial-exact":
            return DirichletMultinomialFamily(beta, 0.5 if self.prior is None else float(self.prior))
        return GaussianFamily(beta, diagonal=self.family == "gaussian-diagonal")

    def claims(self, dim: int) -> Claims:
        """What is known for the family."""
        return self._form.claims(dim)

    def semigroup_definite(self, t: float, dim: int) -> bool | None:
        """Return whether the Laplace kernel to the power t is proved positive definite."""
        return self._form.semigroup_definite(t, dim)

    def check(self, X: Measures) -> None:
        """Refuse measures outside the family's domain."""
        self._form.check(X)

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        """Return the route of the family."""
        return self._form.route(X, Y)
