"""Kernels that see how much mass a measure has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from .._checks import choice, positive
from .._typing import FloatArray
from ..divergences import ExponentialFamily
from ..divergences._exponential_family import UNIT
from ..divergences._features import Coordinates, centred_features, moments
from ..divergences._support import dense_rows
from ..engine import DEFAULT
from ..exceptions import InvalidParameterError, NumericalError, UnsuitableDataError
from ..measures import Measures, as_measures
from ._base import CompoundKernel, MeasureKernel, number, takes_measures

#: Masses, times beta, up to which their sums and products with entropies are numbers.
LARGEST = 1e300
FAMILIES = ("gaussian", "gaussian-diagonal", "multinomial")


@dataclass(eq=False, repr=False)
class MassWeighted(CompoundKernel):
    r"""Kernel of the normalised measures, multiplied by both masses.

    .. math:: k'(\mu, \nu) = |\mu| \, |\nu| \, k(\mu / |\mu|, \nu / |\nu|)

    The reweighted kernel of "Wasserstein exponential kernels" (equation 5), where the mass of an image is its ink.
    Divergences normalise masses to 1, so that without it a faint and a dark copy of an image are equal.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, such as ``Exponential(divergence)``. Its hyperparameters are tuned as if it stood alone, and
        searches reach them as ``kernel__length_scale``.

    Notes
    -----
    *Positive definite* whenever k is: the Gram matrix is congruent to that of k. Values grow with the squared masses;
    divide the weights by a typical mass if a regularisation parameter is to mean the same as without.
    Products of masses outside of 1e-307 to 1e308 are refused. *Cost*: that of k, and two products per entry.

    Examples
    --------
    >>> from kermes import Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0]])
    >>> kernels.MassWeighted(kernels.Exponential(divergences.Wasserstein(), length_scale=2.0))(X).round(3)
    array([[4.   , 1.463],
           [1.463, 1.   ]])
    """

    kernel: Any

    @property
    def _parts(self) -> dict[str, Any]:
        return {"kernel": self.kernel}

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        if not takes_measures(self.kernel):
            raise InvalidParameterError(
                f"`kernel` must be a kernel on measures such as kernels.Exponential(divergence); got {self.kernel!r}."
            )
        scale = _products(X.masses[:, np.newaxis], (X if Y is None else Y).masses)
        if not gradient:
            return scale * self.kernel(X, Y), None
        K, inner = self.kernel(X, eval_gradient=True)
        return scale * K, scale[:, :, np.newaxis] * inner

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X: squared masses times that of the inner kernel."""
        measures = as_measures(X)
        return np.asarray(_products(measures.masses, measures.masses) * self.kernel.diag(measures))

    def is_positive_definite(self, dim: int) -> bool | None:
        claim = getattr(self.kernel, "is_positive_definite", None)
        return None if claim is None else claim(dim)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.kernel == other.kernel

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"MassWeighted({self.kernel!r})"


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the products of masses, or refuse those that are not normal numbers."""
    with np.errstate(over="ignore", under="ignore"):
        products = left * right
    if not np.isfinite(products).all() or products.min(initial=1.0) < np.finfo(np.float64).tiny:
        masses = np.concatenate([left.ravel(), right.ravel()])
        raise NumericalError(
            f"MassWeighted multiplies masses, which reach from {masses.min():.3g} to {masses.max():.3g}: their "
            "products are too large or too small for a number. Divide all weights by a typical mass."
        )
    return np.asarray(products)


@dataclass(eq=False, repr=False)
class MassLaplace(MeasureKernel):
    r"""Laplace kernel of measures that keep their masses: a measure of more mass is better known.

    .. math:: k(\mu, \nu) = \exp\left(|\mu| h(p_\mu) + |\nu| h(p_\nu) - |\mu + \nu| h(p_{\mu + \nu})\right)
              \left(\frac{2 \sqrt{|\mu| |\nu|}}{|\mu| + |\nu|}\right)^{N / 2}

    with the entropy h, in nats, of the most likely density :math:`p_\mu` of an exponential family of N parameters:
    equation (1) of "Semigroup kernels on finite sets", normalised on the diagonal as printed below it.

    Parameters
    ----------
    family : str
        ``'gaussian'``: normal densities with any covariance, N = d + d (d + 1) / 2. ``'gaussian-diagonal'``:
        independent coordinates, N = 2 d. ``'multinomial'``: any probabilities on the m points of the shared support,
        N = m - 1.
    beta : float
        All masses are multiplied by it.

    Notes
    -----
    If all masses are M it is ``Semigroup(ExponentialFamily(family, beta * M))``, equation (2), which goes through the
    engine: use that where masses say nothing. As the paper says, the exponent grows with the masses, so that
    Gram matrices of large ones are all but diagonal (choose a small beta), and a measure of much less mass than
    another is hardly seen in their sum.

    *Positive definite*: unknown. The integral it approximates is; the approximation is good for large masses.
    *Cost*: a determinant (independent coordinates: d logarithms; multinomial: m) per pair, which is not remembered.
    *Accuracy*: in the exponent that of ``ExponentialFamily`` for its squared distance, with the sum of both masses,
    times beta, for its beta; for one axis and independent ones, too, that of full covariances, which falls as
    coordinates become collinear.

    Examples
    --------
    >>> from kermes import Measures, kernels
    >>> X = Measures.from_samples([[0.0, 2.0], [2.0, 4.0]], weights=[[0.5, 0.5], [1.5, 1.5]])
    >>> kernels.MassLaplace("gaussian")(X).round(3)
    array([[1.   , 0.283],
           [0.283, 1.   ]])
    """

    family: str = "gaussian"
    beta: float = 1.0

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        family, beta = choice(self.family, "family", FAMILIES), positive(self.beta, "beta")
        Z = X if Y is None else Y
        with np.errstate(over="ignore"):  # checked next
            a, b = beta * X.masses, beta * Z.masses
        if not max(a.max(), b.max()) <= LARGEST:
            raise NumericalError(
                f"MassLaplace multiplies masses of up to {max(X.masses.max(), Z.masses.max()):.3g} by beta={beta:g}, "
                "which is too much for a number. Choose a smaller beta."
            )
        h = ExponentialFamily(family, 0.5)
        left, right = (DEFAULT.concentrations(h, side) for side in (X, Z))  # refuses what has none
        if family == "multinomial":
            n_parameters, entropies = _histograms(X, Z, a, b)
        else:
            n_parameters, entropies = _gaussians(X, Z, a, b, diagonal=family == "gaussian-diagonal")
        total = a[:, None] + b[None]
        J = np.maximum(total * entropies - ((a * left)[:, None] + (b * right)[None]), 0.0)  # rounding
        J -= 0.5 * n_parameters * np.log(2.0 * np.sqrt(a[:, None]) * np.sqrt(b) / total)
        return np.exp(-np.maximum(J, 0.0)), None

    def __repr__(self) -> str:
        return f"MassLaplace({self.family!r}, beta={number(self.beta)})"


def _gaussians(X: Measures, Y: Measures, a: FloatArray, b: FloatArray, diagonal: bool) -> tuple[int, FloatArray]:
    """Return N, and the entropy of the normal density of mu + nu for all pairs."""
    d = X.dim
    (m, m_tails, S), (n, n_tails, T) = (moments(centred_features(Z, Coordinates(d)), len(Z), d) for Z in (X, Y))
    if diagonal:
        S, T = (np.einsum("ijj->ij", C) for C in (S, T))
    out = np.empty((len(X), len(Y)))
    for i in range(len(X)):
        gap = (m[i] - n) + (m_tails[i] - n_tails)
        a_share, b_share = (np.expand_dims(w / (a[i] + b), tuple(range(1, S.ndim))) for w in (a[i], b))
        V = a_share * S[i] + b_share * T
        if diagonal:
            out[i] = np.log(V + a_share * b_share * gap**2).sum(axis=1)
        else:  # |V + t g g'| = |V| (1 + t g' V^-1 g): far means would swamp V
            shift = a_share[:, 0] * b_share[:, 0] * gap * np.linalg.solve(V, gap[:, :, None])[:, :, 0]
            out[i] = np.linalg.slogdet(V)[1] + np.log1p(shift.sum(axis=1))
    return 2 * d if diagonal else d + d * (d + 1) // 2, 0.5 * (UNIT * d + out)


def _histograms(X: Measures, Y: Measures, a: FloatArray, b: FloatArray) -> tuple[int, FloatArray]:
    """Return N, and the entropy of the histogram mu + nu for all pairs."""
    if X.support is None or not X.shares_support(Y):
        raise UnsuitableDataError(
            "family='multinomial' needs measures on one finite set: make them with Measures.from_histograms or "
            "from_images, and X and Y on the same support."
        )
    P, Q = (dense_rows(Z, X.support.points, given=True) for Z in (X, Y))
    out = np.empty((len(X), len(Y)))
    for i in range(len(X)):
        out[i] = entr((a[i] * P[i] + b[:, None] * Q) / (a[i] + b)[:, None]).sum(axis=1)
    return len(X.support.points) - 1, out
