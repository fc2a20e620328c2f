"""The eigenvalues of a Gram matrix, what they say, and repairs of an indefinite one that somebody asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import as_symmetric, choice
from .._linalg import eigh, eigvalsh
from .._quantities import counted
from .._typing import ArrayLike, FloatArray
from .._values import refuse_masked
from ..core import eigenvalues
from ..core.eigenvalues import negative_mass, rounding

#: Repairs.
HOW = ("clip", "flip", "shift")


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum:
    """Report on the eigenvalues of a symmetric matrix.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
        In ascending order, read-only.
    tolerance : float
        n eps max|lambda|: an eigenvalue of smaller size may be zero, of either sign.
    """

    eigenvalues: FloatArray
    tolerance: float

    @property
    def min(self) -> float:
        """Smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def max(self) -> float:
        """Largest eigenvalue."""
        return float(self.eigenvalues[-1])

    @property
    def negative_mass(self) -> float:
        """Sum of the sizes of the negative eigenvalues over that of all, in [0, 1]."""
        return negative_mass(self.eigenvalues)

    @property
    def condition(self) -> float:
        """Largest over smallest absolute eigenvalue; infinite for a singular matrix."""
        sizes = np.abs(self.eigenvalues)
        return float(sizes.max() / sizes.min()) if sizes.min() > 0 else float("inf")

    @property
    def verdict(self) -> str:
        """'positive definite', 'positive semidefinite (to rounding)' or 'indefinite'."""
        if self.min > self.tolerance:
            return "positive definite"
        return "positive semidefinite (to rounding)" if self.min >= -self.tolerance else "indefinite"

    def __repr__(self) -> str:
        n = len(self.eigenvalues)
        return (
            f"Spectrum({self.verdict}: {counted(n, 'eigenvalue')} in [{self.min:.3g}, {self.max:.3g}], "
            f"negative mass {self.negative_mass:.2%}, condition {self.condition:.2g})"
        )


def spectrum(K: ArrayLike) -> Spectrum:
    r"""Report on the eigenvalues of a Gram matrix.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric up to rounding (1e-8 of its largest entry).

    Returns
    -------
    Spectrum
        ``eigenvalues``, ``min``, ``max``, ``negative_mass``, ``condition``, ``verdict``, ``tolerance``.

    Notes
    -----
    *Rule*: with the tolerance :math:`\tau = n \epsilon \max_i |\lambda_i|` (:math:`\epsilon` of float64), K is called
    positive definite if :math:`\lambda_{\min} > \tau`, indefinite if :math:`\lambda_{\min} < -\tau`, and positive
    semidefinite (to rounding) in between. *Cost*: :math:`O(n^3)`.

    Examples
    --------
    >>> from kermes import definiteness
    >>> definiteness.spectrum([[1.0, 0.5], [0.5, 1.0]])
    Spectrum(positive definite: 2 eigenvalues in [0.5, 1.5], negative mass 0.00%, condition 3)
    >>> definiteness.spectrum([[1.0, 2.0], [2.0, 1.0]]).verdict
    'indefinite'
    """
    values: FloatArray = eigvalsh(as_symmetric(K, "K"))
    values.flags.writeable = False
    return Spectrum(values, rounding(values))


def repair(K: ArrayLike, how: str = "clip") -> FloatArray:
    r"""Return a positive semidefinite matrix near the symmetric matrix :math:`K = V \Lambda V'`.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric up to rounding.
    how : 'clip', 'flip' or 'shift'
        - clip: :math:`V \max(\Lambda, 0) V'`, the nearest one in Frobenius norm;
        - flip: :math:`V |\Lambda| V'`, which takes large negative eigenvalues for information;
        - shift: :math:`K + |\min(\lambda_{\min}, 0)| I`, which changes self-similarities only.

    Returns
    -------
    ndarray of shape (n, n), a fresh array
        Positive semidefinite to rounding. A matrix that is so already comes back as it is.

    Notes
    -----
    New samples need the same treatment as the training samples: use :class:`SpectrumRepair`. *Cost*: :math:`O(n^3)`.

    Examples
    --------
    >>> from kermes import definiteness
    >>> definiteness.repair([[1.0, 2.0], [2.0, 1.0]], how="clip")
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    choice(how, "how", HOW)
    symmetric = as_symmetric(K, "K")
    values, vectors = eigh(symmetric)
    return _repaired(symmetric, values, vectors, how)


@dataclass(eq=False, repr=False)
class SpectrumRepair(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Repair an indefinite precomputed Gram matrix, with a consistent rule for new samples.

    ``fit_transform(K)`` is ``repair(K, how)``. A new sample with kernel values :math:`k_x` (one per training
    sample) becomes :math:`k_x V g(\Lambda) V'`, where g is 1 on the positive part of the spectrum, and 0 (clip) or -1
    (flip) on the negative part; with shift it stays as it is. A row that equals a row of the training matrix is that
    training sample: ``transform`` returns its row of the repaired matrix, bit by bit.

    Parameters
    ----------
    how : 'clip', 'flip' or 'shift'
        See :func:`repair`.

    Attributes
    ----------
    spectrum_ : Spectrum
        Eigenvalues of the training matrix before the repair.
    transfer_ : ndarray of shape (n, n) or None
        :math:`V g(\Lambda) V'`; None when new rows stay as they are (shift, or nothing to repair).
    repaired_ : ndarray of shape (n, n)
        The repaired training matrix.

    Notes
    -----
    *Cost*: :math:`O(n^3)` to fit, :math:`O(n^2)` per new sample. It is a pairwise estimator: cross-validation cuts
    rows and columns of K together. Equal samples have equal rows: alone, each is taken for the first of them, which
    matters for shift only; the training matrix as a whole is always recognised.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import definiteness
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> step = definiteness.SpectrumRepair("clip").fit(K)
    >>> step.transform([[1.0, 0.0]])
    array([[0.5, 0.5]])
    """

    how: str = "clip"

    def fit(self, K: Any, y: Any = None) -> SpectrumRepair:
        """Decompose the training Gram matrix K of shape (n, n)."""
        choice(self.how, "how", HOW)
        refuse_masked(K, "K")
        given: FloatArray = validate_data(self, K, dtype=np.float64)
        symmetric = as_symmetric(given, "K")
        values, vectors = eigh(symmetric)
        self.spectrum_ = Spectrum(values, eigenvalues.rounding(values))
        untouched = self.how == "shift" or self.spectrum_.verdict != "indefinite"
        self.transfer_ = None if untouched else eigenvalues.compose(eigenvalues.factors(values, self.how), vectors)
        self.repaired_ = _repaired(symmetric, values, vectors, self.how)
        self._names = _names(given)
        return self

    def fit_transform(self, K: Any, y: Any = None) -> FloatArray:
        """Return the repaired training Gram matrix: ``repair(K, how)``."""
        return self.fit(K).repaired_.copy()

    def transform(self, K: Any) -> FloatArray:
        """Return the repaired kernel values of new samples, K of shape (m, n) against the training samples."""
        check_is_fitted(self)
        refuse_masked(K, "K")
        rows: FloatArray = validate_data(self, K, reset=False, dtype=np.float64)
        names = _names(rows)
        if names == self._names:
            return self.repaired_.copy()
        repaired = rows.copy() if self.transfer_ is None else rows @ self.transfer_
        first = {name: i for i, name in reversed(list(enumerate(self._names)))}
        for i, name in enumerate(names):
            if name in first:
                repaired[i] = self.repaired_[first[name]]
        return repaired

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


def _names(rows: FloatArray) -> list[bytes]:
    """Return a digest of each row."""
    return [hashlib.blake2b(np.ascontiguousarray(row).data, digest_size=16).digest() for row in rows]


def _repaired(K: FloatArray, values: FloatArray, vectors: FloatArray, how: str) -> FloatArray:
    if how == "shift":
        return K + eigenvalues.shift(values) * np.eye(len(K))
    factors = eigenvalues.factors(values, how)
    return K.copy() if factors.min() == 1.0 else eigenvalues.compose(values * factors, vectors)
