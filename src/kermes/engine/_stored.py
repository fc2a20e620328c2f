"""Matrices that stay on disk and are read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np

from .._checks import integer
from .._typing import AnyArray, FloatArray, IndexArray
from ..exceptions import InvalidParameterError, StoreError
from ._store import StoreKeeper


class StoredMatrix:
    """A matrix in a store: has a shape, is indexed like an array, and is read when asked for.

    ``M[i]``, ``M[a:b]``, ``M[rows]``, ``M[i, j]`` and ``M[np.ix_(rows, cols)]`` are arrays; ``np.asarray(M)`` is the
    whole matrix. Whole chunks are read: a row costs as much as the strip of rows it is in, so go through a large matrix
    with :meth:`strips`, or by iteration over its rows.
    """

    ndim = 2

    def __init__(self, keeper: StoreKeeper, name: str = "values") -> None:
        self._keeper = keeper
        self._name = name

    @property
    def shape(self) -> tuple[int, int]:
        """Measures of X and of Y."""
        return self._keeper.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return np.dtype(np.uint8) if self._name == "status" else np.dtype(self._keeper.manifest["dtype"])

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.shape[0] * self.shape[1]

    @property
    def path(self) -> str:
        """Folder of the store."""
        return str(self._keeper.path)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]}, {self.dtype}, in {self.path})"

    @property
    def n_unconverged(self) -> int:
        """Number of entries of the matrix whose tolerance was not reached; counted when they were written."""
        return self._keeper.n_unconverged()

    def strips(self) -> Iterator[tuple[IndexArray, AnyArray]]:
        """Yield row numbers and their rows, some hundred at a time: the whole matrix within little memory."""
        n, m = self.shape
        for start in range(0, n, self._keeper.side):
            rows = np.arange(start, min(start + self._keeper.side, n))
            yield rows, self._block(rows, np.arange(m))

    def __iter__(self) -> Iterator[AnyArray]:
        for _, strip in self.strips():
            yield from strip

    def __getitem__(self, key: Any) -> Any:
        keys = list(key) if isinstance(key, tuple) else [key]
        if keys and keys[-1] is Ellipsis:
            keys.pop()
        if len(keys) > 2 or any(part is Ellipsis or part is None for part in keys):
            raise IndexError(f"a stored matrix has two axes; got the index {key!r}")
        crossed = len(keys) == 2 and all(np.ndim(part) == 2 for part in keys)  # np.ix_
        parts = [part.ravel() if crossed else part for part in keys]
        if not crossed and sum(np.ndim(part) == 1 for part in parts) == 2:
            raise IndexError("a stored matrix reads blocks; write D[np.ix_(rows, cols)]")
        parts += [slice(None)] * (2 - len(parts))
        rows, cols = (_positions(part, size) for part, size in zip(parts, self.shape, strict=True))
        block = self._block(np.atleast_1d(rows), np.atleast_1d(cols))
        return block[tuple(0 if part.ndim == 0 else slice(None) for part in (rows, cols))]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("a stored matrix has to be read; there is no array to share")
        return np.asarray(self[:, :], dtype=dtype)

    def _block(self, rows: IndexArray, cols: IndexArray) -> AnyArray:
        """Return the entries rows x cols, each chunk read once; equal measures have the same, where it matters."""
        side, places = self._keeper.side, self._keeper.places
        rows, cols = places[0][rows], places[1][cols]
        out = np.empty((len(rows), len(cols)), dtype=self.dtype)
        for i in np.unique(rows // side):
            mine = np.flatnonzero(rows // side == i)
            for j in np.unique(cols // side):
                yours = np.flatnonzero(cols // side == j)
                chunk = self._keeper.chunk(int(i), int(j), self._name)
                out[np.ix_(mine, yours)] = chunk[np.ix_(rows[mine] - i * side, cols[yours] - j * side)]
        return out


class StoredDistances(StoredMatrix):
    """Distances on disk, as :func:`~kermes.pairwise` returns them for an engine with a store.

    Parameters
    ----------
    path : str or path
        Folder of a finished store.
    squared : bool
        Read squared distances.

    Notes
    -----
    Indexing reads chunks (see ``strips``); ``np.asarray(D)`` gives the whole matrix, equal to the bit to the one
    computed in memory (in float32, rounded to it). Learners that want a matrix (``KMedoids("precomputed")``,
    ``KNeighborsClassifier(metric="precomputed")``, ``divergences.Precomputed``) take it as it is and load all of it.
    A batch that is missing or damaged is a :class:`~kermes.exceptions.StoreError`, never a number.
    Neighbours need less: :meth:`top_k`, and :meth:`kneighbors_graph` for learners of scikit-learn.

    Examples
    --------
    >>> import tempfile
    >>> from kermes import Engine, Measures, divergences, pairwise
    >>> X = Measures.from_samples([[0.0], [1.0], [4.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     D = pairwise(X, divergence=divergences.Wasserstein(), engine=Engine(store=f"{folder}/d.zarr"))
    ...     D[0], D.squared[2, 0], D.condensed()
    (array([0., 1., 4.]), np.float64(16.0), array([1., 4., 3.]))
    """

    def __init__(self, path: str | PathLike[str] | StoreKeeper, squared: bool = False) -> None:
        keeper = path if isinstance(path, StoreKeeper) else StoreKeeper(path, writable=False)
        marks = keeper.marks()
        finished = sum(mark.finished for mark in marks)
        if finished < len(marks):
            raise StoreError(
                f"`{keeper.path}` is not finished: {finished} of {len(marks)} batches are there. Continue it with "
                "pairwise(..., engine=Engine(store=...)) and the same data and divergence."
            )
        super().__init__(keeper)
        self._squared = squared

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredDistances, (self.path, self._squared)

    @property
    def squared(self) -> StoredDistances:
        """The same store, read as squared distances."""
        return StoredDistances(self._keeper, squared=True)

    @property
    def raw(self) -> StoredMatrix:
        """The stored values themselves, d**power."""
        return StoredMatrix(self._keeper)

    @property
    def status(self) -> StoredMatrix:
        """Status of each pair: 0 = fine, 1 = the tolerance was not reached."""
        return StoredMatrix(self._keeper, "status")

    @property
    def error(self) -> StoredMatrix | None:
        """Estimated error of each of the stored values, d**power; None where values are exact up to rounding."""
        return StoredMatrix(self._keeper, "error") if self._keeper.has_error else None

    @property
    def manifest(self) -> dict[str, Any]:
        """What the store says of itself: divergence, fingerprints of the data, versions, layout."""
        return dict(self._keeper.manifest)

    def condensed(self) -> FloatArray:
        """Return the entries above the diagonal, row by row: the form of ``scipy.cluster.hierarchy``."""
        if not self._keeper.symmetric:
            raise InvalidParameterError("condensed() needs the distances of one collection; these are between X and Y.")
        n = len(self)
        out = np.empty(n * (n - 1) // 2, dtype=self.dtype)
        done = 0
        for rows, strip in self.strips():
            above = strip[np.arange(n)[None] > rows[:, None]]
            out[done : done + len(above)] = above
            done += len(above)
        return out

    def top_k(self, k: int) -> tuple[IndexArray, FloatArray]:
        """Return the k nearest measures of Y for each of X, the nearest first, and their distances.

        A measure is not its own neighbour if Y is X. Read strip by strip. Which of several at the very same distance
        as the k-th are taken is not specified.

        Returns
        -------
        indices, distances : ndarrays of shape (len(X), k)
        """
        k = integer(k, "k", low=1)
        n, m = self.shape
        if k > m - self._keeper.symmetric:
            raise InvalidParameterError(f"`k` must be at most {m - self._keeper.symmetric}; got {k}.")
        indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=self.dtype)
        for rows, strip in self.strips():
            if self._keeper.symmetric:
                strip[np.arange(len(rows)), rows] = np.inf
            nearest = np.sort(np.argpartition(strip, k - 1, axis=1)[:, :k], axis=1)
            order = np.argsort(np.take_along_axis(strip, nearest, axis=1), axis=1, kind="stable")
            indices[rows] = np.take_along_axis(nearest, order, axis=1)
            distances[rows] = np.take_along_axis(strip, indices[rows], axis=1)
        return indices, distances

    def kneighbors_graph(self, k: int) -> Any:
        """Return the k nearest of each as a sparse matrix of distances, (len(X), len(Y)).

        scikit-learn's ``KNeighborsClassifier``, ``DBSCAN``, ``TSNE`` and ``SpectralClustering`` (affinity
        ``'precomputed_nearest_neighbors'``) take it in place of the whole matrix; each measure of one collection is its
        own neighbour at distance 0, as they expect.
        """
        from scipy import sparse

        indices, distances = self.top_k(k)
        if self._keeper.symmetric:
            indices = np.column_stack([np.arange(len(self)), indices])
            distances = np.column_stack([np.zeros(len(self), dtype=self.dtype), distances])
        n, width = indices.shape
        return sparse.csr_matrix((distances.ravel(), indices.ravel(), np.arange(0, n * width + 1, width)), self.shape)

    def _block(self, rows: IndexArray, cols: IndexArray) -> AnyArray:
        return self._keeper.scale.distances(super()._block(rows, cols), self._squared, rows, cols)


def _positions(key: Any, size: int) -> IndexArray:
    """Return what an index of one axis selects: an array of positions, without axes for an integer."""
    if isinstance(key, slice):
        return np.arange(size)[key]
    index = np.asarray(key)
    if index.ndim > 1 or (index.dtype.kind not in "biu" and index.size):
        raise IndexError(f"rows and columns are integers, slices, masks or lists of integers; got {key!r}")
    return np.asarray(np.arange(size)[index if index.size else index.astype(np.int64)])
