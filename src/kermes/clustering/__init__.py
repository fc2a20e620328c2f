"""Clusters of measures, from any divergence, and how they compare with known classes.

``_hierarchical`` trees of merges by scipy · ``_k_medoids`` clusters around members · ``_k_means`` clusters around
barycentres · ``_report`` the table of clusters and classes. Behind them: ``_base`` reads measures and computes their
distances, numbers labels and cuts trees. Imports ``inference`` and everything below; :mod:`kermes.plot` draws the
results. Start reading at ``_hierarchical``.
"""

from __future__ import annotations

from .._names import public_dir
from ._hierarchical import HierarchicalClustering
from ._k_means import KMeans
from ._k_medoids import KMedoids
from ._report import ClusterReport, cluster_report

__all__ = ["ClusterReport", "HierarchicalClustering", "KMeans", "KMedoids", "cluster_report"]
__dir__ = public_dir(__all__)
