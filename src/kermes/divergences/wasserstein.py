"""Exact optimal transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._checks import real
from .._typing import FloatArray, IndexArray
from ..core import ragged
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..ground import Cost, Euclidean, Matrix, as_cost
from ..measures import Measures
from ._base import Claims, Divergence, empty_tile

__all__ = ["Wasserstein"]


class _Sorted(NamedTuple):
    """Measures on the line: sorted atoms and cumulative probabilities."""

    points: FloatArray
    cumulative: FloatArray
    offsets: IndexArray


class _Quantiles(NamedTuple):
    """Measures of m equal atoms each: the rows are quantile functions, (n, m)."""

    values: FloatArray


@dataclass(frozen=True)
class Wasserstein(Divergence):
    r"""Wasserstein distance between measures on the line.

    .. math:: W_p(\mu, \nu)^p = \min_{\pi \in \Pi(\mu, \nu)} \int |x - y|^p \, d\pi
              = \int_0^1 |Q_\mu(t) - Q_\nu(t)|^p \, dt

    with :math:`Q` the quantile functions. Exact, for weighted measures of any sizes.

    Parameters
    ----------
    p : float
        Order, at least 1.
    cost : 'euclidean' or ground.Euclidean
        Ground distance; it is raised to the power p.

    Notes
    -----
    *Returned*: :math:`W_p`. *Metric*: yes. *Negative type*: :math:`W_p^h` is conditionally negative
    definite for h <= p <= 2, because quantile functions embed measures on the line isometrically in
    :math:`L^p(0, 1)` and :math:`\|\cdot\|_p^p` is of negative type for p <= 2 (Schoenberg); unknown for
    p > 2. *Cost*: :math:`O(n_i \log n_i)` once per measure, :math:`O(n_i + n_j)` per pair; measures of equally
    many, equally heavy atoms reduce to vector differences.

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
    cost: str | Cost | Matrix = "euclidean"

    def __post_init__(self) -> None:
        real(self.p, "p", low=1.0, remedy="Orders below 1 are not supported.")
        cost = as_cost(self.cost)
        if not isinstance(cost, Euclidean):
            raise InvalidParameterError(
                f"Wasserstein takes cost='euclidean' (the distance, raised to the power p); got {self.cost!r}."
            )

    @property
    def power(self) -> float:
        """``tile`` returns W_p^p."""
        return float(self.p)

    def claims(self, dim: int) -> Claims:
        """Metric always; of negative type p on the line for p <= 2."""
        if dim == 1 and self.p <= 2:
            return Claims(True, float(self.p), "quantile functions embed isometrically in L^p (Schoenberg, p <= 2)")
        return Claims(True, None, "no isometric embedding known")

    def check(self, X: Measures) -> None:
        """Refuse points in the plane and beyond."""
        if X.dim != 1:
            raise UnsuitableDataError(
                f"Wasserstein compares measures on the line; these have dimension {X.dim}. "
                "Use divergences.MMD for points in several dimensions."
            )

    def context(self, X: Measures, Y: Measures) -> bool:
        """Whether all measures have equally many, equally heavy atoms."""
        return all(_is_uniform(Z, len(X.weights) // len(X)) for Z in (X, Y))

    def prepare(self, X: Measures, context: bool) -> _Sorted | _Quantiles:
        """Sort every measure once."""
        from ..core import quantile

        if context:
            return _Quantiles(np.sort(X.points.reshape(len(X), -1), axis=1))
        order = np.lexsort((X.points[:, 0], ragged.owners(X.offsets)))
        offsets = np.array(X.offsets)
        cumulative = np.empty(len(order))
        quantile.cumulate(X.weights[order], offsets, cumulative)
        return _Sorted(X.points[order, 0], cumulative, offsets)

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> tuple[FloatArray, None]:
        """Return W_p^p by merging quantile functions."""
        from ..core import quantile, vectors

        out = empty_tile(rows, cols)
        if isinstance(A, _Quantiles):
            vectors.power_tile(A.values, rows, B.values, cols, triangle, float(self.p), out)
            return out / A.values.shape[1], None
        quantile.tile(
            A.points, A.cumulative, A.offsets, rows, B.points, B.cumulative, B.offsets, cols,
            triangle, float(self.p), out,
        )  # fmt: skip
        return out, None


def _is_uniform(X: Measures, size: int) -> bool:
    """Whether every measure has ``size`` atoms, all of the same weight as its neighbours."""
    if (X.sizes != size).any():
        return False
    weights = X.weights.reshape(len(X), size)
    return bool((weights == weights[:, :1]).all())
