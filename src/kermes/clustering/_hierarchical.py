"""Hierarchical clustering: scipy's linkage on the distances of measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from .._checks import choice
from .._scales import unit_of
from .._typing import IndexArray
from ._base import MeasureClustering, cut_tree

LINKAGES = ("single", "complete", "average", "weighted", "centroid", "median", "ward")


@dataclass(eq=False, repr=False)
class HierarchicalClustering(MeasureClustering):
    r"""Merge measures into clusters, the nearest two clusters first.

    Parameters
    ----------
    divergence : Divergence, None or 'precomputed'
        The distance d between measures. None: sliced Wasserstein. 'precomputed': X is a matrix of distances.
    n_clusters : int
        Number of clusters in ``labels_``, from 1 to the number of measures; :meth:`cut` gives other numbers.
    linkage : str
        Distance between clusters: 'single' the least, 'complete' the largest, 'average' the mean of the distances of
        their members; 'weighted' the mean over the two parts of a cluster, whatever their sizes; 'centroid' the
        distance of the means, 'median' the same with the means of both parts, 'ward' the root of twice the growth of
        the sum of squares.
    optimal_ordering : bool
        Order the leaves such that neighbours are as near as possible: a better picture for several times the time
        and memory of the tree. The clusters are the same.
    engine : Engine, optional
        How distances are computed and remembered.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Clusters, numbered by size: 0 is the largest. Clusters of equal size are in the order of their first members.
    linkage_ : ndarray of shape (n - 1, 4)
        The tree, as :func:`scipy.cluster.hierarchy.linkage` has it: the two clusters merged, their distance, the size.
    leaves_ : ndarray of shape (n,)
        The measures in the order of the tree, in which every cluster is a run.
    distances_ : ndarray of shape (n, n)
        The distances.
    divergence_ : Divergence or 'precomputed'
        The divergence in use.

    Notes
    -----
    *Euclidean linkages*: 'centroid', 'median' and 'ward' are computed from the distances alone, by the formulas that
    hold for points of a Hilbert space. They mean what they say if d is the distance of such points, that is if
    :math:`d^2` is conditionally negative definite: ``divergence.claims(dim).negative_type`` is then 2 or more. For
    other distances they are heuristics, without means and without sums of squares; the first two may merge at a
    smaller height than before for any distances. *Ties*: a cut undoes the last merges of the tree, so it has exactly
    the number of clusters asked for. *Cost*: the distances, then :math:`O(n^2)` (:math:`O(n^2 \log n)` at worst for
    'centroid' and 'median'); the matrix and one copy are held.

    See Also
    --------
    kermes.plot.dendrogram : the tree.
    kermes.plot.heatmap : the distances in the order of the tree.
    cluster_report : clusters against known classes.

    Examples
    --------
    >>> from kermes import Measures, clustering, divergences
    >>> X = Measures.from_samples([[0.0, 1.0], [9.0, 9.5], [0.5], [1.0, 2.0]])
    >>> tree = clustering.HierarchicalClustering(divergences.Wasserstein(), n_clusters=2).fit(X)
    >>> tree.labels_
    array([0, 1, 0, 0])
    >>> tree.cut(3)
    array([0, 1, 0, 2])
    """

    divergence: Any = None
    n_clusters: int = 2
    linkage: str = "average"
    optimal_ordering: bool = False
    engine: Any = None

    def fit(self, X: Any, y: Any = None) -> HierarchicalClustering:
        """Build the tree and cut it."""
        choice(self.linkage, "linkage", LINKAGES)
        _, self.distances_ = self._read_training(X)
        self.linkage_, self.leaves_ = np.zeros((0, 4)), np.zeros(1, dtype=np.int64)
        if len(self.distances_) > 1:
            # checks=False: the matrix is symmetric by construction, and the check would copy it.
            condensed = squareform(self.distances_, checks=False)
            unit = unit_of(condensed)
            condensed /= unit
            self.linkage_ = np.asarray(linkage(condensed, self.linkage, optimal_ordering=self.optimal_ordering))
            self.linkage_[:, 2] *= unit
            self.leaves_ = leaves_list(self.linkage_).astype(np.int64)
        self.labels_ = cut_tree(self.linkage_, self.n_clusters)
        return self

    def cut(self, n_clusters: int) -> IndexArray:
        """Return the labels of another number of clusters of the same tree, numbered by size."""
        check_is_fitted(self)
        return cut_tree(self.linkage_, n_clusters)
