"""Jensen differences of multinomial families on a finite set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..core.ragged import Rows
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Claims, Tile, empty_tile
from ._histograms import histogram_route
from ._jensen import Jensen, JensenRoute
from ._support import CommonSupport, common_support, require_finite_set, sparse_rows


@dataclass(frozen=True)
class MultinomialFamily(Jensen):
    """h = 2 beta times the entropy of the histogram: the Jensen-Shannon divergence times 2 beta."""

    beta: float

    def claims(self, dim: int) -> Claims:
        """The root of the Jensen-Shannon divergence is a Hilbert metric."""
        return Claims(True, 2.0, "the Jensen-Shannon divergence is a squared Hilbert metric (Fuglede and Topsoe 2004)")

    def check(self, X: Measures) -> None:
        """Refuse clouds, as the Jensen-Shannon divergence does."""
        require_finite_set(X)

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        """Return the route of the Jensen-Shannon divergence, scaled."""
        return _Scaled(histogram_route(X, Y), 2.0 * self.beta)


@dataclass(frozen=True, eq=False)
class _Scaled(JensenRoute):
    """A multiple of what another route computes."""

    inner: JensenRoute
    factor: float

    def prepare(self, X: Measures) -> Any:
        return self.inner.prepare(X)

    def values(self, A: Any) -> FloatArray:
        return self.factor * self.inner.values(A)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        return Tile(self.factor * self.inner.tile(A, B, rows, cols, triangle).values)

    def rounding(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray) -> FloatArray | float:
        return self.factor * self.inner.rounding(A, B, rows, cols)

    def work(self, X: Measures, Y: Measures) -> float:
        return self.inner.work(X, Y)


@dataclass(frozen=True)
class DirichletMultinomialFamily(Jensen):
    r"""h = -ln phi(2 beta mu), phi(mu) = Int prod_z theta_z^mu_z dDir(theta), the prior with equal concentrations."""

    beta: float
    prior: float

    def claims(self, dim: int) -> Claims:
        """Negative definite bin by bin."""
        return Claims(
            True, 2.0,
            "-ln Gamma(x + y + c) is negative definite, c > 0: ln Gamma is a mixture of exponentials plus a line "
            "(Malmsten's integral)",
        )  # fmt: skip

    def check(self, X: Measures) -> None:
        """The number of points enters the prior, so it must be given."""
        if X.support is None:
            raise UnsuitableDataError(
                "family='multinomial-exact' needs measures on a shared finite support, since its number of points "
                "enters the prior; make them with Measures.from_histograms or from_images."
            )

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        """Refuse two different supports."""
        if not X.shares_support(Y):
            raise UnsuitableDataError(
                "`X` and `Y` must share one finite support for family='multinomial-exact'; theirs differ. Make both "
                "with the same `support` of Measures.from_histograms."
            )
        return _Dirichlet(self.beta, self.prior, common_support(X, Y))


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
class _Dirichlet(JensenRoute):
    """J(mu, nu) = sum_z j(a_z, b_z) with a = beta mu, b = beta nu; every term is at least 0, so that nothing cancels.

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

    def values(self, A: _Masses) -> FloatArray:
        return A.values

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
        left = np.where(n_hits == A.rows.offsets[row + 1] - A.rows.offsets[row], 0.0,
                        A.lone_sums[row] - total(A.lone[p]))  # fmt: skip
        right = np.where(n_hits == sizes, 0.0, B.lone_sums[cols] - total(B.lone[q]))
        return np.asarray(shared + left + right)

    def work(self, X: Measures, Y: Measures) -> float:
        """A look-up per atom, and a logarithm of Gamma for each one that is shared."""
        return 2e3 + 60.0 * float(Y.sizes.mean())
