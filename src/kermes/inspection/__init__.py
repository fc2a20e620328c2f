"""Looking at measures, data sets and models: numbers; :mod:`kermes.plot` draws them.

``_measures``: of one, principal axes of its points and in the feature space of a point kernel; of two, what moves
where. Many: ``_map`` the measures next to one, and the data set on a plane · ``_difference`` where two groups differ.
``_models``: which training measures a prediction comes from; are the uncertainties of a Gaussian process right?
Imports ``estimators``, ``inference`` and everything below. Start reading at ``_measures``.
"""

from __future__ import annotations

from .._names import public_dir
from ._difference import CoordinateDifference, Difference, difference
from ._map import DataMap, Neighbors, data_map, nearest
from ._measures import CovarianceSpectrum, TransportPlan, WeightedPCA, covariance_spectrum, transport_plan, weighted_pca
from ._models import Contributions, LeaveOneOut, contributions, leave_one_out

__all__ = [
    "Contributions",
    "CoordinateDifference",
    "CovarianceSpectrum",
    "DataMap",
    "Difference",
    "LeaveOneOut",
    "Neighbors",
    "TransportPlan",
    "WeightedPCA",
    "contributions",
    "covariance_spectrum",
    "data_map",
    "difference",
    "leave_one_out",
    "nearest",
    "transport_plan",
    "weighted_pca",
]
__dir__ = public_dir(__all__)
