"""Looking at single measures the way the kernels do, and at Gaussian processes: are their uncertainties right?

``_spectrum`` covariance operators in the feature space of a point kernel · ``_pca`` the same for the points
themselves · ``_mean`` the mean of two measures, which semigroup kernels are functions of · ``_leave_one_out`` of
fitted Gaussian processes. Imports ``measures``,
``ground`` and ``core``; ``kermes.plot`` draws the results.
"""

from __future__ import annotations

from ._leave_one_out import LeaveOneOut, leave_one_out
from ._mean import mean_measure
from ._pca import WeightedPCA, weighted_pca
from ._spectrum import CovarianceSpectrum, covariance_spectrum

__all__ = [
    "CovarianceSpectrum",
    "LeaveOneOut",
    "WeightedPCA",
    "covariance_spectrum",
    "leave_one_out",
    "mean_measure",
    "weighted_pca",
]
