"""Clusters of measures, from any divergence, and how they compare with known classes.

``hierarchical`` trees of merges by scipy · ``k_medoids`` clusters around members · ``report`` the table of clusters and
classes. Behind them: ``_base`` reads measures and computes their distances, ``_pam`` the search for medoids. Imports
``estimators`` and everything below; :mod:`kermes.plot` draws the results. Start reading at ``hierarchical``.
"""

from __future__ import annotations

from .hierarchical import HierarchicalClustering
from .k_medoids import KMedoids
from .report import ClusterReport, cluster_report

__all__ = ["ClusterReport", "HierarchicalClustering", "KMedoids", "cluster_report"]
