"""Looking at single measures the way the kernels do: principal axes, and eigenfunctions of covariance operators.

``_spectrum`` covariance operators in the feature space of a point kernel · ``_pca`` the same for the points
themselves · ``_mean`` the mean of two measures, which semigroup kernels are functions of. Imports ``measures``,
``ground`` and ``core``; ``kermes.plot`` draws the results.
"""

from __future__ import annotations

from ._mean import mean_measure
from ._pca import WeightedPCA, weighted_pca
from ._spectrum import CovarianceSpectrum, covariance_spectrum

__all__ = ["CovarianceSpectrum", "WeightedPCA", "covariance_spectrum", "mean_measure", "weighted_pca"]
