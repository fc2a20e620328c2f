"""Wasserstein features: finite-dimensional features from the positive spectrum of a Gram matrix."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._checks import integer, real
from .._estimator import KernelEstimator
from .._linalg import leading_eigh
from .._typing import FloatArray, IndexArray
from ..core import eigenvalues
from ..exceptions import IndefiniteKernelWarning, InvalidParameterError, UnsuitableDataError

#: Share of negative eigenvalues above which leaving them out is worth a warning.
LARGE_NEGATIVE_MASS = 0.05


@dataclass(eq=False, repr=False)
class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Features of measures whose inner products approximate a kernel, indefinite or not.

    .. math:: \phi_l(x) = \lambda_l^{-1/2} \sum_i v_{il} \, k(x, x_i), \qquad K = V \Lambda V'

    for the eigenvalues :math:`\lambda_l` of the Gram matrix K of the core samples that exceed ``tol``: the
    *Wasserstein features* of "Wasserstein exponential kernels" (equation 2). On the core samples the inner products
    are the truncated matrix :math:`\sum_l \lambda_l v_l v_l'` (Proposition 2.5).

    Parameters
    ----------
    kernel : kernel on measures, None or 'precomputed'
        None: a squared-exponential kernel with the median distance as length scale. 'precomputed': X is a Gram matrix,
        (n, n) to fit and (m, n) to transform.
    n_components : int, optional
        Keep only this many of the largest eigenvalues.
    tol : float
        Eigenvalues up to this number are left out (and those within rounding of zero always are).
    n_core : int, optional
        Number of core samples, drawn without replacement; all by default.
    random_state : int, RandomState or None
        Seed of that draw.

    Attributes
    ----------
    kernel_ : kernel
        The kernel in use.
    eigenvalues_ : ndarray of shape (n_core,)
        The whole spectrum of the core Gram matrix, in descending order; the first ``n_components_`` are kept.
    components_ : ndarray of shape (``n_components_``, n_core)
        Rows :math:`v_l' / \sqrt{\lambda_l}`.
    negative_mass_ : float
        Sum of the sizes of the negative eigenvalues, which are left out, over that of all. A warning says when it
        exceeds 5 %.
    support_ : ndarray of shape (n_core,)
        Rows of the core samples in the training set.

    Notes
    -----
    The spectrum is never flipped or shifted; for that, see ``definiteness.SpectrumRepair``. *Cost*: :math:`O(c^3)` to
    fit with c core samples, then c kernel values and :math:`O(c \, l)` per sample.

    Examples
    --------
    >>> from kermes import KernelFeatures, Measures, divergences, kernels
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0], [5.0]])
    >>> features = KernelFeatures(kernels.Exponential(divergences.Wasserstein())).fit(X)
    >>> F = features.transform(X)
    >>> (F @ F.T).round(3)
    array([[1.   , 0.135, 0.   ],
           [0.135, 1.   , 0.039],
           [0.   , 0.039, 1.   ]])
    """

    kernel: Any = None
    n_components: int | None = None
    tol: float = 1e-6
    n_core: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> KernelFeatures:
        """Decompose the Gram matrix of the core samples."""
        samples = self._read(X, reset=True)
        self._bind(samples, draw_core(len(samples), self.n_core, self.random_state))
        self.components_, self.eigenvalues_ = feature_map(self._gram_fit(), self.tol, self.n_components)
        self.n_components_ = len(self.components_)
        self.negative_mass_ = eigenvalues.negative_mass(self.eigenvalues_)
        warn_negative_mass(self.negative_mass_)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of X, ``(len(X), n_components_)``."""
        check_is_fitted(self)
        return np.asarray(self._gram(self._read(X, reset=False)) @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def warn_negative_mass(negative_mass: float) -> None:
    """Tell when features leave out a good part of the spectrum."""
    if negative_mass > LARGE_NEGATIVE_MASS:
        warnings.warn(
            f"{negative_mass:.1%} of the spectrum of the Gram matrix is negative and is left out of the features. "
            "Choose a smaller length scale (definiteness.psd_length_scale), or a method for indefinite kernels such "
            "as LSSVMClassifier(solver='dual').",
            IndefiniteKernelWarning,
            stacklevel=3,
        )


def draw_core(n_samples: int, n_core: int | None, random_state: Any) -> IndexArray:
    """Return the rows of the core samples in ascending order."""
    if n_core is None:
        return np.arange(n_samples)
    if integer(n_core, "n_core", low=1) > n_samples:
        raise InvalidParameterError(
            f"`n_core` must be at most the number of training samples, {n_samples}; got {n_core}. Use None for all."
        )
    return np.sort(check_random_state(random_state).permutation(n_samples)[:n_core])


def feature_map(K: FloatArray, tol: float, n_components: int | None) -> tuple[FloatArray, FloatArray]:
    """Return the rows v_l' / sqrt(lambda_l) of the kept eigenvalues, and all eigenvalues, descending."""
    real(tol, "tol", low=0.0)
    values, vectors = leading_eigh(K)
    available = int(np.count_nonzero(values > max(tol, eigenvalues.rounding(values))))
    if not available:
        raise UnsuitableDataError(
            f"no eigenvalue of the Gram matrix exceeds `tol` = {tol:g}; the largest is {values[0]:.3g}. Lower `tol`."
        )
    kept = available if n_components is None else integer(n_components, "n_components", low=1)
    if kept > available:
        raise InvalidParameterError(
            f"`n_components` must be at most {available}, the number of eigenvalues above `tol` = {tol:g} among the "
            f"{len(K)} of the core samples ({np.count_nonzero(values < 0)} are negative); got {kept}. Use None for all."
        )
    return vectors[:, :kept].T / np.sqrt(values[:kept, np.newaxis]), values
