"""One set of atoms for all measures: huge clouds become histograms."""

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
from ..measures import Measures
from ..measures._build import pack
from ..measures._packed import Support
from ..measures._quantize import POINTS_PER_ATOM, Sample, draw, k_means, nearest, no_sample

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
        Atoms of the codebook; fewer if the training measures have no more distinct points, which are then kept as they
        are.
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
        self._learn(X, first=True)
        self._atoms = self.atoms_
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Codebook:
        """Learn from one more batch of a stream."""
        self._learn(X, first=not hasattr(self, "_sample"))
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
            points, weights = Sample(*self._sample).drawn(self._size)
            self._atoms = k_means(points, weights, self.n_atoms, self._seed)
        return np.asarray(self._atoms)

    @property
    def _size(self) -> int:
        return POINTS_PER_ATOM * self.n_atoms

    def _learn(self, X: Any, first: bool) -> None:
        """Add to the sample of points; ``first`` forgets what was learned before."""
        integer(self.n_atoms, "n_atoms", low=1)
        measures = self._read_measures(X, reset=first)
        if first:
            self._random = check_random_state(self.random_state)
            self._seed = int(self._random.randint(2**31 - 1))
            self._sample = tuple(no_sample(measures.dim))
        sample = Sample(*self._sample)
        for part in self._parts(measures):
            sample = draw(sample, part.points, part.probabilities, self._size, self._random)
        self._sample = tuple(sample)
        self._atoms = None

    def _parts(self, X: Measures) -> list[Measures]:
        """Return the measures in parts, within a batch of atoms and histograms; consecutive measures are not copied."""
        return [X[rows] for rows in batches(np.asarray(X.sizes + self.n_atoms, dtype=np.float64), BATCH)]
