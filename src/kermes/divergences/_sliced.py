"""The sliced Wasserstein distance: transport on many lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .._checks import integer, real
from .._typing import FloatArray, IndexArray
from ..measures import Measures
from ._base import Claims, Divergence, Route, filled, for_each, n_points, releasable, release_rows
from ._cores import core
from ._quantiles import QuantileRoute, blocks, sorted_halves

#: Bytes of sorted projections that are kept at a time; beyond that, slices are taken in several passes.
PASS_BYTES = 1 << 29


@dataclass(frozen=True, eq=False)
class _Projections(QuantileRoute):
    """Measures projected on lines, (L, dim), which are a ``share`` of all."""

    directions: FloatArray
    p: float
    share: float = 1.0
    #: Numbers that are kept for each projection of an atom.
    numbers: ClassVar[int] = 1

    def work(self, X: Measures, Y: Measures) -> float:
        """Every slice merges both measures."""
        return len(self.directions) * float(X.sizes.mean() + Y.sizes.mean())


class _Aligned(_Projections):
    """Measures of m equal atoms each, p = 2: sorted projections as one row, scaled so that distances are Euclidean."""

    def prepare(self, X: Measures) -> FloatArray:
        n_lines, size = len(self.directions), int(X.sizes[0])
        prepared = releasable((len(X), n_lines, size))

        def fill(block: tuple[IndexArray, slice]) -> None:
            rows, lines = block
            values = (self.directions[lines] @ X[rows].points.T).reshape(-1, len(rows), size)
            values.sort(axis=2)
            values /= np.sqrt(n_lines * size)
            prepared[rows, lines] = values.transpose(1, 0, 2)

        for_each(fill, list(blocks(X, n_lines)))
        return prepared.reshape(len(X), -1)

    def release(self, A: FloatArray, stop: int) -> None:
        release_rows(A, stop)

    def powers(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool, p: float) -> FloatArray:
        if p == 2:
            return core.vectors.squared_tile(A, rows, B, cols, triangle)
        return filled(core.vectors.norm_tile, A, rows, B, cols, triangle, p)


class _Uniform(_Projections):
    """Measures of equally heavy atoms: one merge serves all slices."""

    def prepare(self, X: Measures) -> core.sliced.Ranked:
        ranked: FloatArray = np.empty((len(X.points), len(self.directions)))

        def fill(block: tuple[IndexArray, slice]) -> None:
            rows, lines = block
            part = X[rows]
            projections = self.directions[lines] @ part.points.T  # slice by slice: sorting runs along memory
            for start, stop in pairwise(part.offsets):
                projections[:, start:stop].sort(axis=1)
            ranked[X.offsets[rows[0]] : X.offsets[rows[-1] + 1], lines] = projections.T

        for_each(fill, list(blocks(X, len(self.directions))))
        return core.sliced.Ranked(ranked, np.array(X.offsets))

    def powers(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool, p: float) -> FloatArray:
        return filled(core.sliced.uniform_tile, A, rows, B, cols, triangle, p)


class _Weighted(_Projections):
    """Any weights: a merge for each slice."""

    numbers: ClassVar[int] = 2

    def prepare(self, X: Measures) -> core.transport.quantiles.Sorted:
        return sorted_halves(X, self.directions)


@dataclass(frozen=True)
class SlicedWasserstein(Divergence):
    r"""Sliced Wasserstein distance.

    .. math:: SW_p(\mu, \nu)^p = \frac1L \sum_{l=1}^L W_p(\mu_{\theta_l}, \nu_{\theta_l})^p

    with :math:`\mu_\theta` the projection of :math:`\mu` on a direction :math:`\theta`, drawn uniformly from the
    sphere. On the line there is one direction and :math:`SW_p = W_p`.

    Parameters
    ----------
    p : float
        Order, at least 1.
    n_slices : int
        Number L of directions; the Monte Carlo error falls as :math:`1 / \sqrt L`.
    seed : int
        Seed of the directions; the same seed gives the same distance.

    Notes
    -----
    *Returned*: :math:`SW_p`. *Metric*: triangle inequality, and zero only for equal projections; finitely many
    directions separate almost all measures, not all. *Negative type*: :math:`SW_p^h` is conditionally negative
    definite for h <= p <= 2, being a mean of distances that embed in :math:`L^p` (see ``Wasserstein``).
    *Cost*: projections are sorted once per measure, :math:`O(L n_i \log n_i)`; a pair takes
    :math:`O(L (n_i + n_j))`, and equally many, equally heavy atoms with p = 2 reduce to one matrix product.
    *Accuracy*: as ``Wasserstein`` on the line, for points to which the projections are rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from kermes import Measures, divergences, pairwise
    >>> X = Measures.from_samples([np.zeros((3, 2)), np.ones((5, 2))])
    >>> pairwise(X, divergence=divergences.SlicedWasserstein(n_slices=500)).round(1)
    array([[0., 1.],
           [1., 0.]])
    """

    p: float = 2.0
    n_slices: int = 100
    seed: int = 0
    biased: ClassVar[bool] = False

    def __post_init__(self) -> None:
        real(self.p, "p", low=1.0)
        integer(self.n_slices, "n_slices", low=1)
        integer(self.seed, "seed", low=0)

    @property
    def power(self) -> float:
        """``tile`` returns SW_2^2, and SW_p for other p: higher powers overflow and underflow."""
        return 2.0 if self.p == 2 else 1.0

    def directions(self, dim: int) -> FloatArray:
        """Return the unit vectors projected on, (L, dim)."""
        if dim == 1:
            return np.ones((1, 1))
        gaussian = np.random.default_rng(self.seed).normal(size=(self.n_slices, dim))
        return np.asarray(gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True))

    def claims(self, dim: int) -> Claims:
        negative_type = float(self.p) if self.p <= 2 else None
        reason = "a mean of L^p distances of quantile functions"
        return Claims(True if dim == 1 else None, negative_type, reason, None if self.p == 2 else 2.0)

    def passes(self, X: Measures, Y: Measures) -> list[Route]:
        """Take so many slices at a time that their sorted projections fit in memory."""
        route: Route = self.route(X, Y)
        if not isinstance(route, _Projections):  # a subclass may have its own
            return [route]
        lines = route.directions
        need = 8 * route.numbers * n_points(X, Y) * len(lines)
        if need <= PASS_BYTES or route.p not in (1, 2):  # other powers are not additive: tiles are SW_p
            return [route]
        parts = np.array_split(lines, min(len(lines), -(-need // PASS_BYTES)))
        return [replace(route, directions=part, share=len(part) / len(lines)) for part in parts]

    def route(self, X: Measures, Y: Measures) -> _Projections:
        """Return the cheapest route that both collections allow."""
        sizes = np.concatenate([X.sizes, Y.sizes])
        kind: type[_Projections] = _Weighted
        if X.is_uniform and Y.is_uniform:
            kind = _Aligned if self.p == 2 and (sizes == sizes[0]).all() else _Uniform
        return kind(self.directions(X.dim), float(self.p))
