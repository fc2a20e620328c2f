"""Matrices of distances and kernel values as steps of pipelines, in front of anything "precomputed"."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import ASYMMETRY, as_distances, choice, positive, real
from .._estimator import KernelEstimator, MeasureEstimator
from .._scales import median_distance
from .._typing import FloatArray
from .._values import refuse_masked
from ..core import profiles
from ..definiteness import spectrum
from ..engine import Engine, pairwise
from ..exceptions import IndefiniteKernelWarning, InvalidParameterError, UnsuitableDataError
from ..measures import Measures

#: Profiles by name: functions of (d / l)^h.
PROFILES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exponential": profiles.exponential,
    "rational": lambda exponent: 1.0 / (1.0 + 0.5 * exponent),
}


class ToTrainingSamples(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A transformer with a column for each training sample."""

    X_fit_: Any

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_)


@dataclass(eq=False, repr=False)
class DistanceMatrix(ToTrainingSamples, MeasureEstimator):
    r"""Distances to the training measures.

    ``fit_transform(X)`` is the square matrix :math:`d(\mu_i, \mu_j)` of the training measures, ``transform(X)`` has a
    row for each new measure and a column for each training measure: what estimators with ``metric='precomputed'``
    take to fit and to predict. Cross-validation of a pipeline cuts the measures, so no fold sees the others' columns.

    Parameters
    ----------
    divergence : Divergence, optional
        The distance d; sliced Wasserstein by default. Searches reach its parameters, ``divergence__ground__sigma``.
    squared : bool
        Return squared distances.
    engine : Engine, optional
        How distances are computed and remembered.

    Attributes
    ----------
    divergence_ : Divergence
        The divergence in use.
    X_fit_ : Measures
        The training measures.

    Notes
    -----
    *Cost*: each pair once, also in searches over what follows in the pipeline, and over several processes.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from kermes import DistanceMatrix, Measures, divergences
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 2.0], [8.0], [9.0, 9.5]])
    >>> model = make_pipeline(DistanceMatrix(divergences.Wasserstein()), KNeighborsClassifier(1, metric="precomputed"))
    >>> model.fit(X, ["low", "low", "high", "high"]).predict(Measures.from_samples([[7.0]]))
    array(['high'], dtype='<U4')
    """

    divergence: Any = None
    squared: bool = False
    engine: Engine | None = None

    def fit(self, X: Any, y: Any = None) -> DistanceMatrix:
        """Keep the training measures."""
        self.divergence_ = self._resolve_divergence(remedy=" A matrix of distances needs no DistanceMatrix before it.")
        self.X_fit_ = self._read_measures(X, reset=True, y=y)
        self.divergence_.check(self.X_fit_)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Return the distances between the training measures, (n, n)."""
        self.fit(X, y)
        return self._distances(self.X_fit_)

    def transform(self, X: Any) -> FloatArray:
        """Return the distances between new measures and the training measures, (len(X), n)."""
        check_is_fitted(self)
        return self._distances(self._read_measures(X, reset=False))

    def _distances(self, measures: Measures) -> FloatArray:
        return pairwise(
            measures, self.X_fit_, divergence=self.divergence_, engine=self.engine, squared=bool(self.squared)
        )


@dataclass(eq=False, repr=False)
class KernelMatrix(ToTrainingSamples, KernelEstimator):
    r"""Kernel values against the training measures.

    ``fit_transform(X)`` is the Gram matrix :math:`k(\mu_i, \mu_j)`, ``transform(X)`` has a row for each new measure and
    a column for each training measure: what estimators with ``kernel='precomputed'`` take.

    Parameters
    ----------
    kernel : kernel on measures, None or 'precomputed'
        None: a squared-exponential kernel with the median of the distinct positive distances as length scale.
        'precomputed': X is a Gram matrix and stays as it is, up to the check.
    check : 'warn', 'raise' or 'ignore'
        What to do if the Gram matrix of the training measures is indefinite. ``definiteness.SpectrumRepair`` as the
        next step repairs it.

    Attributes
    ----------
    kernel_ : kernel
        The kernel in use.
    X_fit_ : Measures
        The training measures; the Gram matrix if precomputed.

    Notes
    -----
    *Cost*: the kernel values; the check one Cholesky factorisation, none if the kernel is proved positive definite.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from kermes import KernelMatrix, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 2.0], [8.0], [9.0, 9.5]])
    >>> k = kernels.Exponential(divergences.Wasserstein())
    >>> model = make_pipeline(KernelMatrix(k), SVC(kernel="precomputed"))
    >>> model.fit(X, ["low", "low", "high", "high"]).predict(Measures.from_samples([[7.0]]))
    array(['high'], dtype='<U4')
    """

    kernel: Any = None
    check: str = "warn"

    def fit(self, X: Any, y: Any = None) -> KernelMatrix:
        """Keep the training measures, and look at their Gram matrix if asked to."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Return the Gram matrix of the training measures, (n, n)."""
        K = self._fit(X, y)
        return np.array(self._gram_fit() if K is None else K)

    def _fit(self, X: Any, y: Any) -> FloatArray | None:
        """Fit; return the Gram matrix if it was looked at."""
        choice(self.check, "check", ["warn", "raise", "ignore"])
        samples = self._read(X, reset=True, y=y)
        self._bind(samples, np.arange(len(samples)))
        claim = getattr(self.kernel_, "is_positive_definite", None)
        if self.check == "ignore" or (claim is not None and claim(self.n_features_in_) is True):
            return None
        K = self._gram_fit()
        judge_gram(K, self.check)
        return K

    def transform(self, X: Any) -> FloatArray:
        """Return the kernel values between new measures and the training measures, (len(X), n)."""
        check_is_fitted(self)
        return self._gram(self._read(X, reset=False))


@dataclass(eq=False, repr=False)
class DistanceToKernel(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Kernel values from distances: a profile of the matrix that :class:`DistanceMatrix` returns.

    .. math:: k = \varphi\left((d / \ell)^h\right), \qquad \varphi(u) = e^{-u/2}
              \quad \text{(exponential)}, \quad \frac{1}{1 + u/2} \quad \text{(rational)}

    Parameters
    ----------
    profile : 'exponential', 'rational' or callable
        :math:`\varphi`; a callable takes the array :math:`(d / \ell)^h` and returns one of the same shape.
    length_scale : float or 'median'
        :math:`\ell`; 'median' is that of the positive training distances, times ``scale``.
    power : float
        h, in (0, 2].
    scale : float
        Multiplies the length scale: a grid in units of the median.

    Attributes
    ----------
    length_scale_ : float
        The length scale in use.
    n_features_in_ : int
        Number of training samples.

    Notes
    -----
    *Positive definite* for every length scale if :math:`d^h` is conditionally negative definite, for both named
    profiles (Schoenberg; the rational one is a mixture of exponential ones). It is a pairwise estimator:
    cross-validation on a matrix of distances cuts rows and columns together. *Cost*: one function value per entry.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import DistanceToKernel
    >>> D = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> DistanceToKernel(length_scale=1.0).fit_transform(D).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    #: How scikit-learn distinguishes matrices of distances from Gram matrices.
    metric = "precomputed"

    profile: str | Callable[[FloatArray], FloatArray] = "exponential"
    length_scale: float | str = "median"
    power: float = 2.0
    scale: float = 1.0

    def fit(self, D: Any, y: Any = None) -> DistanceToKernel:
        """Choose the length scale.

        Parameters
        ----------
        D : array of shape (n, n)
            Distances between the training samples.
        y : ignored
        """
        if not callable(self.profile):
            choice(self.profile, "profile", PROFILES)
        scale = positive(self.scale, "scale")
        real(self.power, "power", low=0.0, high=2.0, open_low=True)
        distances = self._read(D, reset=True)
        n, m = distances.shape
        if n == m and np.allclose(distances, distances.T, rtol=ASYMMETRY, atol=0.0):  # symmetric up to rounding
            distances = (distances + distances.T) / 2.0
        distances = as_distances(distances, "D")
        if isinstance(self.length_scale, str):
            choice(self.length_scale, "length_scale", ["median"])
            self.length_scale_ = scale * median_distance(distances)
        else:
            self.length_scale_ = scale * positive(self.length_scale, "length_scale", "Or 'median'.")
        return self

    def transform(self, D: Any) -> FloatArray:
        """Return the kernel values of distances to the training samples, (m, n)."""
        check_is_fitted(self)
        distances = self._read(D, reset=False)
        exponent = (distances / self.length_scale_) ** self.power
        if not callable(self.profile):
            return PROFILES[self.profile](exponent)
        values: FloatArray = np.asarray(self.profile(exponent), dtype=np.float64)
        if values.shape != exponent.shape or not np.isfinite(values).all():
            raise InvalidParameterError(
                f"`profile` must return finite numbers of the shape it was given, {exponent.shape}; got shape "
                f"{values.shape}{'' if np.isfinite(values).all() else ' with numbers that are not finite'}."
            )
        return values

    def _read(self, D: Any, *, reset: bool) -> FloatArray:
        refuse_masked(D, "D")
        distances: FloatArray = validate_data(self, D, reset=reset, dtype=np.float64)
        if (distances < 0).any():
            i, j = np.argwhere(distances < 0)[0]
            raise UnsuitableDataError(
                f"Negative values in data: `D` must hold distances, at least 0; entry ({i}, {j}) is "
                f"{distances[i, j]:g}. Is it a similarity?"
            )
        return distances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        return tags


def judge_gram(K: FloatArray, check: str) -> None:
    """Warn of an indefinite Gram matrix, or refuse it."""
    # A factorisation within the tolerance of `spectrum`, n eps times the largest eigenvalue, which is at least the
    # largest diagonal entry, saves the eigenvalues.
    n = len(K)
    tolerance = n * np.finfo(np.float64).eps * float(np.diagonal(K).max())
    with suppress(linalg.LinAlgError):
        linalg.cholesky(K + tolerance * np.eye(n), lower=True, check_finite=False)
        return
    report = spectrum(K)
    if report.verdict != "indefinite":
        return
    message = (
        f"the Gram matrix of the {n} training samples is indefinite: eigenvalues from {report.min:.3g} to "
        f"{report.max:.3g}, {report.negative_mass:.2%} of the spectrum is negative. Choose a smaller length scale "
        "(definiteness.psd_length_scale), repair the matrix (definiteness.SpectrumRepair as the next step), or use a "
        "method for indefinite kernels such as LSSVMClassifier; check='ignore' takes it as it is."
    )
    if check == "raise":
        raise UnsuitableDataError(message)
    warnings.warn(message, IndefiniteKernelWarning, stacklevel=4)
