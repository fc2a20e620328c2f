"""Looking at measures, data sets and models: numbers; :mod:`kermes.plot` draws them.

One measure: ``_principal`` axes of its points, and those in the feature space of a point kernel. Two: ``_transport``
what moves where. Many: ``_neighbors`` the measures next to one · ``_map`` the data set on a plane, and how far to
trust it · ``_difference`` where two groups differ. ``_models``: which training measures a prediction comes from; are
the uncertainties of a Gaussian process right? Imports ``estimators`` and everything below.
"""

from __future__ import annotations

from .._names import public_dir
from ._difference import CoordinateDifference, Difference, difference
from ._map import DataMap, data_map
from ._models import Contributions, LeaveOneOut, contributions, leave_one_out
from ._neighbors import Neighbors, nearest
from ._principal import CovarianceSpectrum, WeightedPCA, covariance_spectrum, weighted_pca
from ._transport import TransportPlan, transport_plan

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
