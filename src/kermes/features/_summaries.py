"""Clouds in short: atoms that all measures share, and baselines that do not compare measures as wholes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._checks import integer, real
from .._estimator import MeasureEstimator
from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..divergences._base import batches
from ..exceptions import InvalidParameterError
from ..measures import Measures
from ..measures._build import pack
from ..measures._packed import Support
from ..measures._quantize import POINTS_PER_ATOM, Sample, draw, k_means, nearest, no_sample
from ._base import MeasureFeatures

#: Atoms that are read at a time: 1 MB for each coordinate.
BATCH = 1 << 17


@dataclass(eq=False, repr=False)
class Codebook(TransformerMixin, MeasureEstimator):
    r"""Move every atom to the nearest of a few atoms that all measures share: huge clouds become histograms.

    .. math:: Q\mu = \sum_i w_i \, \delta_{c(x_i)}, \qquad
              \left| W_p(\mu, \nu) - W_p(Q\mu, Q\nu) \right| \leq q_p(\mu) + q_p(\nu), \qquad
              q_p(\mu) = \Big( \sum_i a_i |x_i - c(x_i)|^p \Big)^{1/p}

    with c(x) the nearest atom of the codebook and :math:`a_i` the probabilities of the atoms of :math:`\mu`.
    :meth:`errors` returns the :math:`q_p`.

    Parameters
    ----------
    n_atoms : int
        Atoms of the codebook; fewer if the training measures have fewer distinct points, which are then the atoms.
    random_state : int, RandomState or None
        Seed of the sample and of k-means.

    Attributes
    ----------
    atoms_ : ndarray of shape (n_atoms, dim)
        The codebook, in lexicographic order.

    Notes
    -----
    Atoms are those of k-means (k-means++, scikit-learn's ``KMeans``) for the mean of the training measures, each of
    mass 1: a measure of many points or of large mass counts no more. K-means sees a weighted sample of 128 points for
    each atom, drawn without replacement from everything that was fitted, in whatever batches and order it came;
    the codebook keeps that sample, in model files too. After ``partial_fit`` the atoms are computed when they are first
    asked for.

    Masses and names of measures are kept. Equal input gives equal bits, so that the engine remembers distances. The
    result is :class:`~kermes.Measures` also for a 2-D array, whose rows are Dirac masses; ``set_output`` does nothing.
    *Cost*: ``n_atoms`` distances for every atom, in batches: memory does not grow with the clouds.

    References
    ----------
    Canas, G. D. and Rosasco, L. (2012). Learning probability measures with respect to optimal transport metrics.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, pairwise
    >>> from kermes.features import Codebook
    >>> rng = np.random.default_rng(0)
    >>> X = Measures.from_samples([rng.normal(i, 1.0, (20_000, 2)) for i in range(3)])
    >>> codebook = Codebook(n_atoms=100, random_state=0).fit(X)
    >>> Q = codebook.transform(X)
    >>> Q
    Measures(3 measures in dimension 2, 87 to 98 atoms, 100 common bins)
    >>> bool((codebook.errors(X) < 0.3).all())
    True
    >>> pairwise(Q, divergence=divergences.Wasserstein())[0].round(1)  # exact: 0, 1.4, 2.8
    array([0. , 1.4, 2.8])
    """

    n_atoms: int = 256
    random_state: Any = None
    #: The sample of a stream, plain arrays for model files, and the atoms once they are known.
    _sample: Any = field(init=False, repr=False)
    _atoms: Any = field(init=False, repr=False)

    def fit(self, X: Any, y: Any = None) -> Codebook:
        """Learn the atoms."""
        self._learn(X, y, first=True)
        self._atoms = self.atoms_
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Codebook:
        """Learn from one more batch of a stream."""
        self._learn(X, y, first=not hasattr(self, "_sample"))
        return self

    def transform(self, X: Any) -> Measures:
        """Return the measures with every atom at the nearest one of the codebook."""
        check_is_fitted(self)
        measures, k = self._read_measures(X, reset=False), len(self.atoms_)
        sizes, ids, masses = [], [], []
        for part in self._parts(measures):
            bins = ragged.owners(part.offsets) * k + self._numbers(part)
            histograms = np.bincount(bins, part.weights, len(part) * k).reshape(len(part), k)
            row, used = np.nonzero(histograms)
            sizes.append(np.bincount(row, minlength=len(part)))
            ids.append(used)
            masses.append(np.asarray(histograms[row, used], dtype=np.float64))
        atoms, offsets = np.concatenate(ids), ragged.offsets_of(np.concatenate(sizes))
        weights, support = np.concatenate(masses), Support(self.atoms_)
        return Measures(pack(self.atoms_[atoms], weights, offsets, support, atoms, measures.keys))

    def errors(self, X: Any, p: float = 2) -> FloatArray:
        """Return the errors of quantisation q_p of measures, (len(X),): W_p to the result of ``transform`` is no more.

        Parameters
        ----------
        X : Measures
        p : float
            At least 1.
        """
        check_is_fitted(self)
        p, measures = real(p, "p", low=1.0), self._read_measures(X, reset=False)
        return np.concatenate([self._errors(part, p) for part in self._parts(measures)])

    def _errors(self, X: Measures, p: float) -> FloatArray:
        numbers, distances = self._numbers(X), np.zeros(len(X.points))
        for x, atoms in zip(X.points.T, self.atoms_.T, strict=True):
            distances = np.hypot(distances, x - atoms[numbers])
        unit = np.ldexp(0.5, np.frexp(distances.max())[1])  # powers of huge and tiny distances stay within range
        return np.asarray(unit * ragged.segment_sums(X.probabilities * (distances / unit) ** p, X.offsets) ** (1 / p))

    def _numbers(self, X: Measures) -> IndexArray:
        """Return the number of the nearest atom of the codebook for each atom; looked for once in a shared support."""
        if X.support is not None and X.atoms is not None and len(X.support.points) < len(X.points):
            return nearest(X.support.points, self.atoms_)[X.atoms]
        return nearest(X.points, self.atoms_)

    @property
    def atoms_(self) -> FloatArray:
        """Points of the codebook, (n_atoms, dim)."""
        if self._atoms is None:
            points, weights = Sample(*self._sample).drawn(POINTS_PER_ATOM * self.n_atoms)
            self._atoms = k_means(points, weights, self.n_atoms, self._seed)
        return np.asarray(self._atoms)

    def _learn(self, X: Any, y: Any, first: bool) -> None:
        """Add to the sample of points; ``first`` forgets what was learned before."""
        integer(self.n_atoms, "n_atoms", low=1)
        measures = self._read_measures(X, reset=first, y=y)
        if first:
            self._random = check_random_state(self.random_state)
            self._seed = int(self._random.randint(2**31 - 1))
            self._sample = tuple(no_sample(measures.dim))
        sample, size = Sample(*self._sample), POINTS_PER_ATOM * self.n_atoms
        for part in self._parts(measures):
            sample = draw(sample, part.points, part.probabilities, size, self._random)
        self._sample = tuple(sample)
        self._atoms = None

    def _parts(self, X: Measures) -> list[Measures]:
        """Return the measures in parts, within a batch of atoms and histograms; consecutive measures are not copied."""
        return [X[rows] for rows in batches(np.asarray(X.sizes + self.n_atoms, dtype=np.float64), BATCH)]


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
