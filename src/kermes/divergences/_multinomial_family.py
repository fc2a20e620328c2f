"""Jensen differences of multinomial families on a finite set: sums over the points of the set.

J(mu, nu) = sum_z j(a_z, b_z) with a = beta mu, b = beta nu. Where only one measure has mass, the term does not depend
on the other and is prepared once per atom; a pair pays for the atoms that both have.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..exceptions import UnsuitableDataError
from ..measures import Measures
from ._base import Claims, empty_tile
from ._support import CommonSupport, Rows, common_support, require_finite_set, require_one_support, sparse_rows
from .jensen import Jensen


class _Prepared(NamedTuple):
    """Measures of mass beta as sparse rows over ``n_points`` points.

    ``lone`` is j(a, 0) of each atom and ``lone_sums`` its sum over each measure, ``doubled`` what j(a, b) needs of the
    atom alone, ``values`` h of each measure.
    """

    rows: Rows
    n_points: int
    lone: FloatArray
    lone_sums: FloatArray
    doubled: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class FiniteFamily(Jensen):
    """Base of both forms; subclasses give h, j(a, 0) and j(a, b)."""

    beta: float

    def context(self, X: Measures, Y: Measures) -> CommonSupport:
        """Number the points."""
        require_one_support(X, Y)
        return common_support(X, Y)

    def prepare(self, X: Measures, context: CommonSupport) -> _Prepared:
        """Merge repeated atoms, scale to mass beta and evaluate what belongs to one measure."""
        ids, weights, offsets = sparse_rows(X, *context)
        rows = Rows(ids, self.beta * weights, offsets)
        lone, doubled = self._atoms(rows.weights)
        values = self._values(rows, doubled, len(context.points))
        return _Prepared(rows, len(context.points), lone, ragged.segment_sums(lone, offsets), doubled, values)

    @abstractmethod
    def _atoms(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return j(a, 0) of each atom, and what :meth:`_shared` needs of the atom alone."""

    @abstractmethod
    def _values(self, rows: Rows, doubled: FloatArray, m: int) -> FloatArray:
        """Return h of each measure on m points."""

    @abstractmethod
    def _shared(self, a: FloatArray, b: FloatArray, doubled_a: FloatArray, doubled_b: FloatArray) -> FloatArray:
        """Return j(a, b) where both are positive."""

    def values(self, A: _Prepared) -> FloatArray:
        """Return what ``prepare`` computed."""
        return A.values

    def mean_values(self, A: _Prepared, B: _Prepared, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        """Return h of the means: J and the mean of both h."""
        apart = 0.5 * (A.values[rows][:, None] + B.values[cols][None])
        return apart + self.tile(A, B, rows, cols, triangle)[0]

    def tile(
        self, A: _Prepared, B: _Prepared, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, None]:
        """Return J: every term is at least 0, so that nothing cancels."""
        out = empty_tile(rows, cols)
        atoms, offsets = ragged.gather_index(B.rows.offsets, cols)
        place = np.full(A.n_points, -1, dtype=np.int64)  # of each point in the arrays of A, for one row at a time
        for i, row in enumerate(rows):
            first = i + 1 if triangle else 0
            mine = np.arange(A.rows.offsets[row], A.rows.offsets[row + 1])
            place[A.rows.ids[mine]] = mine
            out[i, first:] = self._row(A, B, row, cols[first:], place, atoms[offsets[first] :])
            place[A.rows.ids[mine]] = -1
        return out, None

    def _row(
        self, A: _Prepared, B: _Prepared, row: int, cols: IndexArray, place: IndexArray, atoms: IndexArray
    ) -> FloatArray:
        """Return J between one measure and the measures ``cols`` of B, whose atoms follow each other in ``atoms``."""
        sizes = np.diff(B.rows.offsets)[cols]
        found = place[B.rows.ids[atoms]]
        hits = np.flatnonzero(found >= 0)
        p, q, owner = found[hits], atoms[hits], np.repeat(np.arange(len(cols)), sizes)[hits]

        def total(terms: FloatArray) -> FloatArray:
            return np.bincount(owner, weights=terms, minlength=len(cols)).astype(np.float64)

        n_hits = np.bincount(owner, minlength=len(cols))
        shared = total(self._shared(A.rows.weights[p], B.rows.weights[q], A.doubled[p], B.doubled[q]))
        # Exactly 0 when every atom is shared, not a difference of two sums.
        left = np.where(n_hits == A.rows.offsets[row + 1] - A.rows.offsets[row], 0.0,
                        A.lone_sums[row] - total(A.lone[p]))  # fmt: skip
        right = np.where(n_hits == sizes, 0.0, B.lone_sums[cols] - total(B.lone[q]))
        return np.asarray(shared + left + right)

    def work(self, X: Measures, Y: Measures, context: Any) -> float:
        """A look-up per atom, and two logarithms for each one that is shared."""
        return 2e3 + 60.0 * float(Y.sizes.mean())


@dataclass(frozen=True)
class MultinomialFamily(FiniteFamily):
    """h = 2 beta times the entropy of the histogram: the Jensen-Shannon divergence times 2 beta."""

    def claims(self, dim: int) -> Claims:
        """The root of the Jensen-Shannon divergence is a Hilbert metric."""
        return Claims(True, 2.0, "the Jensen-Shannon divergence is a squared Hilbert metric (Fuglede and Topsoe 2004)")

    def check(self, X: Measures) -> None:
        """Refuse clouds, as the Jensen-Shannon divergence does."""
        require_finite_set(X)

    def _atoms(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.log(2.0) * a, np.zeros_like(a)

    def _values(self, rows: Rows, doubled: FloatArray, m: int) -> FloatArray:
        p = rows.weights / self.beta
        return 2.0 * self.beta * ragged.segment_sums(-p * np.log(p), rows.offsets)

    def _shared(self, a: FloatArray, b: FloatArray, doubled_a: FloatArray, doubled_b: FloatArray) -> FloatArray:
        from scipy.special import xlog1py

        # a ln(2a / (a + b)) + b ln(2b / (a + b)) with r = (a - b) / (a + b).
        r = (a - b) / (a + b)
        return np.asarray(0.5 * (a + b) * (xlog1py(1.0 + r, r) + xlog1py(1.0 - r, -r)))


@dataclass(frozen=True)
class DirichletMultinomialFamily(FiniteFamily):
    r"""h = -ln phi(2 beta mu), phi(mu) = Int prod_z theta_z^mu_z dDir(theta), the prior with equal concentrations."""

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

    def context(self, X: Measures, Y: Measures) -> CommonSupport:
        """Refuse two different supports."""
        if not X.shares_support(Y):
            raise UnsuitableDataError(
                "`X` and `Y` must share one finite support for family='multinomial-exact'; theirs differ. Make both "
                "with the same `support` of Measures.from_histograms."
            )
        return common_support(X, Y)

    def _atoms(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        from scipy.special import gammaln

        doubled = gammaln(2.0 * a + self.prior)
        return 0.5 * (doubled + gammaln(self.prior)) - gammaln(a + self.prior), doubled

    def _values(self, rows: Rows, doubled: FloatArray, m: int) -> FloatArray:
        from scipy.special import gammaln

        # Points without mass give a factor Gamma(prior), which the normaliser of the prior cancels.
        constant = gammaln(2.0 * self.beta + m * self.prior) - gammaln(m * self.prior)
        return np.asarray(constant - ragged.segment_sums(doubled - gammaln(self.prior), rows.offsets))

    def _shared(self, a: FloatArray, b: FloatArray, doubled_a: FloatArray, doubled_b: FloatArray) -> FloatArray:
        from scipy.special import gammaln

        return np.asarray(0.5 * (doubled_a + doubled_b) - gammaln(a + b + self.prior))
