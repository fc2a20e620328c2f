"""Jensen differences on a finite set: of entropies of histograms, and of Dirichlet integrals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..core.ragged import Rows
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Tile, empty_tile, filled, pair_sums
from ._cores import core
from ._jensen import JensenRoute
from ._support import CommonSupport, common_support, dense_rows, sparse_rows

#: Entries of a dense sum that cost as much as one of a sparse one (between 1.5 and 2 for 64 to 784 bins).
DENSE_FACTOR = 1.75


class Vectors(NamedTuple):
    """Measures as vectors in a layout of :mod:`kermes.core.jensen_shannon`, and their entropies (n,)."""

    layout: Any
    values: FloatArray


def in_blocks(values: FloatArray, ids: IndexArray, offsets: IndexArray, scale: float = 1.0) -> Vectors:
    """Return vectors with their own sums; their entropies, times ``scale``, are those of unit node weights."""
    own = np.empty((len(values), 2, 2))
    core.jensen_shannon.own_sums(values, own)
    total = np.add.reduceat(own[:, 0] + own[:, 1], offsets[:-1], axis=0)
    entropies = scale * (total[:, 0] * math.log(2.0) - total[:, 1])
    return Vectors(core.jensen_shannon.Blocks(values, ids, offsets, own), entropies)


def block_tile(
    A: core.jensen_shannon.Blocks,
    B: core.jensen_shannon.Blocks,
    rows: IndexArray,
    cols: IndexArray,
    triangle: bool,
    independent: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return J of all pairs, and the differences between its halves; standard errors if these are ``independent``."""
    out, gap = empty_tile(rows, cols), empty_tile(rows, cols)
    core.jensen_shannon.block_tile(A, rows, B, cols, triangle, independent, out, gap)
    return out, gap


@dataclass(frozen=True, eq=False)
class Dense(JensenRoute):
    """Every measure is one block: its weights on all points. J, times ``scale``, does not cancel where it is small."""

    common: CommonSupport
    scale: float = 1.0

    def prepare(self, X: Measures) -> Vectors:
        rows, ids = dense_rows(X, *self.common), np.zeros(len(X), dtype=np.int64)
        return in_blocks(rows, ids, np.arange(len(X) + 1), self.scale)

    def tile(self, A: Vectors, B: Vectors, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(self.scale * block_tile(A.layout, B.layout, rows, cols, triangle)[0])

    def rounding(self, A: Vectors, B: Vectors, rows: IndexArray, cols: IndexArray) -> FloatArray:
        return 1e-9 * self.scale + 1e-12 * pair_sums(np.abs(A.values), np.abs(B.values), rows, cols)

    def work(self, X: Measures, Y: Measures) -> float:
        """A logarithm, about four operations, per bin."""
        bins = math.inf if X.support is None else len(X.support.points)
        return 4.0 * float(min(bins, X.sizes.mean() + Y.sizes.mean()))


class Sparse(Dense):
    """Only the atoms of each measure."""

    def prepare(self, X: Measures) -> Vectors:
        ids, weights, offsets = sparse_rows(X, *self.common)
        p_ln_p = np.empty_like(weights)
        core.jensen_shannon.fill_p_ln_p(weights, p_ln_p)
        h = -self.scale * np.add.reduceat(p_ln_p, offsets[:-1])
        return Vectors(core.jensen_shannon.Sparse(ids, weights, offsets, p_ln_p), h)

    def tile(self, A: Vectors, B: Vectors, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        size = len(self.common.points)
        values = filled(core.jensen_shannon.sparse_tile, A.layout, rows, B.layout, cols, size, triangle)
        return Tile(self.scale * values)


def histogram_route(X: Measures, Y: Measures, dense_factor: float = DENSE_FACTOR, scale: float = 1.0) -> JensenRoute:
    """Number the atoms of both collections and choose the cheaper layout; all values are times ``scale``."""
    if not X.shares_support(Y) and (X.support is not None or Y.support is not None):
        clouds = "X" if X.support is None else "Y" if Y.support is None else None
        found = f"`{clouds}` has points of its own" if clouds else "`X` and `Y` are histograms on different supports"
        raise UnsuitableDataError(
            f"{found} where a shared support is needed (the same points, in the same order); make both with one "
            "`support`, or compare them smoothed: JensenShannon(smoothing=ground.Gaussian(sigma=...))."
        )
    common = common_support(X, Y)
    dense = len(common.points) <= dense_factor * 0.5 * (X.sizes.mean() + Y.sizes.mean())
    return Dense(common, scale) if dense else Sparse(common, scale)


class _Masses(NamedTuple):
    """Measures of mass beta as sparse rows.

    ``lone`` is j(a, 0) of each atom and ``lone_sums`` its sum over each measure, ``doubled`` ln Gamma(2 a + prior) of
    each atom, ``values`` h of each measure.
    """

    rows: Rows
    lone: FloatArray
    lone_sums: FloatArray
    doubled: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Dirichlet(JensenRoute):
    """h = -ln phi(2 beta mu), phi(mu) = Int prod_z theta_z^mu_z dDir(theta), the prior with equal concentrations.

    J(mu, nu) = sum_z j(a_z, b_z) with a = beta mu, b = beta nu; every term is at least 0, so that nothing cancels.
    j(a, b) = (ln Gamma(2a + prior) + ln Gamma(2b + prior)) / 2 - ln Gamma(a + b + prior). Where only one measure has
    mass, the term is prepared once per atom; a pair pays for the atoms that both have.
    """

    beta: float
    prior: float
    common: CommonSupport

    def prepare(self, X: Measures) -> _Masses:
        from scipy.special import gammaln

        ids, weights, offsets = sparse_rows(X, *self.common)
        masses = self.beta * weights
        doubled = gammaln(2.0 * masses + self.prior)
        lone = 0.5 * (doubled + gammaln(self.prior)) - gammaln(masses + self.prior)
        # Points without mass give a factor Gamma(prior), which the normaliser of the prior cancels.
        total = len(self.common.points) * self.prior
        constant = gammaln(2.0 * self.beta + total) - gammaln(total)
        values = constant - ragged.segment_sums(doubled - gammaln(self.prior), offsets)
        return _Masses(Rows(ids, masses, offsets), lone, ragged.segment_sums(lone, offsets), doubled, values)

    def tile(self, A: _Masses, B: _Masses, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        out = empty_tile(rows, cols)
        atoms, offsets = ragged.gather_index(B.rows.offsets, cols)
        # Of each point in the arrays of A, for one row at a time.
        place = np.full(len(self.common.points), -1, dtype=np.int64)
        for i, row in enumerate(rows):
            first = i + 1 if triangle else 0
            mine = np.arange(A.rows.offsets[row], A.rows.offsets[row + 1])
            place[A.rows.ids[mine]] = mine
            out[i, first:] = self._row(A, B, row, cols[first:], place, atoms[offsets[first] :])
            place[A.rows.ids[mine]] = -1
        return Tile(out)

    def _row(
        self, A: _Masses, B: _Masses, row: int, cols: IndexArray, place: IndexArray, atoms: IndexArray
    ) -> FloatArray:
        """Return J between one measure and the measures ``cols`` of B, whose atoms follow each other in ``atoms``."""
        from scipy.special import gammaln

        sizes = np.diff(B.rows.offsets)[cols]
        found = place[B.rows.ids[atoms]]
        hits = np.flatnonzero(found >= 0)
        p, q, owner = found[hits], atoms[hits], np.repeat(np.arange(len(cols)), sizes)[hits]

        def total(terms: FloatArray) -> FloatArray:
            return np.bincount(owner, weights=terms, minlength=len(cols)).astype(np.float64)

        n_hits = np.bincount(owner, minlength=len(cols))
        both = gammaln(A.rows.weights[p] + B.rows.weights[q] + self.prior)
        shared = total(0.5 * (A.doubled[p] + B.doubled[q]) - both)
        # Exactly 0 when every atom is shared, not a difference of two sums.
        size = A.rows.offsets[row + 1] - A.rows.offsets[row]
        left = np.where(n_hits == size, 0.0, A.lone_sums[row] - total(A.lone[p]))
        right = np.where(n_hits == sizes, 0.0, B.lone_sums[cols] - total(B.lone[q]))
        return np.asarray(shared + left + right)

    def work(self, X: Measures, Y: Measures) -> float:
        """A look-up per atom, and a logarithm of Gamma for each one that is shared."""
        return 2e3 + 60.0 * float(Y.sizes.mean())
