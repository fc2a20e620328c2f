"""What people compute who do not compare measures as wholes: moments of the points, shares of clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._checks import integer
from .._typing import FloatArray
from ..core import ragged
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ._base import MeasureFeatures
from ._codebook import Codebook


@dataclass(eq=False, repr=False)
class MomentFeatures(MeasureFeatures):
    r"""Means of the coordinates of each measure, and their standard deviations: the usual baseline.

    .. math:: \phi(\mu) = \left(\mathbb E_\mu[x_1], \dots, \mathbb E_\mu[x_d], \;
              \sigma_\mu(x_1), \dots, \sigma_\mu(x_d)\right)

    Parameters
    ----------
    n_moments : 1 or 2
        1: the means only (a "pseudo-bulk" profile); 2: the standard deviations too.
    dtype : 'float64' or 'float32'
        Type of the features.

    Notes
    -----
    Masses are normalised. What they do not see (shapes, small populations, correlations) is what kernels on measures
    are for: :func:`~kermes.compare` shows both. *Cost*: one pass over the atoms.

    Examples
    --------
    >>> from kermes import Measures
    >>> from kermes.features import MomentFeatures
    >>> MomentFeatures(n_moments=2).fit_transform(Measures.from_samples([[0.0, 2.0], [5.0]]))
    array([[1., 1.],
           [5., 0.]])
    """

    n_moments: int = 1
    dtype: str = "float64"

    def _learn(self, X: Measures, first: bool) -> None:
        if self.n_moments not in (1, 2):
            raise InvalidParameterError(f"`n_moments` must be 1 or 2; got {self.n_moments!r}.")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_moments * self.n_features_in_)

    def _map(self, X: Measures) -> FloatArray:
        means = X.expectation(X.points)
        if self.n_moments == 1:
            return means
        owner = ragged.owners(X.offsets)
        centred = X.points - means[owner]
        centred -= X.expectation(centred)[owner]  # what the rounding of the mean left
        # Squares are taken in units of the largest deviation of each measure: they neither vanish nor overflow.
        units = np.maximum.reduceat(np.abs(centred), X.offsets[:-1], axis=0)
        units[units == 0.0] = 1.0
        return np.hstack([means, units * np.sqrt(X.expectation((centred / units[owner]) ** 2))])

    def _numbers(self, X: Measures) -> FloatArray:
        return np.asarray(3.0 * X.dim * X.sizes)


@dataclass(eq=False, repr=False)
class ClusterShares(MeasureFeatures):
    r"""Share of each measure in each of a few clusters of points: "cell type proportions" without the cell types.

    .. math:: \phi_k(\mu) = \mu\{x : c(x) = c_k\} / \mu(\mathbb R^d)

    with c(x) the nearest of ``n_clusters`` k-means centres of the training measures, those of a
    :class:`~kermes.features.Codebook`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters; fewer if there are fewer distinct points.
    random_state : int, RandomState or None
        Seed of k-means.
    dtype : 'float64' or 'float32'
        Type of the features.

    Attributes
    ----------
    codebook_ : Codebook
        Its ``atoms_`` are the centres.

    Notes
    -----
    Where the clusters are does not count: two measures in neighbouring clusters are as different as two far apart,
    unlike under a transport distance. *Cost*: ``n_clusters`` distances for each atom.

    Examples
    --------
    >>> from kermes import Measures
    >>> from kermes.features import ClusterShares
    >>> X = Measures.from_samples([[0.0, 0.1, 5.0, 5.1], [0.1, 0.0, 0.0, 5.0]])
    >>> ClusterShares(n_clusters=2, random_state=0).fit_transform(X)
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    """

    n_clusters: int = 20
    random_state: Any = None
    dtype: str = "float64"
    codebook_: Any = field(init=False, repr=False)

    def _learn(self, X: Measures, first: bool) -> None:
        integer(self.n_clusters, "n_clusters", low=1)
        if first:
            self.codebook_ = Codebook(self.n_clusters, self.random_state)
        self.codebook_.partial_fit(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.codebook_.atoms_)

    def _map(self, X: Measures) -> FloatArray:
        near, shares = self.codebook_.transform(X), np.zeros((len(X), self._n_features_out))
        shares[ragged.owners(near.offsets), near.atoms] = near.probabilities
        return shares

    def _numbers(self, X: Measures) -> FloatArray:
        return np.asarray(X.sizes + self.n_clusters, dtype=np.float64)
