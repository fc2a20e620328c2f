"""Making an indefinite Gram matrix positive semidefinite, as a step that somebody asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import choice
from .._linalg import eigh
from .._typing import ArrayLike, FloatArray
from ..core import eigenvalues
from ._spectrum import Spectrum, as_symmetric

HOW = ("clip", "flip", "shift")


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
