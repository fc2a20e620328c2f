"""Gaussian processes of weight vectors, read as processes on a Wasserstein space."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.validation import check_is_fitted

from .._checks import flag, integer, real
from .._estimator import MeasureEstimator, OrderedScore
from .._scales import median_distance
from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..divergences import Euclidean, Wasserstein
from ..divergences._support import common_support
from ..engine import pairwise
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..kernels import Exponential, inverse_squared_rho
from ..measures import Measure, Measures, as_measures
from ._measure_gp import MeasureGPRegressor, careful_l_bfgs, target_units

#: A length scale for each point needs so many samples for each of them.
SAMPLES_PER_LENGTH_SCALE = 10
#: Where length scales are looked for, in units of the median distance between weight vectors.
LENGTHS = (1e-2, 1e2)
#: Where the variance of the process and of the noise are looked for, in units of the variance of the targets.
VARIANCES, NOISE = (1e-3, 1e3), (1e-10, 10.0)


class RhoField(NamedTuple):
    """Theorem 4 at one pair of measures.

    ``points`` (m, d) of the support, ``inverse_squared_rho`` (m,) there, and ``row_costs`` (m,), the cost of
    what leaves each point. Where no mass leaves, the value is free.
    """

    points: FloatArray
    inverse_squared_rho: FloatArray
    row_costs: FloatArray


@dataclass(eq=False, repr=False)
class EquivalentWassersteinGP(OrderedScore, RegressorMixin, MeasureEstimator):
    r"""Gaussian process regression on measures by the squared-exponential kernel of their weights.

    .. math:: k(\mu, \nu) = \sigma_f^2 \exp\left(-\frac12 \sum_i \frac{(a_i - b_i)^2}{\ell_i^2}\right)
              = \sigma_f^2 \exp\left(-\frac12 \sum_i \frac{S_i(\mu, \nu)}{\rho_i^2(\mu, \nu)}\right)

    Hyperparameters are found by marginal likelihood in the first form. The second is the "equivalent Wasserstein
    process" of `gpm` (Theorem 4): a Wasserstein squared exponential whose length scales :math:`\rho_i` change from
    pair to pair. :meth:`rho_field` returns them.

    Parameters
    ----------
    cost : 'binary', 'euclidean', ground cost, or array of shape (m, m)
        Ground distance of :meth:`rho_field`, raised to the power 2. *Predictions do not depend on it.*
    isotropic : bool, optional
        One length scale, or one for each point of the support. By default the latter if there are at least ten samples
        for each of three or more points. (Weights on two points add up to 1, and one length scale says as much as two.)
    noise : bool
        Learn the variance of a noise in the targets. False: the targets are exact up to ``alpha``.
    n_restarts : int
        Searches from random hyperparameters, beside the one from the median distance.
    alpha : float
        Added to the diagonal of the kernel matrix, in units of the variance of the targets.
    random_state : int, RandomState or None
        Seed of the restarts.

    Attributes
    ----------
    gp_ : MeasureGPRegressor
        The fitted process; ``gp_.jitter_`` says if its matrix needed help.
    kernel_ : kernel
        The fitted kernel, of standardised targets.
    length_scale_ : float or ndarray of shape (m,)
        :math:`\ell`, in units of weights (between 0 and 1).
    noise_ : float
        Standard deviation of the noise, in units of the targets.
    points_ : ndarray of shape (m, d)
        The points whose weights are compared: the shared support of the training measures, or the union of their atoms.
    isotropic_ : bool
        Whether there is one length scale.

    Notes
    -----
    *The two forms are one kernel*, value for value, so both processes have the same mean and variance: calling it
    Wasserstein adds an interpretation, not a prediction. A kernel that sees where the points are is
    ``kernels.Exponential(divergences.Wasserstein(p=2))``, in a :class:`MeasureGPRegressor`.

    *Different supports*: weights are compared on the union of all atoms, 0 where a measure has none. Clouds without
    common atoms are then all equally far from each other, and nothing can be learned from them; Dirac masses (a 2-D
    array) are the extreme case. New atoms need a common length scale (``isotropic``).

    *Degenerate data* are warned of, not refused: constant targets keep the first hyperparameters (the mean is the
    constant); equal measures with different targets and ``noise=False`` get the average; matrices that are singular
    to working precision get a jitter. *Standard deviations* are those of a new observation, noise included.
    A hyperparameter at its bound has a meaning (a weight that does not matter, targets without noise) and
    is not warned of. *Cost*: one matrix of distances, then :math:`O(n^3)` per step of the search, and with
    a length scale for each of m points :math:`O(n^2 m)`.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import EquivalentWassersteinGP, Measures
    >>> a = np.linspace(0.05, 0.95, 10)
    >>> X = Measures.from_histograms(np.column_stack([a, 1 - a]), support=[0.0, 1.0])
    >>> model = EquivalentWassersteinGP(random_state=0).fit(X, np.sin(6 * a))
    >>> mean, std = model.predict(Measures.from_histograms([[0.3, 0.7]], [0.0, 1.0]), return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.8)) < 0.01)
    True
    """

    cost: Any = "binary"
    isotropic: bool | None = None
    noise: bool = True
    n_restarts: int = 4
    alpha: float = 1e-10
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> EquivalentWassersteinGP:
        """Find length scales, variance and noise by marginal likelihood."""
        if self.isotropic is not None and not isinstance(self.isotropic, (bool, np.bool_)):
            raise InvalidParameterError(f"`isotropic` must be True, False or None; got {self.isotropic!r}.")
        flag(self.noise, "noise")
        Wasserstein(p=2, cost=self.cost)  # refuses costs that are not distances
        measures, y = self._read_labelled(X, y, numeric=True)
        self.points_ = common_support(measures, measures).points
        m = len(self.points_)
        plenty = 3 <= m <= len(measures) / SAMPLES_PER_LENGTH_SCALE
        self.isotropic_ = bool(not plenty if self.isotropic is None else self.isotropic or m < 3)
        self.gp_ = MeasureGPRegressor(
            self._prior(measures),
            alpha=real(self.alpha, "alpha", low=0.0, open_low=True),
            optimizer=careful_l_bfgs,
            n_restarts_optimizer=integer(self.n_restarts, "n_restarts", low=0),
            normalize_y=True,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The optimal value found", category=ConvergenceWarning)
            self.gp_.fit(self._inputs(measures), y)
        self.kernel_ = self.gp_.kernel_
        process = self.kernel_.k1 if self.noise else self.kernel_
        self.length_scale_ = process.k2.length_scale
        variance = self.kernel_.k2.noise_level if self.noise else 0.0
        self.noise_ = float(np.sqrt(variance) * target_units(self.gp_)[1])
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the mean (n,) of new observations; and their standard deviations (n,) or covariances (n, n)."""
        inputs = self._inputs(X)
        return self.gp_.predict(inputs, return_std, return_cov)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> FloatArray:
        """Draw from the predictive distribution at the measures of X, (n, n_samples)."""
        inputs = self._inputs(X)
        return np.asarray(self.gp_.sample_y(inputs, n_samples, random_state))

    def rho_field(self, mu: Measure, nu: Measure, free: float = 1.0) -> RhoField:
        r"""Return :math:`1 / \rho_i^2` of the equivalent Wasserstein kernel from one measure to another.

        Parameters
        ----------
        mu, nu : Measure
            Members of collections, such as ``X[0]`` and ``X[3]``; from nu to mu the field is another one.
        free : float
            The value where no mass leaves; Theorem 4 leaves it open.

        Notes
        -----
        An identity for this pair and its optimal plan, see :func:`kermes.kernels.inverse_squared_rho`.
        """
        check_is_fitted(self)
        X, Y = as_measures([mu], "mu"), as_measures([nu], "nu")
        for Z, name in ((X, "mu"), (Y, "nu")):
            self._remember_dim(Z, reset=False, name=name)
        points = common_support(X, Y).points if self.isotropic_ else self.points_
        W = Wasserstein(p=2, cost=self.cost)
        leaving = (W.plan(mu, nu) * W.plan_costs(mu, nu)).sum(axis=1)
        S: FloatArray = np.zeros(len(points))
        np.add.at(S, places_among(points, X, "mu"), leaving)
        a, b = weight_vectors(points, X, "mu")[0], weight_vectors(points, Y, "nu")[0]
        return RhoField(points, inverse_squared_rho(a, b, S, self.length_scale_, free), S)

    def _prior(self, measures: Measures) -> Any:
        """Return the kernel to start from: the median distance as length scale, and bounds around it."""
        D = pairwise(measures, divergence=Euclidean())
        median = median_distance(D)
        bounds = (LENGTHS[0] * median, LENGTHS[1] * median)
        shape: Any = (
            Exponential(Euclidean(), median, length_scale_bounds=bounds)
            if self.isotropic_
            else RBF(np.full(len(self.points_), median), bounds)
        )
        process = ConstantKernel(1.0, VARIANCES) * shape
        return process + WhiteKernel(1e-2, NOISE) if self.noise else process

    def _inputs(self, X: Any) -> Any:
        """Return what the process takes of X: measures for one length scale, weight vectors for several."""
        check_is_fitted(self, "gp_")
        measures = self._read_measures(X, reset=False)
        return measures if self.isotropic_ else weight_vectors(self.points_, measures)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A 2-D array is n Dirac masses, whose weights have nothing in common.
        tags.regressor_tags.poor_score = True
        return tags


def places_among(points: FloatArray, X: Measures, name: str = "X") -> IndexArray:
    """Return the number of each atom of X among the points (m, d); refuse atoms elsewhere."""
    known = len(points)
    distinct, inverse = np.unique(np.concatenate([points, X.points]), axis=0, return_inverse=True)
    place = np.full(len(distinct), -1, dtype=np.int64)
    place[inverse.ravel()[:known]] = np.arange(known)
    ids = place[inverse.ravel()[known:]]
    strange = np.flatnonzero(ids < 0)
    if len(strange):
        atom = strange[0]
        raise UnsuitableDataError(
            f"`{name}[{ragged.owners(X.offsets)[atom]}]` has an atom at {X.points[atom]}, which is not among the "
            f"{known} points that have a length scale of their own. Use isotropic=True, or measures on the support "
            "of the training measures."
        )
    return np.asarray(ids)


def weight_vectors(points: FloatArray, X: Measures, name: str = "X") -> FloatArray:
    """Return the weights of each measure at the points, (len(X), m); they add up to 1."""
    rows = np.zeros((len(X), len(points)))
    np.add.at(rows, (ragged.owners(X.offsets), places_among(points, X, name)), X.probabilities)
    return rows
