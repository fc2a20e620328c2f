"""The distances of a data set, kept in files: a killed repetition goes on, and the next one finds the pairs they share.

The repetitions draw from one pool and have their test images in common, so a pair often occurs in several of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import Engine, Measures, pairwise
from ...divergences import Claims, Divergence, Tile
from ...files import whole
from .._paper import AnyArray, FloatArray
from .data import Part, Split

#: Rows of a matrix that are computed between two writings.
STEP = 100


@dataclass(frozen=True)
class Distances:
    """d**power between images of the pool, and between test images and the pool: two tables, with marks."""

    folder: Path
    name: str
    divergence: Divergence
    pool_size: int
    engine: Engine

    def of(self, split: Split) -> FloatArray:
        """Return the values between all images of a split, in the order of its parts, and its training images."""
        parts = (split.train, split.validation, split.test)
        return np.concatenate([self._between(part, split.train) for part in parts])

    def known(self, split: Split) -> int:
        """Return how many of these values are in the tables already."""
        return sum(self._known(part, split.train) for part in (split.train, split.validation, split.test))

    def _known(self, X: Part, Y: Part) -> int:
        path = self._path(X.origin, "known")
        if not path.exists():
            return 0
        marks = np.lib.format.open_memmap(path, mode="r")[_places(X, Y)]
        return int(np.triu(marks, 1).sum() if X is Y else marks.sum())

    def _between(self, X: Part, Y: Part) -> FloatArray:
        """Return the values between X and images Y of the pool; what the table lacks is computed and written.

        Two images of the pool are compared in the order of their numbers, whatever parts they are in: a solver that
        stops at a tolerance does not give d(x, y) the digits of d(y, x), and so later repetitions find what is there.
        """
        shape = (self.pool_size if X.origin == "pool" else int(X.rows.max()) + 1, self.pool_size)
        values = _table(self._path(X.origin, "values"), np.float64, shape)
        known = _table(self._path(X.origin, "known"), np.bool_, shape)
        ordered, others = X[np.argsort(X.rows)], Y[np.argsort(Y.rows)]
        for start in range(0, len(X.rows), STEP):
            chunk = ordered[start : start + STEP]
            if X.origin == "pool":
                first, last = np.searchsorted(others.rows, [chunk.rows[0], chunk.rows[-1] + 1])
                if first > 0:
                    self._fill(values, known, others[:first], chunk)
                if first < last:
                    self._fill_near(values, known, chunk, others[first:last])
                if last < len(others.rows):
                    self._fill(values, known, chunk, others[last:])
            else:
                self._fill(values, known, chunk, others)
        return np.array(values[_places(X, Y)])

    def _fill(self, values: Any, known: Any, X: Part, Y: Part) -> None:
        """Compute what is missing of d(x, y) for all images x and y."""
        missing = ~known[np.ix_(X.rows, Y.rows)]
        by_rows = len(X.rows) <= len(Y.rows)
        lines = missing if by_rows else missing.T
        for line in np.unique(lines, axis=0):  # rows that lack the same columns are one call, or columns the same rows
            if line.any():
                alike = (lines == line).all(axis=1)
                rows, cols = (alike, line) if by_rows else (line, alike)
                found = self._computed(X.measures[rows], Y.measures[cols])
                _write(values, known, np.ix_(X.rows[rows], Y.rows[cols]), found)

    def _fill_near(self, values: Any, known: Any, X: Part, Y: Part) -> None:
        """Compute what is missing where numbers of X and of Y are mixed, image by image of X."""
        for i in range(len(X.rows)):
            one = X[[i]]
            before, after = Y.rows < one.rows, Y.rows > one.rows
            if before.any():
                self._fill(values, known, Y[before], one)
            if after.any():
                self._fill(values, known, one, Y[after])

    def _computed(self, X: Measures, Y: Measures) -> FloatArray:
        """Return the values as the divergence has them."""
        squared = self.divergence.power == 2.0
        return pairwise(X, Y, divergence=self.divergence, engine=self.engine, squared=squared)

    def _path(self, origin: str, content: str) -> Path:
        return self.folder / f"{self.name}-{self._digest}-{origin}-{content}.npy"

    @property
    def _digest(self) -> str:
        return hashlib.blake2b(repr(self.divergence).encode(), digest_size=4).hexdigest()


def remove_distances(folder: Path, name: str) -> None:
    """Delete the tables of a data set."""
    for path in folder.glob(f"{name}-*-*-*.npy"):
        path.unlink()


def _places(X: Part, Y: Part) -> tuple[AnyArray, AnyArray]:
    """Return where the values between X and images Y of the pool are: those of the pool above the diagonal."""
    rows, cols = np.broadcast_arrays(X.rows[:, np.newaxis], Y.rows)
    return (np.minimum(rows, cols), np.maximum(rows, cols)) if X.origin == "pool" else (rows, cols)


def _write(values: Any, known: Any, at: Any, found: FloatArray) -> None:
    """Write values, and only then that they are known."""
    for table, content in ((values, found), (known, True)):
        table[at] = content
        table.flush()


def _table(path: Path, dtype: type, shape: tuple[int, int]) -> Any:
    """Return the array in a file, of zeros if there is none; those take no room on the disk."""
    if not path.exists():
        with whole(path) as fresh:
            np.lib.format.open_memmap(fresh, mode="w+", dtype=dtype, shape=shape)
    return np.lib.format.open_memmap(path, mode="r+")


@dataclass(frozen=True, eq=False)
class LookUp(Divergence):
    """Values between images of a split and its training images, which are given by their numbers.

    ``values`` has a row for each image of :func:`by_number` and a column for each training image.
    """

    values: FloatArray
    of: Divergence
    biased: ClassVar[bool] = False

    @property
    def power(self) -> float:
        """That of the divergence whose values they are."""
        return self.of.power

    @property
    def signed(self) -> bool:
        """Likewise."""
        return self.of.signed

    def claims(self, dim: int) -> Claims:
        """Nothing is known about a table."""
        return Claims(None, None, "given by a table")

    def prepare(self, X: Measures) -> AnyArray:
        """Read the numbers."""
        return X.points[:, 0].astype(np.intp)

    def tile(self, A: AnyArray, B: AnyArray, rows: AnyArray, cols: AnyArray, triangle: bool) -> Tile:
        """Look the values up."""
        return Tile(self.values[np.ix_(A[rows], B[cols])])


def by_number(split: Split) -> Split:
    """Return the split with point masses at 0, 1, ... in place of its images, in the order of its parts.

    A point has the mass of its image, by which the reweighted kernels multiply.
    """
    n_train, n_validation = len(split.train.labels), len(split.validation.labels)
    return Split(
        _numbered(split.train, 0),
        _numbered(split.validation, n_train),
        _numbered(split.test, n_train + n_validation),
        split.pool_size,
    )


def _numbered(part: Part, start: int) -> Part:
    numbers = start + np.arange(len(part.labels), dtype=np.float64)
    masses = part.measures.masses
    points = Measures.from_samples(list(numbers[:, np.newaxis]), weights=list(masses[:, np.newaxis]))
    return Part(points, part.pixels, part.labels, part.rows, part.origin)
