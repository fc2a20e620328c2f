"""Why is this prediction what it is, and how do the data lie? Numbers; :mod:`kermes.plot` draws them.

``_neighbours`` the measures next to one · ``_contributions`` which training measures speak for a prediction ·
``_transport`` what moves where between two measures · ``_map`` the data set on a plane, and how far to trust it.
Imports ``estimators`` and everything below.
"""

from __future__ import annotations

from ._contributions import Contributions, contributions
from ._map import DataMap, data_map
from ._neighbours import Neighbours, nearest
from ._transport import TransportPlan, transport_plan

__all__ = [
    "Contributions",
    "DataMap",
    "Neighbours",
    "TransportPlan",
    "contributions",
    "data_map",
    "nearest",
    "transport_plan",
]
