"""Principal axes of the points of a measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._linalg import leading_eigh
from .._typing import FloatArray
from ..measures import Measure
from ..measures._mean import single


@dataclass(frozen=True, eq=False)
class WeightedPCA:
    """Mean and principal axes of a measure.

    Parameters
    ----------
    mean : ndarray of shape (d,)
    variances : ndarray of shape (d,)
        Along the axes, in descending order.
    axes : ndarray of shape (d, d)
        Orthonormal rows; the largest entry of each is positive.
    """

    mean: FloatArray
    variances: FloatArray
    axes: FloatArray

    @property
    def generalized_variance(self) -> float:
        """Determinant of the covariance: the product of the variances."""
        return float(np.prod(self.variances))


def weighted_pca(measure: Measure) -> WeightedPCA:
    r"""Return the principal axes of a measure.

    They diagonalise the covariance :math:`\Sigma = \sum_i a_i (x_i - m)(x_i - m)'` with the mean
    :math:`m = \sum_i a_i x_i` and weights that are normalised to sum 1: what the linear IGV kernel sees of a measure.

    Parameters
    ----------
    measure : Measure
        Such as ``X[0]``.

    Examples
    --------
    >>> from kermes import Measures
    >>> from kermes.inspection import weighted_pca
    >>> pca = weighted_pca(Measures.from_samples([[[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]]], [[1, 1, 2]])[0])
    >>> pca.mean, pca.variances
    (array([2. , 0.5]), array([2.  , 0.25]))
    """
    measure = single(measure)
    a = measure.weights / measure.mass
    mean = a @ measure.points
    centred = measure.points - mean
    variances, axes = leading_eigh((centred.T * a) @ centred)
    return WeightedPCA(mean, np.maximum(variances, 0.0), axes.T)
