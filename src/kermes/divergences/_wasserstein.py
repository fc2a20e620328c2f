"""Exact optimal transport: quantiles on the line, closed form for the binary cost, network simplex elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .._checks import real
from .._typing import FloatArray
from ..core.ragged import Rows
from ..exceptions import InvalidParameterError
from ..ground import Euclidean, as_cost
from ..measures import Measure, Measures
from . import _plans
from ._base import Claims, Divergence
from ._support import (
    CommonSupport,
    atom_costs,
    atom_ids,
    common_support,
    couple,
    sparse_rows,
)
from ._wasserstein_routes import AlignedLine, Line, NetworkSimplex, TotalVariation


@dataclass(frozen=True)
class Wasserstein(Divergence):
    r"""Wasserstein distance, for p = 1 the earth mover's distance (EMD).

    .. math:: W_p(\mu, \nu)^p = \min_{\pi \in \Pi(\mu, \nu)} \int c(x, y)^p \, d\pi(x, y)

    for a ground distance c. Exact, for weighted measures of any sizes. On the line it is
    :math:`\int_0^1 |Q_\mu(t) - Q_\nu(t)|^p \, dt` with the quantile functions Q; for the binary cost it is total
    variation, and so it is for a matrix whose entries off the diagonal are all equal; elsewhere a network
    simplex method solves the linear program, for the costs as they are: its last step is certified in twice the working
    precision. :meth:`plan` returns an optimal plan of one pair, :meth:`potentials` the dual solution.

    Parameters
    ----------
    p : float
        Order, at least 1.
    cost : ground cost, name, array of shape (m, m), or function
        Ground distance; it is raised to the power p. Names are 'euclidean', 'binary', 'torus' and those of SciPy's
        distances such as 'cityblock'. A function takes points (n, d) and (m, d) and returns the (n, m) distances, or it
        is compiled by Numba and takes two points. An array holds the distances between the m points of
        the support that histograms share. Costs C that are raised already, as in
        :math:`W_p^p = \min_T \sum_{ij} C_{ij} T_{ij}`, are passed as ``ground.Matrix.from_costs(C, p)``, and
        C = c (1 - I) as ``ground.Binary.from_cost(c, p)``.

    Notes
    -----
    *Returned*: :math:`W_p`. *Metric*: yes, if the ground cost is one. *Negative type*: on the line with
    Euclidean cost :math:`W_p^h` is conditionally negative definite for h <= p <= 2, because quantile functions
    embed measures isometrically in :math:`L^p(0, 1)` and :math:`\|\cdot\|_p^p` is of negative type for p <= 2
    (Schoenberg); with binary cost for h <= p, because total variation is an :math:`L^1` distance; unknown
    elsewhere, and false in general for d >= 2. *Cost*: on the line :math:`O(n_i \log n_i)` once per measure and
    :math:`O(n_i + n_j)` per pair; the simplex takes about :math:`O(n^{2.5})`, a millisecond for 150 atoms.
    For p = 1 and a metric on a shared support only the difference of both measures is transported.

    *Accuracy*: on the line the result is, to 1e-14 of itself, that of measures whose weights differ from the given ones
    by at most 4e-15 of themselves, however large or small points and weights are; measures that agree to that are at
    distance 0. Elsewhere :math:`W_p^p` is exact to 2e-14 p of itself and 1.6e-14 of the mean cost between the atoms of
    both, since weights are rounded; where costs or masses span more than 31 digits and that cannot be proved, the
    status says so. Values of :math:`W_2^2` that are not normal numbers (below 2e-308) are refused, as infinite ones
    are; other orders p have no such limit on the line; elsewhere powers underflow where distances of one collection
    span more than 300 / p digits, or where tiny masses move, which is refused. Under a cost that is not a metric
    :math:`W_p^p` is off by up to 9e-16 of the largest cost, because weights are rounded at 1e-16 of the total.

    Examples
    --------
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0], [0.0, 5.0, 9.0]])
    >>> pairwise(X, divergence=divergences.Wasserstein(p=1)).round(3)
    array([[0.   , 2.   , 4.167],
           [2.   , 0.   , 3.5  ],
           [4.167, 3.5  , 0.   ]])
    """

    p: float = 2.0
    cost: Any = Euclidean()
    biased: ClassVar[bool] = False  # routes compare the masses of measures that are near each other

    def __post_init__(self) -> None:
        real(self.p, "p", low=1.0)
        object.__setattr__(self, "cost", as_cost(self.cost))
        if self.cost.squared:
            raise InvalidParameterError(
                "`cost` must be a distance, which is raised to the power p; 'sqeuclidean' is not one. "
                "Use cost='euclidean' with p=2."
            )

    @property
    def power(self) -> float:
        """``tile`` returns W_2^2, and W_p for other p: higher powers overflow and underflow."""
        return 2.0 if self.p == 2 else 1.0

    def claims(self, dim: int) -> Claims:
        """Metric if the cost is one; of negative type p on the line for p <= 2, and for the binary cost."""
        cost = self.cost
        # Where all powers below 2 are known, d^2 is that of a Hilbert space for p = 2 only.
        fails_at = 2.0 if self.p < 2 else None
        if cost.absolute and dim == 1 and self.p <= 2:
            reason = "quantile functions embed isometrically in L^p (Schoenberg, p <= 2)"
            return Claims(True, float(self.p), reason, fails_at)
        if cost.uniform is not None:
            return Claims(True, float(self.p), "W_p^p is total variation, an L^1 distance (Schoenberg)", fails_at)
        if not cost.metric:
            return Claims(None, None, "depends on the cost")
        if cost.code is None:
            return Claims(True, None, "a metric; no embedding in a Hilbert space is known")
        return Claims(True, None, "a metric that does not embed in a Hilbert space", 2.0)

    def check(self, X: Measures) -> None:
        self.cost.check(X)

    def pair_bytes(self, X: Measures, Y: Measures) -> float:
        """The costs of all pairs of atoms, and a copy; none where there is a closed form."""
        if self.cost.uniform is not None or (X.dim == 1 and self.cost.absolute):
            return 0.0
        return 16.0 * float(X.sizes.max()) * float(Y.sizes.max())

    def route(self, X: Measures, Y: Measures) -> Line | TotalVariation | NetworkSimplex:
        """Choose the route: closed form where there is one. Each also knows an optimal ``plan`` of one pair."""
        p = float(self.p)
        if self.cost.uniform is not None:
            return TotalVariation(common_support(X, Y, self.cost), self.cost.uniform, p)
        if X.dim == 1 and self.cost.absolute:
            sizes = np.concatenate([X.sizes, Y.sizes])
            return AlignedLine(p) if X.is_uniform and Y.is_uniform and (sizes == sizes[0]).all() else Line(p)
        return NetworkSimplex.of(self.cost, p, X, Y)

    def plan(self, mu: Measure, nu: Measure) -> FloatArray:
        r"""Return an optimal plan between two measures.

        Parameters
        ----------
        mu, nu : Measure
            Members of collections, such as ``X[0]`` and ``X[3]``.

        Returns
        -------
        ndarray of shape (n_atoms of mu, n_atoms of nu)
            Mass moved between the atoms ``mu.points`` and ``nu.points``; the rows add up to the probabilities of mu,
            the columns to those of nu.

        Notes
        -----
        On the line the increasing plan, the only optimal one for p > 1. Under a binary or uniform cost all mass
        that both have in common stays; where the rest goes does not matter and is chosen in order. Elsewhere a vertex
        found by the network simplex; there may be others. Atoms at one point share their mass in proportion.
        *Accuracy*: rows and columns add up to the probabilities, up to 1e-12 of each on the line and under a binary or
        uniform cost, up to 1e-15 of the total elsewhere: of lighter atoms the network simplex moves a mass between 0
        and that, at a cost which W_p does not notice.

        Examples
        --------
        >>> from kermes import Measures, divergences
        >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
        >>> divergences.Wasserstein(p=2).plan(X[0], X[1])
        array([[0.25, 0.25, 0.  , 0.  ],
               [0.  , 0.  , 0.25, 0.25]])
        """
        X, Y, common = couple(mu, nu, self.cost)
        a, b = sparse_rows(X, *common), sparse_rows(Y, *common)
        return _shared(X, common, a) @ self.route(X, Y).plan(common.points, a, b) @ _shared(Y, common, b).T

    def potentials(self, mu: Measure, nu: Measure) -> tuple[FloatArray, FloatArray]:
        r"""Return optimal dual potentials of two measures, arguments as of :meth:`plan`.

        .. math:: W_p^p = \max \sum_i a_i u_i + \sum_j b_j v_j, \quad u_i + v_j \le c(x_i, y_j)^p

        Returns
        -------
        u : ndarray of shape (n_atoms of mu,)
        v : ndarray of shape (n_atoms of nu,)
            Potentials at the atoms, in the order of ``mu.points`` and ``nu.points``.

        Notes
        -----
        The constraint holds up to rounding, with equality where :meth:`plan` moves mass; the sums are of the
        probabilities. Only u + c and v - c for a number c are determined by that, and in general not even those: here
        both sums are equal. Potentials are those of the network simplex under every cost, also where distances have a
        closed form, and take memory for all costs.

        Examples
        --------
        >>> from kermes import Measures, divergences
        >>> X = Measures.from_samples([[0.0, 1.0], [2.0, 5.0]])
        >>> u, v = divergences.Wasserstein(p=1).potentials(X[0], X[1])
        >>> float(u.mean() + v.mean())
        3.0
        """
        X, Y, common = couple(mu, nu, self.cost)
        a, b = sparse_rows(X, *common), sparse_rows(Y, *common)
        costs = _plans.raised(self.cost.pick(common.points, a.ids, b.ids), self.p)
        _, _, u, v, _ = _plans.transport(a.weights, b.weights, costs)
        v = np.minimum(v, (costs - u[:, None]).min(axis=0))
        shift = (b.weights @ v - a.weights @ u) / 2
        left, right = (np.searchsorted(rows.ids, atom_ids(Z, *common)) for rows, Z in ((a, X), (b, Y)))
        return u[left] + shift, v[right] - shift

    def plan_costs(self, mu: Measure, nu: Measure) -> FloatArray:
        """Return the ground costs, raised to the power p, between the atoms of two measures.

        ``(W.plan(mu, nu) * W.plan_costs(mu, nu)).sum()`` is W_p^p. Powers below 2e-308 lose digits and become 0; if all
        do, or one overflows, they are refused.
        """
        return _plans.raised(atom_costs(*couple(mu, nu, self.cost), self.cost), self.p)


def transported(divergence: Wasserstein, reference: Measures, X: Measures) -> Iterator[FloatArray]:
    """Yield ``plan(reference[0], X[i]) @ X[i].points`` for each measure of X; the atoms of all are numbered once."""
    common = common_support(reference, X, divergence.cost)
    a, B = sparse_rows(reference, *common), sparse_rows(X, *common)
    shares, route = _shared(reference, common, a), divergence.route(reference, X[:1])
    for start, stop in pairwise(B.offsets):
        b = Rows(B.ids[start:stop], B.weights[start:stop], np.array([0, stop - start]))
        yield shares @ (route.plan(common.points, a, b) @ common.points[b.ids])


def _shared(X: Measures, common: CommonSupport, rows: Rows) -> FloatArray:
    """Return the share of each atom of the one measure X in the mass at its point, (n_atoms, n_points)."""
    places = np.searchsorted(rows.ids, atom_ids(X, *common))
    shares = np.zeros((len(places), len(rows.ids)))
    shares[np.arange(len(places)), places] = X.probabilities / rows.weights[places]
    return shares
