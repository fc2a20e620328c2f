"""Jensen-Shannon divergences of histograms: routes over dense and over sparse probability vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..measures import Measures
from ._base import Tile, empty_tile, filled
from ._jensen import JensenRoute
from ._support import CommonSupport, common_support, dense_rows, require_one_support, sparse_rows

if TYPE_CHECKING:
    from ..core.jensen_shannon import Blocks

#: Entries of a dense sum that cost as much as one of a sparse one (between 1.5 and 2 for 64 to 784 bins).
DENSE_FACTOR = 1.75


class Vectors(NamedTuple):
    """Measures as vectors in a layout of :mod:`kermes.core.jensen_shannon`, and their entropies (n,)."""

    layout: Any
    entropies: FloatArray


class EntropyRoute(JensenRoute):
    """Routes to J by a formula that does not cancel where J is small."""

    def values(self, A: Vectors) -> FloatArray:
        """Return the entropy of each measure."""
        return A.entropies


def in_blocks(values: FloatArray, ids: IndexArray, offsets: IndexArray) -> Vectors:
    """Return vectors with their own sums; their entropies are those of unit node weights."""
    from ..core import jensen_shannon

    own = np.empty((len(values), 2, 2))
    jensen_shannon.own_sums(values, own)
    total = np.add.reduceat(own[:, 0] + own[:, 1], offsets[:-1], axis=0)
    return Vectors(jensen_shannon.Blocks(values, ids, offsets, own), total[:, 0] * math.log(2.0) - total[:, 1])


def block_tile(
    A: Blocks, B: Blocks, rows: IndexArray, cols: IndexArray, triangle: bool
) -> tuple[FloatArray, FloatArray]:
    """Return J of all pairs, and the differences between its halves."""
    from ..core import jensen_shannon

    out, gap = empty_tile(rows, cols), empty_tile(rows, cols)
    jensen_shannon.block_tile(A, rows, B, cols, triangle, out, gap)
    return out, gap


@dataclass(frozen=True, eq=False)
class Dense(EntropyRoute):
    """Every measure is one block: its weights on all points."""

    common: CommonSupport

    def prepare(self, X: Measures) -> Vectors:
        """Write each measure as a vector; compute its entropy."""
        return in_blocks(dense_rows(X, *self.common), np.zeros(len(X), dtype=np.int64), np.arange(len(X) + 1))

    def tile(self, A: Vectors, B: Vectors, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return J."""
        return Tile(block_tile(A.layout, B.layout, rows, cols, triangle)[0])

    def work(self, X: Measures, Y: Measures) -> float:
        """A logarithm, about four operations, per bin."""
        bins = math.inf if X.support is None else len(X.support.points)
        return 4.0 * float(min(bins, X.sizes.mean() + Y.sizes.mean()))


class Sparse(Dense):
    """Only the atoms of each measure."""

    def prepare(self, X: Measures) -> Vectors:
        """Sort the atoms of each measure; compute its entropy."""
        from ..core import jensen_shannon

        ids, weights, offsets = sparse_rows(X, *self.common)
        p_ln_p = np.empty_like(weights)
        jensen_shannon.fill_p_ln_p(weights, p_ln_p)
        return Vectors(jensen_shannon.Sparse(ids, weights, offsets, p_ln_p), -np.add.reduceat(p_ln_p, offsets[:-1]))

    def tile(self, A: Vectors, B: Vectors, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return J."""
        from ..core import jensen_shannon

        size = len(self.common.points)
        return Tile(filled(jensen_shannon.sparse_tile, A.layout, rows, B.layout, cols, size, triangle))


def histogram_route(X: Measures, Y: Measures, dense_factor: float = DENSE_FACTOR) -> EntropyRoute:
    """Number the atoms of both collections and choose the cheaper layout."""
    require_one_support(X, Y)
    common = common_support(X, Y)
    dense = len(common.points) <= dense_factor * 0.5 * (X.sizes.mean() + Y.sizes.mean())
    return Dense(common) if dense else Sparse(common)
