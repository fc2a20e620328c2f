"""Linearised transport: measures as maps from a reference measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._checks import integer
from .._typing import FloatArray
from ..divergences import Wasserstein
from ..exceptions import InvalidParameterError
from ..measures import Measures, as_measures
from ._base import MeasureFeatures


@dataclass(eq=False, repr=False)
class LinearTransportFeatures(MeasureFeatures):
    r"""Features of measures by optimal plans from a reference measure; distances approximate W_2.

    .. math:: \phi_j(\mu) = \sqrt{b_j} \; T_\mu(r_j), \qquad T_\mu(r_j) = \frac{1}{b_j} \sum_i \pi_{ji} x_i

    with :math:`\pi` the optimal plan for squared distances from the reference, atoms :math:`r_j` of probabilities
    :math:`b_j`, to :math:`\mu` (Wang et al., 2013).

    Parameters
    ----------
    reference : Measures of one measure, or None
        None: ``n_reference`` atoms of the training measures, equally heavy, drawn with probabilities in proportion to
        their weights; every measure counts as much as every other.
    n_reference : int
        Number of atoms to draw.
    random_state : int, RandomState or None
        Seed of the draw.
    dtype : 'float64' or 'float32'
        Of the features, which are computed in double precision and rounded once.

    Attributes
    ----------
    reference_ : Measures
        The reference in use, one measure.

    Notes
    -----
    *Exact*, up to rounding, for translates of one measure whose optimal plan from the reference is the only one, since
    then :math:`T_{\mu + t} = T_\mu + t`. Where several plans are optimal, translates get the same one if their points
    are translated without rounding, as on a grid: plans are computed for measures moved to the origin by the lower
    corner of their box. Exact for the means in general: distances are at least those of the means. On the
    line features are those of :class:`QuantileFeatures` with the cells of the reference. Elsewhere an approximation,
    too large or too small: measured for handwritten digits with 50 atoms, 4.7 % off in the median, at most 13 % in 95
    of 100 pairs (``python -m benchmarks features_transport``).

    *Streaming*: ``partial_fit`` keeps a weighted reservoir of atoms (Efraimidis and Spirakis, 2006).
    *Cost*: one transport problem per measure; W_2 would take one per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import datasets
    >>> from kermes.features import LinearTransportFeatures
    >>> X, distances = datasets.make_translates(n=4)
    >>> F = LinearTransportFeatures(n_reference=20, random_state=0).fit_transform(X)
    >>> bool(np.allclose(np.linalg.norm(F[:, None] - F[None], axis=-1), distances))
    True
    """

    reference: Measures | None = None
    n_reference: int = 50
    random_state: Any = None
    dtype: str = "float64"

    @property
    def _n_features_out(self) -> int:
        return int(self.reference_.points.size)

    def _learn(self, X: Measures, first: bool) -> None:
        if self.reference is not None:
            self.reference_ = self._given(X.dim)
            return
        if first:
            self._random = check_random_state(self.random_state)
            self._keys, self._kept = np.empty(0), np.empty((0, X.dim))
        # Of exponential waiting times with rates w the first ones are a draw without replacement in proportion to w.
        keys = self._random.exponential(size=len(X.points)) / X.probabilities
        keys, points = np.concatenate([self._keys, keys]), np.concatenate([self._kept, X.points])
        first_ones = np.argsort(keys)[: integer(self.n_reference, "n_reference", low=1)]
        self._keys, self._kept = keys[first_ones], points[first_ones]
        self.reference_ = Measures.from_samples([self._kept])

    def _given(self, dim: int) -> Measures:
        reference = as_measures(self.reference, "reference")
        if len(reference) != 1 or reference.dim != dim:
            raise InvalidParameterError(
                f"`reference` must be one measure on points of dimension {dim}, such as X[[0]]; got {reference!r}."
            )
        return reference

    def _map(self, X: Measures) -> FloatArray:
        transport, reference = Wasserstein(p=2), _moved(self.reference_, _corners(self.reference_))[0]
        roots = np.sqrt(self.reference_.probabilities)[:, None]
        features = np.empty((len(X), self._n_features_out))
        corners = _corners(X)
        for i, measure in enumerate(_moved(X, corners)):
            # The rows of the plan add up to the squares of the roots.
            features[i] = (transport.plan(reference, measure) @ measure.points / roots + roots * corners[i]).ravel()
        return features

    def _numbers(self, X: Measures) -> FloatArray:
        return np.asarray(X.sizes * len(self.reference_.points), dtype=np.float64)


def _corners(X: Measures) -> FloatArray:
    """Return the smallest coordinates of each measure, (n, dim)."""
    return np.asarray(np.minimum.reduceat(X.points, X.offsets[:-1], axis=0))


def _moved(X: Measures, origins: FloatArray) -> Measures:
    """Return the measures with the points relative to one origin each, without a support."""
    points, cuts = X.points - np.repeat(origins, X.sizes, axis=0), X.offsets[1:-1]
    return Measures.from_samples(np.split(points, cuts), np.split(X.weights, cuts))
